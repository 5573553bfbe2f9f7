"""W&B runs, each of which is opened, written and finished in one way. Offline runs use no network."""

import hashlib
import os
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytorch_lightning.loggers import WandbLogger

from ..errors import UsageError
from ..options.run_settings import WandbSettings
from .places import SUMMARY, own_environment, shortened
from .view import CellView, plain_table

if TYPE_CHECKING:
    import pandas as pd
    import wandb

FOLDER = "wandb"
SEARCH = "WANDB_SWEEP_ID"
"""Set in processes that an agent of a W&B sweep started. The agent chose the run's id, and finds the run by it."""
CONNECTED_AFTER = 20.0
"""Seconds to wait for the server before a view is given up."""
SENT_WITHIN = 60.0
"""Seconds to wait at the end of a run until everything is sent. W&B's client would wait for ever."""


class RunLogger(WandbLogger):
    """Lightning's logger of a run that is open. It draws the curves of each place over its epochs.

    A run that the server has already is continued. Its curves stay as they are if they are of as many trials; otherwise
    the curves of all trials are written beside them, for W&B cannot replace a curve.

    Args:
        run: the run.
        n_trials: of the cell whose curves are written; None writes them whatever the server has.
    """

    def __init__(self, run: "wandb.Run", n_trials: int | None = None) -> None:
        super().__init__(experiment=run)
        self._run, self._drawn = run, set[str]()
        self._n_trials = n_trials
        self._n_shown = None
        if n_trials is not None and run.resumed:
            self._n_shown = run.summary.get("trials")  # type: ignore[no-untyped-call]

    @property
    def experiment(self) -> "wandb.Run":
        """The run."""
        return self._run

    def log_metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        """Log metrics of one place, such as ``pretrain/validation_loss_mean``, in an epoch. Those of the summary become
        the run's, and without an epoch anything that W&B shows is logged as it is."""
        if step is None:
            self._run.log(dict(metrics))
            return
        place = next(iter(metrics)).rpartition("/")[0]
        values = {name.rpartition("/")[2]: value for name, value in metrics.items()}
        if place == SUMMARY:
            self._run.summary.update(values)
            return
        if self._n_shown is not None:
            # A resumed run may show fewer trials than the cell has by now.
            if self._n_shown == self._n_trials:
                return
            place = f"{place}, {self._n_trials} trials"
        if place not in self._drawn:
            self._drawn.add(place)
            draw_over_epochs(self._run, place)
        point = {f"{place}/{name}": value for name, value in values.items()}
        self._run.log({f"{place}/epoch": step} | point)

    def log_page(self, folder: Path) -> None:
        """Keep a page with its files as an artifact, and show its figures."""
        import wandb

        artifact = wandb.Artifact(f"page-{self._run.id}", type="report")
        # `add_dir` would print what it does.
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                artifact.add_file(str(path), name=str(path.relative_to(folder)))
        self._run.log_artifact(artifact)
        figures = {f"figures/{path.stem}": wandb.Image(str(path)) for path in sorted(folder.glob("figures/*.png"))}
        if figures:
            self._run.log(figures)


@contextmanager
def opened(view: CellView, results: Path, settings: WandbSettings) -> Iterator[RunLogger]:
    """The run of a cell, which is finished at the end of the block, or has failed with the cell."""
    described: dict[str, Any] = {"name": view.name, "group": view.group, "tags": view.tags}
    if view.failure is not None:
        described["notes"] = view.failure
    is_failed = view.failure is not None
    with open_run(settings, results, view.id, described, n_trials=len(view.trials), failed=is_failed) as logger:
        yield logger


def write_sweep(
    settings: WandbSettings,
    results: Path,
    fingerprints: Collection[str],
    group: str,
    sentences: Sequence[str],
    *,
    command: str,
    tables: "Mapping[str, pd.DataFrame]",
    page: Path,
) -> None:
    """Write the run of a sweep: its answer in sentences, tables, and the page with its figures.

    Args:
        settings, results: as of `open_run`.
        fingerprints: of its cells; the run of the same cells is replaced.
        group: of the runs of its cells.
        sentences: the answer.
        command: that trained it.
        tables: by name.
        page: the folder of the page.
    """
    described = {"name": f"{group}: the answer", "group": group, "notes": "\n".join(sentences)}
    with open_run(settings, results, id_of_sweep(fingerprints), described, job="sweep") as logger:
        logger.log_hyperparams({"command": command, "cells": len(fingerprints)})
        logger.experiment.summary.update({"answer": sentences[0]})
        for name, frame in tables.items():
            logger.log_table(name, *plain_table(frame))
        logger.log_page(page)


def id_of_sweep(fingerprints: Collection[str]) -> str:
    """The id of the run of a sweep of these cells."""
    return f"sweep-{hashlib.sha256(' '.join(sorted(fingerprints)).encode()).hexdigest()[:12]}"


def is_written(results: Path, id: str) -> bool:
    """True if a run of this id was written on this machine."""
    return any((results / FOLDER).glob(f"*run-*-{id}"))


def draw_over_epochs(run: "wandb.Run", place: str) -> None:
    """Make the epochs of a place in a run the axis of its curves."""
    step = f"{place}/epoch"
    run.define_metric(step, hidden=True)
    run.define_metric(f"{place}/*", step_metric=step)


@contextmanager
def open_run(
    settings: WandbSettings,
    results: Path,
    id: str,
    described: Mapping[str, Any],
    *,
    job: str = "cell",
    n_trials: int | None = None,
    failed: bool = False,
) -> Iterator[RunLogger]:
    """A new run in ``<results>/wandb``, whatever other run is open. It is finished at the end of the block, as failed
    if it ``failed`` or the block raises. It is ``described`` as ``wandb.init`` takes it, and its type is the ``job``;
    ``n_trials`` is as of `RunLogger`.

    An offline run of the same id is replaced; a run that the server has is resumed.

    Raises:
        UsageError: the mode is ``online`` and nobody is logged in, or the server refuses the login.
        TimeoutError: the server has not taken everything in time.
    """
    with _own_folders(results):
        import wandb

        if settings.mode == "online":
            _log_in()
        # An offline run of a cell would be sent beside its later one.
        for old in (results / FOLDER).glob(f"offline-run-*-{id}"):
            shutil.rmtree(old)
        named = {option: shortened(described[option], id) for option in ("name", "group")}
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
                finish_timeout=SENT_WITHIN,
                finish_timeout_raises=True,
                disable_git=True,
                disable_code=True,
                x_disable_meta=True,
                x_disable_stats=True,
                # The store keeps versions.
                x_save_requirements=False,
            ),
            **{**described, **named},
        )
        if run.resumed:
            # The client forgets the axes that an earlier part of the run defined.
            for key in dict(run.summary):
                if key.endswith("/epoch"):
                    draw_over_epochs(run, key.removesuffix("/epoch"))
        # The run counts as failed unless the block ends.
        exit_code = 1
        try:
            yield RunLogger(run, n_trials)
            exit_code = int(failed)
        finally:
            _finish(run, exit_code)


def _log_in() -> None:
    """Log in by the key that the user has stored, without asking for one."""
    import wandb

    try:
        is_known = wandb.login(prompt=False)
    except wandb.errors.CommError as error:
        raise UsageError(f"its server does not answer, or refuses the key ({error})") from error
    if not is_known:
        raise UsageError("nobody is logged in; run `wandb login`, or use logger.wandb.mode=offline")


def _finish(run: "wandb.Run", exit_code: int) -> None:
    """Wait until everything is sent, for some time."""
    try:
        run.finish(exit_code=exit_code)
    except TimeoutError as error:
        waited = run.settings.finish_timeout
        raise TimeoutError(f"its server has not taken everything within {waited:g} seconds") from error


@contextmanager
def _own_folders(results: Path) -> Iterator[None]:
    """Keep all files of W&B beside the results instead of in the home folder, and send no error reports."""
    folder = (results / FOLDER).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    with own_environment(
        WANDB_DATA_DIR=str(folder), WANDB_CACHE_DIR=str(folder / "cache"), WANDB_ERROR_REPORTING="false"
    ):
        yield
