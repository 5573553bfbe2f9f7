"""Run the cells that are not finished, and show all of them."""

import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.launcher import Launcher

from ..config import Config
from ..console.screen import screen
from ..console.tables import cell_table, describe, shared_axes, sweep_table
from ..data.sources import Source, open_source
from ..errors import UsageError
from ..results import CellStore, axis_columns, fingerprint, identity, remembered_hash
from .expand import Cell


def run(cells: Sequence[Cell], launcher: Launcher) -> int:
    """Launch a job for each cell that is not finished, print what came out, and return the exit status."""
    ordered = _distinct(cells)
    waiting = [cell for cell in ordered if not _is_finished(cell.config)]
    if waiting:
        _check_parts(waiting)
        jobs = launcher.launch([list(cell.overrides) for cell in waiting], initial_job_idx=0)
    else:
        jobs = []
    _show(ordered, n_skipped=len(ordered) - len(waiting))
    failures = [
        _failure(cell, job) for cell, job in zip(waiting, jobs, strict=True) if job.status != JobStatus.COMPLETED
    ]
    for failure in failures:
        print(failure, file=sys.stderr)  # noqa: T201 - a traceback keeps its own lines
    return 1 if failures else 0


def _distinct(cells: Sequence[Cell]) -> list[Cell]:
    """Equal cells count once, with the largest number of trials that is asked of them."""
    found: dict[tuple[str, str], Cell] = {}
    for cell in cells:
        key = (cell.config.paths.results, _key(cell.config))
        if key not in found or cell.config.trials > found[key].config.trials:
            found[key] = cell
    return list(found.values())


def _check_parts(cells: Sequence[Cell]) -> None:
    """Construct what each cell names, and look at its data from outside, before the first one trains."""
    from ..config import build_parts

    problems = []
    for cell in cells:
        try:
            build_parts(cell.config)
            _source(cell.config).check()
        except UsageError as error:
            problems.append(str(error))
    if problems:
        raise UsageError("\n".join(dict.fromkeys(problems)))


def _source(config: Config) -> Source:
    return open_source(**vars(config.dataset), openml_cache=config.paths.openml)


def _key(config: Config) -> str:
    """Equal for equal cells, before their data are known."""
    return fingerprint(identity(config, _source(config).key))


def _store(config: Config) -> CellStore | None:
    """Where a cell's results are; None while its data's hash is not known, and so nothing is finished."""
    results = Path(config.paths.results)
    data_hash = remembered_hash(results, _source(config))
    return None if data_hash is None else CellStore(results, identity(config, data_hash))


def _is_finished(config: Config) -> bool:
    store = _store(config)
    return store is not None and not store.missing(range(config.trials))


def _show(cells: Sequence[Cell], *, n_skipped: int) -> None:
    console = screen()
    if len(cells) > 1:
        shown = [(_axes(cell.config), _rows(cell.config)) for cell in cells]
        console.print(f"{len(cells)} cells of {describe(shared_axes([axes for axes, _ in shown]))}")
        console.print(sweep_table(shown))
        if n_skipped:
            console.print(f"{n_skipped} of {len(cells)} cells were finished already.")
    elif n_skipped:
        console.print(f"{describe(_axes(cells[0].config))} (finished already)")
        console.print(cell_table(_rows(cells[0].config)))
    results = Path(cells[0].config.paths.results)
    if results.exists():
        console.print(f"Results are in {results.absolute()}", soft_wrap=True)


def _rows(config: Config) -> list[dict[str, Any]]:
    store = _store(config)
    return [] if store is None else store.rows(range(config.trials))


def _axes(config: Config) -> dict[str, Any]:
    return {"dataset": config.dataset.name or _source(config).label} | axis_columns(identity(config, ""))


def _failure(cell: Cell, job: JobReturn) -> str:
    error = job._return_value  # the property of that name prints a line of its own before it raises
    if isinstance(error, UsageError):
        return f"{cell.label}: {error}"
    if isinstance(error, Exception):
        return f"{cell.label} failed:\n{''.join(traceback.format_exception(error))}"
    return f"{cell.label} did not finish."
