"""How swept values become cells, and how many there may be."""

from pathlib import Path

import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.results import fingerprint, identity
from scarf_lightning.sweeping.expand import combined
from tests.cells import DATA_HASH
from tests.composing import cells_of, request_of

ABLATION = (
    "corruption=marginal,mean,joint",
    "loss=infonce,barlow_twins",
    "scaling=zscore,minmax",
    "pretrain=scarf,none",
)


def settings(*arguments: str) -> list[tuple[str, ...]]:
    """The chosen values of `ABLATION`'s axes, a cell each."""
    cells = []
    for cell in cells_of(*arguments):
        config = cell.config
        cells.append((config.corruption["name"], config.loss["name"], config.scaling["name"], config.pretrain.name))
    return cells


@pytest.mark.parametrize(("vary", "numbers"), [("all", (1, 3, 9, 4)), ("one", (1, 3, 5, 3)), ("pairs", (1, 3, 3, 2))])
def test_no_cell_is_made_twice_and_the_first_values_are_the_first_cell(vary: str, numbers: tuple[int, ...]) -> None:
    for lengths, number in zip(((1, 1), (3, 1), (3, 3), (2, 1, 2)), numbers, strict=True):
        choices = [[f"{axis}={value}" for value in range(n)] for axis, n in enumerate(lengths)]

        made = list(combined(choices, vary))

        assert len(set(made)) == len(made) == number
        assert made[0] == tuple(values[0] for values in choices)


def test_one_at_a_time_the_first_values_are_the_base_and_each_other_value_a_cell() -> None:
    base = ("marginal", "infonce", "zscore", "scarf")
    assert settings(*ABLATION, "vary=one") == [
        base,
        ("mean", *base[1:]),
        ("joint", *base[1:]),
        ("marginal", "barlow_twins", "zscore", "scarf"),
        ("marginal", "infonce", "minmax", "scarf"),
        (*base[:3], "none"),
    ]


def test_each_dataset_has_a_base_of_its_own() -> None:
    asked = ("dataset=wdbc,diabetes", "corruption=marginal,mean", "seed=1,2", "vary=one", "max_cells=6")
    cells = [
        (cell.config.dataset.source, cell.config.corruption["name"], cell.config.seed) for cell in cells_of(*asked)
    ]
    star = [("marginal", 1), ("mean", 1), ("marginal", 2)]
    assert cells == [(dataset, *values) for dataset in ("wdbc", "diabetes") for values in star]


def test_all_is_the_product() -> None:
    assert settings(*ABLATION[:2], "vary=all") == settings(*ABLATION[:2])


def test_pairs_take_the_nth_values_together_and_a_single_value_goes_with_all() -> None:
    asked = ("corruption=marginal,mean", "loss=infonce,barlow_twins", "scaling=minmax", "vary=pairs")
    assert settings(*asked) == [
        ("marginal", "infonce", "minmax", "scarf"),
        ("mean", "barlow_twins", "minmax", "scarf"),
    ]


def test_pairs_of_unequal_lengths_are_refused() -> None:
    with pytest.raises(UsageError, match="of all axes together, and corruption has 3 and loss has 2 values"):
        cells_of(*ABLATION[:2], "vary=pairs")


def test_another_word_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match=r"vary=pair is unknown\. Did you mean pairs"):
        cells_of("vary=pair")


def test_cells_are_those_of_the_product_whatever_made_them() -> None:
    def fingerprints(*arguments: str) -> set[str]:
        return {fingerprint(identity(cell.config, DATA_HASH)) for cell in cells_of(*arguments)}

    assert fingerprints(*ABLATION, "vary=one", "max_cells=6") < fingerprints(*ABLATION)
    (cell,) = cells_of("corruption=mean", "vary=one", "max_cells=1")
    assert cell.overrides == ("corruption=mean",)


def test_each_block_of_a_file_has_its_own_and_the_command_line_replaces_it(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    axes = "corruption: [marginal, mean], loss: [infonce, barlow_twins]"
    file.write_text(
        f"title: T\ncells: [{{vary: one, {axes}}}, {{vary: pairs, seed: 1, {axes}}}, {{seed: 2, {axes}}}]\n"
    )

    assert [len(settings(f"sweeps={file}", *more)) for more in ((), ("vary=all",), ("vary=pairs",))] == [9, 12, 6]


def test_a_base_that_cannot_be_trained_is_refused() -> None:
    asked = ("method=xgboost,control", "pretrain=scarf,none")
    assert len(cells_of(*asked)) == 3
    with pytest.raises(UsageError, match=r"The first values of vary=one .* method=xgboost does not go with pretrain"):
        cells_of(*asked, "vary=one")


def test_a_run_of_more_cells_than_max_cells_is_refused_before_it_is_expanded() -> None:
    with pytest.raises(UsageError, match=r"^This run has 7,866 cells, more than max_cells=5000; max_cells=7866 allows"):
        cells_of("sweeps=relative_gains")
    # Its values would not fit into memory.
    with pytest.raises(UsageError, match="This run has 1,000,000,000,000 cells"):
        cells_of("seed=range(0,1000000000000)")
    with pytest.raises(UsageError, match="This run has 6 cells, more than max_cells=5"):
        cells_of(*ABLATION, "vary=one", "max_cells=5")


def test_columns_in_turn_are_counted() -> None:
    # wdbc has thirty columns.
    with pytest.raises(UsageError, match="This run has 62 cells, more than max_cells=61"):
        cells_of("dataset.drop=null,each", "corruption=mean,marginal", "max_cells=61")


def test_null_sets_no_bound() -> None:
    assert len(cells_of("seed=range(0,5)", "max_cells=null")) == 5


def test_a_file_sets_no_bound(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("title: T\ncells: [{max_cells: null, seed: [1, 2]}]\n")
    with pytest.raises(UsageError, match="max_cells is set, and a sweep file only names cells"):
        cells_of(f"sweeps={file}")


def test_seeds_that_are_swept_are_told_from_trials() -> None:
    (note,) = request_of("seed=0,1,2", "trials=4").notes
    assert note.startswith("seed=0,1,2: each seed is a cell of its own.")
    assert note.endswith("trials=12.")
    assert request_of("seed=3", "corruption=mean,joint").notes == ()
