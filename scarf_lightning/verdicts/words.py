"""Effects in words: how much better or worse with the unit of the metric, and the answers in sentences."""

import math
from collections.abc import Sequence
from typing import Any

from ..errors import capitalised, counted
from ..intervals import Interval
from ..metrics import Metric
from .answers import HELPING, HURTING, SAME, UNDECIDED, Answer
from .effects import LABELS, ON, Effect, split_context
from .verdict import Verdict


def effect_in_words(effect: Effect, metric: Metric) -> str:
    """The difference with its 95 % interval: ``+1.20 points of accuracy (95 %: +0.40 to +2.00)``.

    Of a metric without a largest value it is a factor, ``log-loss 2.34 times as high (95 %: at most 6.35 times)``, and
    of others whose lower values are better the change: ``Brier score −0.0120 (95 %: −0.0200 to −0.0040)``.
    """
    verdict = effect.verdict
    # The interaction of two ratios is no factor, but a part of the mean.
    if metric.is_relative and effect.kind == "interaction":
        ends = ends_of(verdict, metric)
        return f"{metric.label} {signed(verdict.difference, metric)} % better" + (f" (95 %: {ends})" if ends else "")
    value = change(verdict.difference, metric)
    if not math.isnan(verdict.low):
        value += f" (95 %: {ends_in_words(verdict.interval, metric)})"
    # Both, because a few tables that gain much lift the mean alone.
    if verdict.datasets > 1:
        return f"{change(verdict.average, metric)} on average, {value} on the median dataset"
    return value


def change(value: float, metric: Metric) -> str:
    """A difference, higher if better, with its unit."""
    if metric.is_relative:
        return f"{metric.label} {factor_of(value, metric):.2f} times as high"
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
        least, most = sorted([factor_of(low, metric), factor_of(high, metric)])
        return f"at most {most:.2f} times" if least <= 0 else f"{least:.2f} to {most:.2f} times"
    if not metric.higher_is_better:
        low, high = -high, -low
    return f"{signed(low, metric)} to {signed(high, metric)}"


def factor_of(improvement: float, metric: Metric) -> float:
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


def won(effect: Effect) -> str:
    """In how many trials it is better, or on how many datasets it is better, worse and equal."""
    verdict = effect.verdict
    if verdict.datasets > 1:
        equal = f" and equal on {verdict.tied}" if verdict.tied else ""
        datasets = counted(verdict.datasets, "dataset")
        return f"better on {verdict.won}, worse on {verdict.lost}{equal} of {datasets}"
    return f"better in {verdict.won} of {counted(verdict.trials, 'trial')}"


def level_in_words(level: Interval, metric: Metric) -> str:
    """A metric with its interval: ``accuracy 80.00 % (79.01 to 80.99)``."""
    unit = " %" if metric.scale == 100 else ""
    ends = "" if math.isnan(level.low) else f" ({metric.shown(level.low)} to {metric.shown(level.high)})"
    return f"{metric.label} {metric.shown(level.mean)}{unit}{ends}"


def at(context: str) -> str:
    """A context as the end of a clause: `` on iris``, `` with 20 labels``.

    >>> at("on iris"), at("20 labels"), at("")
    (' on iris', ' with 20 labels', '')
    """
    if not context:
        return ""
    return f" {context}" if context.startswith(ON) else f" with {context}"


VERBS: dict[Answer, str] = {
    "helps": "helps",
    "helps, size open": "helps, size open",
    "no practical difference": "makes no practical difference",
    "hurts, size open": "hurts, size open",
    "hurts": "hurts",
}
"""By answer, the verb after a name. The sixth one, undecided, has none."""
OF_RIVALS: dict[Answer, str] = {
    "helps": "is ahead",
    "helps, size open": "is ahead, size open",
    "no practical difference": "is as good in practice",
    "hurts, size open": "is behind, size open",
    "hurts": "is behind",
}
"""The same of a model of another library: it does nothing to the network, so it neither helps nor hurts."""
MOST_CLAUSES = 6
"""Effects of one sentence that each have a clause; of more the sure ones come first."""
MOST_INTERACTIONS = 3
"""Interactions of two axes that are named one by one."""
TOGETHER = "At most 5 % of directions are false, of each axis and of all interactions (Holm's correction)."
WITHOUT_PREDICTIONS = "Predictions were not kept, which makes intervals a third wider (corrected resampled t-test)."


def sentences(effects: Sequence[Effect], metric: Metric) -> list[str]:
    """The answer in sentences: one for each axis, each competitor over numbers of labels, each change of a star, or
    for all competitors; then those on interactions, and on what the answers are about."""
    found: list[str] = []
    shown = [effect for effect in effects if not effect.is_baseline] or list(effects)
    groups: dict[tuple[Any, ...], list[Effect]] = {}
    for effect in shown:
        if effect.kind != "interaction":
            groups.setdefault(_heading_of(effect), []).append(effect)
    for context in dict.fromkeys(effect.context for effect in shown if effect.kind == "change"):
        base = next(effect for effect in shown if effect.context == context)
        found.append(f"Base: {base.reference_label}, {level_in_words(base.levels(metric)[1], metric)}.")
    for group in groups.values():
        found += _group_sentences(group, shown, metric)
    found += [f"{each.label} is undecided, because {each.spoilt}." for each in shown if each.spoilt]
    found += _interaction_sentences([effect for effect in shown if effect.kind == "interaction"], metric)
    found += [_beaten(effect, metric) for effect in effects if effect not in shown and effect.claimed in HELPING]
    return found + claims_in_words(shown)


def _heading_of(effect: Effect) -> tuple[Any, ...]:
    """Effects of one sentence share it."""
    if effect.kind == "axis":
        return (effect.axes,)
    if effect.kind == "change":
        return (effect.label,)
    return effect.against, effect.is_rival, effect.labels is not None and effect.what


def _group_sentences(group: Sequence[Effect], every: Sequence[Effect], metric: Metric) -> list[str]:
    """The sentence on effects of one heading."""
    first = group[0]
    if first.kind == "change":
        return [f"{first.label}: {_answer(first)}, {effect_in_words(first, metric)}."]
    if first.labels is not None and first.kind == "competitor":
        group = sorted(group, key=lambda each: (split_context(each.context)[0], each.labels))
        where = "" if first.context.startswith(ON) else f" {_where(every)}"
        heading = f"{capitalised(first.what)}{where}, beside {first.against}"
        clauses = []
        for each in group:
            # "helps, size open" is an insertion, which ends with a comma too.
            comma = "," if "," in each.claimed else ""
            clauses.append(f"{_answer(each)}{comma}{at(each.context)}, {effect_in_words(each, metric)}")
    else:
        subject, beside = (
            (first.axes[0], first.references[0]) if first.kind == "axis" else (_where(every), first.against)
        )
        heading = f"{capitalised(subject)}, beside {beside}"
        sure_first = group if len(group) <= MOST_CLAUSES else sorted(group, key=lambda each: each.claimed == UNDECIDED)
        clauses = []
        for each in sure_first[:MOST_CLAUSES]:
            clauses.append(f"{each.values[0]} {_answer(each)}, {effect_in_words(each, metric)}{at(each.context)}")
        if n_more := len(group) - len(clauses):
            clauses.append(f"{n_more} more in the table")
    over = f"mean {first.over}, " if first.over else ""
    return [f"{heading}: {'; '.join(clauses)}; {over}{_units(group)}."]


def _answer(effect: Effect) -> str:
    """The answer after a name: ``helps``, of a rival ``is ahead``, ``undecided (4 comparisons)``."""
    # A sentence of its own says which side has not learnt, and how that shows.
    if effect.spoilt:
        return f"{UNDECIDED} (not learnt)"
    verb = (OF_RIVALS if effect.is_rival else VERBS).get(effect.claimed, effect.shown)
    # "200 labels help" is the one subject of several.
    if effect.what.endswith(LABELS):
        verb = verb.replace("helps", "help").replace("hurts", "hurt").replace("makes", "make")
    return verb + (f", because {effect.verdict.reason}" if effect.verdict.reason else "")


def shown_answer(effect: Effect) -> str:
    """The answer as tables and figures show it: of a rival ``behind`` in the place of ``hurts``."""
    if effect.is_rival and effect.claimed in (*HELPING, *HURTING):
        return OF_RIVALS[effect.claimed].removeprefix("is ")
    return effect.shown


def _where(effects: Sequence[Effect]) -> str:
    """The tables of all competitors."""
    tables = list(dict.fromkeys(table for effect in effects for table in effect.cells))
    if len(tables) == 1:
        return f"on {tables[0]}"
    each = "on each of" if all(len(effect.cells) == 1 for effect in effects) else "over"
    return f"{each} {counted(len(tables), 'dataset')}"


def _units(group: Sequence[Effect]) -> str:
    """The trials or tables of some effects, and of one competitor alone on how many of them it is better."""
    first, *others = group
    if first.kind == "competitor" and not others:
        return won(first)
    verdict = first.verdict
    return counted(verdict.datasets, "dataset") if verdict.datasets > 1 else counted(verdict.trials, "trial")


def _beaten(baseline: Effect, metric: Metric) -> str:
    """The sentence on a reference that the constant answer beats."""
    return (
        f"The constant answer beats {baseline.against}{at(baseline.context)}: {effect_in_words(baseline, metric)}, "
        f"{won(baseline)}."
    )


def _interaction_sentences(effects: Sequence[Effect], metric: Metric) -> list[str]:
    """A sentence for each two axes: whether the effect of one changes with the other."""
    by_axes: dict[tuple[str, ...], list[Effect]] = {}
    for effect in effects:
        by_axes.setdefault(effect.axes, []).append(effect)
    found, undecided = [], []
    for axes, group in by_axes.items():
        names = " and ".join(axes)
        # Those that matter come first.
        sure = sorted((each for each in group if each.claimed != UNDECIDED), key=lambda each: each.claimed == SAME)
        if not sure and len(effects) > 1:
            undecided.append(names)
            continue
        clauses = [_claim(effect, metric) for effect in (sure or group)[:MOST_INTERACTIONS]]
        if n_more := len(sure[MOST_INTERACTIONS:]):
            clauses.append(f"and {n_more} more")
        if sure and len(sure) < len(group):
            clauses.append(f"{len(group) - len(sure)} undecided")
        found.append(f"Interaction of {names}: {'; '.join(clauses)}.")
    if undecided:
        found.append(f"Interaction of {'; of '.join(undecided)}: undecided.")
    return found


def _claim(effect: Effect, metric: Metric) -> str:
    """The answer on one interaction, as what a value gains with another one."""
    size = f"{effect_in_words(effect, metric)}{at(effect.context)}"
    if effect.claimed == UNDECIDED:
        return f"{_answer(effect)}, {size}"
    if effect.claimed == SAME:
        return f"none that matters, {size}"
    value, other = effect.values
    more = "more" if effect.claimed in HELPING else "less"
    return f"with {other} instead of {effect.references[1]}, {value} gains {more}, {size}"


def claims_in_words(effects: Sequence[Effect]) -> list[str]:
    """Sentences on what the answers are about, and on intervals without predictions."""
    known = [effect.verdict for effect in effects if effect.verdict.basis != "none"]
    found = []
    # The reader can change this: predictions that are kept make the intervals narrower.
    if any(verdict.basis == "resampled t-test" for verdict in known):
        found.append(WITHOUT_PREDICTIONS)
    if any(verdict.claim == "tables like these" for verdict in known):
        found.append("Holds for the median one of tables like these.")
    if any(verdict.claim == "this table" for verdict in known):
        tables = sorted({table for effect in effects for table in effect.cells})
        listed = ", ".join(tables[:MOST_CLAUSES]) + (
            f" and {len(tables) - MOST_CLAUSES} more" if len(tables) > MOST_CLAUSES else ""
        )
        found.append(f"Holds for {listed}; other tables may differ.")
    return found


def references(effects: Sequence[Effect]) -> str:
    """The names of all references, in a sentence."""
    # An interaction has no reference.
    return " or ".join(dict.fromkeys(effect.against for effect in effects if effect.against))
