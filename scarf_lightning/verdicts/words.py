"""Effects in words: how much better or worse with the unit of the metric, and the answers in sentences."""

import math
from collections.abc import Sequence

from ..errors import capitalised, counted
from ..intervals import Interval
from ..metrics import Metric
from .answers import UNDECIDED, Answer
from .effects import ON, Effect

MOST_SENTENCES, MOST_WORDS = 8, 25
"""The most effects that have a sentence, those of pre-training and then the sure ones first; and the most words of a
sentence."""
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


def sentences(effects: Sequence[Effect]) -> list[str]:
    """The answer in sentences: the base of a star, one for each effect, and what the answers are about."""
    bases = {effect.reference_label: effect for effect in effects if effect.kind == "change"}
    texts = [f"Base: {label}, {level_in_words(base.reference_level, base.metric)}." for label, base in bases.items()]
    first_effects = effects
    if n_more := len(effects[MOST_SENTENCES:]):
        # Pre-training is the question of most sweeps that hold it, so rivals and interactions get the other sentences.
        first_effects = sorted(
            effects,
            key=lambda each: (
                each.kind == "interaction"
                or each.ones[0].options.get("pretrain") == each.others[0].options.get("pretrain"),
                each.claimed == UNDECIDED,
            ),
        )[:MOST_SENTENCES]
    names_shared = len({effect.reference for effect in effects}) > 1
    texts += [sentence_on(effect, names_shared=names_shared) for effect in first_effects]
    texts += dict.fromkeys(
        f"{capitalised(effect.verdict.reason)}." for effect in first_effects if effect.verdict.reason
    )
    if n_more:
        texts.append(f"A report's table has {counted(n_more, 'more effect')}.")
    interval_bases = {effect.verdict.basis for effect in effects}
    # The reader can change this: predictions that are kept make the intervals narrower.
    if "resampled t-test" in interval_bases:
        texts.append(WITHOUT_PREDICTIONS)
    if "sign test" in interval_bases:
        texts.append("Holds for the median one of tables like these.")
    if interval_bases & {"rows and fits", "resampled t-test"}:
        tables = sorted({table for effect in effects for table in effect.tables})
        texts.append(f"Holds for {', '.join(tables)}; other tables may differ.")
    return texts


def sentence_on(effect: Effect, *, names_shared: bool) -> str:
    """The answer of one effect: ``On wdbc, beside scaling=zscore: scaling=minmax hurts, −2.86 points of accuracy (95 %:
    −3.51 to −2.21), over 2 settings of corruption.``

    Names leave out the options that both sides share. Where effects have several references, a clause lists these.
    """
    tables = effect.tables
    where = f"on {tables[0]}" if len(tables) == 1 else f"over {len(tables)} datasets"
    if effect.context:
        where = effect.context if effect.context.startswith(ON) else f"{where} with {effect.context}"
    one, other = effect.what.split(", "), effect.reference.split(", ")
    shared_parts = [part for part in one if part in other]
    what, reference = (", ".join(part for part in side if part not in shared_parts) for side in (one, other))
    # The base of a change has a sentence of its own.
    if effect.kind in ("axis", "competitor"):
        where += f", beside {reference or effect.reference}"
    answer = (OF_INTERACTIONS if effect.kind == "interaction" else VERBS).get(effect.claimed, effect.shown)
    sentence = f"{capitalised(where)}: {what or effect.what} {answer}, {effect_in_words(effect)}"
    clauses = [f"over {effect.over}"] if effect.over else []
    if len(tables) > 1:
        clauses.insert(0, f"better on {effect.verdict.won}")
    if names_shared and shared_parts:
        clauses.append(f"both with {', '.join(shared_parts)}")
    for clause in clauses:
        if len(f"{sentence} {clause}".split()) <= MOST_WORDS:
            sentence += f", {clause}"
    return f"{sentence}."


def effect_in_words(effect: Effect) -> str:
    """The difference with its 95 % interval: ``+1.20 points of accuracy (95 %: +0.40 to +2.00)``; over tables that of
    the median one.

    Of a metric without a largest value it is a factor, ``log-loss 2.34 times as high (95 %: at most 6.35 times)``, and
    of others whose lower values are better the change: ``Brier score −0.0120 (95 %: −0.0200 to −0.0040)``.
    """
    verdict, metric = effect.verdict, effect.metric
    value = change(verdict.difference, metric)
    if verdict.datasets > 1:
        value = f"median {value}"
    return value if math.isnan(verdict.low) else f"{value} (95 %: {ends_in_words(verdict.interval, metric)})"


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
    if not metric.higher_is_better:
        low, high = -high, -low
    return f"{metric.signed(low)} to {metric.signed(high)}"


def factor_of(improvement: float, metric: Metric) -> float:
    """How many times as high a metric is that improves by this part of it."""
    return 1 + metric.sign * improvement


def level_in_words(level: Interval, metric: Metric) -> str:
    """A metric with its interval: ``accuracy 80.00 % (79.01 to 80.99)``."""
    unit = " %" if metric.scale == 100 else ""
    ends = "" if math.isnan(level.low) else f" ({metric.shown(level.low)} to {metric.shown(level.high)})"
    return f"{metric.label} {metric.shown(level.mean)}{unit}{ends}"
