"""The answers that cells give, of a report or of a run: effects and their evidence, made once for every page, terminal
and logger; and the looks at them, as the store remembers them."""

import itertools
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..errors import RecordWarning, enumeration
from ..intervals import Interval
from ..metrics import Metric, metric_named
from ..results import keep_looks, read_looks
from ..verdicts.answers import ENOUGH_TRIALS, UNDECIDED, Levels, Look, chance_of_answer
from ..verdicts.effects import Cell, Effect, Plan, Product, answered, effects_of, frame_of, level_over
from ..verdicts.words import sentences
from ..verdicts.worth import Worth, worth_sentences, worths_of
from .cell_results import CellResults, ReportedCell, read_results
from .learning import LEARNS_NOTHING, not_learnt_note, probability_note
from .names import named, text_of
from .report_options import ReportOptions

if TYPE_CHECKING:
    from ..sweeping.cell import Cell as SweptCell
    from ..sweeping.expand import ExpandedSweep

OF_CLASSES, OF_NUMBERS = ("accuracy", "log_loss", "auroc"), ("rmse", "mae")
"""Metrics that a table shows side by side, by the kind of target. Log-loss often decides where accuracy cannot."""
MOST_WORTHS = 6
"""The most worths that an answer has sentences on; its table has all."""
TRIED = (10, 20, 30, 50, 100)
"""Numbers of trials that may be advised."""
ENOUGH = 0.8
"""The chance from which on no more trials are advised."""
NEARLY = 0.9
"""The part of the best chance for which fewer trials are enough."""
WORTHWHILE = 0.2
"""The chance below which trials are not advised: they would leave four comparisons in five open."""

Point = tuple[float, Interval]
"""A number of labelled rows, and the metric there."""
Pair = tuple[str, str]
"""Fingerprints of a cell and of its reference."""


@dataclass(frozen=True)
class Answers:
    """The answers that results give.

    Attributes:
        results, options: that they are made from.
        effects: the frame of effects: of the axes of a product and their interactions, or else best first.
        product: the cells as a product, if they are one.
    """

    results: CellResults
    options: ReportOptions
    effects: Sequence[Effect]
    product: Product | None = None

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The frame of effects, see `verdicts.effects.frame_of`."""
        return frame_of(self.effects)

    @cached_property
    def means(self) -> pd.DataFrame:
        """The level of each setting of the product: ``context``, its axes, ``mean, mean_low, mean_high, datasets``."""
        assert self.product is not None
        axes, places = self.product.axes, dict[str, dict[str, list[Cell]]]()
        for cell in self.product.cells:
            places.setdefault(cell.context, {}).setdefault(cell.name, []).append(cell)
        rows = []
        for (context, cells_by_name), setting in itertools.product(places.items(), itertools.product(*axes.values())):
            cells = cells_by_name[self.product.names[setting]]
            mean, low, high = level_over(cells, self.options.measure)
            level = {"mean": mean, "mean_low": low, "mean_high": high, "datasets": len(cells)}
            rows.append({"context": context, **dict(zip(axes, setting, strict=True)), **level})
        return pd.DataFrame(rows)

    @cached_property
    def by_metric(self) -> dict[Metric, Sequence[Effect]]:
        """The effects by the leading metric and by others of its kind, unanswered; none if no other metric is known."""
        leading, trials = self.options.measure, self.results.trials
        names = OF_NUMBERS if "number" in leading.targets else OF_CLASSES
        others = [name for name in names if name != leading.name and trials[name].notna().any()]
        effects_by_metric: dict[Metric, Sequence[Effect]] = {}
        for name in (leading.name, *others) if others else ():
            effects_by_metric[metric_named(name)], _ = effects_in(self.results, replace(self.options, metric=name))
        return effects_by_metric

    @cached_property
    def curves(self) -> dict[str, list[Point]]:
        """The metric over numbers of labels, of each competitor; references come first."""
        competitors = [effect for effect in self.effects if effect.kind == "competitor"]
        curves: dict[str, dict[float, dict[Any, Cell]]] = {effect.reference: {} for effect in competitors}
        for effect in sorted(competitors, key=lambda effect: effect.labels or 0.0):
            for cell in (*effect.others, *effect.ones):
                # By its key, since several competitors share a reference.
                curves.setdefault(cell.name, {}).setdefault(cell.labels or 0.0, {})[cell.key] = cell
        lines: dict[str, list[Point]] = {}
        for name, curve in curves.items():
            lines[name] = []
            for by_key in curve.values():
                cells = list(by_key.values())
                # Of several datasets the median number of labels, and the mean over them.
                level = level_over(cells, self.options.measure)
                lines[name].append((median(cell.n_labels for cell in cells), level))
        return lines

    @cached_property
    def worths(self) -> Sequence[tuple[Effect, Worth]]:
        """The worth in labels of each competitor, over numbers of labels."""
        return worths_of(self.effects, cells_in(self.results, self.options.measure))

    @property
    def is_star(self) -> bool:
        """True if each effect is a change beside the base of a star."""
        return bool(self.effects) and all(each.kind == "change" for each in self.effects)

    @property
    def in_words(self) -> list[str]:
        """The answer in sentences; none if nothing is compared."""
        return sentences(self.effects) if self.effects else []

    @property
    def worth_in_words(self) -> list[str]:
        """A sentence on each of the first worths, at most `MOST_WORTHS`."""
        return worth_sentences(self.worths)[:MOST_WORTHS]

    @property
    def advice(self) -> list[str]:
        """A sentence on the trials that would decide what is open, if any would."""
        others = [each for each in self.effects if each.kind != "interaction"]
        # Of interactions only where all others are answered.
        return trials_sentence(others if any(each.claimed == UNDECIDED for each in others) else self.effects)

    @property
    def reservations(self) -> list[str]:
        """Sentences on cells that have learnt nothing, and on those whose probabilities are worth nothing."""
        results = self.results
        finished = results.cells[results.cells["finished"] > 0]
        # The constant prediction is no sign that something went wrong.
        learning = [int(cell) for cell in finished.index[finished["method"] != LEARNS_NOTHING]]
        signs = {results.names[cell]: sign for cell in learning if (sign := results.sign_of(cell))}
        evidence = {results.names[cell]: results.evidence_of(cell) for cell in learning}
        return [*not_learnt_note(signs, len(learning)), *probability_note(evidence)]

    @property
    def other_kind_note(self) -> str:
        """A sentence on datasets with another kind of target, which the metric does not measure; empty for none."""
        # A folder may hold tables of classes and of numbers, and one metric measures only one kind.
        metric, results = self.options.measure, self.results
        other = [label for label, target in results.targets.items() if not target.is_among(metric.targets)]
        datasets = dict.fromkeys(str(results.rows[label]["dataset"]) for label in other)
        if not datasets:
            return ""
        return (
            f"{metric.label} does not measure {named(list(datasets))}, whose target is of another kind: name another "
            "metric=, or report these datasets by themselves."
        )

    def remember(self) -> None:
        """Remember in the store that these answers were shown: further looks at the same cells are stricter."""
        remember_looks(self.effects, self.results)


def answers_of(results: CellResults, options: ReportOptions) -> Answers:
    """The effects of all cells, with the answers that hold together after all looks that the store remembers.

    Raises:
        UsageError: no competitor is the reference that the options name.
    """
    effects, product = effects_in(results, options)
    return Answers(results, options, answered(effects, looks_at(results)), product)


def effects_in(results: CellResults, options: ReportOptions) -> tuple[list[Effect], Product | None]:
    """Every effect of which both sides have a trial, before it is answered together with the others; and the product.

    Raises:
        UsageError: no competitor is the reference that the options name.
    """
    usual = {axis: text_of(value) for axis, value in results.usual.items() if value is not None}
    cells = cells_in(results, options.measure)
    axes, compared = results.axes, results.compared
    return effects_of(Plan(cells, axes, compared, options.measure, options.reference, usual, options.rope))


def cells_in(results: CellResults, metric: Metric) -> list[Cell]:
    """The cells of a report as the planner takes them, by their labels."""
    competition = results.competition
    # A context that all cells share says nothing, unless it is a number of labels.
    shows_context = len(set(competition.contexts.values())) > 1 or competition.budgets is not None
    trials = results.trials
    # Rows of older versions lack the labels in all.
    n_labels = trials["n_labels"].fillna(trials["n_labelled"]).astype(float).groupby(trials["cell"]).median()
    cells = []
    for label, row in results.rows.items():
        is_baseline = row["method"] == LEARNS_NOTHING
        cell = Cell(
            table=row["dataset"],
            name=competition.names[label],
            options={column: text_of(row[column]) for column in results.axes if row.get(column) is not None},
            context=competition.contexts[label] if shows_context else "",
            labels=None if competition.budgets is None else competition.budgets[label],
            n_labels=n_labels.get(label, math.nan),
            key=label,
            trials=results.measured(label, metric),
            fault="" if is_baseline else results.sign_of(label),
            is_baseline=is_baseline,
        )
        cells.append(cell)
    return cells


def answers_of_run(request: "ExpandedSweep", cells: Sequence["SweptCell"]) -> Answers:
    """The answers of the cells of a run so far; none if fewer than two of them have a trial."""
    report_cells = []
    for cell in cells:
        # A cell without a trial has nothing in the store.
        report_cells.append(reported(cell, cell.folder if cell.stored.rows else None, stored=cell.stored))
    results = read_results(report_cells, usual=dict(request.usual or {}))
    # The metric of the command line comes before that of the sweep file.
    if request.sweep is not None and request.cells[0].config.metric is None:
        results = replace(results, metric=request.sweep.leading(results.metric))
    # A run has no option for the margin, so its answer is by the default of a report.
    options = ReportOptions(reference=request.cells[0].config.reference).with_metric(results.metric)
    if sum(bool(cell.stored.rows) for cell in cells) < 2:
        return Answers(results, options, [])
    return answers_of(results, options)


def answer_in_words(answers: Answers) -> list[str]:
    """The answer of a run in sentences; none if nothing is compared."""
    if not answers.effects:
        return []
    kind = answers.other_kind_note
    return [*answers.in_words, *([kind] if kind else []), *answers.advice]


def check_reference(cells: Sequence["SweptCell"]) -> None:
    """Refuse a reference that is none of the competitors of a run, before it trains, by a `UsageError`."""
    reference = cells[0].config.reference
    if reference is not None:
        report_cells = [reported(cell, None) for cell in cells]
        effects_in(read_results(report_cells), ReportOptions(reference=reference))


def reported(cell: "SweptCell", folder: Path | None, **fields: Any) -> ReportedCell:
    """A cell of a sweep; ``folder`` is its place in the store, if it is known, as are more fields of `ReportedCell`."""
    config = cell.config
    return ReportedCell(cell.axes, config.dataset.id, folder, config.trials, cell.overrides, config.metric, **fields)


def trials_sentence(comparisons: Sequence[Effect]) -> list[str]:
    """A sentence on the trials that would decide what is open, with the chance of each comparison.

    There is none over several tables, without predictions, and where no number of trials is worth its time.
    """
    chances: dict[str, dict[int, float]] = {}
    for each in comparisons:
        verdict = each.verdict
        # A comparison with a reason, such as a side that has not learnt, is not decided by more of the same.
        if each.claimed != UNDECIDED or verdict.reason or verdict.datasets > 1:
            continue
        if verdict.has_few_trials:
            return [f"{ENOUGH_TRIALS} trials answer: the same command with trials={ENOUGH_TRIALS}."]
        if verdict.parts is not None:
            chances[each.label] = {
                trials: chance_of_answer(verdict, trials, each.needed) for trials in TRIED if trials > verdict.trials
            }
    best = {
        trials: max(by_trials.get(trials, 0.0) for by_trials in chances.values())
        for trials in TRIED
        if any(trials in by_trials for by_trials in chances.values())
    }
    if not best or max(best.values()) < WORTHWHILE:
        return []
    enough = min(ENOUGH, NEARLY * max(best.values()))
    trials = next(trials for trials, chance in best.items() if chance >= enough)
    label_chances = [
        (label, by_trials[trials]) for label, by_trials in chances.items() if by_trials.get(trials, 0.0) >= WORTHWHILE
    ]
    # A sentence of 25 words has room for three.
    (first, chance), *others = sorted(label_chances, key=lambda item: -item[1])[:3]
    clauses = [f"{first} with a chance of {100 * chance:.0f} %"]
    clauses += [f"{label} of {100 * chance:.0f} %" for label, chance in others]
    return [f"{trials} trials would decide {enumeration(clauses)}: the same command with trials={trials}."]


def looks_at(results: CellResults) -> Callable[[Effect], Sequence[Look]]:
    """A function that gives the looks at an effect which the store remembers; none for results of no store."""
    store = _store(results)
    records = [] if store is None else read_looks(store)
    return lambda effect: _looks_at(results, effect, records) if records else []


def _store(results: CellResults) -> Path | None:
    """The folder of the store that results are from; None if they are from none, or from several."""
    stores = {folder.parent for folder in results.folders.values() if folder.parent.is_dir()}
    return stores.pop() if len(stores) == 1 else None


def _looks_at(results: CellResults, effect: Effect, records: Sequence[Mapping[str, Any]]) -> list[Look]:
    """The looks that were taken at an effect.

    Over tables these are all looks at some of its tables together; tables that were added later are further trials. On
    a table a look must be at all of its cells: an interaction shares some of them with another one.

    Args:
        results: of the report.
        effect: of them.
        records: all looks of the store.
    """
    tables = _fingerprints(results, effect)
    question = _question(effect)
    looks = []
    for look in records:
        try:
            pairs = {(cell, reference) for cell, reference in look["pairs"]}
            reversed_pairs = {(reference, cell) for cell, reference in pairs}
            if any(look[name] != value for name, value in question.items()):
                continue
            is_gain = bool(look["gain"])
            # The same two cells the other way round: what was a gain is a loss.
            if any(table <= reversed_pairs for table in tables):
                is_gain = not is_gain
            elif not any(table <= pairs for table in tables):
                continue
            levels = Levels(*(float(look[name]) for name in Levels._fields))
            looks.append(Look(int(look["trials"]), levels, is_gain, float(look["margin"])))
        # Somebody has edited the file, or a later version writes it otherwise.
        except (KeyError, TypeError, ValueError, OverflowError):
            continue
    return looks


def remember_looks(effects: Sequence[Effect], results: CellResults) -> None:
    """Remember that effects, with their levels after the looks before, were shown.

    Of a store that cannot be written a warning says so. Results of no store are not remembered.
    """
    store = _store(results)
    if store is None:
        return
    records, new_looks = read_looks(store), []
    for effect in effects:
        verdict = effect.verdict
        earlier_trials = {look.trials for look in _looks_at(results, effect, records)}
        # A look at which nothing may be claimed is none, and neither is one at trials that were seen already.
        if verdict.basis == "none" or verdict.has_few_trials or verdict.looked_at in earlier_trials:
            continue
        look = _question(effect) | {
            "pairs": sorted(set[Pair]().union(*_fingerprints(results, effect))),
            "margin": verdict.margin,
            "trials": verdict.looked_at,
            "gain": verdict.difference > 0,
            **verdict.levels._asdict(),
        }
        new_looks.append(look)
    if not keep_looks(store, new_looks):
        warnings.warn(
            f"This look at the results is not remembered, because {store} cannot be written.",
            RecordWarning,
            stacklevel=2,
        )


def _question(effect: Effect) -> dict[str, Any]:
    """What a look must be about: an effect of an axis, or a claim over tables, is not that of two cells."""
    return {"metric": effect.metric.name, "claim": effect.verdict.claim, "question": effect.question}


def _fingerprints(results: CellResults, effect: Effect) -> list[set[Pair]]:
    """The fingerprints of both cells of each pair, table by table: the names of their folders."""
    tables: dict[str, set[Pair]] = {}
    for one, other in zip(effect.ones, effect.others, strict=True):
        pair = results.folders[one.key].name, results.folders[other.key].name
        tables.setdefault(one.table, set()).add(pair)
    return list(tables.values())
