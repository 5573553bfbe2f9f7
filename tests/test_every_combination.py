"""Every legal combination of method, pre-training and regime, trained to the end; every other one refused."""

import pytest

from scarf_lightning.data.sources import WdbcSource
from scarf_lightning.data.table import Table
from scarf_lightning.errors import UsageError
from tests.composing import cells_of, goes_together, names
from tests.short_training import check, trained

ITERATIONS = 2
ITERATED = ("self_train", "tri_train")
FITS = {"distill": 2, "deep_knn": 2, "self_train": ITERATIONS + 1, "tri_train": 3 * (ITERATIONS + 1)}
"""Of the methods with more than one. So few epochs leave rows without a label, so no iteration is saved."""


@pytest.fixture(scope="module")
def wdbc() -> Table:
    return WdbcSource().load()


@pytest.mark.slow
@pytest.mark.parametrize("regime", names("regime"))
@pytest.mark.parametrize("method", names("method"))
def test_legal_ones_run_to_the_end(method: str, regime: str, wdbc: Table) -> None:
    legal = [pretrain for pretrain in names("pretrain") if goes_together(method, pretrain, regime)]
    if not legal:
        assert method in ITERATED
        assert regime != "semi25"
        return
    iterations = [f"method.iterations={ITERATIONS}"] if method in ITERATED else []

    cells = cells_of(f"method={method}", f"pretrain={','.join(legal)}", f"regime={regime}", *iterations)

    assert [cell.config.pretrain.name for cell in cells] == legal
    for cell in cells:
        record = trained(cell.config, wdbc)
        check(record, cell.config, wdbc)
        for row in record.rows:
            assert row["fits"] == FITS.get(method, 1), cell.label
            assert row["n_labelled"] == {"semi25": 100, "few": 20}.get(regime, 398)


@pytest.mark.slow
@pytest.mark.parametrize("regime", names("regime"))
@pytest.mark.parametrize("method", names("method"))
def test_illegal_ones_are_refused_together_and_by_name(method: str, regime: str) -> None:
    illegal = [pretrain for pretrain in names("pretrain") if not goes_together(method, pretrain, regime)]
    if not illegal:
        return

    with pytest.raises(UsageError) as caught:
        cells_of(f"method={method}", f"pretrain={','.join(illegal)}", f"regime={regime}")

    sentences = str(caught.value).split("\n")
    assert len(sentences) == len(illegal)
    for pretrain, sentence in zip(illegal, sentences, strict=True):
        against = f"regime={regime}" if method in ITERATED else f"pretrain={pretrain}"
        start = f"method={method} pretrain={pretrain} regime={regime}: method={method} does not go with {against}: "
        assert sentence.startswith(start)


@pytest.mark.parametrize(
    ("option", "n_labelled"), [("regime=semi25 regime.labelled=0.1", 40), ("regime=noise30 regime.noise=0.4", 398)]
)
def test_shares_of_the_regimes_are_options(option: str, n_labelled: int, wdbc: Table) -> None:
    (cell,) = cells_of(*option.split(), "pretrain=none")

    record = trained(cell.config, wdbc)

    check(record, cell.config, wdbc)
    assert {row["n_labelled"] for row in record.rows} == {n_labelled}
