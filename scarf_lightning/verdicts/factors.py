"""Effects of factors, of cells that are a product: each value of a factor beside another over all settings of the
others, and by how much that difference changes with a second factor.

Both are contrasts: a weighted sum of the values of some settings, minus that of others, by trial and by test row. So
they are judged like any other difference, see `frame.verdict_on`, and the error is that of the contrast.
"""

import itertools
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from ..errors import UsageError
from ..metrics import Metric
from .answers import MARGIN
from .frame import Trials, combined, verdict_on
from .verdict import Verdict

Setting = tuple[Hashable, ...]
"""A value of each factor, in the order of the factors."""
Factors = Mapping[str, Sequence[Hashable]]
"""The values of each factor; the first one is the reference."""
Cells = Mapping[Setting, Trials]
"""The trials of each setting on one table."""


@dataclass(frozen=True)
class Contrast:
    """An effect of one factor, or the interaction of two.

    Attributes:
        factors: their names, one or two.
        values: of these factors, which are compared with the ``references``.
        references: other values of the same factors.
        ones: the settings whose values are added.
        others: the settings whose values are taken away.
        weight: of each setting.
    """

    factors: tuple[str, ...]
    values: tuple[Hashable, ...]
    references: tuple[Hashable, ...]
    ones: tuple[Setting, ...]
    others: tuple[Setting, ...]
    weight: float

    @property
    def is_interaction(self) -> bool:
        """True for the difference of two differences."""
        return len(self.factors) == 2


def two_settings(one: Setting, other: Setting) -> Contrast:
    """One setting beside another."""
    return Contrast((), one, other, (one,), (other,), 1.0)


def main_effects(factors: Factors) -> list[Contrast]:
    """Each value of each factor beside the factor's first one, over all settings of the others.

    >>> (effect,) = main_effects({"scaling": ["zscore", "minmax"]})
    >>> effect.ones, effect.others, effect.weight
    ((('minmax',),), (('zscore',),), 1.0)
    """
    names = list(factors)
    found = []
    for place, name in enumerate(names):
        rest = [factors[other] if other != name else [None] for other in names]
        beside = list(itertools.product(*rest))
        reference, *values = factors[name]
        for value in values:
            ones = tuple(_with(setting, {place: value}) for setting in beside)
            others = tuple(_with(setting, {place: reference}) for setting in beside)
            found.append(Contrast((name,), (value,), (reference,), ones, others, 1 / len(beside)))
    return found


def interactions(factors: Factors) -> list[Contrast]:
    """By how much the effect of each factor's values changes with those of each other factor, over all settings of the
    rest: (a1 b1 - a0 b1) - (a1 b0 - a0 b0).

    >>> (found,) = interactions({"a": [0, 1], "b": [0, 1]})
    >>> found.ones, found.others
    (((1, 1), (0, 0)), ((0, 1), (1, 0)))
    """
    names = list(factors)
    found = []
    for (i, first), (j, second) in itertools.combinations(enumerate(names), 2):
        rest = [factors[other] if other not in (first, second) else [None] for other in names]
        beside = list(itertools.product(*rest))
        one_reference, *one_values = factors[first]
        other_reference, *other_values = factors[second]
        for one, other in itertools.product(one_values, other_values):
            both = [_with(setting, {i: one, j: other}) for setting in beside]
            neither = [_with(setting, {i: one_reference, j: other_reference}) for setting in beside]
            other_alone = [_with(setting, {i: one_reference, j: other}) for setting in beside]
            one_alone = [_with(setting, {i: one, j: other_reference}) for setting in beside]
            contrast = Contrast(
                factors=(first, second),
                values=(one, other),
                references=(one_reference, other_reference),
                ones=(*both, *neither),
                others=(*other_alone, *one_alone),
                weight=1 / len(beside),
            )
            found.append(contrast)
    return found


def judge_contrast(contrast: Contrast, tables: Sequence[Cells], metric: Metric, margin: float = MARGIN) -> Verdict:
    """The verdict on a contrast, over all tables on which its settings have a common trial.

    Raises:
        UsageError: a table lacks one of the settings.
    """
    pairs, sizes = [], []
    for cells in tables:
        ones, others, size = _sides(contrast, cells)
        pairs.append((ones, others))
        sizes.append(size)
    return verdict_on(pairs, metric, margin, sizes=sizes, reach=2.0 if contrast.is_interaction else 1.0)


def _sides(contrast: Contrast, cells: Cells) -> tuple[Trials, Trials, Trials]:
    """The sums that a contrast compares, and the trials that relative differences are parts of."""
    for setting in (*contrast.ones, *contrast.others):
        if setting not in cells:
            raise UsageError(f"No trial has the setting {', '.join(map(str, setting))}; the factors need all.")
    ones = [cells[setting] for setting in contrast.ones]
    others = [cells[setting] for setting in contrast.others]
    reference = combined(others, contrast.weight)
    # A difference of differences is a part of the mean over all of its settings.
    size = combined([*ones, *others]) if contrast.is_interaction else reference
    return combined(ones, contrast.weight), reference, size


def _with(setting: Setting, values: Mapping[int, Hashable]) -> Setting:
    """A setting with other values at some places."""
    return tuple(values.get(place, value) for place, value in enumerate(setting))
