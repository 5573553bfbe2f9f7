"""What a stack keeps of its predictions."""

import pytest

from scarf_lightning.data.table import Table
from tests.composing import config_of
from tests.short_training import trained


@pytest.mark.parametrize("overrides", [("pretrain=none",), ("method=logistic", "regime=few")], ids=["network", "rival"])
def test_each_trials_are_those_that_its_row_was_measured_by(overrides: tuple[str, ...], wdbc: Table) -> None:
    record = trained(config_of(*overrides), wdbc, trials=(0, 2))

    assert [each.trial for each in record.predictions] == [0, 2]
    for each, row in zip(record.predictions, record.rows, strict=True):
        assert len(set(each.rows.tolist())) == len(each.rows) == row["n_test"]
        assert each.labels.tolist() == wdbc.labels[each.rows].tolist()
        for name, value in each.target.measured(each.values, each.labels).items():
            assert row[name] == value, name
    assert record.predictions[0].rows.tolist() != record.predictions[1].rows.tolist()


def test_more_than_is_allowed_are_not_kept(wdbc: Table) -> None:
    needed = 5 * 114 * (2 * 8 + 8 + 2 * 4) / 1e6

    enough, less, none = (
        trained(config_of("pretrain=none", "trials=5", f"keep_predictions_mb={most}"), wdbc)
        for most in (needed, 0.99 * needed, 0)
    )

    assert len(enough.predictions) == 2
    assert less.predictions == none.predictions == []
