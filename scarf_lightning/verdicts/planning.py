"""The one planner: cells in, effects out.

A frame of results and the cells of a report are planned by the same rules, in this order:

- **By axis**, if the cells are all combinations of two axes or more: each value beside the first one of its axis, over
  all settings of the others, and an interaction for each two axes.
- **One change at a time**, if all cells but one, the base, differ from it in a single axis: the textbook ablation.
- **Each cell beside a reference**: the one that is named, itself without pre-training, or the most usual one.

With several numbers of labels, each effect with more labels is also compared with that with the fewest.
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..errors import UsageError, did_you_mean, unknown_name
from .effects import LABELS, ON, Cell, Effect, Kind, Sums, effect_of, split_context

Setting = tuple[str, ...]
"""A value of each axis."""
NO_PRETRAINING = "pretrain=none"
"""How a sentence calls the references of several methods that are each compared with themselves."""
BASE = "the base"
"""The reference of a star in a sentence."""


@dataclass(frozen=True)
class Product:
    """Cells that are all combinations of axes.

    Attributes:
        axes: the values of each axis, the reference first.
        cells: by context, by table and by setting.
        left_out: sentences on tables that lack a setting.
    """

    axes: Mapping[str, Sequence[str]]
    cells: Mapping[str, Mapping[str, Mapping[Setting, Cell]]]
    left_out: Sequence[str] = ()


class Pair(NamedTuple):
    """A cell, its reference, and what that is called in a sentence."""

    cell: Cell
    reference: Cell
    against: str


@dataclass(frozen=True)
class Plan:
    """The cells that are planned, and what is known of them.

    Attributes:
        cells: with their options by axis.
        axes: all that a cell may have.
        varied: those in which competitors differ.
        reference: a competitor by its name, a value of an axis, or ``axis=value``; None if nobody names one.
        usual: the values of a cell that chooses nothing.
    """

    cells: Sequence[Cell]
    axes: Sequence[str]
    varied: Sequence[str]
    reference: str | None
    usual: Mapping[str, str]

    @property
    def names(self) -> list[str]:
        """The competitors."""
        return list(dict.fromkeys(cell.name for cell in self.cells))

    def usual_first(self, cells: Iterable[Cell]) -> list[Cell]:
        """Cells by how many of the varied axes have a value that is not the usual one."""
        return sorted(
            cells, key=lambda cell: sum(cell.options.get(axis) != self.usual.get(axis) for axis in self.varied)
        )


def effects_of(plan: Plan, by: Sums) -> tuple[list[Effect], Product | None]:
    """The effects of cells, before they are answered together; and the product, if they are one.

    Raises:
        UsageError: the reference is no competitor and no value of an axis, or it is several of which one would be
            compared with nothing.
    """
    product = _product(plan)
    effects = [] if product is None else _effects_by_axis(product, by)
    # Settings without a trial in common have nothing to be added up.
    if not all(effect.verdict.trials for effect in effects):
        effects, product = [], None
    if product is None:
        star = _star(plan)
        effects = _effects_beside(star or _pairs(plan), by, "change" if star else "competitor", plan.varied)
    return [*effects, *_effects_of_labels(effects, by)], product


def _product(plan: Plan) -> Product | None:
    """The cells as a product; None if they are none, or if the reference is a competitor and no value of an axis."""
    values: dict[str, list[str]] = {}
    for axis in plan.varied:
        values[axis] = list(dict.fromkeys(cell.options[axis] for cell in plan.cells if axis in cell.options))
    are_used = all(axis in cell.options for cell in plan.cells for axis in values)
    if len(values) < 2 or min(map(len, values.values())) < 2 or not are_used:
        return None
    firsts = {axis: plan.usual.get(axis, known[0]) for axis, known in values.items()}
    if plan.reference is not None:
        named = [(a, v) for a, known in values.items() for v in known if plan.reference in (v, f"{a}={v}")]
        if not named:
            return None
        firsts |= dict(named[:1])
    # The sort is stable: without a usual value the first one stays the first.
    axes = {axis: sorted(known, key=lambda value: value != firsts[axis]) for axis, known in values.items()}
    places: dict[tuple[str, str], dict[Setting, Cell]] = {}
    for cell in plan.cells:
        placed = places.setdefault((cell.context, cell.table), {})
        if cell.trials.values:
            placed[tuple(cell.options[axis] for axis in axes)] = cell
    n_settings = math.prod(map(len, axes.values()))
    whole: dict[str, dict[str, dict[Setting, Cell]]] = {}
    left_out = []
    for (context, table), placed in places.items():
        if len(placed) == n_settings:
            whole.setdefault(context, {})[table] = placed
            continue
        where = context.removeprefix(ON) if context.startswith(ON) else " with ".join(filter(None, (table, context)))
        missing = f"{n_settings - len(placed)} of {n_settings} settings"
        left_out.append(f"Left out of the answers by axis: {where} lacks {missing}.")
    return Product(axes, whole, left_out) if whole else None


def _effects_by_axis(product: Product, by: Sums) -> list[Effect]:
    """Each value of each axis beside the first one, and each two axes, in each context.

    An interaction is by how much the effect of one value changes with another: (a1 b1 - a0 b1) - (a1 b0 - a0 b0).
    """
    axes, effects = product.axes, []
    for chosen in (*((axis,) for axis in axes), *itertools.combinations(axes, 2)):
        firsts = {axis: axes[axis][0] for axis in chosen}
        over = over_in_words({axis: len(known) for axis, known in axes.items() if axis not in chosen})
        for values in itertools.product(*(axes[axis][1:] for axis in chosen)):
            value = dict(zip(chosen, values, strict=True))
            ones, others = _settings(axes, value), _settings(axes, firsts)
            weight = 1 / len(ones)
            if len(chosen) == 2:
                one, other = ({axis: value[axis]} for axis in chosen)
                ones, others = ones + others, _settings(axes, firsts | other) + _settings(axes, firsts | one)
            reference = " × ".join(f"{axis}={first}" for axis, first in firsts.items())
            for context, tables in product.cells.items():
                effect = effect_of(
                    {name: ([its[s] for s in ones], [its[s] for s in others]) for name, its in tables.items()},
                    by,
                    weight,
                    kind="axis" if len(chosen) == 1 else "interaction",
                    what=" × ".join(f"{axis}={its}" for axis, its in value.items()),
                    reference=reference,
                    against=reference if len(chosen) == 1 else "",
                    axes=chosen,
                    values=values,
                    references=tuple(firsts.values()),
                    over=over,
                    context=context,
                    family=chosen[0] if len(chosen) == 1 else "interactions",
                )
                effects.append(effect)
    return effects


def _settings(axes: Mapping[str, Sequence[str]], fixed: Mapping[str, str]) -> list[Setting]:
    """All settings in which some axes have one value."""
    return list(itertools.product(*([fixed[axis]] if axis in fixed else known for axis, known in axes.items())))


def over_in_words(others: Mapping[str, int]) -> str:
    """The settings of the other axes, by their numbers of values.

    >>> over_in_words({"scaling": 2}), over_in_words({"loss": 3}), over_in_words({"a": 2, "b": 3}), over_in_words({})
    ('of both scalings', 'of all 3 losses', 'of all 6 settings of a and b', '')
    """
    if not others:
        return ""
    n = math.prod(others.values())
    if len(others) > 1:
        return f"of all {n} settings of {' and '.join(others)}"
    (axis,) = others
    plural = f"{axis}es" if axis.endswith("ss") else f"{axis.removesuffix('s')}s"
    return f"of both {plural}" if n == 2 else f"of all {n} {plural}"


def _star(plan: Plan) -> list[Pair]:
    """Each change beside the base; none if the cells are no star, if there are two bases, or several numbers of labels,
    at each of which cells compete."""
    if any(cell.labels is not None for cell in plan.cells):
        return []
    bases = plan.names if plan.reference is None else list(dict.fromkeys(cell.name for cell in _named(plan)))
    if plan.reference is not None and len(bases) > 1:
        return []
    stars = [star for base in bases if (star := _changes(plan, base))]
    return stars[0] if len(stars) == 1 else []


def _changes(plan: Plan, base: str) -> list[Pair]:
    """Each other cell beside that of the base, called by its override, such as ``scaling=minmax``. None if a cell
    differs from it in more than one axis, or all in the same one."""
    bases = {(cell.table, cell.context): cell for cell in plan.cells if cell.name == base}
    changed: list[tuple[Cell, Cell, str]] = []
    for cell in plan.cells:
        if cell.name == base:
            continue
        other = bases.get((cell.table, cell.context))
        # A rival has no network to change, and is asked another question.
        if other is None or not cell.has_network:
            return []
        unequal = _unequal(cell, other, plan.axes)
        # The options of another network come with it.
        unequal = {axis for axis in unequal if axis.partition(".")[0] not in unequal - {axis}}
        if len(unequal) != 1:
            return []
        changed.append((cell, other, unequal.pop()))
    used = [axis for axis in plan.axes if axis in {axis for *_, axis in changed}]
    if len(used) < 2:
        return []
    pairs = []
    for cell, other, axis in changed:
        name = ", ".join(f"{each}={other.options[each]}" for each in used)
        pairs.append(Pair(replace(cell, name=f"{axis}={cell.options[axis]}"), replace(other, name=name), BASE))
    return pairs


def _unequal(one: Cell, other: Cell, axes: Iterable[str]) -> set[str]:
    """The axes that both use, with different values; what one does not use follows from another difference."""
    shared = one.options.keys() & other.options.keys() & set(axes)
    return {axis for axis in shared if one.options[axis] != other.options[axis]}


def _pairs(plan: Plan) -> list[Pair]:
    """Each cell beside its reference: the one that is named; no pre-training for each pre-training, and for methods
    that are never pre-trained; without one the most usual competitor."""
    if plan.reference is not None:
        named = _named(plan)
        pairs = _nearest_pairs(plan, named)
        fits = list(dict.fromkeys(cell.name for cell in plan.usual_first(named)))
        # In a product each value of the other axes has a reference of its own, and all are used.
        if len(fits) > 1 and not set(fits) <= {pair.reference.name for pair in pairs}:
            raise UsageError(
                f"reference={plan.reference} fits {len(fits)} of {len(plan.names)} competitors: {'; '.join(fits)}. "
                f"Name one of them: reference='{fits[0]}'."
            )
        return pairs
    pretrained = {cell.options.get("method") for cell in plan.cells if _is_pretrained(cell)}
    # A method that is never pre-trained is compared with the network, and is no reference.
    networks = pretrained | {"control"}
    without = [cell for cell in plan.cells if not _is_pretrained(cell) and cell.options.get("method") in networks]
    if not pretrained or not without:
        usual = plan.usual_first(plan.cells)[0].name
        return _nearest_pairs(plan, [cell for cell in plan.cells if cell.name == usual])
    # Each method beside itself without pre-training: a pair may differ in nothing else.
    pairs = _nearest_pairs(plan, without, may_differ=False)
    answered = {cell for pair in pairs for cell in pair[:2]}
    # What is otherwise alike with nothing still has a line of its own, beside the nearest reference.
    pairs += [pair for pair in _nearest_pairs(plan, without) if pair.cell not in answered]
    order = {cell: place for place, cell in enumerate(plan.cells)}
    return sorted(pairs, key=lambda pair: order[pair.cell])


def _is_pretrained(cell: Cell) -> bool:
    return cell.options.get("pretrain", "none") != "none"


def _nearest_pairs(plan: Plan, references: Iterable[Cell], *, may_differ: bool = True) -> list[Pair]:
    """Each cell with that reference of its table and context which differs least from it; unless it ``may_differ``, in
    the pre-training alone."""
    by_place: dict[tuple[str, str], list[Cell]] = {}
    for reference in plan.usual_first(references):
        by_place.setdefault((reference.table, reference.context), []).append(reference)
    pairs = []
    for cell in plan.cells:
        there = by_place.get((cell.table, cell.context), [])
        # A reference is compared with nothing.
        if cell in there:
            continue
        # A method that is never pre-trained differs from the network in the method.
        free = {"pretrain"} if _is_pretrained(cell) else {"pretrain", "method"}
        differing = {reference: _unequal(cell, reference, plan.axes) for reference in there}
        near = [reference for reference in there if may_differ or differing[reference] <= free]
        if near:
            # Of two that are equally near, the first is the more usual one.
            nearest = min(near, key=lambda reference: len(differing[reference]))
            pairs.append(Pair(cell, nearest, nearest.name if may_differ else NO_PRETRAINING))
    return pairs


def _named(plan: Plan) -> list[Cell]:
    """The cells of the reference that the user names.

    Raises:
        UsageError: it is no competitor, and no value of an axis.
    """
    wanted = (plan.reference or "").strip()
    # Names come first: what a report calls a competitor is what a reader will type.
    texts = [[(cell.name, cell) for cell in plan.cells]]
    for axis in plan.axes if "=" in wanted else plan.varied:
        values = [(cell.options[axis], cell) for cell in plan.cells if axis in cell.options]
        texts += [values, [(f"{axis}={value}", cell) for value, cell in values]]
    for known in texts:
        if matching := [cell for text, cell in known if text == wanted]:
            return matching
    possible = [text for known in texts for text, _ in known]
    way_out = "Name a competitor"
    if plan.varied:
        way_out += f", or a value of an option in which they differ ({', '.join(plan.varied)})"
    hint = " ".join(filter(None, (did_you_mean(wanted, possible), f"{way_out}.")))
    fault = f"reference={plan.reference} is no competitor of these results"
    raise UsageError(unknown_name(fault, wanted, plan.names, "the competitors", hint=hint, shown=repr))


def _effects_beside(pairs: Iterable[Pair], by: Sums, kind: Kind, varied: Sequence[str]) -> list[Effect]:
    """Each competitor beside its reference, over all tables on which its name and its context are the same."""
    grouped: dict[tuple[str, str], list[Pair]] = {}
    for pair in pairs:
        if pair.cell.trials.values.keys() & pair.reference.trials.values.keys():
            grouped.setdefault((pair.cell.context, pair.cell.name), []).append(pair)
    effects = []
    for (context, name), group in grouped.items():
        cell, reference, against = group[0]
        effect = effect_of(
            {pair.cell.table: ([pair.cell], [pair.reference]) for pair in group},
            by,
            kind=kind,
            what=name,
            reference=reference.name,
            against=against,
            axes=(", ".join(varied) or "competitor",),
            values=(name,),
            references=(reference.name,),
            context=context,
            # Nobody asks whether a baseline helps, so it is a family of its own.
            family=name if cell.is_baseline or cell.labels is not None else "",
            labels=cell.labels,
            is_rival=not cell.has_network and cell.options.get("method") != reference.options.get("method"),
            is_baseline=cell.is_baseline,
        )
        effects.append(effect)
    return effects


def _effects_of_labels(effects: Sequence[Effect], by: Sums) -> list[Effect]:
    """By how much each effect differs with more labels from that with the fewest: interactions with labels."""
    curves: dict[tuple[str, ...], list[Effect]] = {}
    for effect in effects:
        if effect.labels is not None and not effect.is_baseline:
            curves.setdefault((effect.what, split_context(effect.context)[0]), []).append(effect)
    found = []
    for (_, place), curve in curves.items():
        fewest, *others = sorted(curve, key=lambda effect: effect.labels or 0.0)
        few = split_context(fewest.context)[1]
        for more in others:
            many = split_context(more.context)[1]
            tables = {}
            for name in [name for name in more.cells if name in fewest.cells]:
                (ones, others_), (first_ones, first_others) = more.cells[name], fewest.cells[name]
                tables[name] = [*ones, *first_others], [*others_, *first_ones]
            if not tables:
                continue
            effect = effect_of(
                tables,
                by,
                more.weight,
                kind="interaction",
                what=f"{more.what} × {many}",
                reference=f"{more.reference} × {few}",
                axes=(*more.axes, LABELS),
                values=(*more.values, many),
                references=(*more.references, few),
                over=more.over,
                context=place,
                family="interactions",
            )
            found.append(effect)
    return found
