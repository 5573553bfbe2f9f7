"""The end of a run: its answer, and what would settle open comparisons, as commands with their cost."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..options import labels
from ..results import Row
from ..screen import command_line
from ..sweeping.cell import Cell, SurveyedCell
from ..sweeping.expand import ExpandedSweep
from ..sweeping.plan import about
from .blocks import named
from .comparisons import Comparison, compare_all
from .loading import SECONDS, CellResults, ReportedCell, read_results
from .pairing import pairs_of
from .report_options import ReportOptions
from .sentences import answer_in_words
from .statistics.verdict import FEWEST_DATASETS, FEWEST_FOR_SAME, FEWEST_TO_PREDICT, SIZES

Commands = Callable[[Comparison, str], str]
"""The command that trains a comparison's cells with a change such as ``trials=30`` to what was asked."""
NOT_OF_A_CELL = ("sweeps", "reference", "plan", "force", "paths.results")
PAPERS_DATASETS = "dataset=glob(cc18-*)"
N_PAPERS_DATASETS = 69
SMALL_DATASETS = (
    "cc18-balance-scale", "cc18-credit-approval", "cc18-tic-tac-toe", "cc18-eucalyptus", "cc18-cylinder-bands",
    "cc18-analcatdata_dmft", "cc18-pc1", "cc18-car",
)  # fmt: skip
"""Datasets of at most 1,728 rows, which train within minutes. Advice names them first."""
EVEN = 0.5
"""Predicted chance of an answer below which more of the same is not advised."""


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
        """The keys of the cells whose comparison is as likely as not to be settled by more trials."""
        found = set[str]()
        for each in self.comparisons:
            verdict = each.verdict
            is_told = verdict.answer != "cannot tell yet"  # alone, but not yet together with the others
            may_settle = verdict.more is not None or verdict.chance >= EVEN or verdict.trials < FEWEST_FOR_SAME
            if each.claimed == "cannot tell yet" and not verdict.reason and (is_told or may_settle):
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
    options = ReportOptions(reference=request.cells[0].config.reference)
    comparisons = compare_all(results, options.of(results)) if len(tried) > 1 else []
    return ComparedRun(tried, results, comparisons)


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
    settling = what_would_settle(run.comparisons, by_sweep(request.arguments), run.results)
    return [*run.in_words, *(in_one_line(*each) for each in settling)]


def in_one_line(sentence: str, command: str) -> str:
    """Advice with its command, for a terminal."""
    return f"{sentence}: {command}" if command else f"{sentence}."


def what_would_settle(
    comparisons: Sequence[Comparison], commands: Commands, results: CellResults
) -> list[tuple[str, str]]:
    """What would settle open comparisons: sentences, each with a command, which may be empty."""
    known = {str(name) for name in results.cells["dataset"]}
    groups: dict[tuple[str, str], list[Comparison]] = {}
    for each in comparisons:
        if each.verdict.answer == "cannot tell yet" and not each.verdict.reason:
            groups.setdefault(_advice(each, known), []).append(each)
    return [
        (
            f"{named([each.label for each in group], 3)}: {advice}{_cost(group[0], change, results)}",
            commands(group[0], change) if change else "",
        )
        for (change, advice), group in sorted(groups.items(), key=lambda item: -len(item[1]))
    ]


def _advice(comparison: Comparison, known: set[str]) -> tuple[str, str]:
    """A change to what was asked, empty for none, and the sentence before the command."""
    verdict = comparison.verdict
    over_datasets = verdict.datasets > 1
    what, n = ("datasets", verdict.datasets) if over_datasets else ("trials", verdict.trials)
    fewest = FEWEST_FOR_SAME if over_datasets else FEWEST_TO_PREDICT
    if verdict.more is not None:
        more, said = verdict.more, f"{verdict.more} {what} would very likely settle it"
    elif n < fewest:
        more = FEWEST_DATASETS if n < FEWEST_DATASETS and over_datasets else FEWEST_FOR_SAME
        said = f"an answer needs {more} datasets or more"
        if not over_datasets:
            said = f"too few to say; go on to {more} trials"
    elif verdict.chance >= EVEN:
        more = SIZES[-1]
        said = f"more {what} may settle it, up to {more} with a chance of about {10 * round(10 * verdict.chance)} %"
    elif over_datasets:
        return "", f"{n} datasets do not tell, and more will hardly"
    else:
        return "", "more trials will not settle this, because splits of one dataset overlap; try more datasets"
    if not over_datasets:
        return f"trials={more}", said
    others = [name for name in SMALL_DATASETS if name.removeprefix("cc18-") not in known]
    is_few = more - n <= len(others)
    return (f"dataset={','.join(others[: more - n])}" if is_few else PAPERS_DATASETS), said


def _cost(comparison: Comparison, change: str, results: CellResults) -> str:
    """How long the command takes, if more trials, or datasets, take as long as the finished ones; empty if their times
    are unknown."""
    of_pairs = results.trials[results.trials["cell"].isin({cell for pair in comparison.pairs for cell in pair})]
    seconds = of_pairs[list(SECONDS)].sum(axis=1)
    key, _, value = change.partition("=")
    if not change or not seconds.sum() > 0:
        return ""
    if key == "trials":
        each = seconds.groupby(of_pairs["cell"]).agg(["mean", "count"])
        return f" (about {about(float((each['mean'] * (int(value) - each['count']).clip(lower=0)).sum()))} on one core)"
    n = N_PAPERS_DATASETS if change == PAPERS_DATASETS else 1 + value.count(",")
    took = float(seconds.sum()) / len(comparison.pairs)
    return f" (about {about(n * took)} on one core, if they take as long as these)"


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
