"""`scarf columns FILE TARGET`, `scarf_lightning.columns`: which columns matter, and to pre-training?

From top to bottom: find the competitors, the cells of ``sweeps=columns``; give each of them as many trials as the time
allows; measure (`cli.measuring`); write the page (`importance.page`).
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UnfinishedError, UsageError, counted
from ..importing import require_report, without_garbage_collection
from ..intervals import FEWEST
from ..options import label
from ..options.config import seconds_of
from ..results import check_folder
from ..screen import screen
from ..sweeping.cell import Cell, distinct
from ..sweeping.composer import composing
from ..sweeping.cost import START_UP
from ..sweeping.expand import expand
from ..sweeping.folders import SWEEPS
from ..sweeping.overrides import answer_of_file
from ..sweeping.plan import MINUTE, about
from .api import kept_frame
from .signals import OutOfTime, alarm, seconds_gone

if TYPE_CHECKING:
    import pandas as pd

    from ..data.table import Table
    from ..importance.asked import Question, Task
    from ..importance.competing import Competitor
    from ..importance.judging import Importance
    from .measuring import Measuring

SWEEP = "columns"
TIME_LIMIT = "10min"
REPORTS = Path("reports")
Groups = Sequence[Sequence[str]] | str | None
ALIKE = "alike"
REPEATS = 5
OWN = ("repeats", "time_limit", "out")
"""Options of the command that are none of its cells."""
PLAN = "--plan"
SECONDS_TO_REPORT, MOST_TO_REPORT = 20.0, 0.2
"""Seconds that are kept for verdicts and the page, and the largest share of a limit that is."""
TO_PERMUTE = 0.4
"""The share of a limit within which all columns are permuted. Trials that would take longer are left out."""


@dataclass(frozen=True)
class FoundColumns:
    """The answers on a table's columns, and their page.

    Attributes:
        importance: the verdicts: print it, or take its ``frame``.
        advice: what to do with the columns, in sentences.
        index: the page.
    """

    importance: "Importance"
    advice: Sequence[str]
    index: Path

    def __str__(self) -> str:
        place = f"The report is {self.index.absolute()}"
        return "\n".join([*self.importance.sentences, *self.advice, place])


@dataclass(frozen=True)
class Asking:
    """A question, and the time that there is to answer it.

    Attributes:
        measuring: its trainings.
        limit: seconds of the whole command.
        time_limit: the same in words.
        n_wanted: trials that were asked for.
    """

    measuring: "Measuring"
    limit: float
    time_limit: str
    n_wanted: int

    @property
    def question(self) -> "Question":
        return self.measuring.question

    @property
    def n_trials(self) -> int:
        """Trials of each competitor, for which there is time."""
        return len(self.question.competitors[0].trials)

    @property
    def on_few_trials(self) -> str:
        """A sentence, if there are fewer trials than were asked for."""
        if self.n_trials == self.n_wanted:
            return ""
        return (
            f"{self.n_trials} of {self.n_wanted} trials are trained: more would leave no time to leave columns out. "
            "A longer time_limit adds them."
        )


def columns(
    table: "str | Path | pd.DataFrame | None" = None,
    target: str | None = None,
    *overrides: str,
    groups: Groups = ALIKE,
    repeats: int = REPEATS,
    time_limit: str = TIME_LIMIT,
    out: str | Path | None = None,
    verbose: bool = True,
) -> FoundColumns:
    """Find out which columns of a table matter, to networks with and without pre-training and to a random forest.

    ``columns("customers.csv", "plan")``, ``columns(frame, "plan", time_limit="5min")``. The competitors are the cells
    of ``sweeps=columns``; overrides change them, such as ``regime=few``, ``regime.labels=100`` or ``trials=20``.
    Workers train them, one a core. Each training is kept in the folder of results, so that the same call goes on where
    it ended.

    Args:
        table: a file, a frame, or None for the bundled table or that of ``dataset=NAME``.
        target: the column to predict.
        overrides: of the cells.
        groups: columns that are also tried together, as lists of names; ``alike`` finds those that say nearly the same,
            None tries no groups.
        repeats: permutations of each column in each trial.
        time_limit: of the whole, the page included, such as ``90s``, ``10min`` or ``2h``.
        out: folder of the page.
        verbose: show progress.

    Raises:
        UsageError: the table cannot be read or learned, an override or a group is wrong, cells differ in their data, or
            the time does not suffice to permute the columns.
        UnfinishedError: a training failed, or the time was over before the columns were permuted.
    """
    started = time.monotonic() - seconds_gone()
    asking = asked(table, target, overrides, groups=groups, repeats=repeats, time_limit=time_limit)
    return answered(asking, started, out, verbose=verbose)


def columns_plan(
    table: "str | Path | pd.DataFrame | None" = None,
    target: str | None = None,
    *overrides: str,
    groups: Groups = ALIKE,
    repeats: int = REPEATS,
    time_limit: str = TIME_LIMIT,
) -> list[str]:
    """The trainings that `columns` would do with these arguments, and how long they take, in sentences.

    Raises:
        UsageError: as `columns` says.
    """
    asking = asked(table, target, overrides, groups=groups, repeats=repeats, time_limit=time_limit)
    question, measuring = asking.question, asking.measuring
    n_columns = counted(len(question.names), "column")
    n_groups = counted(len(question.groups), "group")
    n_competitors = counted(len(question.competitors), "competitor")
    # What is kept of an earlier command costs nothing.
    first = measuring.missing(question.permuting)
    others = measuring.missing(question.changing)
    sentences = [
        f"{question.competitors[0].table.name}: {n_columns}, {n_groups} of columns that say nearly the same, "
        f"{n_competitors}, and {counted(asking.n_trials, 'trial')} of each."
    ]
    if asking.on_few_trials:
        sentences.append(asking.on_few_trials)
    sentences.append(f"All columns permuted: {_cost(measuring, first)}.")
    sentences.append(
        f"Columns left out of training, of pre-training and of its corruption: at most {_cost(measuring, others)}. "
        "Columns that make no practical difference when permuted are not left out."
    )
    number = measuring.n_workers([*first, *others])
    needed = START_UP + measuring.seconds([*first, *others]) / number
    ending = "ends it before, and the same command goes on"
    if needed < asking.limit:
        ending = "is enough for all of it"
    workers = counted(number, "worker")
    sentences.append(f"With {workers} at most about {about(needed)}; time_limit={asking.time_limit} {ending}.")
    return sentences


def asked(
    table: "str | Path | pd.DataFrame | None",
    target: str | None,
    overrides: Sequence[str],
    *,
    groups: Groups,
    repeats: int,
    time_limit: str,
) -> Asking:
    """The question on a table, with as many trials as there is time to permute its columns.

    Raises:
        UsageError: as `columns` says.
    """
    import pandas as pd

    # Before anything trains: the page is drawn at the very end.
    require_report("The page on columns")
    limit = _seconds(time_limit)
    if isinstance(table, pd.DataFrame):
        table = kept_frame(table, overrides)
    of_file = answer_of_file(None if table is None else str(table), target)
    # The file's options come as those of `scarf answer`, whose sweep is another one.
    of_table = [each for each in of_file if not each.startswith("sweeps=")]
    arguments = [f"sweeps={SWEEP}", *of_table, *overrides]
    with composing(arguments) as composer:
        request = expand(arguments, composer, SWEEPS)
    cells = distinct(request.cells)
    # Competitors are compared on the same rows, with the same columns permuted.
    if len({cell.source.key for cell in cells}) > 1:
        raise UsageError("Columns are asked of one table at a time; name one dataset.")
    if any(cell.config.tune for cell in cells):
        raise UsageError("Columns are asked of cells without tune; leave it out.")
    results = cells[0].results
    check_folder(results, writable=True)

    with without_garbage_collection():
        # Imports torch and Lightning.
        from ..importance.asked import Question
        from ..importance.kept import Kept
        from .measuring import Measuring
    competitors: list[Competitor] = []
    in_order: list[Cell] = []
    for competitor, cell in _competitors(cells):
        competitors.append(competitor)
        in_order.append(cell)
    question = Question(competitors, _groups(competitors[0].table, groups), repeats)
    measuring = Measuring(Kept(question, results), in_order)
    return affordable(Asking(measuring, limit, time_limit, cells[0].config.trials))


def answered(asking: Asking, started: float, out: str | Path | None, *, verbose: bool = True) -> FoundColumns:
    """Measure until the time is over, and write the page.

    Args:
        started: when the time began, by the clock of `time.monotonic`.
        out, verbose: as in `columns`.

    Raises:
        UnfinishedError: as `columns` says.
    """
    from ..importance.advising import advice, on_untried
    from ..importance.asking import ask
    from ..importance.page import write_columns

    console, measuring = screen(stderr=True), asking.measuring
    # On a busy machine the page takes as much longer as the start did.
    to_report = max(SECONDS_TO_REPORT, time.monotonic() - started)
    ends = started + asking.limit - min(to_report, MOST_TO_REPORT * asking.limit)

    def say(sentence: str) -> None:
        if verbose:
            console.say(f"{time.monotonic() - started:.0f} s. {sentence}")

    def launch(tasks: "Sequence[Task]") -> None:
        left = ends - time.monotonic()
        try:
            # An alarm that is due already could end more than the training.
            if left > 0:
                with alarm(left):
                    measuring.launch(tasks, ends, say)
        # What was measured is kept, and answered with.
        except OutOfTime:
            say("The time for training is over.")
        # Without it nothing can be said of any column, and the other changes are chosen by it.
        if any(measuring.kept.missing(task) for task in asking.question.permuting):
            raise UnfinishedError(
                f"time_limit={asking.time_limit} was over before all columns were permuted; a longer one goes on where "
                "it ended."
            )

    if asking.on_few_trials:
        say(asking.on_few_trials)
    found = ask(measuring.kept, launch)
    say("Writing the page.")
    competitors = asking.question.competitors
    folder = REPORTS / f"columns-{competitors[0].table.name}"
    if out is not None:
        folder = Path(out)
    index = write_columns(found, competitors, folder)
    return FoundColumns(found.importance, [*advice(found), *on_untried(found)], index)


def _cost(measuring: "Measuring", missing: "Sequence[Task]") -> str:
    """The number of trainings and their time."""
    if not missing:
        return "0 trainings, all are done"
    return f"{counted(len(missing), 'training')}, about {about(measuring.seconds(missing))} on one core"


def of_arguments(arguments: Sequence[str]) -> FoundColumns | list[str]:
    """`columns`, or `columns_plan`, of the arguments of a command line, ``FILE TARGET OPTION=VALUE ...``.

    Raises:
        UsageError: there is one name, or more than two; or ``repeats`` is no number.
    """
    names, given, overrides = list[str](), dict[str, str](), list[str]()
    for each in arguments:
        option, sign, value = each.partition("=")
        if sign and option in OWN:
            given[option] = value
        elif sign:
            overrides.append(each)
        elif each != PLAN:
            names.append(each)
    # Without a file it is the bundled table, or that of dataset=NAME.
    if len(names) not in (0, 2):
        raise UsageError("Name a file and its column to predict: scarf columns FILE TARGET; or neither of them.")
    repeats = given.get("repeats", str(REPEATS))
    if not repeats.isdecimal() or int(repeats) < 1:
        raise UsageError(f"repeats must be a whole number from 1, not {repeats}.")
    file, target = names or (None, None)
    how: dict[str, Any] = {"repeats": int(repeats), "time_limit": given.get("time_limit", TIME_LIMIT)}
    if PLAN in arguments:
        return columns_plan(file, target, *overrides, **how)
    return columns(file, target, *overrides, **how, out=given.get("out"))


def _seconds(time_limit: str) -> float:
    try:
        return seconds_of(time_limit)
    except ValueError as error:
        raise UsageError(f"{error}.") from None


def affordable(asking: Asking) -> Asking:
    """The same with fewer trials, if permuting would take most of the time.

    Raises:
        UsageError: there is no time for the fewest trials that have an interval.
    """
    from .measuring import with_trials

    measuring = asking.measuring
    tasks = asking.question.permuting
    pace = measuring.seconds_a_trial()
    # A competitor is trained by one worker, so the slowest one bounds the time from below.
    seconds = max(sum(pace) / measuring.n_workers(tasks), *pace)
    needed = START_UP + FEWEST * seconds
    if needed > asking.limit:
        raise UsageError(
            f"Training each competitor {FEWEST} times takes about {about(needed)}, longer than "
            f"time_limit={asking.time_limit}; time_limit={math.ceil(needed / MINUTE)}min is enough, or a file with "
            "fewer rows."
        )
    # The rest of the time is for leaving columns out, which tells more than permuting them.
    n_trials = max(FEWEST, int(TO_PERMUTE * asking.limit / seconds))
    if n_trials >= asking.n_wanted:
        return asking
    kept = replace(measuring.kept, question=with_trials(asking.question, n_trials))
    return replace(asking, measuring=replace(measuring, kept=kept))


def _competitors(cells: Sequence[Cell]) -> "list[tuple[Competitor, Cell]]":
    """The cells as competitors on one table, a network without pre-training first."""
    from ..data.targets import leading_metric
    from ..engine.hardware import choose_hardware, prepare_process
    from ..importance.competing import Competitor
    from ..metrics import metric_named

    table = cells[0].source.read().table
    pairs = []
    for cell in cells:
        config = cell.config
        # The number of threads is set before torch starts any.
        prepare_process(config.trainer.threads)
        metric = metric_named(config.metric or leading_metric([table.target]))
        hardware = choose_hardware(config.trainer)
        competitor = Competitor(_name(cell), config, table, metric, hardware)
        pairs.append((competitor, cell))
    return sorted(pairs, key=lambda pair: pair[0].is_pretrained)


def _name(cell: Cell) -> str:
    """A cell in words: its pre-training, or its method where that is none."""
    config = cell.config
    method = str(config.method["name"])
    if config.pretrain.name != "none":
        return label("pretrain", config.pretrain.name)
    if method == "control":
        return "no pre-training"
    return label("method", method)


def _groups(table: "Table", groups: Groups) -> list[list[int]]:
    """The positions of the columns of each group."""
    from ..importance.groups import groups_of, named_groups

    if groups is None:
        return []
    if isinstance(groups, str):
        if groups != ALIKE:
            raise UsageError(f"groups must be lists of columns, {ALIKE} or None, not {groups!r}.")
        return groups_of(table)
    return named_groups(table, groups)
