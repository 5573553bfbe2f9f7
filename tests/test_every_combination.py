"""Every legal combination of method, pre-training and regime, and of pre-training and network, trained to the end;
every other one refused."""

from dataclasses import replace

import pytest

from scarf_lightning.data.sources import DiabetesSource, WdbcSource
from scarf_lightning.data.table import Table
from scarf_lightning.data.targets import Classes
from scarf_lightning.errors import UsageError
from scarf_lightning.options.axes import parts
from tests.composing import cells_of, config_of, goes_together, names
from tests.promises import assert_same_numbers
from tests.short_training import check, trained

ITERATIONS = 2
ITERATED = ("self_train", "tri_train")
FITS = {"bagging": 10, "distill": 2, "deep_knn": 2, "self_train": ITERATIONS + 1, "tri_train": 3 * (ITERATIONS + 1)}
"""Of the methods with more than one. So few epochs leave rows without a label, so no iteration is saved."""


N_LABELLED = {
    "wdbc": {"full": 398, "semi25": 100, "noise30": 398, "few": 20},
    # A number is learnt by the practical recipe: rows that stop nothing are labels of ridge too.
    "diabetes": {"full": 354, "semi25": 88, "noise30": 354, "few": 20},
}


@pytest.fixture(scope="module")
def tables() -> dict[str, Table]:
    return {"wdbc": WdbcSource().load(), "diabetes": DiabetesSource().load()}


@pytest.mark.slow
@pytest.mark.parametrize("regime", names("regime"))
@pytest.mark.parametrize("method", names("method"))
def test_legal_ones_run_to_the_end(method: str, regime: str, tables: dict[str, Table]) -> None:
    dataset = "wdbc" if Classes.is_among(parts("method")[method].targets) else "diabetes"
    legal = [pretrain for pretrain in names("pretrain") if goes_together(method, pretrain, regime)]
    assert legal or (method in ITERATED and regime != "semi25")
    iterations = [f"method.iterations={ITERATIONS}"] if method in ITERATED else []
    for pretrain in legal:
        config = config_of(
            f"dataset={dataset}", f"method={method}", f"pretrain={pretrain}", f"regime={regime}", *iterations
        )

        record = trained(config, tables[dataset])

        check(record, config, tables[dataset])
        for row in record.rows:
            assert row["fits"] == FITS.get(method, 1), pretrain
            assert row["n_labelled"] == N_LABELLED[dataset][regime]


@pytest.mark.parametrize(
    ("method", "regime", "against"),
    [
        ("self_train", "full", "regime=full"),
        ("xgboost", "semi25", "pretrain={}"),
        ("scarf_augment", "full", "pretrain={}"),
    ],
)
def test_illegal_ones_are_refused_together_and_by_name(method: str, regime: str, against: str) -> None:
    """`tests/options/test_combinations.py` has all of them, one by one."""
    illegal = ("scarf", "scarf_ae")

    with pytest.raises(UsageError) as caught:
        cells_of(f"method={method}", f"pretrain={','.join(illegal)}", f"regime={regime}")

    sentences = str(caught.value).split("\n")
    if against.format("") == against:
        # A mistake that all of them share is said once, and names none.
        (sentence,) = sentences
        assert sentence.startswith(f"method={method} does not go with {against}: ")
        return
    for pretrain, sentence in zip(illegal, sentences, strict=True):
        asked = f"method={method} pretrain={pretrain} regime={regime}"
        assert sentence.startswith(f"{asked}: method={method} does not go with {against.format(pretrain)}: ")


@pytest.mark.parametrize(
    ("option", "n_labelled"), [("semi25 regime.labelled=0.1", 40), ("noise30 regime.noise=0.4", 398)]
)
def test_shares_of_the_regimes_are_options(option: str, n_labelled: int, tables: dict[str, Table]) -> None:
    config = config_of(*f"regime={option} pretrain=none method=constant".split())

    assert {row["n_labelled"] for row in trained(config, tables["wdbc"]).rows} == {n_labelled}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wdbc", "mixed_table"])
@pytest.mark.parametrize("pretrain", names("pretrain"))
@pytest.mark.parametrize("network", names("network"))
def test_networks_train_to_the_end_and_a_trial_is_the_same_in_any_company(
    network: str, pretrain: str, name: str, tables: dict[str, Table], mixed_table: Table
) -> None:
    """On a bundled table and on one with categories and gaps."""
    table = mixed_table if name == "mixed_table" else tables[name]
    composed = config_of(f"network={network}", f"pretrain={pretrain}")
    for regime in ("full", "semi25", "noise30"):
        config = replace(composed, regime=config_of(f"regime={regime}").regime)

        record = trained(config, table)

        check(record, config, table)
        if regime == "semi25":
            (alone,) = trained(config, table, trials=[1]).rows
            found, expected = (
                [row[name] for name in ("accuracy", "log_loss", "auroc")] for row in (alone, record.rows[1])
            )
            assert_same_numbers(found, expected, precision="32-true", rounding=0.1)
