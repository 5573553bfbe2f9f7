"""Comparisons of a report: the verdict on each competitor beside its reference."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from ..verdicts import Verdict
from ..verdicts.factors import Cells, Contrast, Setting, contrast_gains, judge_contrast
from ..verdicts.judging import BESIDE, COMPETITOR, REFERENCE, Judged, claimed_together, judged
from .cell_results import CellResults
from .learning import FEWEST_CONSTANT, LEARNS_NOTHING
from .levels import trials_of
from .pairing import Pair, pairs_of
from .remembered_looks import after_all_looks
from .report_options import ReportOptions

MOST_IN_A_FOREST = 12
"""Datasets that have a line each in the first figure."""


C = TypeVar("C", bound="Comparison")


@dataclass(frozen=True)
class Comparison(Judged):
    """A competitor beside its reference, of the cells of a report.

    Over the number of labels an answer is claimed together with those of the same competitor, which share a sentence,
    and else with those of the page.

    Attributes:
        pairs: labels of their cells, ``(cell, reference)`` for each of the ``datasets``.
        by_dataset: over a few datasets, the verdict on each.
        means: the mean difference on each dataset.
        not_learnt: the sign that the competitor has learnt nothing, see `learning.not_learnt`; empty if there is none.
        is_baseline: true for the method that always gives one answer.
        is_rival: true for a competitor that trains no network of ours beside one that does, or beside another such
            model. It is ahead or behind.
        looks: the trials, of all tables together, after which it was looked at, these too; empty without a store.
    """

    pairs: Sequence[tuple[int, int]] = ()
    by_dataset: tuple[Verdict, ...] = ()
    means: tuple[float, ...] = ()
    not_learnt: str = ""
    is_baseline: bool = False
    is_rival: bool = False
    looks: tuple[int, ...] = ()

    @property
    def family(self) -> str:
        """That of any difference, but a baseline has its own: nobody asks whether it helps."""
        is_alone = self.is_baseline and not self.contrast.factors
        return self.name if is_alone else super().family

    @property
    def question(self) -> str:
        """What looks at it are about, beside its cells; empty for two cells."""
        return ""


def compare_all(results: CellResults, options: ReportOptions) -> list[Comparison]:
    """Every comparison of which both sides have a trial, with the answers that hold together, best first.

    Raises:
        UsageError: no competitor is the reference that the options name.
    """
    # Answers are corrected before they are sorted, and the order decides nothing.
    return sorted(claimed_after_looks(comparisons_alone(results, options), results, options), key=_best_first)


def comparisons_alone(results: CellResults, options: ReportOptions) -> list[Comparison]:
    """Every comparison of which both sides have a trial, by itself: nothing is claimed.

    Raises:
        UsageError: no competitor is the reference that the options name.
    """
    pairs = pairs_of(results, options.reference)
    metric = options.measure
    measured = set(results.trials.dropna(subset=[metric.name])["cell"])
    groups: dict[tuple[str, str], list[Pair]] = {}
    # One comparison has the pairs of all datasets on which its competitor and its context are the same.
    for pair in pairs:
        if pair.cell in measured and pair.reference in measured:
            groups.setdefault((pair.context, pair.name), []).append(pair)

    comparisons = []
    several = len({pair.context for pair in pairs}) > 1
    for group in groups.values():
        comparisons.append(_compare(group, results, options, several=several))
    return comparisons


def claimed_after_looks(comparisons: Sequence[C], results: CellResults, options: ReportOptions) -> list[C]:
    """The comparisons with the answers that hold together in each family, however often they were looked at."""
    return claimed_together(after_all_looks(comparisons, results, options), options.rope)


def _best_first(comparison: Comparison) -> float:
    """A sort key by the difference; one that is not known comes last."""
    return -float(np.nan_to_num(comparison.verdict.difference, nan=-np.inf))


def answered(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The comparisons that are answered. A baseline is in the table alone, unless nothing else is compared."""
    competitors = [each for each in comparisons if not each.is_baseline]
    return competitors or list(comparisons)


def _compare(pairs: Sequence[Pair], results: CellResults, options: ReportOptions, *, several: bool) -> Comparison:
    """One competitor beside its reference.

    Args:
        pairs: of their cells, one a dataset.
        results: of the report.
        options: of the report.
        several: whether there are several contexts, so that the comparison must say which is its own.
    """
    # Pairs of one comparison share their names and their context.
    one_pair = pairs[0]
    tables = {results.rows[pair.cell]["dataset"]: {COMPETITOR: pair.cell, REFERENCE: pair.reference} for pair in pairs}
    return compared(
        BESIDE,
        tables,
        results,
        options,
        context=one_pair.context if several or one_pair.labels is not None else "",
        name=one_pair.name,
        reference=one_pair.reference_name,
        against=one_pair.against,
        labels=one_pair.labels,
    )


def compared(
    contrast: Contrast,
    tables: Mapping[str, Mapping[Setting, int]],
    results: CellResults,
    options: ReportOptions,
    *,
    name: str,
    reference: str,
    context: str,
    labels: float | None,
    against: str,
) -> Comparison:
    """The comparison of some settings with others, over all datasets.

    Args:
        contrast: of the settings.
        tables: the cell of each setting, by dataset.
        results, options: of the report.
        name, reference, context, labels, against: as in `Judged`.
    """
    metric, margin = options.measure, options.rope
    trials: dict[str, Cells] = {}
    for dataset, cells in tables.items():
        trials[dataset] = {setting: trials_of(results, cell, metric) for setting, cell in cells.items()}
    by_dataset = []
    # More datasets would make a figure that nobody reads, and their verdicts take the time of a page.
    if 1 < len(trials) <= MOST_IN_A_FOREST:
        by_dataset = [judge_contrast(contrast, [table_trials], metric, margin) for table_trials in trials.values()]
    means = []
    for table_trials in trials.values():
        gains = contrast_gains(contrast, table_trials, metric)
        means.append(float(gains.mean()) if len(gains) else math.nan)
    ones = [cells[setting] for cells in tables.values() for setting in contrast.ones]
    others = [cells[setting] for cells in tables.values() for setting in contrast.others]
    broken = not_learnt_sign(ones, results)
    found = judged(
        contrast,
        trials,
        metric,
        margin,
        name=name,
        reference=reference,
        context=context,
        labels=labels,
        against=against,
        broken=broken,
        broken_reference=not_learnt_sign(others, results),
    )
    first, second = results.rows[ones[0]], results.rows[others[0]]
    return Comparison(
        **vars(found),
        pairs=list(zip(ones, others, strict=True)),
        by_dataset=tuple(by_dataset),
        means=tuple(means),
        not_learnt=broken,
        is_baseline=first["method"] == LEARNS_NOTHING,
        is_rival=first.get("network") is None and first["method"] != second["method"],
    )


def not_learnt_sign(cells: Sequence[int], results: CellResults) -> str:
    """The sign that a side has learnt nothing, in a third of its cells or more; empty otherwise."""
    signs = []
    for cell in cells:
        # The baseline is to predict one class, so this is no sign of a fault.
        if results.rows[cell]["method"] == LEARNS_NOTHING:
            continue
        if sign := results.sign_of(cell):
            signs.append(sign)
    # On a hard dataset or two nothing may be learnt by any method.
    if len(signs) < max(1, FEWEST_CONSTANT * len(cells)):
        return ""
    if len(cells) == 1:
        return f"{signs[0]}, so it has not learnt"
    n_datasets = len({results.rows[cell]["dataset"] for cell in cells})
    # An answer on an axis is over all settings of the others.
    noun = "cells"
    if n_datasets == len(cells):
        noun = "datasets"
    elif n_datasets == 1:
        noun = "settings"
    # One of them, the same in whichever order the cells are read.
    return f"{min(signs)}, and has not learnt on {len(signs)} of {len(cells)} {noun}"
