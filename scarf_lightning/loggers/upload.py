"""A whole sweep and its report, made into views again from the store."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..config.naming import told_apart
from ..config.schema import LoggerSettings
from ..results import load, load_cell
from .view import cell_view, described_overrides
from .wandb_runs import open_run, run_id, where
from .writing import write_views

Say = Callable[[str], None]


def upload_sweep(
    results: str | Path,
    cells: Sequence[str],
    name: str,
    report_folder: str | Path | None,
    settings: LoggerSettings,
    config: Mapping[str, Any] | None = None,
    say: Say = lambda _: None,
) -> list[str]:
    """A run a cell, and one of the report: every picture, table and page in its folder, and all trials.

    Args:
        results: the folder of all results.
        cells: fingerprints of the sweep's cells; those that the store does not have yet are passed over.
        name: the sweep's, which groups the runs.
        report_folder: where the report was written; None leaves it out.
        settings: which logger; the report is shown by W&B alone.
        config: what the report was made with.
        say: told how far it is, and at the end where the runs are.

    Returns:
        A sentence on each view that could not be written.
    """
    problems: list[str] = []
    known = [cell for cell in cells if (Path(results) / cell / "cell.json").exists()]
    asked = [described_overrides(load_cell(fingerprint, results)) for fingerprint in known]
    for number, (fingerprint, called) in enumerate(zip(known, told_apart(asked) if asked else (), strict=True), 1):
        say(f"{number} of {len(known)} cells: {called}")
        problems += write_views(cell_view(fingerprint, results, group=name, name=called), results, settings)
    if settings.name not in ("wandb", "both") or settings.wandb.mode == "disabled":
        return problems
    address = None
    if report_folder is not None:
        say("the report")
        described = dict(config or {}) | {"cells": known}
        try:
            address = _upload_report(Path(results), known, name, Path(report_folder), settings, described)
        except Exception as error:
            problems.append(f"The report of {name} is not in W&B: {' '.join(str(error).split()).removesuffix('.')}.")
    if settings.wandb.mode == "offline" or address:
        say(where(Path(results), settings.wandb, address))
    return problems


def _upload_report(
    results: Path, cells: Sequence[str], name: str, folder: Path, settings: LoggerSettings, config: Mapping[str, Any]
) -> str | None:
    """The address of the project that the run is in; None of an offline one."""
    import pandas as pd
    import wandb

    described = {"name": f"report of {name}", "group": name, "config": dict(config)}
    with open_run(settings.wandb, results, run_id(f"report-{name}"), described, "report") as run:
        for path in sorted(folder.rglob("*.png")):
            run.log({f"figures/{path.stem}": wandb.Image(str(path))})
        for path in sorted(folder.rglob("*.csv")):
            run.log({f"tables/{path.stem}": wandb.Table(dataframe=pd.read_csv(path))})
        trials = load(results)
        run.log({"tables/trials": wandb.Table(dataframe=trials[trials["fingerprint"].isin(cells)])})
        for path in sorted(folder.rglob("*.html")):
            run.log({f"pages/{path.stem}": wandb.Html(path.read_text(encoding="utf-8"), inject=False)})
        return run.project_url
