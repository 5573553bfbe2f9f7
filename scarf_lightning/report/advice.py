"""The end of a run: its answer, and what would settle open comparisons, as commands with their cost."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import counted
from ..intervals import FEWEST
from ..options import labels
from ..options.settings import DatasetSettings
from ..results import Row
from ..screen import command_line
from ..sweeping.cell import Cell, SurveyedCell, survey
from ..sweeping.expand import ExpandedSweep
from ..sweeping.plan import about, make_plan
from ..sweeping.sizes import CC18
from .blocks import named
from .comparisons import Comparison, answered, compare_all
from .loading import SECONDS, CellResults, ReportedCell, read_results
from .pairing import pairs_of
from .report_options import ReportOptions
from .sentences import answer_in_words
from .statistics.answers import CANNOT_TELL, MARGIN
from .statistics.over_tables import FEWEST_TABLES
from .statistics.power import settling, settling_tables
from .statistics.verdict import FEWEST_FOR_SAME

Commands = Callable[[Comparison, str], str]
"""The command that trains a comparison's cells with a change such as ``trials=30`` to what was asked."""
Price = Callable[[str], float]
"""The processor seconds that a command takes with such a change, as its plan gives them; 0 if that is unknown."""
NOT_OF_A_CELL = ("sweeps", "reference", "plan", "force", "paths.results")
PAPERS_DATASETS = "dataset=glob(cc18-*)"
N_PAPERS_DATASETS = 69
SMALL_DATASETS = {
    "cc18-balance-scale": 11,
    "cc18-credit-approval": 29,
    "cc18-tic-tac-toe": 50,
    "cc18-eucalyptus": 188,
    "cc18-cylinder-bands": 6332,
    "cc18-analcatdata_dmft": 469,
    "cc18-pc1": 1068,
    "cc18-car": 40975,
}
"""Datasets of at most 1,728 rows, which train within minutes, with their numbers on OpenML. Advice names them first."""
MOSTLY = " in four cases of five"
"""The chance that advice has, `power.POWER`, in words."""
MOST_TABLES = 10
"""A run is not told to add more than this many times the datasets that it has."""


@dataclass(frozen=True)
class ComparedRun:
    """What the cells of a run compare: those that have ``tried`` a trial, their results, and all comparisons, best
    first."""

    tried: Sequence[SurveyedCell]
    results: CellResults
    comparisons: Sequence[Comparison]

    @property
    def in_words(self) -> list[str]:
        """The answer in sentences; none if nothing is compared."""
        options = ReportOptions().of(self.results)
        return answer_in_words(self.comparisons, self.results, options) if self.comparisons else []

    @property
    def undecided(self) -> set[str]:
        """The keys of the cells of whose comparison we are not sure, and of which more trials may tell."""
        margin = ReportOptions().rope
        found = set[str]()
        for each in self.comparisons:
            if not each.is_sure and not each.verdict.reason and _trials_may_settle(each, margin):
                found |= {self.tried[label].cell.key for pair in each.pairs for label in pair}
        return found


def reported(cell: Cell, axes: Row, folder: Path | None, **known: Any) -> ReportedCell:
    """A cell of a sweep; ``folder`` is its place in the store, if it is known, as are more fields of `ReportedCell`."""
    config = cell.config
    return ReportedCell(
        axes, config.dataset.id, folder, config.trials, cell.overrides, labels(config), config.metric, **known
    )


def compared(request: ExpandedSweep, surveyed: Sequence[SurveyedCell]) -> ComparedRun:
    """What the cells of a run compare so far."""
    tried = [each for each in surveyed if each.rows]
    wanted = [reported(each.cell, each.axes, each.folder, rows=each.rows, target=each.target) for each in tried]
    results = read_results(wanted, usual=dict(request.usual))
    if request.sweep is not None and request.cells[0].config.metric is None:
        results = replace(results, metric=request.sweep.leading(results.metric))
    options = ReportOptions(reference=request.cells[0].config.reference)
    if len(tried) < 2:
        return ComparedRun(tried, results, [])
    return ComparedRun(tried, results, answered(compare_all(results, options.of(results))))


def check_reference(cells: Sequence[Cell]) -> None:
    """Refuse a reference that is none of the competitors of a run, before it trains, by a `UsageError`."""
    reference = cells[0].config.reference
    if reference is not None:
        wanted = [reported(cell, cell.axes(), None) for cell in cells]
        pairs_of(read_results(wanted), reference)


def answer_of_run(request: ExpandedSweep, surveyed: Sequence[SurveyedCell]) -> list[str]:
    """The answer of a run and what would settle open comparisons, in sentences; none if nothing is compared."""
    run = compared(request, surveyed)
    if not run.comparisons:
        return []
    price = price_of([each.cell for each in surveyed])
    advice = what_would_settle(run.comparisons, by_sweep(request.arguments), run.results, price=price)
    return [*run.in_words, *(in_one_line(*each) for each in advice)]


def in_one_line(sentence: str, command: str) -> str:
    """Advice with its command, for a terminal."""
    return f"{sentence}: {command}" if command else f"{sentence}."


class Advice(NamedTuple):
    """What would settle a comparison.

    Attributes:
        change: to what was asked, empty for none.
        sentence: before the command.
        trials: in all, if trials would settle it; 0 otherwise.
        rows: that the table would need, if trials would not settle it; empty if it is something else.
    """

    change: str
    sentence: str
    trials: int = 0
    rows: str = ""


def what_would_settle(
    comparisons: Sequence[Comparison],
    commands: Commands,
    results: CellResults,
    margin: float = MARGIN,
    *,
    price: Price | None = None,
) -> list[tuple[str, str]]:
    """Advice on comparisons of which we cannot tell: sentences, each with a command, which may be empty.

    One command trains as many trials as any comparison needs that trials will settle. Where no ``price`` is given, a
    command costs as much as the finished trials and datasets did.
    """
    known = {str(name) for name in results.cells["dataset"]}
    groups: dict[Advice, list[Comparison]] = {}
    by_trials: dict[int, list[Comparison]] = {}
    by_rows: list[tuple[Comparison, Advice]] = []
    for each in comparisons:
        if each.claimed != CANNOT_TELL or each.verdict.reason:
            continue
        advice = _advice(each, known, margin)
        if advice.trials:
            by_trials.setdefault(advice.trials, []).append(each)
        elif advice.rows:
            by_rows.append((each, advice))
        else:
            groups.setdefault(advice, []).append(each)
    if by_trials:
        settled = [each for trials in sorted(by_trials) for each in by_trials[trials]]
        groups[_by_trials(max(by_trials), settled)] = settled
    found = []
    for advice, group in sorted(groups.items(), key=lambda item: -len(item[1])):
        cost = _cost(group, advice.change, results) if price is None else _priced(advice.change, price)
        sentence = f"{named([each.label for each in group], 3)}: {advice.sentence}{cost}"
        asked = dict.fromkeys(commands(each, advice.change) for each in group) if advice.change else ()
        found.append((sentence, " && ".join(asked)))
    if by_rows:
        found.append((_by_rows(by_rows), ""))
    return found


def _by_trials(trials: int, comparisons: Sequence[Comparison]) -> Advice:
    """The advice on all comparisons that trials will settle; ``trials`` are as many as the last of them needs."""
    more = counted(trials - min(each.verdict.trials for each in comparisons), "more trial")
    if len(comparisons) == 1:
        return Advice(f"trials={trials}", f"{more} will settle it{MOSTLY}", trials)
    return Advice(f"trials={trials}", f"up to {more} will settle each of them{MOSTLY}", trials)


def _by_rows(comparisons: Sequence[tuple[Comparison, Advice]]) -> str:
    """A sentence on the comparisons that more trials will hardly settle, each with the rows that would."""
    if len(comparisons) == 1:
        each, advice = comparisons[0]
        return f"{each.label}: {advice.sentence}"
    needed = [f"{each.label} {advice.rows}" for each, advice in comparisons]
    return (
        "More trials will hardly settle these, because too much of the error comes from which rows the table has; so "
        f"many labelled rows would,{MOSTLY}: {', '.join(needed)}"
    )


def _trials_may_settle(comparison: Comparison, margin: float) -> bool:
    """True if more trials are worth their time: there are few, the comparison alone is answered, or it could be."""
    verdict = comparison.verdict
    if verdict.trials < FEWEST_FOR_SAME or verdict.answer != CANNOT_TELL:
        return True
    if verdict.parts is None:
        return False
    return settling(verdict.difference, verdict.parts, margin, comparison.needed).trials is not None


def _advice(comparison: Comparison, known: set[str], margin: float) -> Advice:
    """What would settle a comparison of which we cannot tell."""
    verdict = comparison.verdict
    if verdict.datasets > 1:
        return _advice_over_tables(comparison, known, margin)
    parts = verdict.parts
    if verdict.trials < FEWEST:
        return Advice(f"trials={FEWEST_FOR_SAME}", f"too few trials to tell; go on to {FEWEST_FOR_SAME}")
    if parts is None:
        if verdict.trials < FEWEST_FOR_SAME:
            return Advice(f"trials={FEWEST_FOR_SAME}", f"few trials; go on to {FEWEST_FOR_SAME}")
        return Advice("", "without predictions it is not known what would settle it")
    found = settling(verdict.difference, parts, margin, comparison.needed)
    if found.trials is not None:
        return Advice("", "", found.trials)
    rows = f"{100 * found.of_rows:.0f} % of the error's variance comes from which rows the table has"
    if found.rows is not None:
        needed = _rounded(found.rows)
        sentence = f"more trials will hardly settle it, because {rows}; about {needed} labelled rows would,{MOSTLY}"
        return Advice("", sentence, rows=needed)
    return Advice(
        "", f"neither trials nor labelled rows in reach will settle it, because the difference is so small; {rows}"
    )


def _advice_over_tables(comparison: Comparison, known: set[str], margin: float) -> Advice:
    verdict = comparison.verdict
    n = verdict.datasets
    if n < FEWEST_TABLES:
        return Advice(_more_tables(FEWEST_TABLES - n, known), f"an answer over datasets needs {FEWEST_TABLES} or more")
    total = settling_tables(verdict.interval, n, MOST_TABLES * n, margin, comparison.needed)
    if total is None:
        return Advice(
            "", f"the typical dataset differs by so little that no number of datasets in reach will tell, beyond {n}"
        )
    sentence = f"about {_rounded(total)} datasets would tell{MOSTLY}"
    return Advice(_more_tables(total - n, known), sentence)


def _more_tables(more: int, known: set[str]) -> str:
    """The change that adds this many datasets: small ones if they are enough, else the paper's."""
    others = [name for name in SMALL_DATASETS if name.removeprefix("cc18-") not in known]
    return f"dataset={','.join(others[:more])}" if more <= len(others) else PAPERS_DATASETS


def _rounded(number: int) -> str:
    """A number with two digits that count: 2,300."""
    digits = max(len(str(number)) - 2, 0)
    return f"{round(number, -digits):,}"


def _cost(comparisons: Sequence[Comparison], change: str, results: CellResults) -> str:
    """How long the command takes, if more trials, or datasets, take as long as the finished ones; empty if their times
    are unknown."""
    cells = {cell for each in comparisons for pair in each.pairs for cell in pair}
    of_pairs = results.trials[results.trials["cell"].isin(cells)]
    seconds = of_pairs[list(SECONDS)].sum(axis=1)
    key, _, value = change.partition("=")
    if not change or not seconds.sum() > 0:
        return ""
    if key == "trials":
        each = seconds.groupby(of_pairs["cell"]).agg(["mean", "count"])
        return f" (about {about(float((each['mean'] * (int(value) - each['count']).clip(lower=0)).sum()))} on one core)"
    n = N_PAPERS_DATASETS if change == PAPERS_DATASETS else 1 + value.count(",")
    took = float(seconds.sum()) / len(comparisons[0].pairs)
    return f" (about {about(n * took)} on one core, if they take as long as these)"


def price_of(cells: Sequence[Cell]) -> Price:
    """The processor seconds of a sweep's command with a change, as the plan of that command counts them."""
    return lambda change: make_plan(survey(_changed(cells, change))).seconds_in_all


def _changed(cells: Sequence[Cell], change: str) -> list[Cell]:
    """The cells of a sweep with another number of trials, or on other datasets."""
    key, _, value = change.partition("=")
    if key == "trials":
        return [_with(cell, trials=int(value)) for cell in cells]
    numbers = list(CC18)
    if change != PAPERS_DATASETS:
        numbers = [SMALL_DATASETS[name] for name in value.split(",")]
    first = cells[0].config.dataset
    found = []
    for cell, number in itertools.product(cells, numbers):
        if cell.config.dataset == first:
            found.append(_with(cell, dataset=DatasetSettings("openml", number)))
    return found


def _with(cell: Cell, **changed: Any) -> Cell:
    """The cell with other settings."""
    return Cell(cell.overrides, replace(cell.config, **changed))


def _priced(change: str, price: Price) -> str:
    """The cost of a command in words; empty if nothing is to be trained, or if it is unknown."""
    seconds = price(change) if change else 0.0
    return f" (about {about(seconds)} on one core)" if seconds else ""


def by_sweep(overrides: Sequence[str]) -> Commands:
    """The sweep again with the change."""
    return lambda comparison, change: command_line("train.py", [*_without(overrides, change), change])


def by_cells(results: CellResults, folder: Path) -> Commands:
    """The comparison's own cells as they were asked for; in one command if they differ in one column only."""
    overrides = results.cells["overrides"].to_dict()

    def command(comparison: Comparison, change: str) -> str:
        ends = [change] + ([] if folder == Path("results") else [f"paths.results={folder}"])
        pair = comparison.pairs[0]
        kept = [[each for each in overrides[cell] if _key(each) not in NOT_OF_A_CELL] for cell in pair]
        asked = [_without(each, change) for each in kept]
        keys = {_key(override) for override in set(asked[0]) ^ set(asked[1])}
        if len(keys) == 1 and (key := keys.pop()) in results.axes:
            values = ",".join(str(value) for value in results.cells.loc[list(pair), key])
            shared = [each for each in asked[0] if _key(each) != key]
            return command_line("train.py", [*shared, f"{key}={values}", *ends])
        return " && ".join(dict.fromkeys(command_line("train.py", [*each, *ends]) for each in asked))

    return command


def _without(overrides: Sequence[str], change: str) -> list[str]:
    """The overrides without those of the change's axis and its options."""
    return [each for each in overrides if _key(each).partition(".")[0] != _key(change)]


def _key(override: str) -> str:
    return override.partition("=")[0]
