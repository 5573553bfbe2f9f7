import io
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from rich.console import Console
from rich.table import Table

from scarf_lightning.cli.tables import (
    cell_table,
    shared_trials,
    sweep_table,
    title,
    why_no_interval,
)
from scarf_lightning.intervals import mean_interval
from scarf_lightning.metrics import METRICS
from scarf_lightning.options import Config
from scarf_lightning.options.settings import CotrainSettings, FinetuneSettings, ViewsSettings
from scarf_lightning.results import columns
from tests.cells import some_cell, some_config, some_record

MEAN = {"name": "mean", "rate": 0.6}
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


def test_the_title_names_what_the_user_has_set_and_all_cells_share() -> None:
    cells = [some_cell(seed=3, corruption=each) for each in (MEAN, {"name": "marginal", "rate": 0.6})]
    axes = [each.axes() for each in cells]
    names = [name for each in cells for name in each.settings()]

    assert title(axes, names) == "dataset=wdbc, pretrain=scarf, method=control, seed=3"
    # What all cells that use it share is shared.
    without = some_cell(seed=3, pretrain="none").axes()
    assert title([axes[0], without], ["corruption"]) == "dataset=wdbc, method=control, corruption=mean"


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


def test_many_options_that_vary_share_a_column_of_what_differs() -> None:
    """As of a sweep that varies one option after the other: a column each would be a letter wide."""
    changed: list[dict[str, Any]] = [
        {}, {"patience": 7}, {"schedule": "cosine"}, {"weight_decay": 0.1}, {"min_steps": 50}, {"ties": "last"},
        {"beta2": 0.95},
    ]  # fmt: skip
    cells = []
    for dataset, options in product(("wdbc", "adult"), changed):
        cells.append((axes_of(some_config(finetune=FinetuneSettings(**options)), dataset), rows_of(3)))

    headings, usual, patient, *_, last = grid(sweep_table(cells))

    place = headings.index("options")
    assert usual[place].startswith("dataset=wdbc, finetune.")
    assert "finetune.patience=7" in patient[place]
    assert last[place].startswith("dataset=adult, ")
    assert "finetune.beta2=0.95" in last[place]


def printed(table: Table, width: int) -> list[str]:
    console = Console(width=width, file=io.StringIO())
    console.print(table)
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined]


def test_each_split_in_which_trials_share_their_test_rows_says_why_it_has_no_interval() -> None:
    for splits in ([], ["random"], ["time"], ["time", "random", "time", "files"]):
        said = why_no_interval([{"split": split} for split in splits])
        shared = [split for split in ("files", "time") if split in splits]
        assert [sentence.split(" all ")[0] for sentence in said] == [f"With split={split}" for split in shared]


def test_how_a_table_was_read_is_a_column() -> None:
    drops = ("[a b]", "[c]", None)
    cells = [(axes_of(some_config()) | ({"dataset.drop": drop} if drop else {}), rows_of(3)) for drop in drops]

    heading, *lines = grid(sweep_table(cells))

    assert heading[0] == "dataset.drop"
    assert [line[0] for line in lines] == ["[a b]", "[c]", "null"]
    assert "dataset.drop" not in title([axes for axes, _ in cells], ["dataset.drop"])
    (one, _), *_ = cells
    assert title([one], ["dataset.drop"]).endswith("dataset.drop=[a b]")
