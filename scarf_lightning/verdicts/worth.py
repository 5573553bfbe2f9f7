"""Worth in labels: a gain as the number of times the labels that the reference needs for the same metric.

The reference's learning curve is inverted: its metric is a straight line in the logarithm of the number of labels
between two numbers of labels at which it was measured (Hestness et al. 2017, arXiv 1712.00409; Viering and Loog 2023,
DOI 10.1109/TPAMI.2022.3220744, on the shapes of learning curves). Beyond its ends the curve is continued by its last
step, as far as `REACH` times the most labels. Curves flatten, so what lies there is worth rather more than is said.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import capitalised
from ..intervals import FEWEST, FEWEST_TABLES, ROUNDING, student_quantile
from ..metrics import Metric
from .answers import Floats
from .effects import Cell, Effect

REACH = 3.0
"""How far a curve is continued beyond its ends: to three times the most labels, and to a third of the fewest."""
ALIKE = 1.1
"""Numbers of labels by which tables may differ, as parts of each other, and still be one point of a curve."""
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
        start, stop: the ends of the measured curve in the same unit.
        n: tables that the interval is a bootstrap over.
    """

    labels: float
    factor: float
    low: float
    high: float
    least: float
    most: float
    start: float
    stop: float
    n: int

    @property
    def is_continued(self) -> bool:
        """True if the factor lies beyond the labels at which the reference was measured."""
        # The metric of the first number of labels itself is worth it but for rounding.
        return not self.start * (1 - TIE) <= self.factor <= self.stop * (1 + TIE)

    @property
    def curve(self) -> Literal["continued", "measured"]:
        """The part of the reference's curve that the factor lies on."""
        return "continued" if self.is_continued else "measured"

    @property
    def times(self) -> str:
        """The factor in words, or the end of the curve that it lies beyond."""
        return self._times_in_words(self.factor)

    @property
    def ends(self) -> str:
        """The interval in words; empty if it is unknown, has no width, or lies beyond the curve."""
        if math.isnan(self.low) or math.isclose(self.low, self.high):
            return ""
        return f"{self._times_in_words(self.low)} to {self._times_in_words(self.high)}"

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of a table of worths: ``labels, worth, worth_low, worth_high, least, most, curve, n``."""
        return {
            "labels": self.labels,
            "worth": self.factor,
            "worth_low": self.low,
            "worth_high": self.high,
            "least": self.least,
            "most": self.most,
            "curve": self.curve,
            "n": self.n,
        }

    def _times_in_words(self, factor: float) -> str:
        text = f"{factor:.2f}" if factor < 10 else f"{factor:.0f}"
        if factor >= self.most:
            return f"more than {text}"
        return f"less than {text}" if factor <= self.least else text


def worth_sentence(name: str, worths: Mapping[str, Worth]) -> str:
    """The worth of a competitor at each number of labels, which the keys name.

    >>> twice = Worth(20, 2.0, 1.5, 2.5, 0.3, 6.0, 1.0, 2.0, 30)
    >>> worth_sentence("SCARF", {"20": twice})
    'SCARF is worth 2.00 times the labels (1.50 to 2.50) at 20.'
    """
    clauses: list[str] = []
    for at, worth in worths.items():
        unit = "times" if clauses else "times the labels"
        ends = f" ({worth.ends})" if worth.ends else ""
        clauses.append(f"{worth.times} {unit}{ends} at {at}")
    return f"{capitalised(name)} is worth {', '.join(clauses)}."


def worths_of(effects: Sequence[Effect], cells: Sequence[Cell], metric: Metric) -> list[tuple[Effect, Worth]]:
    """The worth of each competitor at each number of labels, networks first.

    There is none on a few tables, whose trials hardly ever show a worth, and without a curve of the reference.

    Args:
        effects: that are answered, best first.
        cells: that they are of, with the reference's curve among them.
        metric: of their values.
    """
    found = []
    for effect in effects:
        # A reference that has not learnt has no curve, and a baseline asks nothing.
        if effect.labels is None or effect.spoilt or effect.is_baseline or len(effect.cells) < FEWEST_TABLES:
            continue
        curves: dict[str, dict[float, Cell]] = {table: {} for table in effect.cells}
        for cell in cells:
            if cell.name == effect.reference and cell.table in curves and cell.labels is not None:
                curves[cell.table][cell.labels] = cell
        numbers = _numbers_of_labels(list(curves.values()))
        budgets = sorted(numbers, key=lambda budget: numbers[budget])
        if effect.labels not in budgets:
            continue
        at = budgets.index(effect.labels)
        values = np.array([cell.trials.mean for cell in effect.ones])
        reference = np.full((len(curves), len(budgets)), np.nan)
        for row, curve in zip(reference, curves.values(), strict=True):
            row[:] = [curve[budget].trials.mean if budget in curve else math.nan for budget in budgets]
        # Tables have a common scale in parts of their own reference alone.
        if metric.is_relative:
            sizes = np.abs(reference[:, at])
            values, reference = values / sizes, reference / sizes[:, None]
        labels = [numbers[budget] for budget in budgets]
        if worth := worth_in_labels(values, reference, labels, at, higher_is_better=metric.higher_is_better):
            found.append((effect, worth))
    # Effects come best first; a question on pre-training is answered before one on rivals.
    places = {name: place for place, name in enumerate(dict.fromkeys(effect.what for effect, _ in found))}
    return sorted(found, key=lambda each: (each[0].is_rival, places[each[0].what], each[1].labels))


def _numbers_of_labels(curves: Sequence[Mapping[float, Cell]]) -> dict[float, float]:
    """The number of labels of each budget; without those that are another number on each table, as all labels are."""
    numbers: dict[float, float] = {}
    for budget in dict.fromkeys(budget for curve in curves for budget in curve):
        counts = [curve[budget].n_labels for curve in curves if budget in curve]
        known = [count for count in counts if not math.isnan(count)]
        # Two budgets of one number, such as 100 labels and a tenth of 1,000 rows, are one point of the curve.
        if known and max(known) <= ALIKE * min(known) and median(known) not in numbers.values():
            numbers[budget] = median(known)
    return numbers


def worth_in_labels(
    competitor: Floats,
    reference: Floats,
    labels: Sequence[float],
    at: int,
    *,
    higher_is_better: bool = True,
) -> Worth | None:
    """The worth of a competitor in labels, from metrics of the same tables.

    Mean metrics are inverted, and not those of each table, many of which have a curve that is flat or falls. Intervals
    are quantiles of `DRAWS` bootstrap draws. Tables are drawn with replacement, and the tails are those of the expanded
    percentile interval (Hesterberg 2015, DOI 10.1080/00031305.2015.1089789); fewer than `FEWEST_DATASETS` have no
    interval.

    Args:
        competitor: its metric at ``labels[at]``, ``(U,)`` for U tables.
        reference: its metric at each number of labels, ``(U, B)``. NaN where a table lacks a number; each step of the
            curve is the mean of the tables that have both of its ends.
        labels: the numbers of labels, ascending, ``(B,)``.
        at: position of the competitor's number of labels.
        higher_is_better: false for losses.

    Returns:
        None if no table has both, or the reference was measured at one number of labels alone.

    Raises:
        ValueError: the numbers of labels are not ascending and above zero.

    A reference that gains a point with each doubling needs twice the labels for a point more:

    >>> found = worth_in_labels(np.array([0.62]), np.array([[0.60, 0.61, 0.62]]), [20, 40, 80], at=1)
    >>> round(found.factor, 3), found.is_continued
    (2.0, False)
    """
    budgets = np.asarray(labels, dtype=np.float64)
    if not (budgets > 0).all() or not (np.diff(budgets) > 0).all():
        raise ValueError(f"Numbers of labels must ascend from above zero, and are {list(labels)}.")
    sign = 1.0 if higher_is_better else -1.0
    gains = sign * (competitor - reference[:, at])
    is_paired = np.isfinite(gains)
    n = int(is_paired.sum())
    if not n:
        return None
    # The gain and the steps of the curve are all that the factor depends on.
    steps = sign * np.diff(reference[is_paired], axis=1)
    first, last = _measured(steps, at)
    if first == last:
        return None
    x = np.log(budgets[first : last + 1] / budgets[at])
    parts = np.column_stack([gains[is_paired], steps[:, first:last]])
    # In parts of the largest metric: differences that cancel but for rounding are a tie, whatever its unit.
    parts = parts / (float(np.nanmax(np.abs(reference))) or 1.0)
    means = np.nanmean(parts, axis=0)
    (factor,) = np.exp(_log_factors(means[None], x))

    low = high = math.nan
    if n >= FEWEST_DATASETS:
        weights, tail = _table_draws(n)
        is_known = np.isfinite(parts)
        deviations = np.where(is_known, parts - means, 0.0) / is_known.sum(axis=0)
        drawn = np.exp(_log_factors(means + weights @ deviations, x))
        low = float(np.quantile(drawn, tail, method="lower"))
        high = float(np.quantile(drawn, 1 - tail, method="higher"))
    least, most = np.exp([x[0] - math.log(REACH), x[-1] + math.log(REACH)])
    start, stop = np.exp(x[[0, -1]])
    return Worth(
        labels=float(budgets[at]),
        factor=float(factor),
        low=low,
        high=high,
        least=float(least),
        most=float(most),
        start=float(start),
        stop=float(stop),
        n=n,
    )


def _measured(steps: Floats, at: int) -> tuple[int, int]:
    """The first and the last number of labels of the curve around a position, over steps that enough tables have."""
    n, n_steps = steps.shape
    is_known = np.isfinite(steps).sum(axis=0) >= min(n, FEWEST)
    first = last = at
    while first > 0 and is_known[first - 1]:
        first -= 1
    while last < n_steps and is_known[last]:
        last += 1
    return first, last


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
    """The logarithm of the labels at which each curve reaches its gain, ``(draws,)``.

    Args:
        means: a gain and the steps of a curve, ``(draws, B)``.
        x: logarithms of numbers of labels, zero where the gain was measured, ``(B,)``.
    """
    gains, steps = means[:, 0], means[:, 1:]
    beyond = math.log(REACH)
    # A curve that falls at its end is no reason that more labels would go on harming.
    slopes = np.maximum(steps[:, [0, -1]] / np.diff(x)[[0, -1]], 0.0)
    continued = np.column_stack([beyond * slopes[:, 0], steps, beyond * slopes[:, 1]])
    x = np.concatenate([[x[0] - beyond], x, [x[-1] + beyond]])
    here = int(np.searchsorted(x, 0.0))
    curve = np.column_stack([np.zeros(len(means)), np.cumsum(continued, axis=1)])
    curve -= curve[:, [here]]
    more = _reaching(curve[:, here:], x[here:], gains)
    # With fewer labels: the same question of the curve turned around.
    fewer = -_reaching(-curve[:, here::-1], -x[here::-1], -gains)
    return np.where(gains > ROUNDING, more, np.where(gains < -ROUNDING, fewer, 0.0))


def _reaching(curve: Floats, x: Floats, values: Floats) -> Floats:
    """Where each curve, from zero on, first reaches a value above zero; the last ``x`` if it does not, ``(draws,)``."""
    has_reached: NDArray[np.bool_] = curve[:, 1:] >= values[:, None] - ROUNDING
    after = np.where(has_reached.any(axis=1), has_reached.argmax(axis=1) + 1, 1)
    draws = np.arange(len(curve))
    low, high = curve[draws, after - 1], curve[draws, after]
    rise = np.where(high > low, high - low, 1.0)
    reached = x[after - 1] + (values - low) / rise * (x[after] - x[after - 1])
    return np.asarray(np.where(has_reached.any(axis=1), reached, x[-1]))
