"""Answers by axis in words: a sentence for each axis, and one for each two."""

from collections.abc import Sequence

from ..errors import capitalised, counted
from ..metrics import Metric
from ..verdicts.amounts import effect, ends_of, signed
from ..verdicts.answers import HELPING, UNDECIDED
from .by_axis import AnswersByAxis, Effect
from .names import at, column_in_words
from .report_options import ReportOptions
from .sentences import verb_of

HOLD_TOGETHER = "At most 5 % an axis are false, and of all interactions (Holm's correction)."
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
        if all(each.claimed == UNDECIDED for each in interactions) and (len(pairs) > 1 or len(interactions) > 1):
            open_pairs.append(" and ".join(map(column_in_words, axes)))
            continue
        sentences.append(_interaction_sentence(axes, interactions, metric))
    if open_pairs:
        sentences.append(f"Interaction of {'; of '.join(open_pairs)}: undecided.")
    return sentences


def _axis_sentence(axis: str, effects: Sequence[Effect], metric: Metric) -> str:
    """The answer on one axis: each of its values beside the first, at each context."""
    heading = capitalised(column_in_words(axis))
    (reference,) = effects[0].references
    clauses = "; ".join(_clause(each, metric) for each in effects)
    over = f"mean {effects[0].over}, " if effects[0].over else ""
    verdict = effects[0].verdict
    units = counted(verdict.datasets, "dataset") if verdict.datasets > 1 else counted(verdict.trials, "trial")
    return f"{heading}, beside {reference}: {clauses}; {over}{units}."


def _clause(each: Effect, metric: Metric) -> str:
    """The answer on a value: ``minmax hurts, ...``, ``minmax undecided, ...``."""
    (value,) = each.values
    answer = each.shown if each.claimed == UNDECIDED else verb_of(each)
    return f"{value} {answer}{_because(each)}, {_size(each, metric)}"


def _because(each: Effect) -> str:
    return f", because {each.verdict.reason}" if each.verdict.reason else ""


def _size(each: Effect, metric: Metric) -> str:
    """The difference with its interval, and where."""
    return f"{_difference(each, metric)}{at(each.context)}"


def _difference(each: Effect, metric: Metric) -> str:
    """The difference with its interval; that of two relative differences is no factor, but a part of the mean."""
    verdict = each.verdict
    if not (metric.is_relative and each.contrast.is_interaction):
        return effect(each, metric)
    ends = ends_of(verdict, metric)
    return f"{metric.label} {signed(verdict.difference, metric)} % better" + (f" (95 %: {ends})" if ends else "")


def _interaction_sentence(axes: Sequence[str], effects: Sequence[Effect], metric: Metric) -> str:
    """The answer on two axes: whether the effect of one changes with the other."""
    heading = f"Interaction of {' and '.join(map(column_in_words, axes))}"
    claimed = [each for each in effects if each.claimed != UNDECIDED]
    if not claimed:
        return f"{heading}: {effects[0].shown}{_because(effects[0])}, {_size(effects[0], metric)}."
    clauses = [_claim(each, metric) for each in claimed[:MOST_INTERACTIONS]]
    if n_more := len(claimed[MOST_INTERACTIONS:]):
        clauses.append(f"and {n_more} more")
    if n_open := len(effects) - len(claimed):
        clauses.append(f"{n_open} undecided")
    return f"{heading}: {'; '.join(clauses)}."


def _claim(each: Effect, metric: Metric) -> str:
    """The claim on one interaction, as what a value gains with another one."""
    if each.claimed == "no practical difference":
        return f"none that matters, {_size(each, metric)}"
    value, other = each.values
    _, reference = each.references
    more = "more" if each.claimed in HELPING else "less"
    return f"with {other} instead of {reference}, {value} gains {more}, {_size(each, metric)}"
