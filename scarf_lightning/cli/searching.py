"""Runs of ``hydra/sweeper=optuna``: try after try, until the study has as many as are asked for."""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean

from rich.table import Table

from ..errors import UnfinishedError, UsageError, counted, unknown_name
from ..metrics import Metric, metric_named
from ..results import check_folder
from ..screen import command_line, screen
from ..sweeping.cell import Cell, State, SurveyedCell, distinct, survey
from ..sweeping.chunks import Chunk, Launch
from ..sweeping.expand import ExpandedSweep
from ..sweeping.kept_search import KeptSearch, Try, require_optuna
from ..sweeping.plan import about
from ..sweeping.run import BASIC, check_parts, run
from ..sweeping.search import PLACE, VALIDATION_ERROR, Search
from ..sweeping.slurm import Detached
from ..sweeping.workers import TrainCells
from .own_parts import check_own_parts
from .running import OwnTraining, check_objective, expected_seconds, objective, seconds_to_train
from .show import Terminal
from .signals import OutOfTime, alarm

LOOK_EVERY = 1.0
"""Seconds between looks at tries that other processes train."""
N_SHOWN = 5
"""Best tries that are shown at the end."""


@dataclass(frozen=True)
class TriedCell:
    """A cell that a search has trained.

    Attributes:
        surveyed: the cell.
        number: of the try that it was trained for.
        value: of the objective.
    """

    surveyed: SurveyedCell
    number: int
    value: float


def run_search(search: Search, launch: Launch, terminal: Terminal, launcher: str = BASIC) -> list[TriedCell]:
    """Train tries until the study has a value of ``n_trials``, show the best, and return the cells with a value, the
    best one first.

    Raises:
        UsageError: something is wrong; nothing has been trained.
        UnfinishedError: tries failed, or the time is over.
    """
    require_optuna()
    higher, shown = _judged(search)
    first = search.cells[0]
    options = first.config
    if options.plan:
        expected = expected_seconds(distinct(search.cells))
        seconds = search.options.n_trials * fmean(each for _, each in expected)
        terminal.say(
            f"{in_words(search.options.n_trials)} of {counted(options.trials, 'trial')} each, those that the study "
            f"has among them: about {about(seconds)} on one core."
        )
        return []
    check_folder(first.results, writable=True)
    kept = KeptSearch(search, first.results, is_better_higher=higher)
    _check_data(search, kept)
    over, failures = "", list[str]()
    try:
        with alarm(seconds_to_train(ExpandedSweep(list(search.cells)), ends_with_model=False)):
            failures = _Tries(search, kept, launch, terminal, launcher, shown).train()
    except Detached as left:
        terminal.say(str(left))
    # The alarm interrupts whatever trains; another command goes on with the try.
    except OutOfTime:
        over = f"time_limit={options.time_limit} is over; the same command goes on."
    ranked = _ranked(kept.finished, higher=higher)
    _show(search, kept, ranked, shown)
    problems = [*failures, over] if over else failures
    if problems:
        raise UnfinishedError("\n".join(problems))
    return _tried(search, ranked)


def _ranked(tries: Sequence[Try], *, higher: bool) -> list[Try]:
    """Finished tries, the best one first."""

    def rank(each: Try) -> float:
        assert each.value is not None
        return -each.value if higher else each.value

    # Sorting is stable: of equal values the first try is the best.
    return sorted(tries, key=rank)


def _tried(search: Search, ranked: Sequence[Try]) -> list[TriedCell]:
    """The cells of finished tries in this order, each once."""
    tries = dict[str, Try]()
    cells = []
    for each in ranked:
        cell = search.cell(each.overrides)
        # Two tries may have asked for one cell.
        if cell.key not in tries:
            tries[cell.key] = each
            cells.append(cell)
    tried = []
    for surveyed in survey(cells):
        cell_try = tries[surveyed.cell.key]
        assert cell_try.value is not None
        tried.append(TriedCell(surveyed, cell_try.number, cell_try.value))
    return tried


DECIDE_VALIDATION = {"recipe", "regime.labels", "finetune.fixed_below", "finetune.fixed_below_numbers"}
"""Options by which some cells of a search have rows that validate, and others have none."""


class _Tries:
    """The training of tries by this process."""

    def __init__(
        self,
        search: Search,
        kept: KeptSearch,
        launch: Launch,
        terminal: Terminal,
        launcher: str,
        shown: Callable[[float], str],
    ) -> None:
        self._search, self._kept, self._terminal = search, kept, terminal
        # Hydra's basic launcher would compose a configuration for each try, and forget the table.
        self._launch = _Here() if launcher == BASIC else launch
        self._launcher, self._shown, self._show = launcher, shown, _Quietly()
        self._failures = list[str]()
        self._is_hopeless = False

    def train(self) -> list[str]:
        """Train until the study has its tries, or a try shows that none can have a value; return why tries failed."""
        self._begin()
        while not self._is_hopeless:
            # A try that failed is not made up for by this command, or a search that always fails would never end.
            wanted = self._search.options.n_trials - len(self._failures)
            with self._kept.taken(wanted) as taken:
                if taken.tries:
                    self._train(taken.tries)
                elif not taken.n_elsewhere:
                    return self._failures
            if not taken.tries:
                # Another process trains the last tries; they are taken over here if it dies.
                time.sleep(LOOK_EVERY)
        return self._failures

    def _begin(self) -> None:
        """Say how far the study is, and check the parts of all choices before the first try is suggested."""
        n_finished, n_tries = len(self._kept.finished), self._search.options.n_trials
        if n_finished:
            self._terminal.say(f"{n_finished} of {in_words(n_tries)} are in the study already.")
        if n_finished < n_tries:
            with self._show.doing("Importing torch and Lightning"):
                check_parts(self._search.cells)
                check_own_parts(self._search.cells)

    def _train(self, tries: Sequence[Try]) -> None:
        cells = dict[int, Cell]()
        for each in tries:
            try:
                cells[each.number] = self._search.cell(each.overrides)
            except UsageError as error:
                self._fail(each, str(error))
        if not cells:
            return
        request = ExpandedSweep(list(cells.values()))
        problem = ""
        try:
            run(request, self._launch, self._show, self._launcher, OwnTraining())
        except UnfinishedError as error:
            problem = str(error)
        for each in tries:
            if each.number in cells:
                self._tell(each, cells[each.number], problem)

    def _tell(self, each: Try, cell: Cell, problem: str) -> None:
        """Keep the value of a try that was trained, or that it failed."""
        (surveyed,) = survey([cell])
        store = cell.store()
        if surveyed.state is not State.FINISHED or store is None:
            self._fail(each, str(surveyed.failure or problem))
            return
        value = objective(cell, self._search.objective)
        if math.isnan(value):
            reason = _without_validation(cell, self._search.objective)
            searched = {axis.key for axis in self._search.axes}
            self._is_hopeless = bool(reason) and not searched & DECIDE_VALIDATION
            self._fail(each, f"{cell.label}: {self._search.objective} is not a number{reason}.")
            return
        self._kept.tell(each.number, value, store.fingerprint)
        chosen = " ".join(_searched(self._search, each))
        self._terminal.say(f"Try {each.number}: {self._search.objective} {self._shown(value)}, {chosen}")

    def _fail(self, each: Try, reason: str) -> None:
        self._kept.tell_failure(each.number)
        self._failures.append(reason)
        self._terminal.say(f"Try {each.number} failed: {reason.splitlines()[0]}")


def _without_validation(cell: Cell, name: str) -> str:
    """The reason why no cell with so few labels has a value of an objective, and what gives it one; or nothing."""
    settings = cell.config.finetune
    if name == VALIDATION_ERROR and (settings.fixed_below or settings.fixed_below_numbers):
        return (
            ". With so few labels the recipe trains for a fixed number of steps, and no row validates; set "
            "finetune.fixed_below=0"
        )
    return ""


class _Here:
    """Trains in this process, which keeps the last table. Calling it is a `Launch`."""

    def __call__(self, chunks: Sequence[Chunk]) -> None:
        for chunk in chunks:
            self._train(chunk.cells)

    @cached_property
    def _train(self) -> TrainCells:
        # Imports torch and Lightning.
        return OwnTraining().imported()


class _Quietly(Terminal):
    """Shows the progress of a try, and each sentence once."""

    def __init__(self) -> None:
        self._said = set[str]()

    def say(self, sentence: str) -> None:
        if sentence not in self._said:
            self._said.add(sentence)
            super().say(sentence)

    def doing(self, what: str) -> AbstractContextManager[object]:
        # What a try imports has been imported by the first one.
        if self._said:
            return nullcontext()
        self._said.add(what)
        return super().doing(what)

    def results(self, surveyed: Sequence[SurveyedCell], request: ExpandedSweep, n_skipped: int) -> None:
        """The search shows the values."""


def _judged(search: Search) -> tuple[bool, Callable[[float], str]]:
    """True if higher values of the objective are better, and the text of a value.

    Raises:
        UsageError: there is no such objective, for the target of the data, or the user asks for the worst.
    """
    name = search.objective
    check_objective(name)
    higher = False
    shown: Callable[[float], str] = "{:.4f}".format
    if name != VALIDATION_ERROR:
        metric: Metric = metric_named(name, option="objective")
        higher, shown = metric.higher_is_better, metric.plain
        # Known without the data, or they are loaded now.
        target_metrics = [each.name for each in search.cells[0].target_kind().metrics()]
        if name not in target_metrics:
            raise UsageError(
                unknown_name(f"objective={name} is no metric of this target", name, target_metrics, "its metrics")
            )
    better = "maximize" if higher else "minimize"
    asked = search.options.direction
    if asked not in (None, better):
        raise UsageError(f"{PLACE}.direction={asked} would search for the worst {name}; leave it out, or say {better}.")
    return higher, shown


def _check_data(search: Search, kept: KeptSearch) -> None:
    """Refuse a study whose tries were trained on what the table, or a plugin, held before."""
    last = kept.last_cell
    if last is None:
        return
    number, fingerprint = last
    for each in kept.finished:
        store = search.cell(each.overrides).store() if each.number == number else None
        # Another folder of results may know nothing of the data yet.
        if store is not None and store.fingerprint != fingerprint:
            raise UsageError(
                f"The table or a plugin has changed since the tries of the study {kept.name}; "
                f"{PLACE}.study_name=NAME begins another study."
            )


def in_words(n_tries: int) -> str:
    """A number of tries."""
    return "1 try" if n_tries == 1 else f"{n_tries:,} tries"


def _searched(search: Search, each: Try) -> list[str]:
    """The overrides of a try that the search chose."""
    keys = {axis.key for axis in search.axes}
    return [line for line in each.overrides if line.partition("=")[0] in keys]


def _show(search: Search, kept: KeptSearch, ranked: Sequence[Try], shown: Callable[[float], str]) -> None:
    """Show the best tries, the command that trains the best cell, and where the study is kept."""
    console = screen()
    if ranked:
        best = ranked[0]
        assert best.value is not None
        table = Table(box=None)
        for heading in ("try", search.objective, *(axis.key for axis in search.axes)):
            table.add_column(heading, justify="right")
        for each in ranked[:N_SHOWN]:
            assert each.value is not None
            chosen = [line.partition("=")[2] for line in _searched(search, each)]
            table.add_row(str(each.number), shown(each.value), *chosen)
        console.print(table)
        value = f"{search.objective} {shown(best.value)}"
        console.say(f"Best of {in_words(len(ranked))}: {value} in try {best.number}, the cell of")
        console.say(command_line("train.py", best.overrides))
        if search.objective != VALIDATION_ERROR:
            console.say(
                "Its test rows have chosen it, so its value is too good to be true; report what other rows tell."
            )
    console.say(f"The study {kept.name} is in {kept.place}")
    results: Path = search.cells[0].results
    console.say(f"Results are in {results.absolute()}")
