"""Views are written from the store: when a cell ends, or at any later time.

A view that cannot be written loses nothing, for the store has everything that it shows.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..options.axes import told_apart
from ..options.settings import LoggerSettings
from ..results import load_cell
from . import tensorboard, wandb_runs
from .view import CellView, cell_view


def write_views(
    view: CellView, results: str | Path, settings: LoggerSettings
) -> list[str]:
    """Write the views of a cell that the settings ask for to ``<results>/wandb`` and ``<results>/tensorboard``.

    Returns:
        A sentence on each view that could not be written, with the reason.
    """
    problems = []
    for name, label, write in (
        ("wandb", "W&B", wandb_runs.write),
        ("tensorboard", "TensorBoard", tensorboard.write),
    ):
        if settings.name not in (name, "both"):
            continue
        # A view shows what the store has, so that nothing is lost if it cannot be written, for whatever reason.
        try:
            write(view, Path(results), settings)
        except Exception as error:
            problems.append(
                f"{view.name} ({view.id}) is not in {label}: {_reason(error)}."
            )
    return problems


def upload_sweep(
    results: str | Path,
    cells: Sequence[str],
    name: str,
    report_folder: str | Path | None,
    settings: LoggerSettings,
    config: Mapping[str, Any] | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> list[str]:
    """Write a run for each cell, and one for the report: its pictures, tables and pages, and all trials.

    Args:
        results: the folder of all results.
        cells: fingerprints of the sweep's cells; cells that the store does not have yet are passed over.
        name: of the sweep, which is the group of the runs.
        report_folder: where the report is; None leaves it out.
        settings: which views, and how; only W&B shows the report.
        config: what the report was made with.
        say: called with sentences on the progress, and at the end on where the runs are.

    Returns:
        A sentence on each view that could not be written.
    """
    results = Path(results)
    problems: list[str] = []
    known = [cell for cell in cells if (results / cell / "cell.json").exists()]
    overrides = []
    for fingerprint in known:
        description = load_cell(fingerprint, results).description
        overrides.append(description["overrides"])
    # What tells a cell apart can be said of several cells alone.
    names = told_apart(overrides) if overrides else ()
    for number, (fingerprint, called) in enumerate(
        zip(known, names, strict=True), start=1
    ):
        say(f"{number} of {len(known)} cells: {called}")
        view = cell_view(fingerprint, results, group=name, name=called)
        problems += write_views(view, results, settings)
    if settings.name not in ("wandb", "both") or settings.wandb.mode == "disabled":
        return problems
    address = None
    if report_folder is not None:
        say("the report")
        described = dict(config or {}) | {"cells": known}
        try:
            address = wandb_runs.write_report(
                results, name, Path(report_folder), settings.wandb, described
            )
        # As with a cell: the report is on the disk, whatever W&B answers.
        except Exception as error:
            problems.append(f"The report of {name} is not in W&B: {_reason(error)}.")
    if settings.wandb.mode == "offline" or address:
        say(wandb_runs.where(results, settings.wandb, address))
    return problems


def _reason(error: Exception) -> str:
    """The message of an error in one line, without a full stop."""
    words = " ".join(str(error).split())
    return words.removesuffix(".") or type(error).__name__
