"""W&B runs: written in one go, each finished before the next is begun. Offline ones use no network."""

import os
import re
import shlex
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..config.schema import LoggerSettings, WandbSettings
from ..errors import UsageError
from .curves import mean_curves
from .view import CellView

if TYPE_CHECKING:
    import pandas as pd
    import wandb

FOLDER = "wandb"
SEARCH = "WANDB_SWEEP_ID"
"""Set where an agent of a W&B sweep started the process. It chose the run's id, and finds the run by it."""
CONNECTED_AFTER = 20.0
"""Seconds that a server may take to answer before a view is given up."""
SENT_WITHIN = {"cell": 60.0, "report": 600.0}
"""Seconds, by what a run is of, that it may take for what is left at the end; W&B's client by itself goes on trying."""


def write(view: CellView, results: Path, settings: LoggerSettings) -> None:
    """Write a cell as one finished run; where it failed, as a failed one.

    A run that the server has already goes on: where its curves are of as many trials they stay as they are, and else
    the curves of all trials stand beside them.

    Raises:
        UsageError: the mode is ``online`` and nobody is logged in.
    """
    if settings.wandb.mode == "disabled":
        return
    import wandb

    described = {"name": view.name, "group": view.group, "tags": view.tags, "config": view.config}
    with open_run(settings.wandb, results, view.id, described, failed=view.failure is not None) as run:
        if view.failure is not None:
            run.notes = view.failure
        shown = run.summary.get("trials") if run.resumed else None  # type: ignore[no-untyped-call]
        curves_of = {} if shown == len(view.trials) else mean_curves(view.curves, per_trial=settings.per_trial)
        for phase, curves in curves_of.items():
            place = phase if shown is None else f"{phase}, {len(view.trials)} trials"
            step = draw_over_epochs(run, place)
            for epoch, values in curves.iterrows():
                run.log({step: epoch} | {f"{place}/{name}": float(value) for name, value in values.dropna().items()})
        if len(view.trials):
            run.log({"trials_table": wandb.Table(columns=list(view.trials.columns), data=_plain(view.trials))})
        run.summary.update(view.summary)


def draw_over_epochs(run: "wandb.Run", place: str) -> str:
    """Make the epochs of a place in a run the axis of its curves, and say what they are called."""
    step = f"{place}/epoch"
    run.define_metric(step, hidden=True)
    run.define_metric(f"{place}/*", step_metric=step)
    return step


@contextmanager
def open_run(
    settings: WandbSettings,
    results: Path,
    id: str,
    described: Mapping[str, Any],
    job: str = "cell",
    *,
    failed: bool = False,
) -> Iterator["wandb.Run"]:
    """A run of its own in ``<results>/wandb``, whatever other run is open; finished when the block is left.

    An offline run of the same id gives way to it; one that the server has is resumed.

    Args:
        settings: mode, project and entity.
        results: the folder of all results.
        id: the run's.
        described: name, group, tags and so on, as ``wandb.init`` takes them.
        job: what it is of, ``cell`` or ``report``.
        failed: whether the run is to be marked so; it is as well when the block raises.

    Raises:
        UsageError: the mode is ``online`` and nobody is logged in, or the server lets nobody in.
        TimeoutError: the server has not taken everything in time.
    """
    with _own_folders(results):
        import wandb

        if settings.mode == "online":
            _log_in()
        for old in (results / FOLDER).glob(f"offline-run-*-{id}"):
            shutil.rmtree(old)
        run = wandb.init(
            project=settings.project,
            entity=settings.entity,
            job_type=job,
            mode="online" if settings.mode == "online" else "offline",
            id=None if SEARCH in os.environ else id,
            resume="allow" if settings.mode == "online" else None,
            dir=results,
            reinit="create_new",
            settings=wandb.Settings(
                silent=True,
                console="off",
                init_timeout=CONNECTED_AFTER,
                finish_timeout=SENT_WITHIN[job],
                finish_timeout_raises=True,
                disable_git=True,
                disable_code=True,
                x_disable_meta=True,
                x_disable_stats=True,
                x_save_requirements=False,  # the store keeps versions
            ),
            **described,
        )
        if run.resumed:  # the client tells the server the axes of this part of the run alone
            for key in dict(run.summary):
                if key.endswith("/epoch"):
                    draw_over_epochs(run, key.removesuffix("/epoch"))
        exit_code = 1
        try:
            yield run
            exit_code = int(failed)
        finally:
            _finish(run, exit_code)


def where(results: Path, settings: WandbSettings, address: str | None) -> str:
    """A sentence on where the runs are, and how they get to the server."""
    if settings.mode == "online":
        return f"The runs are at {address}"
    folder = results.absolute() / FOLDER
    return f"The runs are in {folder}; send them by: wandb sync {shlex.quote(str(folder))}/offline-run-*"


def run_id(text: str) -> str:
    """Text as W&B allows it in an id."""
    return re.sub(r"[^\w.-]+", "-", text)


def _log_in() -> None:
    import wandb

    try:
        is_known = wandb.login(prompt=False)
    except wandb.errors.CommError as error:
        raise UsageError(f"its server does not answer, or refuses the key ({error})") from error
    if not is_known:
        raise UsageError("nobody is logged in; run `wandb login`, or use logger.wandb.mode=offline")


def _finish(run: "wandb.Run", exit_code: int) -> None:
    try:
        run.finish(exit_code=exit_code)
    except TimeoutError as error:
        waited = run.settings.finish_timeout
        raise TimeoutError(f"its server has not taken everything within {waited:g} seconds") from error


@contextmanager
def _own_folders(results: Path) -> Iterator[None]:
    """All files of W&B's beside the results instead of in the home folder, and its error reports sent nowhere."""
    folder = (results / FOLDER).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    chosen = {
        "WANDB_DATA_DIR": str(folder),
        "WANDB_CACHE_DIR": str(folder / "cache"),
        "WANDB_ERROR_REPORTING": "false",
    }
    ours = {name: value for name, value in chosen.items() if name not in os.environ}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name in ours:
            os.environ.pop(name, None)


def _plain(frame: "pd.DataFrame") -> list[Iterable[Any]]:
    """Rows of plain values, None where there is none."""
    return list(frame.astype(object).where(frame.notna(), None).to_numpy())
