"""Differences in words and numbers: how much better or worse, with the unit and the direction of the metric."""

import math

from ..errors import counted
from ..intervals import LEVEL, Interval, percent
from ..metrics import Metric
from .judging import Judged
from .verdict import Verdict


def effect(comparison: Judged, metric: Metric) -> str:
    """The difference with its interval: ``+1.20 points of accuracy (+0.40 to +2.00)``.

    Of a metric whose lower values are better it is ``error rate 1.20 points lower (0.40 to 2.00 lower)``.
    """
    verdict = comparison.verdict
    average = verdict.average
    # A report of one dataset has no median one.
    if verdict.datasets <= 1 or math.isnan(average.mean):
        return in_words(verdict, metric)
    # Both, because a few datasets that gain much lift the mean alone. They share the unit.
    mean = _with_interval(average, metric, says_unit=True)
    median = _with_interval(verdict.interval, metric, verdict.coverage)
    return f"{mean} on average, {median} on the median dataset"


def effect_over(comparison: Judged, metric: Metric) -> str:
    """The difference with its interval, and the reference: ``+1.20 points of accuracy over no pre-training``."""
    over = "over" if metric.higher_is_better else "than"
    return f"{effect(comparison, metric)} {over} {comparison.against}"


def brief_effect(comparison: Judged, metric: Metric) -> str:
    """The difference without its interval."""
    verdict = comparison.verdict
    if verdict.datasets > 1:
        mean = _change(verdict.average.mean, metric)
        median = _change(verdict.difference, metric, says_unit=False)
        return f"{mean} on average, {median} on the median dataset"
    return _change(verdict.difference, metric)


def in_words(verdict: Verdict, metric: Metric) -> str:
    """The difference of a verdict with its interval and its unit, as `effect` has it for one dataset."""
    return _with_interval(verdict.interval, metric, verdict.coverage, says_unit=True)


def ends_in_words(low: float, high: float, metric: Metric, coverage: float = LEVEL) -> str:
    """The ends of an interval of differences, and its coverage if that is not 95 %.

    >>> from scarf_lightning.metrics import metric_named
    >>> ends_in_words(-0.1274, -0.0375, metric_named("accuracy"), 1 - 0.05 / 3)
    '98.3 %: −12.74 to −3.75'
    """
    ends = f"{signed(low, metric)} to {signed(high, metric)}" if metric.higher_is_better else _range(low, high, metric)
    return with_coverage(ends, coverage)


def ends_of(verdict: Verdict, metric: Metric) -> str:
    """The ends of the interval of a verdict with signs, and its coverage if that is not 95 %; empty without one."""
    if math.isnan(verdict.low):
        return ""
    return with_coverage(f"{signed(verdict.low, metric)} to {signed(verdict.high, metric)}", verdict.coverage)


def with_coverage(ends: str, coverage: float) -> str:
    """The ends of an interval after its coverage, if that is not 95 %."""
    return ends if math.isclose(coverage, LEVEL) else f"{percent(coverage)}: {ends}"


def _with_interval(interval: Interval, metric: Metric, coverage: float = LEVEL, *, says_unit: bool = False) -> str:
    """A difference, higher if better, with its interval if that is known."""
    value, low, high = interval
    # A plus sign before an error rate would read as a loss, so words give its direction.
    if metric.higher_is_better:
        change = signed(value, metric)
        if says_unit:
            change = f"{change} {_unit_of(metric)}"
    else:
        change = _change(value, metric, says_unit=says_unit)
        if says_unit:
            change = f"{metric.label} {change}"
    # Too few trials or datasets have no interval.
    if math.isnan(low):
        return change
    return f"{change} ({ends_in_words(low, high, metric, coverage)})"


def _change(value: float, metric: Metric, *, says_unit: bool = True) -> str:
    """A difference, higher if better, with its direction: ``+1.20 points``, ``1.20 points lower``."""
    unit = metric.unit if says_unit else ""
    if metric.higher_is_better:
        words = [signed(value, metric), unit]
    else:
        words = [_size(value, metric), unit, _direction(value)]
    return " ".join(filter(None, words))


def _range(low: float, high: float, metric: Metric) -> str:
    """An interval of differences of a metric whose lower values are better: ``0.10 to 2.00 lower``."""
    # Both ends on one side: one direction for both, and sizes grow from left to right.
    if _direction(low) == _direction(high):
        smaller, larger = sorted([abs(low), abs(high)])
        return f"{_size(smaller, metric)} to {_size(larger, metric)} {_direction(high)}"
    # Differences are improvements, so the high end of the interval is the lowest value.
    return f"{_size(high, metric)} lower to {_size(low, metric)} higher"


def _direction(improvement: float) -> str:
    """The direction of a metric whose lower values are better."""
    return "higher" if improvement < 0 else "lower"


def _unit_of(metric: Metric) -> str:
    """The unit of differences with the metric."""
    if metric.unit == "points":
        return f"points of {metric.label}"
    return f"{metric.unit} in {metric.label}".strip()


def _size(value: float, metric: Metric) -> str:
    """The size of a difference."""
    return f"{abs(metric.difference_scale * value):{metric.difference_digits}}"


def signed(value: float, metric: Metric) -> str:
    """A difference with its sign, higher if better."""
    return metric.signed(value)


def unsigned(value: float, metric: Metric) -> str:
    """The size of a difference in words."""
    if metric.is_relative:
        return f"{100 * value:g} % of the reference"
    if metric.scale == 100:
        return counted(metric.scale * value, "point")
    return f"{value:g}"


def won(comparison: Judged) -> str:
    """In how many trials it is better, or on how many datasets it is better, worse and equal."""
    verdict = comparison.verdict
    if verdict.datasets > 1:
        equal = f" and equal on {verdict.tied}" if verdict.tied else ""
        datasets = counted(verdict.datasets, "dataset")
        return f"better on {verdict.won}, worse on {verdict.lost}{equal} of {datasets}"
    return f"better in {verdict.won} of {counted(verdict.trials, 'trial')}"
