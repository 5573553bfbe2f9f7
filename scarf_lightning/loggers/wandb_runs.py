"""W&B runs: each is written from the store in one go, and finished before the next begins. Offline runs use no network.

Only `live_curves` writes while a cell trains.
"""

import os
import re
import shlex
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..options.settings import LoggerSettings, WandbSettings
from ..results import load
from .view import CellView, mean_curves

if TYPE_CHECKING:
    import pandas as pd
    import wandb

FOLDER = "wandb"
SEARCH = "WANDB_SWEEP_ID"
"""Set in processes that an agent of a W&B sweep started. The agent chose the run's id, and finds the run by it."""
CONNECTED_AFTER = 20.0
"""Seconds to wait for the server before a view is given up."""
SENT_WITHIN = {"cell": 60.0, "report": 600.0}
"""Seconds to wait at the end of a run until everything is sent, by its kind. W&B's client would wait for ever."""
SECONDS_BETWEEN = 5.0
"""Between two messages of live curves to W&B's client, which itself sends every fifteen seconds."""

Tell = Callable[[str, Sequence[dict[str, Any]]], None]
"""Given a phase and the records of its latest epoch, one for each trial."""


def write(view: CellView, results: Path, settings: LoggerSettings) -> None:
    """Write a cell as one finished run, or as a failed one.

    A run that the server has already is continued. Its curves stay as they are if they are of as many trials; otherwise
    the curves of all trials are written beside them, for W&B cannot replace a curve.

    Raises:
        UsageError: the mode is ``online`` and nobody is logged in.
    """
    if settings.wandb.mode == "disabled":
        return

    described = {
        "name": view.name,
        "group": view.group,
        "tags": view.tags,
        "config": view.config,
    }
    with open_run(
        settings.wandb, results, view.id, described, failed=view.failure is not None
    ) as run:
        if view.failure is not None:
            run.notes = view.failure
        n_shown = run.summary.get("trials") if run.resumed else None  # type: ignore[no-untyped-call]
        n_trials = len(view.trials)
        # A resumed run may show fewer trials than the cell has by now.
        if n_shown != n_trials:
            for phase, curves in mean_curves(
                view.curves, per_trial=settings.per_trial
            ).items():
                place = phase if n_shown is None else f"{phase}, {n_trials} trials"
                _write_curves(run, place, curves)
        if n_trials:
            run.log({"trials_table": _table(view.trials)})
        run.summary.update(view.summary)


def _write_curves(run: "wandb.Run", place: str, curves: "pd.DataFrame") -> None:
    """Write the curves of a phase under a name, epoch by epoch."""
    step = draw_over_epochs(run, place)
    for epoch, values in curves.iterrows():
        point: dict[str, Any] = {step: epoch}
        for name, value in values.dropna().items():
            point[f"{place}/{name}"] = float(value)
        run.log(point)


def write_report(
    results: Path,
    name: str,
    folder: Path,
    settings: WandbSettings,
    config: Mapping[str, Any],
) -> str | None:
    """Write a report as a run: pictures, tables, pages, and the trials of ``config["cells"]``.

    Returns:
        The address of the run's project; None for an offline run.
    """
    import pandas as pd
    import wandb

    described = {"name": f"report of {name}", "group": name, "config": dict(config)}
    with open_run(
        settings,
        results,
        re.sub(r"[^\w.-]+", "-", f"report-{name}"),
        described,
        "report",
    ) as run:
        for path in sorted(folder.rglob("*.png")):
            run.log({f"figures/{path.stem}": wandb.Image(str(path))})
        for path in sorted(folder.rglob("*.csv")):
            run.log({f"tables/{path.stem}": wandb.Table(dataframe=pd.read_csv(path))})
        # Numbers in the precision of the store, not as they are shown.
        run.log({"tables/trials": _table(load(results, config["cells"]))})
        for path in sorted(folder.rglob("*.html")):
            run.log(
                {
                    f"pages/{path.stem}": wandb.Html(
                        path.read_text(encoding="utf-8"), inject=False
                    )
                }
            )
        return run.project_url


@contextmanager
def live_curves(
    settings: LoggerSettings, results: Path, id: str, name: str, group: str
) -> Iterator[Tell | None]:
    """Show the curves of a cell in W&B while it trains: for each epoch the mean over its trials, under ``live/``.

    Gives a function to call after each epoch; None if the runs are not online, where nobody could look. The run is the
    one that `write` continues at the end. If the server goes away, training goes on: the store has every curve.

    Args:
        settings: which logger, and how.
        results: the folder of all results.
        id, name, group: of the run, as in `CellView`.
    """
    if settings.name not in ("wandb", "both") or settings.wandb.mode != "online":
        yield None
        return
    try:
        opened = open_run(settings.wandb, results, id, {"name": name, "group": group})
        curves = LiveCurves(opened.__enter__())
    except Exception:
        # `write` will meet the same problem and name it.
        yield None
        return
    try:
        yield curves.tell
    finally:
        curves.send()
        with suppress(Exception):
            # The cell is trained; `write` names what is wrong.
            opened.__exit__(None, None, None)


class LiveCurves:
    """Means over trials, sent to a run every few seconds."""

    def __init__(self, run: "wandb.Run") -> None:
        self._run = run
        self._unsent: list[tuple[str, dict[str, float]]] = []
        self._last = time.monotonic()

    def tell(self, phase: str, records: Sequence[dict[str, Any]]) -> None:
        """Take the records of an epoch."""
        place = f"live/{phase}"
        point = {
            f"{place}/epoch": float(records[0]["epoch"]),
            f"{place}/trials_training": float(len(records)),
        }
        for name in records[0]:
            if name not in ("trial", "epoch"):
                point[f"{place}/{name}"] = sum(each[name] for each in records) / len(
                    records
                )
        self._unsent.append((place, point))
        if time.monotonic() - self._last >= SECONDS_BETWEEN:
            self.send()

    def send(self) -> None:
        """Send all epochs that are not sent yet. If the server does not take them, the store still has them."""
        with suppress(Exception):
            for place, values in self._unsent:
                draw_over_epochs(self._run, place)
                self._run.log(values)
        self._unsent, self._last = [], time.monotonic()


def draw_over_epochs(run: "wandb.Run", place: str) -> str:
    """Make the epochs of a place in a run the axis of its curves; returns the name of the epochs."""
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
    """A new run in ``<results>/wandb``, whatever other run is open. It is finished at the end of the block, as failed
    if it ``failed`` or the block raises. It is ``described`` as ``wandb.init`` takes it.

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
                # The store keeps versions.
                x_save_requirements=False,
            ),
            **described,
        )
        if run.resumed:
            # The client forgets the axes that an earlier part of the run defined.
            for key in dict(run.summary):
                if key.endswith("/epoch"):
                    draw_over_epochs(run, key.removesuffix("/epoch"))
        # The run counts as failed unless the block ends.
        exit_code = 1
        try:
            yield run
            exit_code = int(failed)
        finally:
            _finish(run, exit_code)


def where(results: Path, settings: WandbSettings, address: str | None) -> str:
    """A sentence on where the runs are, and how to send offline ones."""
    if settings.mode == "online":
        return f"The runs are at {address}"
    folder = results.absolute() / FOLDER
    return f"The runs are in {folder}; send them by: wandb sync {shlex.quote(str(folder))}/offline-run-*"


def _log_in() -> None:
    """Log in by the key that the user has stored, without asking for one."""
    import wandb

    try:
        is_known = wandb.login(prompt=False)
    except wandb.errors.CommError as error:
        raise UsageError(
            f"its server does not answer, or refuses the key ({error})"
        ) from error
    if not is_known:
        raise UsageError(
            "nobody is logged in; run `wandb login`, or use logger.wandb.mode=offline"
        )


def _finish(run: "wandb.Run", exit_code: int) -> None:
    """Wait until everything is sent, for some time."""
    try:
        run.finish(exit_code=exit_code)
    except TimeoutError as error:
        waited = run.settings.finish_timeout
        raise TimeoutError(
            f"its server has not taken everything within {waited:g} seconds"
        ) from error


@contextmanager
def _own_folders(results: Path) -> Iterator[None]:
    """Keep all files of W&B beside the results instead of in the home folder, and send no error reports."""
    folder = (results / FOLDER).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    chosen = {
        "WANDB_DATA_DIR": str(folder),
        "WANDB_CACHE_DIR": str(folder / "cache"),
        "WANDB_ERROR_REPORTING": "false",
    }
    # What the user has set stays as it is.
    ours = {name: value for name, value in chosen.items() if name not in os.environ}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name in ours:
            os.environ.pop(name, None)


def _table(frame: "pd.DataFrame") -> "wandb.Table":
    """A table of plain values, None for a missing one. W&B takes pandas' missing number for a type of its own."""
    import wandb

    values = frame.astype(object).where(frame.notna(), None)
    return wandb.Table(columns=list(frame.columns), data=list(values.to_numpy()))
