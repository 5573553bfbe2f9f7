"""The effects of a report's cells, as the page, the terminal and loggers show them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from ..metrics import Metric
from ..verdicts.answers import UNDECIDED
from ..verdicts.effects import Cell, Effect, Plan, Product, answered, effects_of, frame_of
from ..verdicts.words import sentences
from ..verdicts.worth import Worth, worths_of
from .blocks import named
from .cell_results import CellResults
from .learning import LEARNS_NOTHING, not_learnt_note, probability_note
from .levels import trials_of
from .names import text_of
from .remembered_looks import looks_at, remember_looks
from .report_options import ReportOptions


@dataclass(frozen=True)
class Answers:
    """The answers that results give.

    Attributes:
        results, options: that they are by.
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
    def worths(self) -> Sequence[tuple[Effect, Worth]]:
        """The worth in labels of each competitor, over numbers of labels."""
        metric = self.options.measure
        return worths_of(self.effects, cells_in(self.results, metric), metric)

    @property
    def is_star(self) -> bool:
        """True if each effect is a change beside the base of a star."""
        return bool(self.effects) and all(each.kind == "change" for each in self.effects)

    @property
    def asked(self) -> Sequence[Effect]:
        """The effects that advice is about: interactions only where all others are answered."""
        others = [each for each in self.effects if each.kind != "interaction"]
        return others if any(each.claimed == UNDECIDED for each in others) else self.effects

    @property
    def in_words(self) -> list[str]:
        """The answer in sentences; none if nothing is compared."""
        return sentences(self.effects, self.options.measure) if self.effects else []

    def remember(self) -> None:
        """Remember in the store that these answers were shown: further looks at the same cells are stricter."""
        remember_looks(self.effects, self.results, self.options)

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


def answers_of(results: CellResults, options: ReportOptions) -> Answers:
    """The effects of all cells, with the answers that hold together after all looks that the store remembers.

    Raises:
        UsageError: no competitor is the reference that the options name.
    """
    effects, product = judged_effects(results, options)
    return Answers(results, options, answered(effects, looks_at(results, options)), product)


def judged_effects(results: CellResults, options: ReportOptions) -> tuple[list[Effect], Product | None]:
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
    competing = results.competition
    # A context that all cells share says nothing, unless it is a number of labels.
    is_said = len(set(competing.contexts.values())) > 1 or competing.budgets is not None
    trials = results.trials
    # Rows of older versions lack the labels in all.
    n_labels = trials["n_labels"].fillna(trials["n_labelled"]).astype(float).groupby(trials["cell"]).median()
    cells = []
    for label, row in results.rows.items():
        is_baseline = row["method"] == LEARNS_NOTHING
        cell = Cell(
            table=row["dataset"],
            name=competing.names[label],
            trials=trials_of(results, label, metric),
            options={column: text_of(row[column]) for column in results.axes if row.get(column) is not None},
            context=competing.contexts[label] if is_said else "",
            labels=None if competing.budgets is None else competing.budgets[label],
            n_labels=n_labels.get(label, math.nan),
            key=label,
            fault="" if is_baseline else results.sign_of(label),
            is_baseline=is_baseline,
        )
        cells.append(cell)
    return cells
