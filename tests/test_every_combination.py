"""Every legal combination of method, pre-training and regime, trained to the end; every other one refused."""

import pytest

from scarf_lightning.data.sources import DiabetesSource, WdbcSource
from scarf_lightning.data.table import Table
from scarf_lightning.data.targets import Classes
from scarf_lightning.errors import UsageError
from scarf_lightning.options.axes import parts
from tests.composing import cells_of, goes_together, names
from tests.short_training import check, trained

ITERATIONS = 2
ITERATED = ("self_train", "tri_train")
FITS = {"distill": 2, "deep_knn": 2, "self_train": ITERATIONS + 1, "tri_train": 3 * (ITERATIONS + 1)}
"""Of the methods with more than one. So few epochs leave rows without a label, so no iteration is saved."""


N_LABELLED = {
    "wdbc": {"full": 398, "semi25": 100, "noise30": 398, "few": 20},
    # A number is learnt by the practical recipe: rows that stop nothing are labels of ridge too.
    "diabetes": {"full": 354, "semi25": 88, "noise30": 354, "few": 20},
}


@pytest.fixture(scope="module")
def tables() -> dict[str, Table]:
    return {"wdbc": WdbcSource().load(), "diabetes": DiabetesSource().load()}


@pytest.fixture(scope="module")
def wdbc(tables: dict[str, Table]) -> Table:
    return tables["wdbc"]


def dataset_for(method: str) -> str:
    """A table with a target that the method serves."""
    return "wdbc" if Classes.is_among(parts("method")[method].targets) else "diabetes"


@pytest.mark.slow
@pytest.mark.parametrize("regime", names("regime"))
@pytest.mark.parametrize("method", names("method"))
def test_legal_ones_run_to_the_end(method: str, regime: str, tables: dict[str, Table]) -> None:
    dataset = dataset_for(method)
    legal = [pretrain for pretrain in names("pretrain") if goes_together(method, pretrain, regime)]
    if not legal:
        assert method in ITERATED
        assert regime != "semi25"
        return
    iterations = [f"method.iterations={ITERATIONS}"] if method in ITERATED else []

    chosen = (f"dataset={dataset}", f"method={method}", f"pretrain={','.join(legal)}", f"regime={regime}")
    cells = cells_of(*chosen, *iterations)

    assert [cell.config.pretrain.name for cell in cells] == legal
    for cell in cells:
        record = trained(cell.config, tables[dataset])
        check(record, cell.config, tables[dataset])
        for row in record.rows:
            assert row["fits"] == FITS.get(method, 1), cell.label
            assert row["n_labelled"] == N_LABELLED[dataset][regime]


@pytest.mark.slow
@pytest.mark.parametrize("regime", names("regime"))
@pytest.mark.parametrize("method", names("method"))
def test_illegal_ones_are_refused_together_and_by_name(method: str, regime: str) -> None:
    illegal = [pretrain for pretrain in names("pretrain") if not goes_together(method, pretrain, regime)]
    if not illegal:
        return

    with pytest.raises(UsageError) as caught:
        cells_of(
            f"dataset={dataset_for(method)}", f"method={method}", f"pretrain={','.join(illegal)}", f"regime={regime}"
        )

    sentences = str(caught.value).split("\n")
    assert len(sentences) == len(illegal)
    for pretrain, sentence in zip(illegal, sentences, strict=True):
        against = f"regime={regime}" if method in ITERATED else f"pretrain={pretrain}"
        asked = f"dataset={dataset_for(method)} method={method} pretrain={pretrain} regime={regime}"
        start = f"{asked}: method={method} does not go with {against}: "
        assert sentence.startswith(start)


@pytest.mark.parametrize(
    ("option", "n_labelled"), [("regime=semi25 regime.labelled=0.1", 40), ("regime=noise30 regime.noise=0.4", 398)]
)
def test_shares_of_the_regimes_are_options(option: str, n_labelled: int, wdbc: Table) -> None:
    (cell,) = cells_of(*option.split(), "pretrain=none")

    record = trained(cell.config, wdbc)

    check(record, cell.config, wdbc)
    assert {row["n_labelled"] for row in record.rows} == {n_labelled}
