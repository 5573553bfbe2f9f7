import csv
import io
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from rich.console import Console
from rich.table import Table

from scarf_lightning.cli.tables import (
    cell_table,
    describe,
    full_table,
    shared_axes,
    shared_trials,
    summary_table,
    sweep_table,
    why_no_interval,
)
from scarf_lightning.intervals import mean_interval
from scarf_lightning.metrics import METRICS
from scarf_lightning.options import Config
from scarf_lightning.options.settings import CotrainSettings, FinetuneSettings, ViewsSettings
from scarf_lightning.results import columns
from scarf_lightning.sweeping.folders import recipe_options
from tests.cells import some_cell, some_config, some_record

COTRAIN = {"name": "cotrain"}
OUTCOMES = ["trials", "accuracy", "95 % interval", "pretrain epochs", "finetune epochs", "seconds"]


def grid(table: Table) -> list[list[str]]:
    """The headings and the lines of a table, as text."""
    columns = [[str(column.header), *map(str, column.cells)] for column in table.columns]
    return [list(line) for line in zip(*columns, strict=True)]


def axes_of(config: Config, dataset: str = "wdbc") -> dict[str, Any]:
    return {"dataset": dataset} | columns(config)


def cotrained(weight: float) -> CotrainSettings:
    return replace(some_config().cotrain, weight=weight)


def rows_of(n: int, **values: Any) -> list[dict[str, Any]]:
    return list(some_record(range(n), **values).rows)


def headings(*configs: Config) -> list[str]:
    """The columns that a sweep over these cells shows beside what came out."""
    shown = grid(sweep_table([(axes_of(config), rows_of(3)) for config in configs]))[0]
    same = OUTCOMES[1:]  # all cells have three trials
    assert shown[-len(same) :] == same
    return shown[: -len(same)]


def of_cell(rows: list[dict[str, Any]]) -> dict[str, list[str]]:
    """The lines of a cell's table by their names."""
    return {name: values for name, *values in grid(cell_table({}, rows))}


GONE = {"diverged": "finetune"} | dict.fromkeys(metric.name for metric in METRICS)


def test_a_cell_shows_each_metric_then_epochs_and_seconds() -> None:
    assert grid(cell_table({}, rows_of(3))) == [
        ["", "mean", "95 % interval", "trials"],
        ["accuracy", "0.5100", "0.4761 to 0.5439", "3"],
        ["balanced accuracy", "0.5000", "0.5000 to 0.5000", "3"],
        ["AUROC", "0.9000", "0.9000 to 0.9000", "3"],
        ["log-loss", "0.7000", "0.7000 to 0.7000", "3"],
        ["pretrain epochs (median)", "12", "", "3"],
        ["pretrain seconds (all trials)", "4.5", "", "3"],
        ["finetune epochs (median)", "7", "", "3"],
        ["finetune seconds (all trials)", "0.8", "", "3"],
    ]
    # Without pre-training there are no lines of it.
    names = [*of_cell(rows_of(2, pretrained=False))]
    assert not [name for name in names if "pretrain" in name]
    assert names[-2:] == ["finetune epochs (median)", "finetune seconds (all trials)"]


def test_a_metric_counts_the_trials_in_which_it_is_defined() -> None:
    lines = of_cell(rows_of(2) + rows_of(1, auroc=None))
    assert lines["AUROC"] == ["0.9000", "–", "2"]
    assert lines["accuracy"][2] == "3"
    assert [*of_cell(rows_of(2, auroc=None))][1:4] == ["accuracy", "balanced accuracy", "log-loss"]
    # Fewer than three trials have a mean and a dash for its interval.
    assert [of_cell(rows_of(n))["accuracy"][1:] for n in (1, 2)] == [["–", "1"], ["–", "2"]]
    # The median of epochs may lie between two.
    epochs = [row | {"finetune_epochs": n} for row, n in zip(rows_of(2), (6, 9), strict=True)]
    assert of_cell(epochs)["finetune epochs (median)"] == ["7.5", "", "2"]


def test_diverged_trials_are_counted_and_in_no_mean() -> None:
    gone, axes = [row | GONE for row in rows_of(2)], axes_of(some_config())

    lines = of_cell(rows_of(3) + gone)
    assert lines["accuracy"] == ["0.5100", "0.4761 to 0.5439", "3"]
    assert lines["diverged, without metrics"] == ["", "", "2"]
    (line,) = grid(sweep_table([(axes, rows_of(3) + gone)]))[1:]
    assert line[:2] == ["5, 2 diverged", "0.5100"]
    # A cell all of whose trials diverged has no mean.
    assert grid(sweep_table([(axes, gone)])) == [
        ["trials", "pretrain epochs", "finetune epochs", "seconds"],
        ["2, 2 diverged", "12", "7", "3.5"],
    ]
    assert grid(summary_table([(axes, gone), (axes | {"dataset": "other"}, rows_of(2))]))[1] == ["1 of 2", "0.5050"]


def test_a_cell_in_words_names_its_choice_on_each_axis_that_it_uses() -> None:
    first = "dataset=wdbc, split=random, regime=semi25, scaling=zscore, encoding=onehot, pretrain="
    last = "method=control, network=mlp"
    of_scarf = f"{first}scarf, corruption=marginal, selection=exact, views=one, loss=infonce, {last}"
    assert describe(axes_of(some_config())) == of_scarf
    assert describe(axes_of(some_config(pretrain="none"))) == f"{first}none, {last}"
    # Options that differ from their defaults are named, too.
    cell = some_cell(corruption={"name": "marginal", "rate": 0.3}, seed=3)
    assert describe(cell.axes(), cell.settings()) == f"{of_scarf}, corruption.rate=0.3, seed=3"


def test_a_recipe_stands_for_the_options_that_it_sets() -> None:
    of_recipe = recipe_options("practical")
    finetune = {name.removeprefix("finetune."): value for name, value in of_recipe.items() if "finetune." in name}
    settings = FinetuneSettings(**finetune | {"patience": 5})
    cell = some_cell(recipe="practical", fit_on="train", finetune=settings, encoding={"name": "onehot", "gaps": True})

    said = describe(cell.axes(), cell.settings(), ["practical"])

    assert said.endswith(", network=mlp, finetune.patience=5, recipe=practical")
    assert "recipe" not in describe(cell.axes(), cell.settings(), ["practical", "paper"])


MEAN = {"name": "mean", "rate": 0.6}


@pytest.mark.parametrize(
    ("configs", "shown"),
    [
        ([{}, {}], []),
        ([{}, {"corruption": MEAN}], ["corruption"]),
        ([{}, {"corruption": {"name": "marginal", "rate": 0.3}}], ["corruption.rate"]),
        ([{}, {"corruption": {"name": "mean", "rate": 0.3}}], ["corruption", "corruption.rate"]),
        ([{}, {"pretrain": "none"}], ["pretrain"]),
        ([{}, {"pretrain": "none"}, {"corruption": MEAN}], ["pretrain", "corruption"]),
        ([{}, {"views": ViewsSettings("both")}], ["views"]),
        ([{}, {"selection": {"name": "shared"}}], ["selection"]),
        ([{"cotrain": cotrained(weight)} for weight in (1.0, 0.1)], []),
        ([{"method": COTRAIN, "cotrain": cotrained(weight)} for weight in (1.0, 0.1)], ["cotrain.weight"]),
        ([{"seed": 0}, {"seed": 1}], ["seed"]),
        ([{}, {"finetune": FinetuneSettings(batch_size=64)}], ["finetune.batch_size"]),
        ([{"scaling": {"name": "none"}}, {"regime": {"name": "full"}}], ["regime", "scaling"]),
        ([{"trials": 2}, {"trials": 30}], []),
    ],
)
def test_a_sweep_shows_the_axes_and_options_in_which_its_cells_differ(
    configs: list[dict[str, Any]], shown: list[str]
) -> None:
    assert headings(*(some_config(**each) for each in configs)) == shown


def test_what_is_not_shown_is_shared_and_nothing_is_both() -> None:
    cells = [axes_of(some_config()), axes_of(some_config(corruption=MEAN))]

    shared = shared_axes(cells)

    assert describe(shared) == describe({name: value for name, value in cells[0].items() if name != "corruption"})
    assert shared == {name: value for name, value in cells[1].items() if name in shared}
    # What all cells that use it share is shared.
    of_one = shared_axes([axes_of(some_config(pretrain="none")), axes_of(some_config())])
    assert describe(of_one) == describe({name: value for name, value in cells[0].items() if name != "pretrain"})


def test_a_line_says_what_came_out_of_its_cell() -> None:
    control, scarf = some_config(pretrain="none"), some_config()
    rows = rows_of(3)

    table = grid(sweep_table([(axes_of(control), rows_of(2, pretrained=False)), (axes_of(scarf), rows)]))

    _, low, high = mean_interval([row["accuracy"] for row in rows])
    assert table[1] == ["none", "2", "0.5050", "–", "", "7", "0.5"]
    assert table[2] == ["scarf", "3", "0.5100", f"{low:.4f} to {high:.4f}", "12", "7", "5.2"]
    # What is equal everywhere is no column, such as the number of trials.
    seeds = [(axes_of(some_config(seed=seed)), rows_of(3, pretrained=False)) for seed in range(2)]
    assert grid(sweep_table(seeds))[0] == ["seed", "accuracy", "95 % interval", "finetune epochs", "seconds"]
    assert (shared_trials(seeds), shared_trials([*seeds, (seeds[0][0], rows_of(1))])) == (3, None)
    # Datasets differ by name, and a cell without rows did not finish.
    named = grid(sweep_table([(axes_of(scarf, "wdbc"), []), (axes_of(scarf, "adult"), rows_of(1))]))
    assert named[0][0] == "dataset"
    assert named[1:] == [["wdbc", "0", "not finished", "", "", ""], ["adult", "1", "0.5000", "12", "7", "1.8"]]


@pytest.mark.parametrize("width", [80, 160])
def test_no_name_is_cut_off_on_a_narrow_screen(width: int) -> None:
    names = ["a" * 90 + "1", "a" * 90 + "2"]

    folded = printed(sweep_table([(axes_of(some_config(), name), rows_of(3)) for name in names]), width)

    assert max(map(len, folded)) <= width
    assert sum("0.5100" in line for line in folded) == 2
    assert "".join(folded).count("a") - "".join(folded).count("accuracy") >= 180


@pytest.mark.parametrize("table", [sweep_table, summary_table])
def test_many_options_that_vary_share_a_column_of_what_differs(table: Callable[..., Table]) -> None:
    """As of a sweep that varies one option after the other: a column each would be a letter wide."""
    changed: list[dict[str, Any]] = [
        {}, {"patience": 7}, {"schedule": "cosine"}, {"weight_decay": 0.1}, {"min_steps": 50}, {"ties": "last"},
        {"beta2": 0.95},
    ]  # fmt: skip
    cells = []
    for dataset, options in product(("wdbc", "adult"), changed):
        cells.append((axes_of(some_config(finetune=FinetuneSettings(**options)), dataset), rows_of(3)))

    headings, usual, patient, *_ = grid(table(cells))

    place = headings.index("options")
    assert (usual[place], patient[place]) == ("", "finetune.patience=7")


def printed(table: Table, width: int) -> list[str]:
    console = Console(width=width, file=io.StringIO())
    console.print(table)
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined]


def test_the_full_table_holds_every_metric_and_what_cells_share() -> None:
    cells = [(axes_of(some_config(seed=seed), "=1+1"), rows_of(3)[: 3 * seed]) for seed in range(2)]

    rows = list(csv.DictReader(io.StringIO(full_table(cells))))

    assert [row["trials"] for row in rows] == ["0", "3"]
    assert [row["seed"] for row in rows] == ["0", "1"]
    assert {row["dataset"] for row in rows} == {"'=1+1"}
    assert rows[1]["corruption.rate"] == "0.6"
    assert float(rows[1]["accuracy"]) == pytest.approx(0.51)
    _, low, high = mean_interval([0.5, 0.51, 0.52])
    assert [float(rows[1][f"accuracy_{end}"]) for end in ("low", "high")] == pytest.approx([low, high])
    assert {name for name in rows[1] if name in {metric.name for metric in METRICS}} == {m.name for m in METRICS}
    assert (rows[1]["pretrain_epochs"], float(rows[1]["finetune_seconds"])) == ("12.0", 0.75)
    assert rows[0]["accuracy"] == ""


def test_each_split_in_which_trials_share_their_test_rows_says_why_it_has_no_interval() -> None:
    for splits in ([], ["random"], ["time"], ["time", "random", "time", "files"]):
        said = why_no_interval([{"split": split} for split in splits])
        shared = [split for split in ("files", "time") if split in splits]
        assert [sentence.split(" all ")[0] for sentence in said] == [f"With split={split}" for split in shared]


def test_trials_with_a_flag_are_counted_in_every_table_and_rows_of_older_versions_have_none() -> None:
    rows = [row | {"worse_than_frequencies": trial < 2, "one_class": None} for trial, row in enumerate(rows_of(3))]
    assert of_cell(rows)["probabilities worse than class frequencies"] == ["", "", "2 of 3"]
    assert "one class for every test row" not in of_cell(rows)
    assert "probabilities worse than class frequencies" not in of_cell(rows_of(3))

    cells = [(axes_of(some_config(seed=0)), rows), (axes_of(some_config(seed=1)), rows_of(3))]
    headings, *lines = grid(sweep_table(cells))
    assert [line[headings.index("probabilities worse than class frequencies")] for line in lines] == ["2 of 3", ""]
    assert "one class for every test row" not in headings


def test_how_a_table_was_read_is_told_in_words() -> None:
    drops = ("[a b]", "[c]", None)
    cells = [(axes_of(some_config()) | ({"dataset.drop": drop} if drop else {}), rows_of(3)) for drop in drops]

    heading, *lines = grid(sweep_table(cells))

    assert heading[0] == "dataset.drop"
    assert [line[0] for line in lines] == ["without a b", "without c", "all columns"]
    assert "dataset.drop" not in shared_axes([axes for axes, _ in cells])
    (one, _), *_ = cells
    assert shared_axes([one])["dataset.drop"] == "[a b]"
    rows = list(csv.DictReader(io.StringIO(full_table(cells))))
    assert [row["dataset.drop"] for row in rows] == ["[a b]", "[c]", "null"]
