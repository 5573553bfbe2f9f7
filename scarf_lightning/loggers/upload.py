"""A whole sweep and its report, made into views again from the store."""

from collections.abc import Sequence
from pathlib import Path

from ..config.schema import LoggerSettings
from .view import cell_view
from .wandb_runs import open_run, run_id
from .writing import write_views


def upload_sweep(
    results: str | Path, cells: Sequence[str], name: str, report_folder: str | Path | None, settings: LoggerSettings
) -> list[str]:
    """A run a cell, and one of the report: every picture, table and page in its folder.

    Args:
        results: the folder of all results.
        cells: fingerprints of the sweep's cells; those that the store does not have yet are passed over.
        name: the sweep's, which groups the runs.
        report_folder: where the report was written; None leaves it out.
        settings: which logger; the report is shown by W&B alone.

    Returns:
        A sentence on each view that could not be written.
    """
    problems = []
    known = [cell for cell in cells if (Path(results) / cell / "cell.json").exists()]
    for fingerprint in known:
        problems += write_views(cell_view(fingerprint, results, group=name), results, settings)
    if report_folder is not None and settings.name in ("wandb", "both") and settings.wandb.mode != "disabled":
        try:
            _upload_report(Path(results), name, Path(report_folder), settings)
        except Exception as error:
            problems.append(f"The report of {name} is not in W&B: {' '.join(str(error).split()).removesuffix('.')}.")
    return problems


def _upload_report(results: Path, name: str, folder: Path, settings: LoggerSettings) -> None:
    import pandas as pd
    import wandb

    described = {"name": f"report of {name}", "group": name, "job_type": "report"}
    with open_run(settings.wandb, results, run_id(f"report-{name}"), described) as run:
        for path in sorted(folder.rglob("*.png")):
            run.log({f"figures/{path.stem}": wandb.Image(str(path))})
        for path in sorted(folder.rglob("*.csv")):
            run.log({f"tables/{path.stem}": wandb.Table(dataframe=pd.read_csv(path))})
        for path in sorted(folder.rglob("*.html")):
            run.log({f"pages/{path.stem}": wandb.Html(path.read_text(encoding="utf-8"), inject=False)})
