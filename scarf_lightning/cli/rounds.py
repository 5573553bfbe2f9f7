"""A sweep that goes on until its question is answered or its time is over."""

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import UnfinishedError
from ..screen import reported_once
from ..sweeping.cell import Cell, SurveyedCell, distinct, named, survey
from ..sweeping.chunks import Launch
from ..sweeping.expand import ExpandedSweep
from ..sweeping.folders import SWEEPS
from ..sweeping.plan import Plan
from ..sweeping.run import Show, run
from ..sweeping.sweep_file import read_sweep
from .signals import OutOfTime, alarm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..data.table import Table


class SoFar:
    """Shows a round as another one does, and of its results the answer alone."""

    def __init__(self, show: Show) -> None:
        self._show = show

    def say(self, sentence: str) -> None:
        self._show.say(sentence)

    def doing(self, what: str) -> AbstractContextManager[object]:
        return self._show.doing(what)

    def plan(self, plan: Plan, request: ExpandedSweep, tables: "Mapping[str, Table]") -> None:
        self._show.plan(plan, request, tables)

    def watching(self, plan: Plan) -> AbstractContextManager[None]:
        return self._show.watching(plan)

    def results(self, surveyed: Sequence[SurveyedCell], request: ExpandedSweep, n_skipped: int) -> None:
        from ..report.ending import compared  # imports pandas

        if (said := compared(request, surveyed).in_words) and n_skipped < len(surveyed):
            self._show.say(f"So far: {' '.join(said)}")


def run_all(request: ExpandedSweep, launch: Launch, show: Show, launcher: str = "basic") -> list[SurveyedCell]:
    """Run a sweep, in rounds where its file says so. When its time is over, what is finished is shown.

    Args:
        request, launch, show, launcher: as of `scarf_lightning.sweeping.run.run`.

    Raises:
        UsageError: a part of a cell is wrong; nothing has been trained.
        UnfinishedError: cells failed, or a job did; or the time is over, of a sweep without rounds.
    """
    options = request.cells[0].config
    rounds = request.sweep.rounds if request.sweep is not None else []
    in_rounds = len(rounds) > 1 and not options.plan and not options.force
    left = _Left(options.seconds_limit)
    over = f"time_limit={options.time_limit} is over; the same command goes on."
    try:
        if not in_rounds:
            with left.alarm():
                return run(request, launch, show, launcher)
        return _in_rounds(request, rounds, launch, show, launcher, left)
    except OutOfTime:
        surveyed = survey(named(distinct(as_far_as_trained(request.cells) if in_rounds else request.cells)))
        show.results(surveyed, request, 0)
        if not in_rounds:
            raise UnfinishedError(over) from None
        show.say(over)
        return surveyed


class _Left:
    """What is left of the time."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds

    def alarm(self) -> AbstractContextManager[None]:
        return alarm(None if self._end is None else self._end - time.monotonic())


def _in_rounds(
    request: ExpandedSweep, rounds: Sequence[int], launch: Launch, show: Show, launcher: str, left: _Left
) -> list[SurveyedCell]:
    from ..report.ending import compared

    for name, other in request.sweep.replaced.items() if request.sweep is not None else ():
        show.say(f"The package {name} is not installed, so method={other} takes its place.")
    asked = request.cells[0].config.trials
    rounds = [asked, *(n for n in rounds if n > asked)] if not _sets_trials(request) else [asked]
    with left.alarm(), reported_once():
        everything = [cell for cell in request.cells if cell.config.regime["name"] == "full"]
        if everything:  # the first cells tell how many labels there are
            run(replace(request, cells=everything), launch, SoFar(show), launcher)
        cells, reasons = that_fit(request.cells)
        for reason in reasons:
            show.say(reason)
        for n, is_last in zip(rounds, [*[False] * (len(rounds) - 1), True], strict=True):
            surveyed = run(replace(request, cells=cells), launch, SoFar(show), launcher)
            undecided = compared(request, surveyed).undecided
            if is_last or not undecided:
                break
            following = rounds[rounds.index(n) + 1]
            cells = [_with_trials(each, following) if each.key in undecided else each for each in cells]
    show.results(surveyed, request, 0)
    return surveyed


def goes_in_rounds(arguments: Sequence[str]) -> bool:
    """Whether a command line trains in rounds, which end with a page."""
    names = [argument.partition("=")[2] for argument in arguments if argument.startswith("sweeps=")]
    return bool(names) and "plan=true" not in arguments and len(read_sweep(names[-1], SWEEPS).rounds) > 1


def as_far_as_trained(cells: Sequence[Cell]) -> list[Cell]:
    """The cells that fit, each with as many trials as it has, at least those that were asked for."""
    return [_with_trials(cell, _most(cell)) for cell in that_fit(cells)[0]]


def that_fit(cells: Sequence[Cell]) -> tuple[list[Cell], list[str]]:
    """The cells that have enough labels, by those of finished cells on the same data; and a sentence on the others."""
    known: dict[str, int] = {}
    for each in survey([cell for cell in cells if cell.config.regime["name"] == "full"]):
        if each.rows:
            known[each.cell.source.key] = int(min(row["n_labelled"] for row in each.rows))
    fitting, too_many = [], dict[tuple[str, int], list[float]]()
    for cell in cells:
        wanted, most = cell.config.regime.get("labels", 0), known.get(cell.source.key)
        if most is not None and wanted >= most:
            too_many.setdefault((str(cell.axes()["dataset"]), most), []).append(wanted)
        else:
            fitting.append(cell)
    said = [
        f"Left out: {', '.join(f'{n:g}' for n in dict.fromkeys(numbers))} labels; {name} has {most} to train with."
        for (name, most), numbers in too_many.items()
    ]
    return fitting, said


def _sets_trials(request: ExpandedSweep) -> bool:
    return any(argument.partition("=")[0] == "trials" for argument in request.arguments)


def _with_trials(cell: Cell, trials: int) -> Cell:
    others = (override for override in cell.overrides if override.partition("=")[0] != "trials")
    return replace(cell, config=replace(cell.config, trials=trials), overrides=(*others, f"trials={trials}"))


def _most(cell: Cell) -> int:
    """How many trials of a cell are finished, at least those that were asked for."""
    store = cell.store()
    return max(cell.config.trials, len(store.rows()) if store is not None else 0)
