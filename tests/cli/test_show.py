import io
import re
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from rich.table import Table

from scarf_lightning.cli import show
from scarf_lightning.cli.show import SweepProgress, cell_table, shared_trials, sweep_table, title
from scarf_lightning.errors import UsageError
from scarf_lightning.metrics import metric_named
from scarf_lightning.reporting.cell_results import CellResults, ReportedCell, read_results
from scarf_lightning.results import Stored, keep_failure, note_data
from scarf_lightning.sweeping.cell import Cell, survey, unfinished
from scarf_lightning.verdicts import Trials
from tests.cells import WDBC, finish, results_in, some_cell, some_record


@pytest.fixture
def cells(tmp_path: Path) -> list[Cell]:
    """Four alike, of which the first is finished."""
    found = [some_cell(f"seed={seed}", seed=seed, pretrain="none", paths=results_in(tmp_path)) for seed in range(4)]
    note_data(found[0].results, found[0].source, WDBC, found[0].source.stamps())
    finish(found[0])
    return found


def watching(cells: list[Cell], *, terminal: bool, **options: Any) -> tuple[SweepProgress, io.StringIO]:
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, color_system=None, **options)
    return SweepProgress(unfinished(survey(cells)), console), out


def test_a_file_gets_a_line_of_progress_a_minute(cells: list[Cell], monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    progress, out = watching(cells, terminal=False, width=120, get_time=lambda: now[0])

    finish(cells[1])
    now[0] += 30
    progress.look(cells)
    assert out.getvalue() == ""
    finish(cells[2])
    keep_failure(cells[3].results, cells[3].key, "x", UsageError("y."))
    # Nothing has changed at the second look, of which no line says so.
    for seconds in (40, 3600):
        now[0] += seconds
        progress.look(cells)

    assert out.getvalue() == "4 of 6 trials done, 1 cell failed, 0:01:10 gone\n"


@pytest.mark.parametrize("width", [80, 160])
def test_on_a_terminal_a_bar_is_kept_up_to_date_and_removed_at_the_end(cells: list[Cell], width: int) -> None:
    progress, out = watching(cells, terminal=True, width=width)

    with progress.shown(is_told=True) as tell:
        finish(cells[1])
        tell(cells[1])
        progress._bar.refresh()

    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", out.getvalue()).replace("\r", "\n").splitlines()
    assert max(map(len, lines)) <= width
    assert "2 of 6 trials done ━" in "".join(lines)
    assert out.getvalue().endswith("\x1b[2K")  # the lines are cleared


def test_the_watch_ends_with_the_block_and_goes_on_after_a_look_that_the_system_refused(
    cells: list[Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    progress, _ = watching(cells, terminal=False)
    before, looked = set(threading.enumerate()), threading.Event()
    answers = iter([OSError("refused")])

    def sometimes(cells: list[Cell]) -> Sequence[Cell]:
        for answer in answers:
            raise answer
        looked.set()
        return survey(cells)

    monkeypatch.setattr(show, "survey", sometimes)
    monkeypatch.setattr(progress._ended, "wait", lambda seconds: time.sleep(0.01))

    with progress.shown(is_told=False):
        assert looked.wait(30)

    assert set(threading.enumerate()) <= before


MEAN = {"name": "mean", "rate": 0.6}
ACCURACY = metric_named("accuracy")
CHANGES: dict[str, Any] = {
    "patience": 7, "schedule": "cosine", "weight_decay": 0.1, "min_steps": 50, "ties": "last", "beta2": 0.95,
}  # fmt: skip
OUTCOMES = ["accuracy", "95 % interval", "pretrain epochs", "finetune epochs", "seconds"]
GONE: dict[str, Any] = {"diverged": "finetune"} | dict.fromkeys(["accuracy", "balanced_accuracy", "auroc", "log_loss"])


def rows_of(n: int, **values: Any) -> list[dict[str, Any]]:
    return list(some_record(range(n), **values).rows)


def in_store(axes: dict[str, Any], rows: list[dict[str, Any]]) -> ReportedCell:
    return ReportedCell(axes, None, None, len(rows), stored=Stored(rows=dict(enumerate(rows))))


def results_of(*cells: tuple[Cell, list[dict[str, Any]]], **axes: Any) -> CellResults:
    """Results of cells by the rows of their trials."""
    return read_results([in_store(cell.axes | axes, rows) for cell, rows in cells])


def of_cell(rows: list[dict[str, Any]]) -> dict[str, list[str]]:
    """The lines of a cell's table by their names."""
    return {name: values for name, *values in grid(cell_table(results_of((some_cell(), rows)), ACCURACY))}


def of_sweep(*cells: tuple[Cell, list[dict[str, Any]]]) -> list[list[str]]:
    """The headings and the lines of a sweep's table."""
    return grid(sweep_table(results_of(*cells), ACCURACY))


def grid(table: Table) -> list[list[str]]:
    """The headings and the lines of a table, as text."""
    columns = [[str(column.header), *map(str, column.cells)] for column in table.columns]
    return [list(line) for line in zip(*columns, strict=True)]


def test_a_cell_shows_each_metric_then_epochs_and_seconds() -> None:
    assert of_cell(rows_of(3)) == {
        "": ["mean", "95 % interval", "trials"],
        "accuracy": ["0.5100", "0.4762 to 0.5437", "3"],
        "balanced accuracy": ["0.5000", "0.5000 to 0.5000", "3"],
        "AUROC": ["0.9000", "0.9000 to 0.9000", "3"],
        "log-loss": ["0.7000", "0.7000 to 0.7000", "3"],
        "pretrain epochs (median)": ["12", "", "3"],
        "pretrain seconds (all trials)": ["4.5", "", "3"],
        "finetune epochs (median)": ["7", "", "3"],
        "finetune seconds (all trials)": ["0.8", "", "3"],
    }
    # Without pre-training there are no lines of it.
    assert not [name for name in of_cell(rows_of(2, pretrained=False)) if "pretrain" in name]


def test_a_metric_counts_the_trials_in_which_it_is_defined() -> None:
    lines = of_cell(rows_of(2) + rows_of(1, auroc=None))
    assert lines["AUROC"] == ["0.9000", "–", "2"], "fewer than three trials have no interval"
    assert lines["accuracy"][2] == "3"
    assert "AUROC" not in of_cell(rows_of(2, auroc=None))
    # The median of epochs may lie between two.
    epochs = [row | {"finetune_epochs": n} for row, n in zip(rows_of(2), (6, 9), strict=True)]
    assert of_cell(epochs)["finetune epochs (median)"] == ["7.5", "", "2"]


def test_diverged_trials_are_counted_and_in_no_mean() -> None:
    gone = [row | GONE for row in rows_of(2)]

    lines = of_cell(rows_of(3) + gone)
    assert lines["accuracy"] == ["0.5100", "0.4762 to 0.5437", "3"]
    assert lines["diverged, without metrics"] == ["", "", "2"]
    heading, some, all_of_them = of_sweep((some_cell(seed=1), rows_of(3) + gone), (some_cell(seed=2), gone))
    assert heading == ["seed", "trials", *OUTCOMES]
    assert some[1:3] == ["5, 2 diverged", "0.5100"]
    assert all_of_them[1:4] == ["2, 2 diverged", "", ""]


def test_the_title_names_what_the_user_has_set_and_all_cells_share() -> None:
    seeds = [(some_cell(seed=3, corruption=each), rows_of(1)) for each in (MEAN, {"name": "marginal", "rate": 0.6})]
    assert title(results_of(*seeds), ["seed"]) == "dataset=wdbc, pretrain=scarf, method=control, seed=3"
    # What all cells that use it share is shared.
    mixed = results_of(seeds[0], (some_cell(pretrain="none"), rows_of(1)))
    assert title(mixed, ["corruption"]) == "dataset=wdbc, method=control, corruption=mean"


def test_a_line_says_what_came_out_of_its_cell() -> None:
    control, scarf = some_cell(pretrain="none"), some_cell()
    rows = rows_of(3)
    trials = Trials({row["trial"]: row["accuracy"] for row in rows})
    _, low, high = trials.level(metric_named("accuracy"))

    heading, *lines = of_sweep((control, rows_of(2, pretrained=False)), (scarf, rows), (some_cell(pretrain="vime"), []))

    assert heading == ["pretrain", "trials", *OUTCOMES]
    assert lines == [
        ["none", "2", "0.5050", "–", "", "7", "0.5"],
        ["scarf", "3", "0.5100", f"{low:.4f} to {high:.4f}", "12", "7", "5.2"],
        ["vime", "0", "not finished", "", "", "", ""],
    ]


def test_what_is_equal_everywhere_is_no_column() -> None:
    seeds = [(some_cell(seed=seed), rows_of(3, pretrained=False)) for seed in range(2)]
    assert of_sweep(*seeds)[0] == ["seed", "accuracy", "95 % interval", "finetune epochs", "seconds"]
    assert shared_trials(results_of(*seeds)) == 3
    assert shared_trials(results_of(*seeds, (some_cell(seed=3), rows_of(1)))) is None


@pytest.mark.parametrize("width", [80, 160])
def test_no_name_is_cut_off_on_a_narrow_screen(width: int) -> None:
    names = ["b" * 90 + "1", "b" * 90 + "2"]
    cells = [in_store(some_cell().axes | {"dataset": each}, rows_of(3)) for each in names]
    console = Console(width=width, file=io.StringIO())

    console.print(sweep_table(read_results(cells), ACCURACY))

    folded = console.file.getvalue()  # type: ignore[attr-defined]
    assert max(map(len, folded.splitlines())) <= width
    assert folded.count("0.5100") == 2
    assert folded.count("b") >= 180


def test_many_options_that_vary_share_a_column() -> None:
    """As of a sweep that varies one option after the other: a column each would be a letter wide."""
    usual = some_cell().config.finetune
    changed = [{}, *({name: value} for name, value in CHANGES.items())]
    cells = [some_cell(finetune=replace(usual, **options)) for options in changed]

    heading, _, patient, *_ = of_sweep(*((cell, rows_of(3)) for cell in cells))

    assert heading == ["options", *OUTCOMES]
    assert "finetune.patience=7" in patient[0]
