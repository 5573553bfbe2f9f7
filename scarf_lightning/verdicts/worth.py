"""Worth in labels: a gain as the number of times the labels that the reference needs for the same metric.

The reference's learning curve is inverted: its metric is a straight line in the logarithm of the number of labels
between two numbers of labels at which it was measured (Hestness et al. 2017, arXiv 1712.00409; Viering and Loog 2023,
DOI 10.1109/TPAMI.2022.3220744, on the shapes of learning curves). Beyond its ends the curve is continued by its last
step, as far as `REACH` times the most labels. Curves flatten, so a gain there is worth rather more than the figure.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import capitalised
from ..intervals import FEWEST_TABLES, ROUNDING, student_quantile
from ..metrics import Floats
from .effects import Cell, Effect

REACH = 3.0
"""How far a curve is continued beyond its ends: to three times the most labels, and to a third of the fewest."""
FEWEST_DATASETS = 25
"""Datasets below which a worth has no interval: where one dataset in four gains, ten miss all of them too often."""
DRAWS = 4000
"""Bootstrap draws."""


@dataclass(frozen=True)
class Worth:
    """The worth of a competitor beside its reference, at one number of labels.

    Attributes:
        labels: at which both are measured.
        worth: how many times these labels the reference needs for the competitor's metric. It is above one where the
            competitor is better.
        worth_low, worth_high: the ends of its 95 % interval; NaN with too few tables for one.
        least, most: the ends of the continued curve in the same unit. A worth of ``most`` means "more than", one of
            ``least`` "less than"; so do the ends of the interval.
        n: tables that the interval is a bootstrap over.
    """

    labels: float
    worth: float
    worth_low: float
    worth_high: float
    least: float
    most: float
    n: int

    @property
    def ends(self) -> str:
        """The interval in words; empty if it is unknown, has no width, or lies beyond the curve."""
        if not self.worth_low < self.worth_high:
            return ""
        return f"{self.in_words(self.worth_low)} to {self.in_words(self.worth_high)}"

    def in_words(self, factor: float) -> str:
        """A factor, or the end of the curve that it lies beyond."""
        text = f"{factor:.2f}" if factor < 10 else f"{factor:.0f}"
        if factor >= self.most:
            return f"more than {text}"
        return f"less than {text}" if factor <= self.least else text


def worth_sentences(worths: Sequence[tuple[Effect, Worth]]) -> list[str]:
    """The worth of each competitor at each number of labels: ``SCARF with 20 labels is worth 2.00 times the labels
    (1.50 to 2.50).``"""
    sentences = []
    for effect, worth in worths:
        ends = f" ({worth.ends})" if worth.ends else ""
        subject = f"{capitalised(effect.what)} with {worth.labels:,g} labels"
        sentences.append(f"{subject} is worth {worth.in_words(worth.worth)} times the labels{ends}.")
    return sentences


def worths_of(effects: Sequence[Effect], cells: Sequence[Cell]) -> list[tuple[Effect, Worth]]:
    """The worth of each competitor at each number of labels.

    There is none on a few tables, whose trials hardly ever show a worth, and without a curve of the reference. Its
    points are the numbers of labels that all tables have; a part of the labels, or all, is another number on each.

    Args:
        effects: with their answers, best first.
        cells: of these effects, with those of the reference's curve.
    """
    means = {(cell.name, cell.labels, cell.table): cell.trials.mean for cell in cells}
    label_numbers = sorted({cell.labels for cell in cells if cell.labels is not None and 1 <= cell.labels < math.inf})
    worths = []
    for effect in effects:
        name, tables, metric = effect.reference, effect.tables, effect.metric
        labels = [n for n in label_numbers if all((name, n, table) in means for table in tables)]
        if effect.labels not in label_numbers or len(tables) < FEWEST_TABLES or len(labels) < 2:
            continue
        curves = metric.sign * np.array([[means[name, n, table] for n in labels] for table in tables])
        values = metric.sign * np.array([cell.trials.mean for cell in effect.ones])
        at = labels.index(float(effect.labels or 0))
        # Tables have a common scale in parts of their own reference alone.
        if metric.is_relative:
            sizes = np.abs(curves[:, at])
            values, curves = values / sizes, curves / sizes[:, None]
        worths.append((effect, worth_in_labels(values, curves, labels, at)))
    return worths


def worth_in_labels(competitor: Floats, reference: Floats, labels: Sequence[float], at: int) -> Worth:
    """The worth of a competitor in labels, from metrics of the same tables, higher being better.

    Mean metrics are inverted, and not those of each table, many of which have a curve that is flat or falls. Intervals
    are quantiles of `DRAWS` bootstrap draws. Tables are drawn with replacement, and the tails are those of the expanded
    percentile interval (Hesterberg 2015, DOI 10.1080/00031305.2015.1089789); fewer than `FEWEST_DATASETS` have no
    interval.

    Args:
        competitor: its metric at ``labels[at]``, ``(U,)`` for U tables.
        reference: its metric at each number of labels, ``(U, B)``.
        labels: the numbers of labels, above zero and ascending, ``(B,)``.
        at: position of the competitor's number of labels.

    A reference that gains a point with each doubling needs twice the labels for a point more:

    >>> worth = worth_in_labels(np.array([0.62]), np.array([[0.60, 0.61, 0.62]]), [20, 40, 80], at=1)
    >>> round(worth.worth, 3)
    2.0
    """
    from scipy.special import ndtr

    n = len(competitor)
    # The curve is continued beyond its ends.
    ends = labels[0] / labels[at] / REACH, labels[-1] / labels[at] * REACH
    widths = [math.log(REACH), *np.diff(np.log(labels)).tolist(), math.log(REACH)]
    # The gain and the steps of the curve are all that the factor depends on. In parts of the largest metric:
    # differences that cancel but for rounding are a tie, whatever its unit.
    parts = np.column_stack([competitor - reference[:, at], np.diff(reference, axis=1)])
    parts = parts / (np.abs(reference).max() or 1.0)
    means = parts.mean(axis=0)
    factor = _factor(means, widths, at, ends)

    low = high = math.nan
    if n >= FEWEST_DATASETS:
        # How often each draw has each table. The seed is fixed, so a report that is made again shows the same interval.
        counts = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=DRAWS)
        factors = [_factor(draw, widths, at, ends) for draw in means + counts @ (parts - means) / n]
        tail = ndtr(-student_quantile(n - 1) * math.sqrt(n / (n - 1)))
        low = np.quantile(factors, tail, method="lower")
        high = np.quantile(factors, 1 - tail, method="higher")
    return Worth(labels[at], factor, low, high, *ends, n)


def _factor(means: Floats, widths: Sequence[float], at: int, ends: tuple[float, float]) -> float:
    """The factor of the labels at which a curve first reaches its gain.

    Args:
        means: the gain and the steps of the curve between its numbers of labels, ``(B,)``.
        widths: of the steps in the logarithm of labels, those of both continued ends with them, ``(B + 1,)``.
        at: position of the number of labels where the gain was measured.
        ends: the factors of both ends of the continued curve, for gains that it does not reach.
    """
    gain, *steps = means.tolist()
    if abs(gain) <= ROUNDING:
        return 1.0
    # A curve that falls at its end is no reason that more labels would go on harming.
    first = widths[0] * max(steps[0] / widths[1], 0.0)
    last = widths[-1] * max(steps[-1] / widths[-2], 0.0)
    segments = list(zip(widths, [first, *steps, last], strict=True))
    # A gain is looked for among more labels, a loss among fewer.
    place = rise = 0.0
    for width, step in segments[at + 1 :] if gain > 0 else segments[at::-1]:
        # A gain counts as reached a little before its place.
        if abs(gain) <= rise + step + ROUNDING:
            place += width * min((abs(gain) - rise) / step, 1.0)
            return math.exp(math.copysign(place, gain))
        place, rise = place + width, rise + step
    return ends[gain > 0]
