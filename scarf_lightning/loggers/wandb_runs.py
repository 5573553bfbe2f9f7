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

    described = {"name": view.name, "group": view.group, "tags": view.tags, "config": view.config, "job_type": "cell"}
    with open_run(settings.wandb, results, view.id, described, failed=view.failure is not None) as run:
        if view.failure is not None:
            run.notes = view.failure
        shown = run.summary.get("trials") if run.resumed else None  # type: ignore[no-untyped-call]
        curves_of = {} if shown == len(view.trials) else mean_curves(view.curves, per_trial=settings.per_trial)
        for phase, curves in curves_of.items():
            place = phase if shown is None else f"{phase}, {len(view.trials)} trials"
            step = f"{place}/epoch"
            run.define_metric(step, hidden=True)
            run.define_metric(f"{place}/*", step_metric=step)
            for epoch, values in curves.iterrows():
                run.log({step: epoch} | {f"{place}/{name}": float(value) for name, value in values.dropna().items()})
        if len(view.trials):
            run.log({"trials_table": wandb.Table(columns=list(view.trials.columns), data=_plain(view.trials))})
        run.summary.update(view.summary)


@contextmanager
def open_run(
    settings: WandbSettings, results: Path, id: str, described: Mapping[str, Any], *, failed: bool = False
) -> Iterator["wandb.Run"]:
    """A run of its own in ``<results>/wandb``, whatever other run is open; finished when the block is left.

    An offline run of the same id gives way to it; one that the server has is resumed.

    Args:
        settings: mode, project and entity.
        results: the folder of all results.
        id: the run's.
        described: name, group, tags and so on, as ``wandb.init`` takes them.
        failed: whether the run is to be marked so; it is as well when the block raises.

    Raises:
        UsageError: the mode is ``online`` and nobody is logged in.
    """
    with _own_folders(results):
        import wandb

        if settings.mode == "online" and not wandb.login(prompt=False):
            raise UsageError("nobody is logged in; run `wandb login`, or use logger.wandb.mode=offline")
        for old in (results / FOLDER).glob(f"offline-run-*-{id}"):
            shutil.rmtree(old)
        run = wandb.init(
            project=settings.project,
            entity=settings.entity,
            mode="online" if settings.mode == "online" else "offline",
            id=None if SEARCH in os.environ else id,
            resume="allow" if settings.mode == "online" else None,
            dir=results,
            reinit="create_new",
            settings=wandb.Settings(
                silent=True,
                console="off",
                init_timeout=CONNECTED_AFTER,
                disable_git=True,
                disable_code=True,
                x_disable_meta=True,
                x_disable_stats=True,
                x_save_requirements=False,  # the store keeps versions
            ),
            **described,
        )
        exit_code = 1
        try:
            yield run
            exit_code = int(failed)
        finally:
            run.finish(exit_code=exit_code)


def where(results: Path, settings: WandbSettings, address: str | None) -> str:
    """A sentence on where the runs are, and how they get to the server."""
    if settings.mode == "online":
        return f"The runs are at {address}"
    folder = results.absolute() / FOLDER
    return f"The runs are in {folder}; send them by: wandb sync {shlex.quote(str(folder))}/offline-run-*"


def run_id(text: str) -> str:
    """Text as W&B allows it in an id."""
    return re.sub(r"[^\w.-]+", "-", text)


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
