"""Effects: which comparisons some cells have, and their answers. Cells in, a frame of effects out.

A frame of results and the cells of a report are planned by the same rules, in this order:

- **By axis**, if the cells are all combinations of two axes or more: each value beside the first one of its axis, over
  all settings of the others, and an interaction for each two axes.
- **One change at a time**, if all cells but one, the base, differ from it in a single axis: the textbook ablation.
- **Each cell beside a reference**: the one that is named, itself without pre-training, or the most usual one.

With several numbers of labels, each effect with more labels is also compared with that with the fewest.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import pandas as pd

from ..errors import UsageError, counted, did_you_mean, unknown_name
from ..intervals import Interval
from ..metrics import Metric
from .answers import ALONE, MARGIN, UNDECIDED, Answer, Levels, answer_of, needed_together
from .looks import Look
from .trials import Trials, verdict_on
from .verdict import Verdict, after_looks, decided

Kind = Literal["axis", "interaction", "change", "competitor"]
ON, WITH = "on ", " with "
"""How a context begins that names a table, and how its number of labels follows: ``on iris with 20 labels``."""
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
        axes: the one or two of a product; none otherwise.
        over: the settings of the other axes: ``2 settings of scaling``; empty if there are none.
        context: what both sides share; empty if there is one context for all.
        family: effects whose answers hold together share it.
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
    axes: tuple[str, ...] = ()
    over: str = ""
    context: str = ""
    family: str = ""
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

    @property
    def labels(self) -> float | None:
        """How many labels training sees; None if that does not vary, or is compared."""
        return None if self.kind == "interaction" else self.ones[0].labels

    @property
    def is_baseline(self) -> bool:
        """True if one cell is compared that always gives one answer."""
        return self.kind in ("change", "competitor") and self.ones[0].is_baseline

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
            "mean": verdict.average,
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


Setting = tuple[str, ...]
"""A value of each axis."""
Places = Mapping[str, Mapping[str, Mapping[Any, Cell]]]
"""Cells by context, by table, and by their name or setting."""


@dataclass(frozen=True)
class Product:
    """Cells that are all combinations of axes.

    Attributes:
        axes: the values of each axis, the reference first.
        cells: by context, by table and by setting; of the tables that have all settings.
    """

    axes: Mapping[str, Sequence[str]]
    cells: Places


class Contrast(NamedTuple):
    """A comparison that is planned: the cells that are added, and those that are taken away, by name or setting. The
    other fields are those of `Effect`."""

    kind: Kind
    what: str
    reference: str
    ones: Sequence[Any]
    others: Sequence[Any]
    family: str = ""
    axes: tuple[str, ...] = ()
    over: str = ""


@dataclass(frozen=True)
class Plan:
    """The cells that are planned, and what is known of them.

    Attributes:
        cells: with their options by axis.
        axes: all that a cell may have.
        varied: those in which competitors differ.
        metric: that they are compared by.
        reference: a competitor by its name, a value of an axis, or ``axis=value``; None if nobody names one.
        usual: the values of a cell that chooses nothing.
        margin: a difference no larger than this is of no practical consequence.
    """

    cells: Sequence[Cell]
    axes: Sequence[str]
    varied: Sequence[str]
    metric: Metric
    reference: str | None = None
    usual: Mapping[str, str] = field(default_factory=dict)
    margin: float = MARGIN

    @cached_property
    def options(self) -> dict[str, Mapping[str, str]]:
        """The options of each competitor, those with the most usual ones first."""
        usual = {axis: self.usual.get(axis) for axis in self.varied}
        ordered = sorted(self.cells, key=lambda cell: sum(cell.options.get(axis) != usual[axis] for axis in usual))
        return {cell.name: cell.options for cell in ordered}

    @cached_property
    def places(self) -> Places:
        """The cells by context, table and name."""
        return _placed(self.cells, lambda cell: cell.name)

    def unequal(self, one: str, other: str) -> set[str]:
        """The axes that two competitors use with different values on the first table that both have; what one does not
        use follows from another difference."""
        for cells in itertools.chain(*(tables.values() for tables in self.places.values())):
            if one in cells and other in cells:
                first, second = cells[one].options, cells[other].options
                shared = first.keys() & second.keys() & set(self.axes)
                return {axis for axis in shared if first[axis] != second[axis]}
        return set()

    def effects(self, contrasts: Iterable[Contrast], places: Places) -> list[Effect]:
        """The effects of contrasts in each context, over the tables on which all of their cells have a common trial."""
        found = []
        for contrast in contrasts:
            for context, tables in places.items():
                sides = {}
                for table, cells in tables.items():
                    keys = (*contrast.ones, *contrast.others)
                    if all(key in cells for key in keys) and _share_a_trial(cells[key] for key in keys):
                        sides[table] = [cells[key] for key in contrast.ones], [cells[key] for key in contrast.others]
                if sides:
                    found.append(self.effect(contrast, sides, context))
        return found

    def effect(self, contrast: Contrast, cells: Mapping[str, Sides], context: str) -> Effect:
        """The effect of one contrast, before it is answered together with others."""
        kind, what, reference, *_, family, axes, over = contrast
        is_interaction = kind == "interaction"
        sides = [([each.trials for each in ones], [each.trials for each in others]) for ones, others in cells.values()]
        verdict = verdict_on(sides, self.metric, self.margin, is_interaction=is_interaction)
        effect = Effect(kind, what, reference, cells, verdict, axes, over, context, family)
        # A side that has learnt nothing and is worse is an accident, and no answer about the method.
        spoilt = ""
        if verdict.high < 0 and (fault := common_fault(effect.ones)):
            spoilt = f"{what} {fault}"
        elif verdict.low > 0 and (fault := common_fault(effect.others)):
            spoilt = f"{reference} {fault}"
        return replace(effect, verdict=replace(verdict, reason=spoilt or verdict.reason), spoilt=spoilt)


def _placed(cells: Iterable[Cell], key_of: Callable[[Cell], Any]) -> dict[str, dict[str, dict[Any, Cell]]]:
    """Cells by context, by table and by their key."""
    places: dict[str, dict[str, dict[Any, Cell]]] = {}
    for cell in cells:
        places.setdefault(cell.context, {}).setdefault(cell.table, {})[key_of(cell)] = cell
    return places


def _share_a_trial(cells: Iterable[Cell]) -> bool:
    """Whether all cells have a trial in common."""
    return bool(set.intersection(*(set(cell.trials.values) for cell in cells)))


def common_fault(cells: Sequence[Cell]) -> str:
    """The sign that a side has learnt nothing, in a third of its cells or more; empty otherwise."""
    faults = [cell.fault for cell in cells if cell.fault and not cell.is_baseline]
    # On a hard table or two nothing may be learnt by any method.
    if len(faults) < max(1, FEWEST_FAULTY * len(cells)):
        return ""
    where = f" in {len(faults)} of {len(cells)} cells" if len(cells) > 1 else ""
    # One of them, the same in whichever order the cells are read.
    return f"has not learnt{where}: it {min(faults)}"


def effects_of(plan: Plan) -> tuple[list[Effect], Product | None]:
    """The effects of cells, before they are answered together; and the product, if they are one.

    Raises:
        UsageError: the reference is no competitor and no value of an axis.
    """
    product = _product(plan)
    if product is not None:
        effects = plan.effects(_by_axis(product.axes), product.cells)
    else:
        effects = plan.effects(_one_by_one(plan), plan.places)
    return [*effects, *_of_labels(plan, effects)], product


def _product(plan: Plan) -> Product | None:
    """The cells as a product; None if they are none, or if the reference is a competitor and no value of an axis."""
    # None is the value of a cell that does not use the axis.
    values = {axis: list(dict.fromkeys(cell.options.get(axis) for cell in plan.cells)) for axis in plan.varied}
    if len(values) < 2 or any(None in known or len(known) < 2 for known in values.values()):
        return None
    firsts = {axis: plan.usual.get(axis) for axis in values}
    if plan.reference is not None:
        named = [(a, v) for a, known in values.items() for v in known if plan.reference in (v, f"{a}={v}")]
        if not named:
            return None
        firsts |= dict(named[:1])
    # The sort is stable: without a usual value the first one stays the first.
    axes = {axis: sorted(map(str, known), key=lambda value: value != firsts[axis]) for axis, known in values.items()}
    n_settings = math.prod(map(len, axes.values()))
    places = _placed(plan.cells, lambda cell: tuple(cell.options[axis] for axis in axes))
    cells = {}
    for context, tables in places.items():
        # A table that lacks a setting has no means to compare.
        whole = {t: its for t, its in tables.items() if len(its) == n_settings and _share_a_trial(its.values())}
        if whole:
            cells[context] = whole
    return Product(axes, cells) if cells else None


def _by_axis(axes: Mapping[str, Sequence[str]]) -> list[Contrast]:
    """Each value of each axis beside the first one, and each two axes.

    An interaction is by how much the effect of one value changes with another: (a1 b1 - a0 b1) - (a1 b0 - a0 b0).

    >>> a, b, both = _by_axis({"a": "01", "b": "xy"})
    >>> a.what, a.reference, a.over, a.ones, a.others
    ('a=1', 'a=0', '2 settings of b', [('1', 'x'), ('1', 'y')], [('0', 'x'), ('0', 'y')])
    >>> both.what, both.ones, both.others
    ('a=1 × b=y', [('0', 'x'), ('1', 'y')], [('0', 'y'), ('1', 'x')])
    """
    contrasts = []
    for chosen in (*((axis,) for axis in axes), *itertools.combinations(axes, 2)):
        rest = [axis for axis in axes if axis not in chosen]
        over = f"{math.prod(len(axes[axis]) for axis in rest)} settings of {' and '.join(rest)}" if rest else ""
        reference = " × ".join(f"{axis}={axes[axis][0]}" for axis in chosen)
        for values in itertools.product(*(axes[axis][1:] for axis in chosen)):
            value = dict(zip(chosen, values, strict=True))
            ones: list[Setting] = []
            others: list[Setting] = []
            for setting in itertools.product(*axes.values()):
                its = dict(zip(axes, setting, strict=True))
                sign = math.prod((its[axis] == value[axis]) - (its[axis] == axes[axis][0]) for axis in chosen)
                if sign:
                    (ones if sign > 0 else others).append(setting)
            what = " × ".join(f"{axis}={its}" for axis, its in value.items())
            kind: Kind = "axis" if len(chosen) == 1 else "interaction"
            family = chosen[0] if kind == "axis" else "interactions"
            contrasts.append(Contrast(kind, what, reference, ones, others, family, chosen, over))
    return contrasts


def _named(plan: Plan) -> list[str]:
    """The competitors that the user's reference fits, the most usual first; none if nobody names one.

    Raises:
        UsageError: it is no competitor, and no value of an axis.
    """
    if plan.reference is None:
        return []
    wanted = plan.reference.strip()
    # Names come first: what a report calls a competitor is what a reader will type.
    if wanted in plan.options:
        return [wanted]
    named_axis, _, value = wanted.partition("=")
    for axis, text in ((named_axis, value), *((axis, wanted) for axis in plan.varied)):
        if matching := [name for name, options in plan.options.items() if options.get(axis) == text]:
            return matching
    values = [value for options in plan.options.values() for axis, value in options.items() if axis in plan.varied]
    hint = did_you_mean(wanted, [*plan.options, *values])
    fault = f"reference={plan.reference} is no competitor of these results, and no value of {', '.join(plan.varied)}"
    raise UsageError(unknown_name(fault, wanted, plan.options, "the competitors", hint=hint, shown=repr))


def _one_by_one(plan: Plan) -> list[Contrast]:
    """Each change beside the base of a star, called by its override, such as ``scaling=minmax``; or else each
    competitor beside its reference: the one that is named, itself without pre-training, or the most usual one."""
    named = _named(plan)
    changed = _star(plan, named)
    if changed:
        (base,) = plan.options.keys() - changed.keys()
        nearest = dict.fromkeys(changed, base)
    else:
        references = named or _without_pretraining(plan) or list(plan.options)[:1]
        nearest = _nearest(plan, references)
        # In a product each value of the other axes has a reference of its own, and all are used; else there is one.
        if named and not set(named) <= set(nearest.values()):
            nearest = _nearest(plan, references[:1])
    contrasts = []
    for name, reference in nearest.items():
        # Over numbers of labels each competitor has a family of its own, and so has a baseline, of which nobody asks
        # whether it helps.
        cells = [cell for cell in plan.cells if cell.name == name]
        family = name if any(cell.labels is not None or cell.is_baseline for cell in cells) else ""
        kind: Kind = "competitor"
        what, against = name, reference
        if changed:
            kind, options = "change", plan.options[reference]
            what = f"{changed[name]}={plan.options[name][changed[name]]}"
            against = ", ".join(f"{axis}={options[axis]}" for axis in plan.axes if axis in changed.values())
        contrasts.append(Contrast(kind, what, against, [name], [reference], family))
    return contrasts


def _star(plan: Plan, named: Sequence[str]) -> dict[str, str]:
    """The one axis in which each competitor differs from the base; empty if the cells are no star, if there are two
    bases, or several numbers of labels, at each of which cells compete."""
    stars = []
    for base in named or plan.options:
        changed = {}
        for name in [name for name in plan.options if name != base]:
            unequal = plan.unequal(name, base)
            # The options of another network come with it.
            axes = [axis for axis in unequal if axis.partition(".")[0] not in unequal - {axis}]
            changed[name] = axes[0] if len(axes) == 1 else ""
        if all(changed.values()) and len(set(changed.values())) > 1:
            stars.append(changed)
    has_labels = any(cell.labels is not None for cell in plan.cells)
    return {} if len(stars) != 1 or len(named) > 1 or has_labels else stars[0]


def _without_pretraining(plan: Plan) -> list[str]:
    """The networks without pre-training, if others are pre-trained. A method that is never pre-trained is compared with
    the network, and is no reference."""
    by_name = plan.options.items()
    pretrained = {options.get("method") for _, options in by_name if options.get("pretrain", "none") != "none"}
    without = [(name, options.get("method")) for name, options in by_name if options.get("pretrain", "none") == "none"]
    return [name for name, method in without if pretrained and method in pretrained | {"control"}]


def _nearest(plan: Plan, references: Sequence[str]) -> dict[str, str]:
    """For each competitor the reference that differs least from it; of two that are equally near, the more usual."""
    others = [name for name in plan.options if name not in references]
    return {name: min(references, key=lambda reference: len(plan.unequal(name, reference))) for name in others}


def _of_labels(plan: Plan, effects: Sequence[Effect]) -> list[Effect]:
    """By how much each effect differs with more labels from that with the fewest: interactions with labels."""
    curves = [effect for effect in effects if effect.labels is not None and not effect.is_baseline]
    fewest: dict[tuple[str, str], Effect] = {}
    found = []
    for more in sorted(curves, key=lambda effect: effect.labels or 0.0):
        place, _, many = more.context.rpartition(WITH)
        first = fewest.setdefault((more.what, place), more)
        tables = {}
        for table in [table for table in more.cells if table in first.cells]:
            (ones, others), (first_ones, first_others) = more.cells[table], first.cells[table]
            tables[table] = [*ones, *first_others], [*others, *first_ones]
        if first is not more and tables:
            few = first.context.rpartition(WITH)[2]
            what, reference = f"{more.what} × {many}", f"{more.reference} × {few}"
            contrast = Contrast("interaction", what, reference, (), (), "interactions", (), more.over)
            found.append(plan.effect(contrast, tables, place))
    return found


def answered(effects: Sequence[Effect], looks: Callable[[Effect], Sequence[Look]] = lambda effect: ()) -> list[Effect]:
    """The effects with the answers that hold together in each family, and after the looks that were taken before.

    Competitors and changes come first, by their best difference, those of one name together.

    Args:
        effects: with their verdicts.
        looks: gives the earlier looks at an effect.

    A gain whose direction is found at 3 % alone is not found beside another one:

    >>> from scarf_lightning.metrics import metric_named
    >>> one = Trials(dict(enumerate([0.64, 0.65, 0.63, 0.66, 0.61, 0.61, 0.62, 0.63, 0.61, 0.62])))
    >>> other = Trials(dict(enumerate([0.59, 0.60, 0.60, 0.61, 0.59, 0.60, 0.60, 0.61, 0.61, 0.59])))
    >>> cells = [Cell("iris", "scarf", one), Cell("iris", "none", other)]
    >>> found, _ = effects_of(Plan(cells, (), (), metric_named("accuracy"), "none"))
    >>> [each.shown for each in answered(found)], [each.shown for each in answered(found * 2)]
    (['helps, size open'], ['undecided (2 comparisons)', 'undecided (2 comparisons)'])
    """
    looked = [replace(effect, verdict=after_looks(effect.verdict, looks(effect))) for effect in effects]
    found = []
    for name in dict.fromkeys(effect.family for effect in looked):
        family = [effect for effect in looked if effect.family == name]
        every = needed_together([effect.verdict.levels for effect in family])
        found += [_answered(effect, needed, len(family)) for effect, needed in zip(family, every, strict=True)]
    best: dict[str, float] = {}
    for effect in found:
        best[effect.what] = max(best.get(effect.what, -math.inf), effect.verdict.difference)
    # The sort is stable: axes and interactions follow in their order.
    return sorted(found, key=lambda each: math.inf if each.kind in ("axis", "interaction") else -best[each.what])


def _answered(effect: Effect, needed: Levels, n_comparisons: int) -> Effect:
    """An effect with its answer in a family of so many, or with what a claim lacks that its interval would make."""
    verdict = effect.verdict
    # It stays in its family: a side that has not learnt is seen in the same results as the levels.
    claimed = UNDECIDED if effect.spoilt else decided(verdict, needed)
    why = ""
    if claimed == UNDECIDED and verdict.basis != "none" and not effect.spoilt:
        if verdict.has_few_trials:
            why = counted(verdict.trials, "trial")
        elif verdict.answer != UNDECIDED:
            why = f"{n_comparisons} comparisons"
        elif answer_of(verdict.interval, verdict.margin) != UNDECIDED:
            why = "looked at before" if len(verdict.looks) > 1 else "level kept for later looks"
    return replace(effect, claimed=claimed, needed=needed, why=why)
