"""Levels that a terminal shows are those of the report."""

from dataclasses import replace
from pathlib import Path

import pytest

from scarf_lightning import reporting
from scarf_lightning.cli.tables import cell_table
from scarf_lightning.metrics import metric_named
from scarf_lightning.reporting.cell_results import cells_of_folder, read_results
from scarf_lightning.reporting.levels import level_of, levelled, trials_of
from scarf_lightning.results import Rows, read_cell
from tests.reporting.store import fill_store

ACCURACY, AUROC = metric_named("accuracy"), metric_named("auroc")


def filled(results: Path, *, keeps_predictions: bool) -> tuple[Path, Rows]:
    """The folder of a cell of four trials, and its rows."""
    fill_store(results, datasets=1, trials=4, pretrains=("none",), keeps_predictions=keeps_predictions)
    (folder,) = (path.parent for path in results.glob("*/cell.json"))
    stored = read_cell(folder)
    return folder, Rows.of([stored.rows[trial] for trial in sorted(stored.rows)])


def test_levels_from_predictions_are_those_of_the_report_and_a_terminal_shows_them(tmp_path: Path) -> None:
    folder, rows = filled(tmp_path, keeps_predictions=True)
    with_levels = levelled(folder, rows)
    levels = with_levels.levels

    cells, *_ = cells_of_folder(tmp_path)
    results = read_results(cells)
    intervals = list(cell_table({}, with_levels).columns[2].cells)

    for metric in (ACCURACY, AUROC):
        assert levels[metric.name][1:] == pytest.approx(level_of(results, 0, metric)[1:])
    _, low, high = levels["accuracy"]
    assert intervals[0] == f"{low:.4f} to {high:.4f}"


def test_cells_without_predictions_have_none(tmp_path: Path) -> None:
    folder, rows = filled(tmp_path, keeps_predictions=False)

    assert levelled(folder, rows).levels == {}


def test_predictions_that_the_table_of_a_run_has_read_are_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, rows = filled(tmp_path, keeps_predictions=True)
    with_levels = levelled(folder, rows)
    (cell, *_), *_ = cells_of_folder(tmp_path)
    read_again = trials_of(read_results([cell]), 0, ACCURACY)
    monkeypatch.setattr(reporting.levels, "read_predictions", None)

    found = trials_of(read_results([replace(cell, rows=with_levels)]), 0, ACCURACY)

    assert found is with_levels.trials["accuracy"]
    assert found.values == read_again.values
    assert found.level(ACCURACY) == read_again.level(ACCURACY)
