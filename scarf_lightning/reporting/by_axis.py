"""Answers by axis, of cells that are a product of axes: each value beside another over all settings of the others."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import enumeration
from ..intervals import Interval
from ..metrics import Metric
from ..verdicts.answers import UNDECIDED
from ..verdicts.factors import Contrast, Setting, interactions, main_effects
from .cell_results import CellResults
from .comparisons import Comparison, claimed_after_looks, compared
from .levels import level_over
from .names import ON, at, column_in_words, text_of, value_in_words
from .report_options import ReportOptions

OVER_ALL = "average"
"""The heading of means over the settings of an axis: a corruption is called mean."""


@dataclass(frozen=True)
class Product:
    """Cells that are a product of axes, at each context such as a number of labels.

    Attributes:
        axes: the values of each axis by its column, as texts; the first one is the reference.
        cells: by context, by dataset and by setting: the label of the cell.
        left_out: sentences on what is not part of it.
    """

    axes: Mapping[str, Sequence[str]]
    cells: Mapping[str, Mapping[str, Mapping[Setting, int]]]
    left_out: Sequence[str] = ()


@dataclass(frozen=True)
class Effect(Comparison):
    """A value of an axis beside another one over all settings of the other axes, or the interaction of two axes.

    Attributes:
        values: the values of these axes, without the names of the axes.
        references: the values that they are compared with.
        over: the settings of the other axes, in words; empty if there are none.
    """

    values: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    over: str = ""

    @property
    def axes(self) -> tuple[str, ...]:
        """Its axis, or both."""
        return self.contrast.factors

    @property
    def question(self) -> str:
        """The axes with the number of settings that it is over."""
        return f"{' × '.join(self.axes)} over {len(self.pairs) // len(self.datasets)} settings"


@dataclass(frozen=True)
class AnswersByAxis:
    """The answers of a product.

    Attributes:
        product: of cells.
        effects: of each axis, in the order of the axes; each axis is a family of its own.
        interactions: of each two axes; together they are a family.
    """

    product: Product
    effects: Sequence[Effect]
    interactions: Sequence[Effect]


def product_of(results: CellResults, options: ReportOptions) -> Product | None:
    """The cells as a product; None if they are none, or if the reference is a competitor and no value of an axis."""
    axes = results.compared
    if len(axes) < 2:
        return None
    places, values = _places(results, axes), {axis: _values(results, axis) for axis in axes}
    references = _references(results, values, options.reference)
    if places is None or references is None or min(len(known) for known in values.values()) < 2:
        return None
    n_settings = int(np.prod([len(known) for known in values.values()]))
    measured = set(results.trials.dropna(subset=[options.measure.name])["cell"])
    whole: dict[str, dict[str, Mapping[Setting, int]]] = {}
    left_out = []
    for context, by_dataset in places.items():
        for dataset, cells in by_dataset.items():
            missing = n_settings - sum(cell in measured for cell in cells.values())
            if missing:
                left_out.append(f"{_place(dataset, context)} lacks {missing} of {n_settings} settings")
            else:
                whole.setdefault(context, {})[dataset] = cells
    sentences = [f"Left out of the answers by axis: {each}." for each in left_out]
    return Product(references, whole, sentences) if whole else None


def answers_by_axis(product: Product, results: CellResults, options: ReportOptions) -> AnswersByAxis:
    """The effect of each axis and the interaction of each two, with the answers that hold together."""
    contrasts = [*main_effects(product.axes), *interactions(product.axes)]
    every = claimed_after_looks(_compared(contrasts, product, results, options), results, options)
    effects = [each for each in every if not each.contrast.is_interaction]
    both = [each for each in every if each.contrast.is_interaction]
    return AnswersByAxis(product, effects, both)


def value_alone(axis: str, value: str, results: CellResults) -> str:
    """A value of an axis without the name of the axis: ``minmax``, ``SCARF``."""
    return results.labels.get(axis, {}).get(value, value.replace("_", " "))


def asked(answers: AnswersByAxis) -> Sequence[Effect]:
    """The comparisons that advice is about: the axes, or where all of them are answered, their interactions."""
    if any(each.claimed == UNDECIDED for each in answers.effects):
        return answers.effects
    return answers.interactions


@dataclass(frozen=True)
class MeansGrid:
    """The metric of each setting, with one axis across and all others down.

    Attributes:
        headings: of the columns that name a row, then of the values across, then of the mean over them.
        rows: the names of each row, and its levels; the last row of a context is that of the means over its rows.
    """

    headings: Sequence[str]
    rows: Sequence[tuple[Sequence[str], Sequence[Interval]]]


def means_grid(product: Product, results: CellResults, metric: Metric) -> MeansGrid:
    """The mean of each setting with its interval, and the means over the settings of an axis, without one."""
    *down, across = product.axes
    has_contexts = len(product.cells) > 1
    columns = product.axes[across]
    headings = [column_in_words(axis) for axis in down]
    headings += [value_alone(across, value, results) for value in columns]
    rows: list[tuple[Sequence[str], Sequence[Interval]]] = []
    for context, by_dataset in product.cells.items():
        levels = []
        for setting in itertools.product(*(product.axes[axis] for axis in down)):
            row = []
            for value in columns:
                cells = [settings[*setting, value] for settings in by_dataset.values()]
                row.append(level_over(results, cells, metric))
            names = [value_alone(axis, value, results) for axis, value in zip(down, setting, strict=True)]
            levels.append(row)
            rows.append((([context] if has_contexts else []) + names, [*row, _mean_of(row)]))
        means = [_mean_of(column_levels) for column_levels in zip(*levels, strict=True)]
        names = [OVER_ALL, *[""] * (len(down) - 1)]
        rows.append((([context] if has_contexts else []) + names, [*means, _mean_of(means)]))
    return MeansGrid([*(["with"] if has_contexts else []), *headings, OVER_ALL], rows)


def _mean_of(levels: Sequence[Interval]) -> Interval:
    """The mean of several levels, without an interval."""
    return Interval(float(np.mean([level.mean for level in levels])), math.nan, math.nan)


def _places(results: CellResults, axes: Sequence[str]) -> dict[str, dict[str, dict[Setting, int]]] | None:
    """The cells by context, dataset and setting; None if one of them does not use an axis."""
    contexts = results.competition.contexts
    places: dict[str, dict[str, dict[Setting, int]]] = {}
    for label, row in results.rows.items():
        if any(row.get(axis) is None for axis in axes):
            return None
        setting = tuple(text_of(row[axis]) for axis in axes)
        places.setdefault(contexts[label], {}).setdefault(row["dataset"], {})[setting] = label
    return places


def _values(results: CellResults, axis: str) -> list[str]:
    """The values of an axis in the order of the cells."""
    texts = [text_of(row[axis]) for row in results.rows.values() if row.get(axis) is not None]
    return list(dict.fromkeys(texts))


def _references(
    results: CellResults, values: Mapping[str, Sequence[str]], reference: str | None
) -> dict[str, list[str]] | None:
    """The values of each axis, its reference first: the one that the user names, the usual one, or the first; None if
    the user names a competitor that is no value of an axis."""
    named = None
    if reference is not None:
        column, sign, wanted = reference.partition("=")
        for axis, known in values.items():
            for value in known:
                texts = {value.lower(), value_alone(axis, value, results).lower()}
                is_asked = (sign and axis == column and wanted.lower() in texts) or reference.lower() in texts
                if is_asked and named is None:
                    named = axis, value
        if named is None:
            return None
    ordered = {}
    for axis, known in values.items():
        usual = results.usual.get(axis)
        first = text_of(usual) if usual is not None and text_of(usual) in known else known[0]
        if named is not None and named[0] == axis:
            first = named[1]
        ordered[axis] = [first, *(value for value in known if value != first)]
    return ordered


def _place(dataset: str, context: str) -> str:
    return f"{dataset}{at(context)}" if not context.startswith(ON) else context.removeprefix(ON)


def _compared(
    contrasts: Sequence[Contrast], product: Product, results: CellResults, options: ReportOptions
) -> list[Effect]:
    """An effect for each contrast at each context."""
    found = []
    for contrast in contrasts:
        for context, by_dataset in product.cells.items():
            found.append(_effect(contrast, context, by_dataset, product, results, options))
    return found


def _effect(
    contrast: Contrast,
    context: str,
    by_dataset: Mapping[str, Mapping[Setting, int]],
    product: Product,
    results: CellResults,
    options: ReportOptions,
) -> Effect:
    """A contrast at one context, over all datasets."""
    values = _values_in_words(contrast.factors, contrast.values, results)
    references = _values_in_words(contrast.factors, contrast.references, results)
    name = " × ".join(values)
    budgets = results.competition.budgets
    first = next(iter(by_dataset.values()))[contrast.ones[0]]
    comparison = compared(
        contrast,
        by_dataset,
        results,
        options,
        context=context if len(product.cells) > 1 or budgets is not None else "",
        name=name,
        reference=" × ".join(references),
        against="" if contrast.is_interaction else references[0],
        labels=None if budgets is None else budgets[first],
    )
    return Effect(
        **vars(comparison),
        values=_alone(contrast.factors, contrast.values, results),
        references=_alone(contrast.factors, contrast.references, results),
        over=_over(contrast.factors, product.axes),
    )


def _values_in_words(axes: Sequence[str], values: Sequence[Any], results: CellResults) -> list[str]:
    """The values of these axes, each with its axis unless it says enough."""
    return [value_in_words(axis, value, results.labels) for axis, value in zip(axes, values, strict=True)]


def _alone(axes: Sequence[str], values: Sequence[Any], results: CellResults) -> tuple[str, ...]:
    """The values of these axes, without their axes."""
    return tuple(value_alone(axis, str(value), results) for axis, value in zip(axes, values, strict=True))


def _over(axes: Sequence[str], every: Mapping[str, Sequence[str]]) -> str:
    """The settings of the other axes: ``of both scalings``, ``of all 6 settings of scaling and network``."""
    others = {axis: len(values) for axis, values in every.items() if axis not in axes}
    if not others:
        return ""
    words = [column_in_words(axis) for axis in others]
    n = int(np.prod(list(others.values())))
    if len(others) > 1:
        return f"of all {n} settings of {enumeration(words)}"
    plural = _plural(words[0])
    return f"of both {plural}" if n == 2 else f"of all {n} {plural}"


def _plural(heading: str) -> str:
    """The values of an axis in words.

    >>> _plural("scaling"), _plural("loss"), _plural("views"), _plural("columns left out")
    ('scalings', 'losses', 'views', 'values of columns left out')
    """
    if " " in heading:
        return f"values of {heading}"
    if heading.endswith("s"):
        return f"{heading}es" if heading.endswith("ss") else heading
    return f"{heading}s"
