"""Effects: what is compared with what, its difference with an interval, and its answer.

An effect is one of four kinds: a value of an *axis* beside the first one, over all settings of the other axes; an
*interaction* of two axes, of which one may be the number of labels; a *change* of one thing beside the base of a star;
a *competitor* beside its reference. `planning` says which of them some cells have.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import pandas as pd

from ..errors import counted
from ..intervals import Interval
from ..metrics import Metric
from .answers import ALONE, HELPING, HURTING, MARGIN, UNDECIDED, Answer, Levels, answer_of, needed_together
from .looks import Look
from .trials import Trials, combined, verdict_on
from .verdict import Verdict, after_looks, decided

Kind = Literal["axis", "interaction", "change", "competitor"]
LABELS = "labels"
ON = "on "
"""How a context begins that names a table."""
FEWEST_FAULTY = 1 / 3
"""The share of the cells of a side that have learnt nothing from which on the side has not."""


@dataclass(frozen=True, eq=False)
class Cell:
    """A cell of a frame: the trials of one setting on one table.

    Attributes:
        table: its name.
        name: of the setting.
        trials: with their values.
        options: the value of each axis that it uses, as a text.
        context: what it shares with the cells that it is compared with: ``20 labels``, ``on iris``, ``seed 1``.
        labels: how many labels training sees, infinity for all; None if that does not vary.
        n_labels: the labels as they were counted; NaN if nobody did.
        key: by which the caller finds it again.
        fault: the sign that it has learnt nothing; empty if there is none.
        has_network: false for a model of another library, which is ahead or behind and does not help or hurt.
        is_baseline: true for the method that always gives one answer.
    """

    table: str
    name: str
    trials: Trials
    options: Mapping[str, str] = field(default_factory=dict)
    context: str = ""
    labels: float | None = None
    n_labels: float = math.nan
    key: Any = None
    fault: str = ""
    has_network: bool = True
    is_baseline: bool = False


Sides = tuple[Sequence[Cell], Sequence[Cell]]
"""The cells of one table whose values are added, and as many whose values are taken away."""


@dataclass(frozen=True)
class Effect:
    """A row of the frame of effects.

    Attributes:
        kind: of the four.
        what, reference: the two that are compared.
        cells: both sides, by table.
        verdict: on their differences, with a 95 % interval.
        weight: of each cell.
        against: the reference in a sentence; empty for an interaction, which has none.
        axes, values, references: of an axis or an interaction, in words that leave out the axis.
        over: the settings of the other axes: ``of both scalings``; empty if there are none.
        context: what both sides share; empty if there is one context for all.
        labels: how many labels training sees; None if that does not vary.
        family: effects whose answers hold together share it.
        is_rival: true for a model of another library beside something else.
        is_baseline: true for the method that always gives one answer.
        claimed: the answer, together with those of its family.
        needed: the levels that it must reach to be claimed with the others, see `answers.needed_together`.
        spoilt: why there is no answer: the side that is worse has not learnt. Empty otherwise.
        why: what a claim lacks that its 95 % interval would make, or any claim with few trials: ``4 comparisons``,
            ``looked at before``, ``5 trials``.
    """

    kind: Kind
    what: str
    reference: str
    cells: Mapping[str, Sides]
    verdict: Verdict
    weight: float = 1.0
    against: str = ""
    axes: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    over: str = ""
    context: str = ""
    labels: float | None = None
    family: str = ""
    is_rival: bool = False
    is_baseline: bool = False
    claimed: Answer = UNDECIDED
    needed: Levels = ALONE
    spoilt: str = ""
    why: str = ""

    @property
    def shown(self) -> str:
        """The answer, with what a claim lacks: ``undecided (4 comparisons)``."""
        return f"{self.claimed} ({self.why})" if self.why else self.claimed

    @property
    def label(self) -> str:
        """What is compared, with its context."""
        return f"{self.what} ({self.context})" if self.context else self.what

    @property
    def reference_label(self) -> str:
        """The reference, with its context."""
        return f"{self.reference} ({self.context})" if self.context else self.reference

    @property
    def ones(self) -> list[Cell]:
        """The cells whose values are added, table by table; a competitor has one on each."""
        return [cell for ones, _ in self.cells.values() for cell in ones]

    @property
    def others(self) -> list[Cell]:
        """The cells whose values are taken away."""
        return [cell for _, others in self.cells.values() for cell in others]

    def levels(self, metric: Metric) -> tuple[Interval, Interval]:
        """The metric of both sides: of one cell with its interval, and of several their mean without one."""
        return level_over(self.ones, metric), level_over(self.others, metric)

    @property
    def question(self) -> str:
        """What looks at it are about, beside its cells; empty for two cells."""
        if self.kind not in ("axis", "interaction"):
            return ""
        return f"{self.kind} over {len(self.ones) // len(self.cells)} settings"

    @property
    def looks(self) -> tuple[int, ...]:
        """The numbers of trials after which it was looked at, this time among them."""
        return tuple(look.trials for look in self.verdict.looks)

    @property
    def row(self) -> dict[str, Any]:
        """Its row of the frame of effects."""
        verdict = self.verdict
        return {
            "what": self.what,
            "against": self.reference,
            "over": self.over,
            "context": self.context,
            "n": verdict.datasets if verdict.datasets > 1 else verdict.trials,
            "difference": verdict.difference,
            "low": verdict.low,
            "high": verdict.high,
            "answer": self.claimed,
            "why": verdict.reason or self.why,
            "p": verdict.levels.direction,
            "claim": verdict.claim,
            "basis": verdict.basis,
            "trials": verdict.trials,
            "datasets": verdict.datasets,
            "won": verdict.won,
            "lost": verdict.lost,
            "mean": verdict.average if verdict.datasets > 1 else verdict.difference,
        }


def level_over(cells: Sequence[Cell], metric: Metric) -> Interval:
    """The level of one cell with its interval, or the mean of several, which has none."""
    if len(cells) == 1:
        return cells[0].trials.level(metric)
    return Interval(sum(cell.trials.mean for cell in cells) / len(cells), math.nan, math.nan)


def frame_of(effects: Sequence[Effect]) -> pd.DataFrame:
    """The frame of effects: ``what, against, over, context, n, difference, low, high, answer, why, p``, then ``claim,
    basis, trials, datasets, won, lost, mean``. ``n`` are trials of one table, or several tables."""
    return pd.DataFrame([effect.row for effect in effects])


class Sums(NamedTuple):
    """What effects are measured by: the metric, and the difference without practical consequence."""

    metric: Metric
    margin: float = MARGIN


def split_context(context: str) -> tuple[str, str]:
    """The table and the number of labels of a context.

    >>> split_context("on iris with 20 labels"), split_context("20 labels")
    (('on iris', '20 labels'), ('', '20 labels'))
    """
    if not context.startswith(ON):
        return "", context
    place, _, labels = context.partition(" with ")
    return place, labels


def effect_of(cells: Mapping[str, Sides], by: Sums, weight: float = 1.0, **known: Any) -> Effect:
    """The effect of a weighted sum of cells beside another one, before it is answered together with others.

    Args:
        cells: both sides by table.
        by: as in `Sums`.
        weight: of each cell.
        known: more fields of `Effect`.
    """
    pairs, sizes = [], []
    is_interaction = known["kind"] == "interaction"
    for sides in cells.values():
        ones, others = ([cell.trials for cell in side] for side in sides)
        pairs.append((combined(ones, weight), combined(others, weight)))
        # A difference of differences is a part of the mean over all of its cells.
        sizes.append(combined([*ones, *others]) if is_interaction else pairs[-1][1])
    verdict = verdict_on(pairs, *by, sizes=sizes, reach=2.0 if is_interaction else 1.0)
    labels = next(iter(cells.values()))[0][0].labels
    effect = Effect(cells=cells, verdict=verdict, weight=weight, **known)
    spoilt = ""
    # A side that has learnt nothing and is worse is an accident, and no answer about the method.
    if (verdict.high < 0 or verdict.answer in HURTING) and (broken := common_fault(effect.ones)):
        spoilt = f"it {broken}"
    elif (verdict.low > 0 or verdict.answer in HELPING) and (broken := common_fault(effect.others)):
        spoilt = f"{effect.reference} {broken}"
    if spoilt:
        verdict = replace(verdict, answer=UNDECIDED, reason=spoilt)
    return replace(effect, verdict=verdict, spoilt=spoilt, labels=None if is_interaction else labels)


def common_fault(cells: Sequence[Cell]) -> str:
    """The sign that a side has learnt nothing, in a third of its cells or more; empty otherwise."""
    faults = [cell.fault for cell in cells if cell.fault and not cell.is_baseline]
    # On a hard table or two nothing may be learnt by any method.
    if len(faults) < max(1, FEWEST_FAULTY * len(cells)):
        return ""
    if len(cells) == 1:
        return f"{faults[0]}, so it has not learnt"
    n_tables = len({cell.table for cell in cells})
    noun = "datasets" if n_tables == len(cells) else "settings" if n_tables == 1 else "cells"
    # One of them, the same in whichever order the cells are read.
    return f"{min(faults)}, and has not learnt on {len(faults)} of {len(cells)} {noun}"


def answered(
    effects: Sequence[Effect], margin: float = MARGIN, looks: Callable[[Effect], Sequence[Look]] = lambda effect: ()
) -> list[Effect]:
    """The effects with the answers that hold together in each family, and after the looks that were taken before.

    Competitors and changes come first, by their best difference, those of one name together.

    Args:
        effects: with their verdicts.
        margin: a difference no larger than this is of no practical consequence.
        looks: gives the earlier looks at an effect.

    A gain whose direction is found at 3 % alone is not found beside another one:

    >>> from scarf_lightning.metrics import metric_named
    >>> one = Trials(dict(enumerate([0.64, 0.65, 0.63, 0.66, 0.61, 0.61, 0.62, 0.63, 0.61, 0.62])))
    >>> other = Trials(dict(enumerate([0.59, 0.60, 0.60, 0.61, 0.59, 0.60, 0.60, 0.61, 0.61, 0.59])))
    >>> cells = {"iris": ([Cell("iris", "scarf", one)], [Cell("iris", "none", other)])}
    >>> by = Sums(metric_named("accuracy"))
    >>> found = effect_of(cells, by, kind="competitor", what="scarf", reference="none")
    >>> [each.shown for each in answered([found])], [each.shown for each in answered([found] * 2)]
    (['helps, size open'], ['undecided (2 comparisons)', 'undecided (2 comparisons)'])
    """
    families: dict[str, list[Effect]] = {}
    for effect in effects:
        verdict = after_looks(effect.verdict, looks(effect), margin)
        families.setdefault(effect.family, []).append(replace(effect, verdict=verdict))
    found = []
    for family in families.values():
        every = needed_together([effect.verdict.levels for effect in family])
        for effect, needed in zip(family, every, strict=True):
            # It stays in its family: a side that has not learnt is seen in the same results as the levels.
            claimed = UNDECIDED if effect.spoilt else decided(effect.verdict, needed, margin)
            why = "" if effect.spoilt or claimed != UNDECIDED else _lacking(effect.verdict, len(family), margin)
            found.append(replace(effect, claimed=claimed, needed=needed, why=why))
    best: dict[str, float] = {}
    for effect in found:
        best[effect.what] = max(best.get(effect.what, -math.inf), effect.verdict.difference)
    # The sort is stable: axes and interactions follow in their order.
    return sorted(found, key=lambda each: math.inf if each.kind in ("axis", "interaction") else -best[each.what])


def _lacking(verdict: Verdict, n_comparisons: int, margin: float) -> str:
    """What an undecided comparison lacks to be claimed; empty where its interval claims nothing, or there is none."""
    if verdict.ends is None:
        return ""
    if verdict.has_few_trials:
        return counted(verdict.trials, "trial")
    if answer_of(verdict.interval, margin) == UNDECIDED:
        return ""
    if verdict.answer != UNDECIDED:
        return f"{n_comparisons} comparisons"
    return "looked at before" if len(verdict.looks) > 1 else "level kept for later looks"
