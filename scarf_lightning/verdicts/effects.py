"""The one evaluator: cells of a frame in, effects out, each with its difference, interval and answer.

An effect is one of four kinds: a value of an *axis* beside the first one, over all settings of the other axes; an
*interaction* of two axes, of which one may be the number of labels; a *change* of one thing beside the base of a star;
a *competitor* beside its reference. `compare` asks for them of frames of any library, and a report of its cells.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import pandas as pd

from ..errors import counted
from ..intervals import Interval
from ..metrics import Metric
from .answers import ALONE, HELPING, HURTING, MARGIN, UNDECIDED, Answer, Levels, answer_of, needed_together
from .factors import Contrast, Factors, Setting, interactions, judge_contrast, main_effects, two_settings
from .frame import Trials
from .looks import Look
from .verdict import Verdict, after_looks, decided

Kind = Literal["axis", "interaction", "change", "competitor"]
LABELS = "labels"
COMPETITOR: Setting = ("competitor",)
REFERENCE: Setting = ("reference",)
BESIDE = two_settings(COMPETITOR, REFERENCE)
"""A competitor beside its reference."""
BASE = "the base"
"""The reference of a star in a sentence."""
ON = "on "
"""How a context begins that names a table."""
FEWEST_FAULTY = 1 / 3
"""The share of the cells of a side that have learnt nothing from which on the side has not."""


@dataclass(frozen=True)
class Cell:
    """A cell of a frame: the trials of one setting on one table.

    Attributes:
        table: its name.
        name: of the setting.
        trials: with their values.
        options: the value of each axis that it uses.
        context: what it shares with the cells that it is compared with: ``20 labels``, ``on iris``, ``seed 1``.
        labels: how many labels training sees, infinity for all; None if that does not vary.
        key: by which the caller finds it again.
        fault: the sign that it has learnt nothing; empty if there is none.
        has_network: false for a model of another library, which is ahead or behind and does not help or hurt.
        is_baseline: true for the method that always gives one answer.
    """

    table: str
    name: str
    trials: Trials
    options: Mapping[str, Any] = field(default_factory=dict)
    context: str = ""
    labels: float | None = None
    key: Any = None
    fault: str = ""
    has_network: bool = True
    is_baseline: bool = False


Tables = Mapping[str, Mapping[Setting, Cell]]
"""By table, the cell of each setting of a contrast."""


@dataclass(frozen=True)
class Effect:
    """A row of the frame of effects.

    Attributes:
        kind: of the four.
        what, reference: the two that are compared.
        contrast: of their settings.
        cells: by table and setting.
        verdict: on their differences, with a 95 % interval.
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
    contrast: Contrast
    cells: Tables
    verdict: Verdict
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
    def datasets(self) -> list[str]:
        """The names of the tables."""
        return list(self.cells)

    @property
    def pairs(self) -> list[tuple[Any, Any]]:
        """The keys of the cells that are compared, table by table."""
        pairs = []
        for placed in self.cells.values():
            for one, other in zip(self.contrast.ones, self.contrast.others, strict=True):
                pairs.append((placed[one].key, placed[other].key))
        return pairs

    def levels(self, metric: Metric) -> tuple[Interval, Interval]:
        """The metric of both sides: of one cell with its interval, and of several their mean without one."""
        sides = []
        for settings in (self.contrast.ones, self.contrast.others):
            sides.append(
                level_over([placed[setting] for placed in self.cells.values() for setting in settings], metric)
            )
        return sides[0], sides[1]

    @property
    def question(self) -> str:
        """What looks at it are about, beside its cells; empty for two cells."""
        if self.kind not in ("axis", "interaction"):
            return ""
        return f"{' × '.join(self.contrast.factors)} over {len(self.contrast.ones)} settings"

    @property
    def looks(self) -> tuple[int, ...]:
        """The numbers of trials after which it was looked at, this time among them."""
        return tuple(look.trials for look in self.verdict.looks)

    def by_table(self, metric: Metric, margin: float) -> list[Verdict]:
        """The verdict on each table alone."""
        return [_judge(self.contrast, {table: placed}, metric, margin) for table, placed in self.cells.items()]

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


def effects_of_product(contexts: Mapping[str, Tables], axes: Factors, by: Sums) -> list[Effect]:
    """Each value of each axis beside the first one, and each two axes, in each context.

    Args:
        contexts: by context, the cells of all settings of the axes.
        axes: their values, the reference first.
        by: as in `Sums`.
    """
    effects = []
    for contrast in (*main_effects(axes), *interactions(axes)):
        values, references = tuple(map(str, contrast.values)), tuple(map(str, contrast.references))
        reference = " × ".join(map("{}={}".format, contrast.factors, references))
        others = {axis: len(known) for axis, known in axes.items() if axis not in contrast.factors}
        for context, tables in contexts.items():
            effect = effect_of(
                contrast,
                tables,
                by,
                kind="interaction" if contrast.is_interaction else "axis",
                what=" × ".join(map("{}={}".format, contrast.factors, values)),
                reference=reference,
                against="" if contrast.is_interaction else reference,
                axes=tuple(contrast.factors),
                values=values,
                references=references,
                over=over_in_words(others),
                context=context,
                family="interactions" if contrast.is_interaction else contrast.factors[0],
            )
            effects.append(effect)
    return effects


def effects_beside(
    pairs: Iterable[tuple[Cell, Cell, str]], by: Sums, *, kind: Kind = "competitor", axes: tuple[str, ...] = ()
) -> list[Effect]:
    """Each competitor beside its reference, over all tables on which its name and its context are the same.

    Args:
        pairs: a cell, its reference, and what that is called in a sentence.
        by: as in `Sums`.
        kind: a competitor, or a change beside the base of a star.
        axes: in which competitors differ, in words.
    """
    grouped: dict[tuple[str, str], list[tuple[Cell, Cell, str]]] = {}
    for pair in pairs:
        grouped.setdefault((pair[0].context, pair[0].name), []).append(pair)
    effects = []
    for (context, name), group in grouped.items():
        (cell, reference, against), *_ = group
        # Nobody asks whether a baseline helps, so it is a family of its own.
        family = name if cell.is_baseline or cell.labels is not None else ""
        effect = effect_of(
            BESIDE,
            {one.table: {COMPETITOR: one, REFERENCE: other} for one, other, _ in group},
            by,
            kind=kind,
            what=name,
            reference=reference.name,
            against=against,
            axes=axes,
            values=(name,),
            references=(reference.name,),
            context=context,
            family=family,
            is_rival=not cell.has_network and cell.options.get("method") != reference.options.get("method"),
            is_baseline=cell.is_baseline,
        )
        effects.append(effect)
    return effects


def effects_of_labels(effects: Sequence[Effect], by: Sums) -> list[Effect]:
    """By how much each effect differs with more labels from that with the fewest: interactions with labels."""
    curves: dict[tuple[Hashable, ...], list[Effect]] = {}
    for effect in effects:
        if effect.labels is not None and effect.kind != "interaction" and not effect.is_baseline:
            place, _ = split_context(effect.context)
            curves.setdefault((effect.kind, effect.contrast, effect.what, place), []).append(effect)
    found = []
    for curve in curves.values():
        fewest, *others = sorted(curve, key=lambda effect: effect.labels or 0.0)
        for more in others:
            tables = {
                table: _both(more.cells[table], fewest.cells[table])
                for table in more.cells.keys() & fewest.cells.keys()
            }
            if tables:
                found.append(_interaction_with_labels(more, fewest, tables, by))
    return found


def _both(more: Mapping[Setting, Cell], fewest: Mapping[Setting, Cell]) -> dict[Setting, Cell]:
    """The cells of two numbers of labels, by setting and by which of them it is."""
    return {(*setting, 1): cell for setting, cell in more.items()} | {
        (*setting, 0): cell for setting, cell in fewest.items()
    }


def _interaction_with_labels(more: Effect, fewest: Effect, tables: Tables, by: Sums) -> Effect:
    """The difference of an effect with more labels from that with the fewest."""
    contrast = more.contrast
    ones = [*((*s, 1) for s in contrast.ones), *((*s, 0) for s in contrast.others)]
    others = [*((*s, 1) for s in contrast.others), *((*s, 0) for s in contrast.ones)]
    place, many = split_context(more.context)
    _, few = split_context(fewest.context)
    axis = contrast.factors or ("competitor",)
    values, references = (*more.values, many), (*more.references, few)
    return effect_of(
        Contrast((*axis, LABELS), values, references, tuple(ones), tuple(others), contrast.weight),
        tables,
        by,
        kind="interaction",
        what=f"{more.what} × {many}",
        reference=f"{more.reference} × {few}",
        axes=(*more.axes, LABELS),
        values=values,
        references=references,
        over=more.over,
        context=place,
        family="interactions",
    )


def split_context(context: str) -> tuple[str, str]:
    """The table and the number of labels of a context.

    >>> split_context("on iris with 20 labels"), split_context("20 labels")
    (('on iris', '20 labels'), ('', '20 labels'))
    """
    if not context.startswith(ON):
        return "", context
    place, _, labels = context.partition(" with ")
    return place, labels


def effect_of(contrast: Contrast, tables: Tables, by: Sums, **known: Any) -> Effect:
    """The effect of a contrast with its verdict, before it is answered together with others.

    Args:
        contrast: of settings.
        tables: the cell of each setting, by table.
        by: as in `Sums`.
        known: more fields of `Effect`.

    Raises:
        UsageError: a table lacks one of the settings.
    """
    verdict = _judge(contrast, tables, *by)
    broken = common_fault([placed[setting] for placed in tables.values() for setting in contrast.ones])
    others = common_fault([placed[setting] for placed in tables.values() for setting in contrast.others])
    spoilt = ""
    # A side that has learnt nothing and is worse is an accident, and no answer about the method.
    if broken and (verdict.high < 0 or verdict.answer in HURTING):
        spoilt = f"it {broken}"
    elif others and (verdict.low > 0 or verdict.answer in HELPING):
        spoilt = f"{known['reference']} {others}"
    if spoilt:
        verdict = replace(verdict, answer=UNDECIDED, reason=spoilt)
    labels = next(iter(next(iter(tables.values())).values())).labels
    return Effect(
        contrast=contrast,
        cells=tables,
        verdict=verdict,
        spoilt=spoilt,
        labels=None if known["kind"] == "interaction" else labels,
        **known,
    )


def _judge(contrast: Contrast, tables: Tables, metric: Metric, margin: float) -> Verdict:
    cells = [{setting: cell.trials for setting, cell in placed.items()} for placed in tables.values()]
    return judge_contrast(contrast, cells, metric, margin)


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

    Args:
        effects: with their verdicts.
        margin: a difference no larger than this is of no practical consequence.
        looks: gives the earlier looks at an effect.

    A gain whose direction is found at 3 % alone is not found beside another one:

    >>> from scarf_lightning.metrics import metric_named
    >>> one = Trials(dict(enumerate([0.64, 0.65, 0.63, 0.66, 0.61, 0.61, 0.62, 0.63, 0.61, 0.62])))
    >>> other = Trials(dict(enumerate([0.59, 0.60, 0.60, 0.61, 0.59, 0.60, 0.60, 0.61, 0.61, 0.59])))
    >>> pair = Cell("iris", "scarf", one), Cell("iris", "none", other), "none"
    >>> (found,) = effects_beside([pair], Sums(metric_named("accuracy")))
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
    return found


def best_first(effects: Sequence[Effect]) -> list[Effect]:
    """Competitors and changes by their best difference, those of one name together; others follow in their order."""
    best: dict[str, float] = {}
    for effect in effects:
        best[effect.what] = max(best.get(effect.what, -math.inf), effect.verdict.difference)
    competing = [effect for effect in effects if effect.kind in ("change", "competitor")]
    others = [effect for effect in effects if effect.kind in ("axis", "interaction")]
    return sorted(competing, key=lambda effect: -best[effect.what]) + others


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


def product_of(cells: Sequence[Cell], axes: Factors) -> tuple[dict[str, dict[str, dict[Setting, Cell]]], list[str]]:
    """The cells by context, table and setting, where a table has a trial of all settings; and sentences on others.

    Args:
        cells: that use all of these axes.
        axes: their values.
    """
    places: dict[str, dict[str, dict[Setting, Cell]]] = {}
    for cell in cells:
        setting = tuple(cell.options[axis] for axis in axes)
        placed = places.setdefault(cell.context, {}).setdefault(cell.table, {})
        if cell.trials.values:
            placed[setting] = cell
    n_settings = math.prod(map(len, axes.values()))
    whole: dict[str, dict[str, dict[Setting, Cell]]] = {}
    left_out = []
    for context, tables in places.items():
        for table, placed in tables.items():
            if len(placed) == n_settings:
                whole.setdefault(context, {})[table] = placed
                continue
            where = (
                context.removeprefix(ON) if context.startswith(ON) else f"{table} with {context}".removesuffix(" with ")
            )
            left_out.append(
                f"Left out of the answers by axis: {where} lacks {n_settings - len(placed)} of {n_settings} settings."
            )
    return whole, left_out


def star_of(
    cells: Sequence[Cell], axes: Sequence[str], bases: Iterable[str] | None = None
) -> list[tuple[Cell, Cell, str]]:
    """Each change beside the base, if the cells are a star: all but those of one name, the base, differ from it in
    exactly one axis, and not all in the same one. Empty otherwise, or if there are two such bases.

    A change is called by its override, such as ``scaling=minmax``.

    Args:
        cells: of one number of labels.
        axes: that a cell may have.
        bases: names of cells that may be the base; any if not given.
    """
    names = dict.fromkeys(cell.name for cell in cells)
    stars = [_changes(cells, axes, base) for base in (names if bases is None else bases)]
    stars = [star for star in stars if star]
    return stars[0] if len(stars) == 1 else []


def _changes(cells: Sequence[Cell], axes: Sequence[str], base: str) -> list[tuple[Cell, Cell, str]]:
    """Each other cell beside that of the base; none if a cell differs from it in more than one axis."""
    bases = {(cell.table, cell.context): cell for cell in cells if cell.name == base}
    changed: list[tuple[Cell, Cell, str]] = []
    for cell in cells:
        if cell.name == base:
            continue
        other = bases.get((cell.table, cell.context))
        # A rival has no network to change, and is asked another question.
        if other is None or not cell.has_network:
            return []
        unequal = unequal_axes(cell.options, other.options, axes)
        # The options of another network come with it.
        unequal = {axis for axis in unequal if axis.partition(".")[0] not in unequal - {axis}}
        if len(unequal) != 1:
            return []
        (axis,) = unequal
        changed.append((cell, other, axis))
    used = [axis for axis in axes if axis in {axis for *_, axis in changed}]
    if len(used) < 2:
        return []
    pairs = []
    for cell, other, axis in changed:
        name = ", ".join(f"{each}={text_of(other.options.get(each))}" for each in used)
        change = f"{axis}={text_of(cell.options[axis])}"
        pairs.append((replace(cell, name=change), replace(other, name=name), BASE))
    return pairs


def unequal_axes(one: Mapping[str, Any], other: Mapping[str, Any], axes: Iterable[str]) -> set[str]:
    """The axes that both use, with different values; what one does not use follows from another difference."""
    unequal = set()
    for axis in axes:
        own, others = one.get(axis), other.get(axis)
        if own is not None and others is not None and own != others:
            unequal.add(axis)
    return unequal


def text_of(value: Any) -> str:
    """A value as the command line has it."""
    return f"{value:g}" if isinstance(value, float) else str(value)


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
    plural = (
        f"values of {axis}" if " " in axis else f"{axis}es" if axis.endswith("ss") else f"{axis.removesuffix('s')}s"
    )
    return f"of both {plural}" if n == 2 else f"of all {n} {plural}"
