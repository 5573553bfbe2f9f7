"""A sweep that goes on until its question is answered or its time is over."""

from collections.abc import Sequence
from dataclasses import replace

from ..errors import UnfinishedError
from ..options import unused_options
from ..screen import reported_once
from ..sweeping.cell import Cell, State, SurveyedCell, distinct, named, survey
from ..sweeping.chunks import Launch
from ..sweeping.expand import ExpandedSweep
from ..sweeping.folders import SWEEPS, read_sweep
from ..sweeping.plan import about, make_plan
from ..sweeping.run import read_files, run, sizes_of
from .show import Terminal
from .signals import OutOfTime, alarm

SURELY = 0.5
"""The share of a table's labelled rows that any split gives to training."""


class SoFar(Terminal):
    """Shows a round of a sweep: of its results the answer alone."""

    def results(self, surveyed: Sequence[SurveyedCell], request: ExpandedSweep, n_skipped: int) -> None:
        from ..report.ending import compared  # imports pandas

        if (said := compared(request, surveyed).in_words) and n_skipped < len(surveyed):
            self.say(f"So far: {' '.join(said)}")


def run_all(request: ExpandedSweep, launch: Launch, launcher: str = "basic") -> list[SurveyedCell]:
    """Like `scarf_lightning.sweeping.run.run`, in rounds where the file of the sweep says so. When its time is over,
    what is finished is shown.

    Raises:
        UsageError: a part of a cell is wrong; nothing has been trained.
        UnfinishedError: cells failed, or a job did; or the time is over, of a sweep without rounds.
    """
    options = request.cells[0].config
    rounds = request.sweep.rounds if request.sweep is not None else []
    in_rounds = len(rounds) > 1 and not options.plan and not options.force
    over = f"time_limit={options.time_limit} is over; the same command goes on."
    try:
        if not in_rounds:
            with alarm(options.seconds_limit):
                return run(request, launch, Terminal(), launcher)
        return _in_rounds(request, rounds, launch, launcher)
    except OutOfTime:
        surveyed = survey(named(distinct(as_far_as_trained(request.cells) if in_rounds else request.cells)))
        Terminal().results(surveyed, request, 0)
        if not in_rounds:
            raise UnfinishedError(over) from None
        Terminal().say(over)
        return surveyed


def _in_rounds(request: ExpandedSweep, rounds: Sequence[int], launch: Launch, launcher: str) -> list[SurveyedCell]:
    from ..report.ending import compared

    for name, other in request.sweep.replaced.items() if request.sweep is not None else ():
        Terminal().say(f"The package {name} is not installed, so method={other} takes its place.")
    asked = request.cells[0].config.trials
    sets_trials = any(argument.startswith("trials=") for argument in request.arguments)
    rounds = [asked] if sets_trials else [asked, *(n for n in rounds if n > asked)]
    with alarm(request.cells[0].config.seconds_limit), reported_once():
        everything = [cell for cell in request.cells if cell.config.regime["name"] == "full"]
        if quick := _that_comes_first(request.cells, everything):
            run(replace(request, cells=quick), launch, SoFar(), launcher)
        if everything:  # the first cells tell how many labels there are
            run(replace(request, cells=everything), launch, SoFar(), launcher)
        cells, reasons = that_fit(request.cells)
        for reason in reasons:
            Terminal().say(reason)
        for n, is_last in zip(rounds, [*[False] * (len(rounds) - 1), True], strict=True):
            surveyed = run(replace(request, cells=cells), launch, SoFar(), launcher)
            undecided = compared(request, surveyed).undecided
            if is_last or not undecided:
                break
            following = rounds[rounds.index(n) + 1]
            cells = [_with_trials(each, following) if each.key in undecided else each for each in cells]
    Terminal().results(surveyed, request, 0)
    return surveyed


def _that_comes_first(cells: Sequence[Cell], everything: Sequence[Cell]) -> list[Cell]:
    """What is trained before ``everything``, the cells with all labels, where these alone are expected to take longer
    than the time limit: the cells with few labels and without pre-training, those without a network first, because a
    network is validated on a tenth of the rows however few labels there are. None where the size of a table is not
    known before it is loaded."""
    limit, surveyed = cells[0].config.seconds_limit, survey(everything)
    if limit is None or all(each.state is State.FINISHED for each in surveyed):
        return []  # no file is read where nothing is left
    tables = read_files(cells)
    plan = make_plan(surveyed, sizes_of(tables))
    if plan.seconds <= limit or not all(cell.source.key in tables for cell in cells):
        return []
    Terminal().say(
        f"Training with all labels is expected to take about {about(plan.seconds)} on one core, longer than "
        f"time_limit={cells[0].config.time_limit}, so few labels without pre-training come first. Allow more time, or "
        "give a file with fewer rows."
    )
    n_labelled = {key: table.n_rows - table.n_unlabelled for key, table in tables.items()}
    few = [cell for cell in cells if cell.pretraining_key is None and "labels" in cell.config.regime]
    few = [cell for cell in few if cell.config.regime["labels"] < SURELY * n_labelled[cell.source.key]]
    return sorted(few, key=lambda cell: "network" not in unused_options(cell.config))


def goes_in_rounds(arguments: Sequence[str]) -> bool:
    """Whether a command line trains in rounds, which end with a page."""
    names = [argument.partition("=")[2] for argument in arguments if argument.startswith("sweeps=")]
    return bool(names) and "plan=true" not in arguments and len(read_sweep(names[-1], SWEEPS).rounds) > 1


def as_far_as_trained(cells: Sequence[Cell]) -> list[Cell]:
    """The cells that fit, each with as many trials as it has, at least those that were asked for."""
    fitting = that_fit(cells)[0]
    finished = [0 if (store := cell.store()) is None else len(store.rows()) for cell in fitting]
    return [_with_trials(cell, max(cell.config.trials, n)) for cell, n in zip(fitting, finished, strict=True)]


def that_fit(cells: Sequence[Cell]) -> tuple[list[Cell], list[str]]:
    """The cells that have enough labels, by those of finished cells on the same data; and a sentence on the others."""
    known: dict[str, int] = {}
    for each in survey([cell for cell in cells if cell.config.regime["name"] == "full"]):
        if each.rows:
            known[each.cell.source.key] = int(min(each.rows.column("n_labelled")))
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


def _with_trials(cell: Cell, trials: int) -> Cell:
    others = (override for override in cell.overrides if override.partition("=")[0] != "trials")
    return replace(cell, config=replace(cell.config, trials=trials), overrides=(*others, f"trials={trials}"))
