"""Answers by axis in words: a sentence for each axis, and one for each two."""

from collections.abc import Sequence
from dataclasses import replace

from ..errors import capitalised
from ..metrics import Metric
from ..verdicts.amounts import effect, in_words
from ..verdicts.answers import CANNOT_TELL, HELPING
from .by_axis import AnswersByAxis, Effect
from .names import column_in_words
from .report_options import ReportOptions
from .sentences import verb_of

HOLD_TOGETHER = (
    "The answers on an axis hold together, and so do those on all interactions: in at most 5 % of such pages is any "
    "direction of an axis false, and in at most 5 % any size (Holm's correction). An interval is of the level of its "
    "answer, 95 % where no other is named."
)
MOST_INTERACTIONS = 3
"""Interactions of two axes that are named one by one."""


def axis_answers(answers: AnswersByAxis, options: ReportOptions) -> list[str]:
    """A sentence for each axis, and one for each two axes."""
    metric = options.measure
    sentences = []
    for axis in answers.product.axes:
        sentences.append(_axis_sentence(axis, [each for each in answers.effects if each.axes == (axis,)], metric))
    pairs = dict.fromkeys(each.axes for each in answers.interactions)
    open_pairs = []
    for axes in pairs:
        interactions = [each for each in answers.interactions if each.axes == axes]
        if all(each.claimed == CANNOT_TELL for each in interactions) and (len(pairs) > 1 or len(interactions) > 1):
            open_pairs.append(" and ".join(map(column_in_words, axes)))
            continue
        sentences.append(_interaction_sentence(axes, interactions, metric))
    if open_pairs:
        sentences.append(f"Interaction of {'; of '.join(open_pairs)}: we cannot tell.")
    return sentences


def _axis_sentence(axis: str, effects: Sequence[Effect], metric: Metric) -> str:
    """The answer on one axis: each of its values beside the first, at each context."""
    heading = column_in_words(axis)
    heading = capitalised(heading)
    over = f", {effects[0].over}" if effects[0].over else ""
    (reference,) = effects[0].references
    by_value: dict[tuple[str, ...], list[Effect]] = {}
    for each in effects:
        by_value.setdefault(each.values, []).append(each)
    if len(by_value) == 1:
        return f"{heading}: {'; '.join(_alone(each, metric) for each in effects)}{over}."
    clauses = []
    for value_effects in by_value.values():
        clauses.append("; ".join(_among_others(each, metric) for each in value_effects))
    return f"{heading}, beside {reference}: {'; '.join(clauses)}{over}."


def _alone(effect_of_axis: Effect, metric: Metric) -> str:
    """The answer on the only value beside the reference, with both names."""
    (value,), (reference,) = effect_of_axis.values, effect_of_axis.references
    size, claimed = _size(effect_of_axis, metric), effect_of_axis.claimed
    if claimed == CANNOT_TELL:
        return f"we cannot tell {value} from {reference}{_because(effect_of_axis)}, {size}"
    if claimed == "no practical difference":
        return f"no practical difference between {value} and {reference}, {size}"
    # "helps, size open" is an insertion, which ends with a comma too.
    comma = "," if "," in claimed else ""
    return f"{value} {verb_of(effect_of_axis)}{comma} beside {reference}, {size}"


def _among_others(effect_of_axis: Effect, metric: Metric) -> str:
    """The answer on one of several values beside the reference."""
    (value,) = effect_of_axis.values
    size, claimed = _size(effect_of_axis, metric), effect_of_axis.claimed
    if claimed == CANNOT_TELL:
        return f"we cannot tell of {value}{_because(effect_of_axis)}, {size}"
    return f"{value} {verb_of(effect_of_axis)}, {size}"


def _because(effect_of_axis: Effect) -> str:
    return f", because {effect_of_axis.verdict.reason}" if effect_of_axis.verdict.reason else ""


def _size(effect_of_axis: Effect, metric: Metric) -> str:
    """The difference with its interval, and where."""
    context = f" with {effect_of_axis.context}" if effect_of_axis.context else ""
    return f"{effect(effect_of_axis, metric)}{context}"


def _interaction_sentence(axes: Sequence[str], effects: Sequence[Effect], metric: Metric) -> str:
    """The answer on two axes: whether the effect of one changes with the other."""
    heading = f"Interaction of {' and '.join(map(column_in_words, axes))}"
    clauses = []
    claimed = [each for each in effects if each.claimed != CANNOT_TELL]
    for each in claimed[:MOST_INTERACTIONS]:
        clauses.append(_claim(each, metric))
    if len(claimed) > MOST_INTERACTIONS:
        clauses.append(f"and {len(claimed) - MOST_INTERACTIONS} more")
    n_open = len(effects) - len(claimed)
    if not claimed:
        return f"{heading}: we cannot tell{_because(effects[0])}, {_size(effects[0], metric)}."
    rest = f"; of {n_open} we cannot tell" if n_open else ""
    return f"{heading}: {'; '.join(clauses)}{rest}."


def _claim(each: Effect, metric: Metric) -> str:
    """The claim on one interaction, as what a value gains with another one."""
    if each.claimed == "no practical difference":
        return f"none that matters, {_size(each, metric)}"
    value, other = each.values
    _, reference = each.references
    verdict, context = each.verdict, f" with {each.context}" if each.context else ""
    instead = f"with {other} instead of {reference}, {value}"
    if not metric.higher_is_better:
        return f"{instead} has {in_words(verdict, metric)}{context}"
    is_more = each.claimed in HELPING
    # As a size, so that "less" is not said of a negative number.
    if not is_more:
        verdict = replace(verdict, difference=-verdict.difference, low=-verdict.high, high=-verdict.low)
    size = in_words(verdict, metric).replace("+", "")
    return f"{instead} gains {size} {'more' if is_more else 'less'}{context}"
