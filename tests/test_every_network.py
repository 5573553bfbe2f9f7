"""Every pre-training with every network, on a bundled table and on one with categories and gaps, in all regimes."""

from dataclasses import replace

import pytest

from scarf_lightning.data.sources import WdbcSource
from scarf_lightning.data.table import Table
from tests.composing import config_of, names
from tests.promises import assert_same_numbers
from tests.short_training import check, trained

REGIMES = ("full", "semi25", "noise30")


@pytest.fixture(params=["wdbc", "mixed_table"])
def table(request: pytest.FixtureRequest) -> Table:
    return WdbcSource().load() if request.param == "wdbc" else request.getfixturevalue(request.param)


@pytest.mark.slow
@pytest.mark.parametrize("pretrain", names("pretrain"))
@pytest.mark.parametrize("network", names("network"))
def test_they_train_to_the_end_and_a_trial_is_the_same_in_any_company(
    network: str, pretrain: str, table: Table
) -> None:
    composed = config_of(f"network={network}", f"pretrain={pretrain}")
    for regime in REGIMES:
        config = replace(composed, regime=config_of(f"regime={regime}").regime)

        record = trained(config, table)

        check(record, config, table)
        if regime == "semi25":
            (alone,) = trained(config, table, trials=[1]).rows
            found, expected = (
                [row[name] for name in ("accuracy", "log_loss", "auroc")] for row in (alone, record.rows[1])
            )
            assert_same_numbers(found, expected, precision="32-true", rounding=0.1)
