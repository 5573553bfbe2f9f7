"""Effects: which comparisons some cells have, and their answers. Cells in, a frame of effects out.

A frame of results and the cells of a report are planned by the same rules, in this order:

- **By axis**, if the cells are all combinations of two axes or more: each value beside the first one of its axis, over
  all settings of the others, and an interaction for each two axes.
- **One change at a time**, if all cells but one, the base, differ from it in a single axis: the textbook ablation.
- **Each cell beside a reference**: the one that the user gives, the cell itself without pre-training, or the most
  usual one.

With several numbers of labels, each effect with more labels is also compared with that with the fewest.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import pandas as pd

from ..errors import UsageError, unknown_name
from ..intervals import Interval, are_few_tables
from ..metrics import Metric
from .answers import ALONE, MARGIN, UNDECIDED, Answer, Levels, Look, Verdict, claimed_together
from .trials import Trials, difference_of, judge

Kind = Literal["axis", "interaction", "change", "competitor"]
ON, WITH = "on ", " with "
"""How a context begins that names a table, and how its number of labels follows: ``on iris with 20 labels``."""


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
        n_labels: the number of labels that were counted; NaN if it is unknown.
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


@dataclass(frozen=True)
class Effect:
    """A row of the frame of effects.

    Attributes:
        kind: of the four.
        what, reference: the two that are compared.
        ones: the cells whose values are added, table by table; a competitor has one on each.
        others: as many cells, whose values are taken away.
        verdict: on their differences, with a 95 % interval.
        metric: of the differences.
        over: the settings of the other axes: ``2 settings of scaling``; empty if there are none.
        context: what both sides share; empty if there is one context for all.
        family: effects whose answers hold together share it.
        claimed, needed, why: the answer together with those of its family, see `answers.Claim`.
    """

    kind: Kind
    what: str
    reference: str
    ones: Sequence[Cell]
    others: Sequence[Cell]
    verdict: Verdict
    metric: Metric
    over: str = ""
    context: str = ""
    family: str = ""
    claimed: Answer = UNDECIDED
    needed: Levels = ALONE
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

    @cached_property
    def level(self) -> Interval:
        """The level of the cells whose values are added, see `level_over`."""
        return level_over(self.ones, self.metric)

    @cached_property
    def reference_level(self) -> Interval:
        """The level of the cells whose values are taken away."""
        return level_over(self.others, self.metric)

    @property
    def tables(self) -> list[str]:
        """The tables that it is on."""
        return list(dict.fromkeys(cell.table for cell in self.ones))

    @property
    def labels(self) -> float | None:
        """How many labels training sees; None if that does not vary, or is compared."""
        return None if self.kind == "interaction" else self.ones[0].labels

    @property
    def question(self) -> str:
        """What looks at it are about, beside its cells; empty for two cells."""
        if self.kind not in ("axis", "interaction"):
            return ""
        return f"{self.kind} over {len(self.ones) // len(self.tables)} settings"

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


Places = dict[tuple[str, str], dict[str, Cell]]
"""By context and table, the cells by their name."""


@dataclass(frozen=True)
class Product:
    """Cells that are all combinations of axes.

    Attributes:
        axes: the values of each axis, the reference first.
        names: of the competitors, by their setting.
        cells: those of the tables that have all settings.
    """

    axes: Mapping[str, Sequence[str]]
    names: Mapping[tuple[str, ...], str]
    cells: Sequence[Cell]


@dataclass(frozen=True)
class Plan:
    """The cells to compare, with their axes, their metric and their reference.

    Attributes:
        cells: with their options by axis.
        axes: all that a cell may have.
        varied: those in which competitors differ.
        metric: of the comparison.
        reference: a competitor by its name, a value of an axis, or ``axis=value``; None if none is given.
        usual: the values of a cell without overrides.
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
    def competitors(self) -> dict[str, Cell]:
        """A cell of each competitor by its name, those with the most usual options first."""

        def unusual(cell: Cell) -> int:
            return sum(cell.options.get(axis) != self.usual.get(axis) for axis in self.varied)

        return {cell.name: cell for cell in sorted(self.cells, key=unusual)}

    @cached_property
    def places(self) -> Places:
        """All cells."""
        places: Places = {}
        for cell in self.cells:
            places.setdefault((cell.context, cell.table), {})[cell.name] = cell
        return places

    @cached_property
    def chosen(self) -> dict[str, str]:
        """The value of an axis that the reference names; empty if it names none."""
        for axis in self.varied:
            for value in [cell.options[axis] for cell in self.cells if axis in cell.options]:
                if self.reference in (value, f"{axis}={value}"):
                    return {axis: value}
        return {}

    def unequal(self, one: str, other: str) -> set[str]:
        """The axes that two competitors use with different values on the first table that both have; what one does not
        use, and the options of another part, follow from another difference."""
        for cells in self.places.values():
            if one in cells and other in cells:
                first, second = cells[one].options, cells[other].options
                shared = first.keys() & second & set(self.axes)
                unequal = {axis for axis in shared if first[axis] != second[axis]}
                return {axis for axis in unequal if axis.partition(".")[0] not in unequal - {axis}}
        return set()

    def effects(self, kind: Kind, what: str, reference: str, *sides: Sequence[str], **fields: Any) -> list[Effect]:
        """An effect in each context, over the tables on which all of its competitors have a common trial.

        Args:
            sides: names of the competitors that are added, and of those that are taken away.
            kind, what, reference, fields: arguments of `Effect`.
        """
        contexts: dict[str, Any] = {}
        for (context, _), cells in self.places.items():
            if cells.keys() >= set().union(*sides):
                for side_cells, names in zip(contexts.setdefault(context, ([], [])), sides, strict=True):
                    side_cells += [cells[name] for name in names]
        return [
            effect
            for context, cells in contexts.items()
            for effect in self.effect(kind, what, reference, *cells, context=context, **fields)
        ]

    def effect(
        self, kind: Kind, what: str, reference: str, ones: Sequence[Cell], others: Sequence[Cell], **fields: Any
    ) -> list[Effect]:
        """The effect of these cells, before it is answered with others; none if no table has a common trial."""
        is_interaction = kind == "interaction"
        differences = {}
        for table in dict.fromkeys(cell.table for cell in ones):
            added_trials, removed_trials = (
                [cell.trials for cell in side if cell.table == table] for side in (ones, others)
            )
            difference = difference_of(added_trials, removed_trials, self.metric, is_interaction=is_interaction)
            if difference.values:
                differences[table] = difference
        if not differences:
            return []
        verdict = judge([*differences.values()], self.metric, self.margin, is_interaction=is_interaction)
        ones, others = ([cell for cell in side if cell.table in differences] for side in (ones, others))
        # If a third or more of a side's cells have learnt nothing and the side is worse, that is an accident, and says
        # nothing about the method. The reason names the first sign by the alphabet, whatever the order of the cells.
        for name, side, is_worse in ((what, ones, verdict.high < 0), (reference, others, verdict.low > 0)):
            faults = [cell.fault for cell in side if cell.fault]
            if is_worse and 3 * len(faults) >= max(3, len(side)):
                verdict = replace(verdict, reason=f"{name} has not learnt: it {min(faults)}")
        return [Effect(kind, what, reference, ones, others, verdict, self.metric, **fields)]


def effects_of(plan: Plan) -> tuple[list[Effect], Product | None]:
    """The effects of cells, before they are answered together; and the product, if they are one.

    Raises:
        UsageError: the reference is no competitor and no value of an axis.
    """
    # Each of a few tables has answers of its own.
    if are_few_tables((cell.table, cell.name) for cell in plan.cells if cell.trials.values):
        plan = replace(
            plan,
            cells=[
                replace(cell, context=ON + cell.table + (cell.context and WITH + cell.context)) for cell in plan.cells
            ],
        )
    product = _product(plan)
    effects = _one_by_one(plan) if product is None else _by_axis(plan, product)
    return [*effects, *_of_labels(plan, effects)], product


def _product(plan: Plan) -> Product | None:
    """The cells as a product; None if they are none, or if the reference is a competitor and no value of an axis."""
    # A cell may not use an axis.
    values = {axis: list(dict.fromkeys(cell.options.get(axis, "") for cell in plan.cells)) for axis in plan.varied}
    is_product = len(values) > 1 and all("" not in choices and len(choices) > 1 for choices in values.values())
    if not is_product or (plan.reference is not None and not plan.chosen):
        return None
    firsts = {**plan.usual, **plan.chosen}
    # The sort is stable: without a usual value the first one stays the first.
    axes = {axis: sorted(choices, key=lambda value: value != firsts.get(axis)) for axis, choices in values.items()}
    names = {tuple(cell.options[axis] for axis in axes): name for name, cell in plan.competitors.items()}
    complete_cells: list[Cell] = []
    for cells in plan.places.values():
        # A table that lacks a setting has no means to compare.
        trials = [set(cell.trials.values) for cell in cells.values()]
        if len(cells) == len(names) and set.intersection(*trials):
            complete_cells += cells.values()
    is_complete = len(names) == math.prod(map(len, axes.values())) and complete_cells
    return Product(axes, names, complete_cells) if is_complete else None


def _by_axis(plan: Plan, product: Product) -> list[Effect]:
    """Each value of each axis beside the first one, and each two axes.

    An interaction is by how much the effect of one value changes with another: (a1 b1 - a0 b1) - (a1 b0 - a0 b0).
    """
    axes, effects = product.axes, []
    product_plan = replace(plan, cells=product.cells)
    for factors in (*((axis,) for axis in axes), *itertools.combinations(axes, 2)):
        kind: Kind = "axis" if len(factors) == 1 else "interaction"
        fields = {"family": factors[0] if kind == "axis" else "interactions"}
        if rest := [axis for axis in axes if axis not in factors]:
            fields["over"] = f"{math.prod(len(axes[axis]) for axis in rest)} settings of {' and '.join(rest)}"
        reference = " × ".join(f"{axis}={axes[axis][0]}" for axis in factors)
        for values in itertools.product(*(axes[axis][1:] for axis in factors)):
            combination = dict(zip(factors, values, strict=True))
            sides: dict[int, list[str]] = {1: [], -1: [], 0: []}
            for setting in itertools.product(*axes.values()):
                options = dict(zip(axes, setting, strict=True))
                sign = math.prod(
                    (options[axis] == combination[axis]) - (options[axis] == axes[axis][0]) for axis in factors
                )
                sides[sign].append(product.names[setting])
            what = " × ".join(f"{axis}={value}" for axis, value in combination.items())
            effects += product_plan.effects(kind, what, reference, sides[1], sides[-1], **fields)
    return effects


def _user_references(plan: Plan) -> list[str]:
    """The competitors that the user's reference fits, the most usual first; none if no reference is given.

    Raises:
        UsageError: it is no competitor, and no value of an axis.
    """
    # Names come first: what a report calls a competitor is what a reader will type.
    if plan.reference is None or plan.reference in plan.competitors:
        return [name for name in plan.competitors if name == plan.reference]
    if plan.chosen:
        ((axis, value),) = plan.chosen.items()
        return [name for name, cell in plan.competitors.items() if cell.options.get(axis) == value]
    raise UsageError(
        unknown_name(
            f"reference={plan.reference} is no competitor of these results, nor a value of an axis",
            plan.reference,
            plan.competitors,
            "the competitors",
            write=repr,
        )
    )


def _one_by_one(plan: Plan) -> list[Effect]:
    """Each change beside the base of a star, called by its override, such as ``scaling=minmax``; or else each
    competitor beside its reference: the one that the user gives, itself without pre-training, or the most usual one."""
    user_references, effects = _user_references(plan), []
    changes = _star(plan, user_references)
    references = user_references or _without_pretraining(plan) or [*plan.competitors][:1]
    if changes:
        references = [*plan.competitors.keys() - changes]
    nearest = _nearest(plan, references)
    # In a product each value of the other axes has a reference of its own, and all are used; else there is one.
    if user_references and not set(user_references) <= set(nearest.values()):
        nearest = _nearest(plan, references[:1])
    for name, reference in nearest.items():
        cell, base = plan.competitors[name], plan.competitors[reference]
        # Over numbers of labels each competitor has a family of its own. So has a baseline, which nobody expects to
        # help.
        family = name if cell.labels is not None or cell.is_baseline else ""
        kind: Kind = "competitor"
        what, against = name, reference
        if changes:
            kind, what = "change", f"{changes[name]}={cell.options[changes[name]]}"
            against = ", ".join(f"{axis}={value}" for axis, value in base.options.items() if axis in changes.values())
        effects += plan.effects(kind, what, against, [name], [reference], family=family)
    return effects


def _star(plan: Plan, references: Sequence[str]) -> dict[str, str]:
    """The one axis in which each competitor differs from the base; empty if the cells are no star, if there are two
    bases, or several numbers of labels, at each of which cells compete."""
    stars = []
    for base in references or plan.competitors:
        changes = {name: plan.unequal(name, base) for name in plan.competitors if name != base}
        if all(len(axes) == 1 for axes in changes.values()) and len(set().union(*changes.values())) > 1:
            stars.append({name: axes.pop() for name, axes in changes.items()})
    return stars[0] if len(stars) == 1 and len(references) < 2 and plan.cells[0].labels is None else {}


def _without_pretraining(plan: Plan) -> list[str]:
    """The networks without pre-training, if others of their method are pre-trained."""
    options = {name: cell.options for name, cell in plan.competitors.items()}
    plain = [name for name, setting in options.items() if setting.get("pretrain", "none") == "none"]
    pretrained = {setting.get("method") for name, setting in options.items() if name not in plain}
    return [name for name in plain if options[name].get("method") in pretrained]


def _nearest(plan: Plan, references: Sequence[str]) -> dict[str, str]:
    """For each competitor the reference that differs least from it; of two that are equally near, the more usual."""
    others = [name for name in plan.competitors if name not in references]
    return {name: min(references, key=lambda reference: len(plan.unequal(name, reference))) for name in others}


def _of_labels(plan: Plan, effects: Sequence[Effect]) -> list[Effect]:
    """By how much each effect differs with more labels from that with the fewest: interactions with labels."""
    curves = [effect for effect in effects if effect.labels is not None]
    fewest: dict[Any, tuple[Effect, str]] = {}
    interactions = []
    for more in sorted(curves, key=lambda effect: effect.labels or 0.0):
        place, _, many = more.context.rpartition(WITH)
        first, few = fewest.setdefault((more.what, place), (more, many))
        if first is more or {*more.tables} != {*first.tables}:
            continue
        sides = [*more.ones, *first.others], [*more.others, *first.ones]
        names = f"{more.what} × {many}", f"{more.reference} × {few}"
        interactions += plan.effect("interaction", *names, *sides, over=more.over, context=place, family="interactions")
    return interactions


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
    >>> effects, _ = effects_of(Plan(cells, (), (), metric_named("accuracy"), "none"))
    >>> [each.shown for each in answered(effects)], [each.shown for each in answered(effects * 2)]
    (['helps, size open'], ['undecided (2 comparisons)', 'undecided (2 comparisons)'])
    """
    claimed_effects = []
    for name in dict.fromkeys(effect.family for effect in effects):
        family = [effect for effect in effects if effect.family == name]
        claims = claimed_together([effect.verdict for effect in family], [*map(looks, family)])
        claimed_effects += [replace(effect, **claim._asdict()) for effect, claim in zip(family, claims, strict=True)]
    ascending = sorted(claimed_effects, key=lambda each: each.verdict.difference)
    best = {effect.what: effect.verdict.difference for effect in ascending}
    # The sort is stable: axes and interactions follow in their order.
    return sorted(
        claimed_effects, key=lambda each: math.inf if each.kind in ("axis", "interaction") else -best[each.what]
    )
