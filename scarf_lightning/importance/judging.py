"""Verdicts on columns: by how much is a competitor better with a column than without it?

A difference is that of the competitor as it is and of the same one with the column changed, on the same test rows. The
answers are the six of the workbench: a column *helps*, makes *no practical difference*, and so on. Direction and size
are corrected over all columns, ways and competitors of a page, those that were not tried among them (Holm 1979).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from ..intervals import FEWEST
from ..metrics import Metric
from ..report.amounts import signed, unsigned
from ..report.blocks import named
from ..verdicts.answers import HELPING, HURTING, MARGIN, Answer, Levels, answer_of, corrected
from ..verdicts.trials import RowsOfTrial, Split, judge_trials
from ..verdicts.verdict import Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Way = Literal["permuted", "left out", "left out of pre-training", "left out of corruption", "beyond the labels"]
"""The change of a column: permuted in the test rows of trained competitors; left out of all of training, of
pre-training alone, or of its corruption alone; or permuted, of which the difference to a competitor without
pre-training is judged."""
NO_DIFFERENCE: Answer = "no practical difference"
MOST_LINES = 45
"""Lines of a figure."""


@dataclass(frozen=True)
class ColumnVerdict:
    """The verdict on a column, or on columns that were changed together.

    Attributes:
        columns: their names.
        way: what was done to them.
        competitor: with which they were tried.
        verdict: by how much the competitor is better as it is.
        score, changed: its metric as it is, and without them.
    """

    columns: tuple[str, ...]
    way: Way
    competitor: str
    verdict: Verdict
    score: float
    changed: float

    @property
    def name(self) -> str:
        """The columns in words."""
        return name_of(self.columns)


def name_of(columns: Sequence[str]) -> str:
    """Columns in words: at most three by their names.

    >>> name_of(["age", "income"]), name_of(["a", "b", "c", "d"])
    ('age + income', 'a + b + c and 1 more')
    """
    shown = " + ".join(columns[:3])
    return shown if len(columns) <= 3 else f"{shown} and {len(columns) - 3} more"


def judge_column(
    columns: tuple[str, ...],
    way: Way,
    competitor: str,
    intact: Sequence[RowsOfTrial],
    changed: Sequence[RowsOfTrial],
    metric: Metric,
    split: Split,
    *,
    margin: float = MARGIN,
    fewest: int = FEWEST,
) -> ColumnVerdict:
    """The verdict on columns, from trials that tested the same rows in the same order with and without them.

    Differences of metrics without a largest value, such as RMSE, are parts of the value without the columns.

    Args:
        intact, changed: the trials of the competitor.
        split: how trials draw their rows.
        margin: a difference no larger than this is of no practical consequence.
        fewest: trials below which there is no interval; 1 if the claim is about these very networks.
    """
    score = float(np.mean([rows.values.mean() for rows in intact]))
    without = float(np.mean([rows.values.mean() for rows in changed]))
    size = 1.0
    if metric.is_relative:
        # A part of the value without the column, which is the reference of the verdict.
        size = abs(without) or 1.0
    verdict = judge_trials(intact, changed, metric, split, size=size, margin=margin, fewest=fewest)
    return ColumnVerdict(columns, way, competitor, verdict, score, without)


@dataclass(frozen=True)
class Importance:
    """Verdicts on columns that hold together.

    Attributes:
        verdicts: on all that was tried.
        metric: that they are by.
        margin: of no practical consequence.
        n_untried: comparisons that belong to the page and were not tried. They count in the correction, so that the
            choice of what is tried makes no claim easier.
        claim: what the verdicts are about.
    """

    verdicts: Sequence[ColumnVerdict]
    metric: Metric
    margin: float = MARGIN
    n_untried: int = 0
    claim: str = "this table"

    @cached_property
    def answers(self) -> list[Answer]:
        """The answers that may be claimed together, one for each verdict."""
        single = [each.verdict.levels for each in self.verdicts]
        # An untried comparison claims nothing, and counts as one.
        untried = [Levels()] * self.n_untried
        corrected_levels = corrected([*single, *untried])
        answers = []
        for each, levels in zip(self.verdicts, corrected_levels, strict=False):
            answers.append(answer_of(each.verdict.interval, levels, self.margin))
        return answers

    @property
    def answered(self) -> list[tuple[ColumnVerdict, Answer]]:
        """The verdicts with their answers."""
        return list(zip(self.verdicts, self.answers, strict=True))

    def of(self, way: Way, competitor: str | None = None) -> list[tuple[ColumnVerdict, Answer]]:
        """The verdicts of one way, of one competitor if it is given, most important first."""
        pairs = []
        for each, answer in self.answered:
            if each.way == way and competitor in (None, each.competitor):
                pairs.append((each, answer))

        # Without a number it comes last.
        def size(pair: tuple[ColumnVerdict, Answer]) -> float:
            return float(np.nan_to_num(pair[0].verdict.difference, nan=-np.inf))

        return sorted(pairs, key=size, reverse=True)

    @property
    def ways(self) -> list[Way]:
        """The ways that were tried, in their order."""
        return list(dict.fromkeys(each.way for each in self.verdicts))

    @property
    def competitors(self) -> list[str]:
        """The competitors, in their order."""
        return list(dict.fromkeys(each.competitor for each in self.verdicts))

    @property
    def frame(self) -> pd.DataFrame:
        """A row for each verdict: ``columns, way, competitor, answer, difference, low, high, p, score, without, trials,
        claim``. Differences are improvements with the columns over without them; ``score`` and ``without`` are the
        metric."""
        rows = []
        for each, answer in self.answered:
            verdict = each.verdict
            row: dict[str, Any] = {
                "columns": each.name,
                "way": each.way,
                "competitor": each.competitor,
                "answer": answer,
                "difference": verdict.difference,
                "low": verdict.low,
                "high": verdict.high,
                "p": verdict.levels.direction,
                "score": each.score,
                "without": each.changed,
                "trials": verdict.trials,
                "claim": self.claim,
            }
            rows.append(row)
        return pd.DataFrame(rows)

    def helping(self, way: Way, competitor: str | None = None) -> list[str]:
        """The columns that help, most important first."""
        names: dict[str, None] = {}
        for each, answer in self.of(way, competitor):
            # Of several competitors the first place counts.
            if answer in HELPING:
                names.setdefault(each.name)
        return list(names)

    @property
    def sentences(self) -> list[str]:
        """A sentence for each way and competitor, with the columns by their answers."""
        sentences = []
        for way in self.ways:
            for competitor in self.competitors:
                pairs = self.of(way, competitor)
                if pairs:
                    sentences.append(self._sentence(way, competitor, pairs))
        return sentences

    def _sentence(self, way: Way, competitor: str, pairs: Sequence[tuple[ColumnVerdict, Answer]]) -> str:
        """The columns of one way and competitor by their answers."""
        by_answer: dict[Answer, list[str]] = {}
        for each, answer in pairs:
            shown = each.name
            # Only what is claimed has an amount.
            if answer in HELPING or answer in HURTING:
                shown = f"{each.name} {self._amount(each.verdict)}"
            by_answer.setdefault(answer, []).append(shown)
        parts = []
        for answer, names in by_answer.items():
            parts.append(f"{answer}: {named(names)}")
        return f"{competitor}, {way}: {'; '.join(parts)}."

    def _amount(self, verdict: Verdict) -> str:
        """An improvement with its interval."""
        amount = signed(verdict.difference, self.metric)
        if math.isnan(verdict.low):
            return amount
        return f"{amount} ({signed(verdict.low, self.metric)} to {signed(verdict.high, self.metric)})"

    def __str__(self) -> str:
        unit = f", {self.metric.unit}" if self.metric.unit else ""
        heading = (
            f"Improvement in {self.metric.label}{unit} with a column over without it, with 95 % intervals; up to "
            f"{unsigned(self.margin, self.metric)} is of no practical consequence. The claim is about {self.claim}."
        )
        return "\n".join([heading, *self.sentences])

    def figure(self, way: Way | None = None, *, is_narrow: bool = False) -> "Figure":
        """Improvements with their intervals, most important first; ``way`` is the first one if not given."""
        from ..report.effects import Effect, effects_figure

        shown_way = way or self.ways[0]
        are_several = len({each.competitor for each, _ in self.of(shown_way)}) > 1
        lines = []
        for each, answer in self.of(shown_way)[:MOST_LINES]:
            label = f"{each.name}, {each.competitor}" if are_several else each.name
            lines.append(Effect(label, each.verdict, answer))
        return effects_figure(lines, self.metric, self.margin, is_narrow=is_narrow)
