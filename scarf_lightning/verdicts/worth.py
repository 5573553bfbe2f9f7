"""Worth in labels: a gain as the number of times the labels that the reference needs for the same metric.

The reference's learning curve is inverted: its metric is a straight line in the logarithm of the number of labels
between two numbers of labels at which it was measured (Hestness et al. 2017, arXiv 1712.00409; Viering and Loog 2023,
DOI 10.1109/TPAMI.2022.3220744, on the shapes of learning curves). Beyond its ends the curve is continued by its last
step, as far as `REACH` times the most labels. Curves flatten, so what lies there is worth rather more than is said.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import capitalised
from ..intervals import FEWEST_TABLES, ROUNDING, student_quantile
from ..metrics import Metric
from .answers import Floats
from .effects import Cell, Effect

REACH = 3.0
"""How far a curve is continued beyond its ends: to three times the most labels, and to a third of the fewest."""
TIE = 1e-9
"""Factors that differ by less, in parts of them, are equal."""
FEWEST_DATASETS = 25
"""Datasets below which a worth has no interval: where one dataset in four gains, ten miss all of them too often."""
DRAWS = 4000
"""Bootstrap draws."""


@dataclass(frozen=True)
class Worth:
    """The worth of a competitor beside its reference, at one number of labels.

    Attributes:
        labels: at which both are measured.
        factor: how many times these labels the reference needs for the competitor's metric. It is above one where the
            competitor is better.
        low, high: the ends of its 95 % interval; NaN with too few tables for one.
        least, most: the ends of the continued curve in the same unit. A factor of ``most`` means "more than", one of
            ``least`` "less than"; so do the ends of the interval.
        curve: the part of the reference's curve that the factor lies on, ``measured`` or ``continued``.
        n: tables that the interval is a bootstrap over.
    """

    labels: float
    factor: float
    low: float
    high: float
    least: float
    most: float
    curve: str
    n: int

    @property
    def times(self) -> str:
        """The factor in words, or the end of the curve that it lies beyond."""
        return self._in_words(self.factor)

    @property
    def ends(self) -> str:
        """The interval in words; empty if it is unknown, has no width, or lies beyond the curve."""
        if math.isnan(self.low) or math.isclose(self.low, self.high):
            return ""
        return f"{self._in_words(self.low)} to {self._in_words(self.high)}"

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of a table of worths: ``labels, worth, worth_low, worth_high, least, most, curve, n``."""
        renamed = {"factor": "worth", "low": "worth_low", "high": "worth_high"}
        return {renamed.get(name, name): value for name, value in vars(self).items()}

    def _in_words(self, factor: float) -> str:
        text = f"{factor:.2f}" if factor < 10 else f"{factor:.0f}"
        if factor >= self.most:
            return f"more than {text}"
        return f"less than {text}" if factor <= self.least else text


def worth_sentences(worths: Sequence[tuple[Effect, Worth]]) -> list[str]:
    """The worth of each competitor at each number of labels: ``SCARF is worth 2.00 times the labels (1.50 to 2.50) at
    20, 1.40 times at 50.``"""
    by_name: dict[str, list[str]] = {}
    for effect, worth in worths:
        clauses = by_name.setdefault(effect.what, [])
        unit = "times" if clauses else "times the labels"
        ends = f" ({worth.ends})" if worth.ends else ""
        clauses.append(f"{worth.times} {unit}{ends} at {worth.labels:,g}")
    return [f"{capitalised(name)} is worth {', '.join(clauses)}." for name, clauses in by_name.items()]


def worths_of(effects: Sequence[Effect], cells: Sequence[Cell], metric: Metric) -> list[tuple[Effect, Worth]]:
    """The worth of each competitor at each number of labels.

    There is none on a few tables, whose trials hardly ever show a worth, and without a curve of the reference. Its
    points are the numbers of labels that all tables have; a part of the labels, or all, is another number on each.

    Args:
        effects: that are answered, best first.
        cells: that they are of, with the reference's curve among them.
        metric: of their values.
    """
    means = {(cell.name, cell.table, cell.labels): cell.trials.mean for cell in cells}
    known = {cell.labels for cell in cells if cell.labels is not None and 1 <= cell.labels < math.inf}
    found = []
    for effect in effects:
        # A reference that has not learnt has no curve, and a baseline asks nothing.
        is_valued = effect.labels in known and not effect.spoilt and not effect.is_baseline
        if not is_valued or len(effect.cells) < FEWEST_TABLES:
            continue
        labels = [n for n in sorted(known) if all((effect.reference, table, n) in means for table in effect.cells)]
        curves = np.array([[means[effect.reference, table, n] for n in labels] for table in effect.cells])
        at = labels.index(float(effect.labels or 0))
        values = np.array([cell.trials.mean for cell in effect.ones])
        # Tables have a common scale in parts of their own reference alone.
        if metric.is_relative:
            sizes = np.abs(curves[:, at])
            values, curves = values / sizes, curves / sizes[:, None]
        if len(labels) > 1:
            found.append((effect, worth_in_labels(metric.sign * values, metric.sign * curves, labels, at)))
    # Effects come best first, and numbers of labels in their order.
    places = {name: place for place, name in enumerate(dict.fromkeys(effect.what for effect, _ in found))}
    return sorted(found, key=lambda each: (places[each[0].what], each[1].labels))


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

    >>> found = worth_in_labels(np.array([0.62]), np.array([[0.60, 0.61, 0.62]]), [20, 40, 80], at=1)
    >>> round(found.factor, 3), found.curve
    (2.0, 'measured')
    """
    n = len(competitor)
    x = np.log(np.array(labels) / labels[at])
    # The gain and the steps of the curve are all that the factor depends on. In parts of the largest metric:
    # differences that cancel but for rounding are a tie, whatever its unit.
    parts = np.column_stack([competitor - reference[:, at], np.diff(reference, axis=1)])
    parts = parts / (float(np.abs(reference).max()) or 1.0)
    means = parts.mean(axis=0)
    factor = float(np.exp(_log_factors(means[None], x)[0]))

    low = high = math.nan
    if n >= FEWEST_DATASETS:
        weights, tail = _table_draws(n)
        drawn = np.exp(_log_factors(means + weights @ (parts - means) / n, x))
        low = float(np.quantile(drawn, tail, method="lower"))
        high = float(np.quantile(drawn, 1 - tail, method="higher"))
    start, stop = np.exp(x[[0, -1]])
    # The metric of the first number of labels itself is worth it but for rounding.
    is_measured = start * (1 - TIE) <= factor <= stop * (1 + TIE)
    least, most = np.exp([x[0] - math.log(REACH), x[-1] + math.log(REACH)]).tolist()
    curve = "measured" if is_measured else "continued"
    return Worth(float(labels[at]), factor, low, high, least, most, curve, n)


def _table_draws(n: int) -> tuple[Floats, float]:
    """How often each draw has each table, ``(DRAWS, n)``, and the part of draws beyond each end of the interval.

    >>> round(_table_draws(25)[1], 4), round(_table_draws(1000)[1], 3)
    (0.0176, 0.025)
    """
    from scipy.special import ndtr

    # The seed is fixed, so a report that is made again shows the same interval.
    counts = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=DRAWS)
    tail = float(ndtr(-student_quantile(n - 1) * math.sqrt(n / (n - 1))))
    return counts.astype(np.float64), tail


def _log_factors(means: Floats, x: Floats) -> Floats:
    """The logarithm of the labels at which each curve first reaches its gain, ``(draws,)``; the end of the continued
    curve if it does not.

    Args:
        means: a gain and the steps of a curve, ``(draws, B)``.
        x: logarithms of numbers of labels, zero where the gain was measured, ``(B,)``.
    """
    gains, steps = means[:, :1], means[:, 1:]
    beyond = math.log(REACH)
    # A curve that falls at its end is no reason that more labels would go on harming.
    slopes = np.maximum(steps[:, [0, -1]] / np.diff(x)[[0, -1]], 0.0)
    steps = np.column_stack([beyond * slopes[:, 0], steps, beyond * slopes[:, 1]])
    x = np.concatenate([[x[0] - beyond], x, [x[-1] + beyond]])
    here = int(np.searchsorted(x, 0.0))
    curve = np.column_stack([np.zeros(len(means)), np.cumsum(steps, axis=1)])
    # How far each end of a step lies above the gain, which counts as reached a little before its place.
    above = curve - curve[:, [here]] - gains
    first, last = above[:, :-1], above[:, 1:]
    sign = np.sign(gains)
    # More labels are looked for to the right, fewer to the left.
    is_towards = (np.arange(len(x) - 1) >= here) == (gains > 0)
    is_reached = is_towards & ((first + sign * ROUNDING) * (last + sign * ROUNDING) <= 0) & (first != last)
    places = x[:-1] - first * np.diff(x) / np.where(is_reached, last - first, 1.0)
    nearest = np.where(is_reached, np.abs(places), np.inf).min(axis=1)
    farthest = np.where(gains[:, 0] > 0, x[-1], -x[0])
    return np.asarray(np.where(np.abs(gains[:, 0]) > ROUNDING, sign[:, 0] * np.minimum(nearest, farthest), 0.0))
