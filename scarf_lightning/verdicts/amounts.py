"""Differences in words and numbers: how much better or worse, with the unit and the direction of the metric."""

import math

from ..errors import counted
from ..intervals import Interval
from ..metrics import Metric
from .judging import Judged
from .verdict import Verdict


def effect(comparison: Judged, metric: Metric) -> str:
    """The difference with its 95 % interval: ``+1.20 points of accuracy (95 %: +0.40 to +2.00)``.

    Of a metric without a largest value it is a factor, ``log-loss 2.34 times as high (95 %: at most 6.35 times)``, and
    of others whose lower values are better the change: ``Brier score −0.0120 (95 %: −0.0200 to −0.0040)``.
    """
    verdict = comparison.verdict
    # A report of one dataset has no median one.
    if verdict.datasets <= 1:
        return in_words(verdict, metric)
    # Both, because a few datasets that gain much lift the mean alone.
    return f"{change(verdict.average, metric)} on average, {in_words(verdict, metric)} on the median dataset"


def effect_over(comparison: Judged, metric: Metric) -> str:
    """The difference with its interval, and the reference: ``+1.20 points of accuracy beside no pre-training``."""
    return f"{effect(comparison, metric)} beside {comparison.against}"


def brief_effect(comparison: Judged, metric: Metric) -> str:
    """The difference without its interval."""
    return change(comparison.verdict.difference, metric)


def in_words(verdict: Verdict, metric: Metric) -> str:
    """The difference of a verdict with its interval and its unit, as `effect` has it for one dataset."""
    value = change(verdict.difference, metric)
    return value if math.isnan(verdict.low) else f"{value} (95 %: {ends_in_words(verdict.interval, metric)})"


def change(value: float, metric: Metric) -> str:
    """A difference, higher if better, with its unit."""
    if metric.is_relative:
        return f"{metric.label} {_factor(value, metric):.2f} times as high"
    if not metric.higher_is_better:
        return f"{metric.label} {signed(-value, metric)}"
    return f"{signed(value, metric)} {'points of' if metric.unit else 'in'} {metric.label}"


def ends_in_words(interval: Interval, metric: Metric) -> str:
    """Both ends of an interval of differences; of factors that may be next to nothing the upper one alone.

    >>> from scarf_lightning.metrics import metric_named
    >>> ends_in_words(Interval(-1.34, -5.35, 1.0), metric_named("log_loss"))
    'at most 6.35 times'
    """
    _, low, high = interval
    if metric.is_relative:
        least, most = sorted([_factor(low, metric), _factor(high, metric)])
        return f"at most {most:.2f} times" if least <= 0 else f"{least:.2f} to {most:.2f} times"
    if not metric.higher_is_better:
        low, high = -high, -low
    return f"{signed(low, metric)} to {signed(high, metric)}"


def _factor(improvement: float, metric: Metric) -> float:
    """How many times as high a metric is that improves by this part of it."""
    return 1 + metric.sign * improvement


def ends_of(verdict: Verdict, metric: Metric) -> str:
    """The ends of the interval of a verdict with signs; empty without one."""
    return "" if math.isnan(verdict.low) else f"{signed(verdict.low, metric)} to {signed(verdict.high, metric)}"


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
