"""Effects in words: how much better or worse with the unit of the metric, and the answers in sentences."""

import math
from collections.abc import Sequence

from ..errors import capitalised, counted
from ..intervals import Interval
from ..metrics import Metric
from .answers import HELPING, UNDECIDED, Answer
from .effects import ON, Effect

MOST_SENTENCES = 8
"""Effects that have a sentence; of more the sure ones come first."""
TOGETHER = "At most 5 % of directions are false, of each axis and of all interactions (Holm's correction)."
WITHOUT_PREDICTIONS = "Predictions were not kept, which makes intervals a third wider (corrected resampled t-test)."
VERBS: dict[Answer, str] = {"no practical difference": "makes no practical difference"}
"""Answers that are no verb."""
OF_INTERACTIONS: dict[Answer, str] = {
    "helps": "gain more together",
    "helps, size open": "gain more together, size open",
    "no practical difference": "do not interact in practice",
    "hurts, size open": "gain less together, size open",
    "hurts": "gain less together",
}


def sentences(effects: Sequence[Effect], metric: Metric) -> list[str]:
    """The answer in sentences: the base of a star, one for each effect, and what the answers are about."""
    found: list[str] = []
    shown = [effect for effect in effects if not effect.is_baseline] or list(effects)
    bases = {effect.reference_label: effect for effect in shown if effect.kind == "change"}
    for label, effect in bases.items():
        found.append(f"Base: {label}, {level_in_words(effect.levels(metric)[1], metric)}.")
    said = shown if len(shown) <= MOST_SENTENCES else sorted(shown, key=lambda each: each.claimed == UNDECIDED)
    found += [sentence_on(effect, metric) for effect in said[:MOST_SENTENCES]]
    found += dict.fromkeys(f"{capitalised(effect.spoilt)}." for effect in said if effect.spoilt)
    if n_more := len(said[MOST_SENTENCES:]):
        found.append(f"{n_more} more are in the table.")
    for effect in effects:
        if effect.is_baseline and effect not in shown and effect.claimed in HELPING:
            found.append(f"The constant answer beats the reference. {sentence_on(effect, metric)}")
    return found + claims_in_words(shown)


def sentence_on(effect: Effect, metric: Metric) -> str:
    """The answer of one effect: ``On wdbc, beside scaling=zscore: scaling=minmax hurts, −2.86 points of accuracy (95 %:
    −3.51 to −2.21), over 2 settings of corruption.``"""
    verdict = effect.verdict
    tables = list(effect.cells)
    where = f"on {tables[0]}" if len(tables) == 1 else f"over {len(tables)} datasets"
    if effect.context:
        where = effect.context if effect.context.startswith(ON) else f"{where} with {effect.context}"
    # The base of a change stands above, once.
    beside = "" if effect.kind in ("interaction", "change") else f", beside {effect.reference}"
    answer = (OF_INTERACTIONS if effect.kind == "interaction" else VERBS).get(effect.claimed, effect.shown)
    # A sentence of its own says which side has not learnt, and how that shows.
    if effect.spoilt:
        answer += " (not learnt)"
    elif verdict.reason:
        answer += f", because {verdict.reason}"
    over = f", over {effect.over}" if effect.over else ""
    if verdict.datasets > 1:
        over += f"; better on {verdict.won} of {counted(verdict.datasets, 'dataset')}"
    return f"{capitalised(where)}{beside}: {effect.what} {answer}, {effect_in_words(effect, metric)}{over}."


def effect_in_words(effect: Effect, metric: Metric) -> str:
    """The difference with its 95 % interval: ``+1.20 points of accuracy (95 %: +0.40 to +2.00)``.

    Of a metric without a largest value it is a factor, ``log-loss 2.34 times as high (95 %: at most 6.35 times)``, and
    of others whose lower values are better the change: ``Brier score −0.0120 (95 %: −0.0200 to −0.0040)``.
    """
    verdict = effect.verdict
    # The interaction of two ratios is no factor, but a part of the mean.
    if metric.is_relative and effect.kind == "interaction":
        value, ends = f"{metric.label} {metric.signed(verdict.difference)} % better", ends_of(verdict.interval, metric)
    else:
        value, ends = change(verdict.difference, metric), ends_in_words(verdict.interval, metric)
    if not math.isnan(verdict.low):
        value += f" (95 %: {ends})"
    # Both, because a few tables that gain much lift the mean alone.
    if verdict.datasets > 1:
        return f"{change(verdict.average, metric)} on average, {value} on the median dataset"
    return value


def change(value: float, metric: Metric) -> str:
    """A difference, higher if better, with its unit."""
    if metric.is_relative:
        return f"{metric.label} {factor_of(value, metric):.2f} times as high"
    if not metric.higher_is_better:
        return f"{metric.label} {metric.signed(-value)}"
    return f"{metric.signed(value)} {'points of' if metric.unit else 'in'} {metric.label}"


def ends_in_words(interval: Interval, metric: Metric) -> str:
    """Both ends of an interval of differences; of factors that may be next to nothing the upper one alone.

    >>> from scarf_lightning.metrics import metric_named
    >>> ends_in_words(Interval(-1.34, -5.35, 1.0), metric_named("log_loss"))
    'at most 6.35 times'
    """
    _, low, high = interval
    if metric.is_relative:
        least, most = sorted([factor_of(low, metric), factor_of(high, metric)])
        return f"at most {most:.2f} times" if least <= 0 else f"{least:.2f} to {most:.2f} times"
    return ends_of(interval if metric.higher_is_better else Interval(-interval.mean, -high, -low), metric)


def ends_of(interval: Interval, metric: Metric) -> str:
    """Both ends of an interval of improvements, with their signs."""
    return f"{metric.signed(interval.low)} to {metric.signed(interval.high)}"


def factor_of(improvement: float, metric: Metric) -> float:
    """How many times as high a metric is that improves by this part of it."""
    return 1 + metric.sign * improvement


def unsigned(value: float, metric: Metric) -> str:
    """The size of a difference in words."""
    if metric.is_relative:
        return f"{100 * value:g} % of the reference"
    return counted(metric.scale * value, "point") if metric.scale == 100 else f"{value:g}"


def level_in_words(level: Interval, metric: Metric) -> str:
    """A metric with its interval: ``accuracy 80.00 % (79.01 to 80.99)``."""
    unit = " %" if metric.scale == 100 else ""
    ends = "" if math.isnan(level.low) else f" ({metric.shown(level.low)} to {metric.shown(level.high)})"
    return f"{metric.label} {metric.shown(level.mean)}{unit}{ends}"


def claims_in_words(effects: Sequence[Effect]) -> list[str]:
    """Sentences on what the answers are about, and on intervals without predictions."""
    known = [effect.verdict for effect in effects if effect.verdict.basis != "none"]
    found = []
    # The reader can change this: predictions that are kept make the intervals narrower.
    if any(verdict.basis == "resampled t-test" for verdict in known):
        found.append(WITHOUT_PREDICTIONS)
    claims = {verdict.claim for verdict in known}
    if "tables like these" in claims:
        found.append("Holds for the median one of tables like these.")
    if "this table" in claims:
        tables = sorted({table for effect in effects for table in effect.cells})
        found.append(f"Holds for {', '.join(tables)}; other tables may differ.")
    return found
