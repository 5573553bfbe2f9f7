"""Comparisons of a report: the verdict on each competitor beside its reference."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from ..verdicts import Answer, Verdict
from ..verdicts.answers import ALONE, CANNOT_TELL, HELPING, HURTING, Levels
from ..verdicts.factors import Contrast, Setting, contrast_gains, judge_contrast, two_settings
from ..verdicts.verdict import decided_together, with_interval
from .learning import FEWEST_CONSTANT, LEARNS_NOTHING, not_learnt
from .loading import CellResults
from .looks import after_all_looks
from .pairing import Pair, pairs_of
from .report_options import ReportOptions
from .verdicts import trials_of

MOST_IN_A_FOREST = 12
"""Datasets that have a line each in the first figure."""
ONE: Setting
OTHER: Setting
ONE, OTHER = ("competitor",), ("reference",)
"""The settings of a competitor and its reference."""


C = TypeVar("C", bound="Comparison")


@dataclass(frozen=True)
class Comparison:
    """A competitor beside its reference.

    Attributes:
        context: the number of labels or the seed that both share; empty if there is one for all comparisons.
        name, reference: the names of the two among the competitors.
        pairs: labels of their cells, ``(cell, reference)`` for each of the ``datasets``.
        verdict: on their differences, with the interval from which ``claimed`` was read.
        claimed: the answer, claimed together with those of all other comparisons of the page; over the number of
            labels, together with those of the same competitor, which share a sentence.
        p_together: the level of its direction after the correction over the same comparisons.
        needed: the levels that this comparison must reach to be claimed with the others, see `needed_together`.
        by_dataset: over a few datasets, the verdict on each.
        means: the mean difference on each dataset.
        labels: how many labels training sees, infinity for all; None if cells do not differ in it.
        against: the reference in a sentence.
        not_learnt: the sign that the competitor has learnt nothing, see `learning.not_learnt`; empty if there is none.
        spoilt: why there is no answer: the side that is worse has not learnt. Empty otherwise.
        is_baseline: true for the method that always gives one answer.
        is_rival: true for a competitor that trains no network of ours beside one that does. It is ahead or behind.
        looks: the trials, of all tables together, after which it was looked at, these too; empty without a store.
    """

    context: str
    name: str
    reference: str
    pairs: Sequence[tuple[int, int]]
    datasets: Sequence[str]
    verdict: Verdict
    claimed: Answer = CANNOT_TELL
    p_together: float = 1.0
    needed: Levels = ALONE
    by_dataset: tuple[Verdict, ...] = ()
    means: tuple[float, ...] = ()
    labels: float | None = None
    against: str = ""
    not_learnt: str = ""
    spoilt: str = ""
    is_baseline: bool = False
    is_rival: bool = False
    looks: tuple[int, ...] = ()

    @property
    def question(self) -> str:
        """What looks at it are about, beside its cells; empty for two cells."""
        return ""

    @property
    def label(self) -> str:
        """The competitor with its context."""
        return self._in_context(self.name)

    @property
    def reference_label(self) -> str:
        """The reference with its context."""
        return self._in_context(self.reference)

    def _in_context(self, name: str) -> str:
        return f"{name} ({self.context})" if self.context else name


def compare_all(results: CellResults, options: ReportOptions) -> list[Comparison]:
    """Every comparison of which both sides have a trial, best first.

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
    comparisons = after_all_looks(comparisons, results, options)
    # Answers are corrected before they are sorted, and the order decides nothing.
    claimed = claimed_together(comparisons, options.rope, _family)
    return sorted(claimed, key=_best_first)


def _best_first(comparison: Comparison) -> float:
    """A sort key by the difference; one that is not known comes last."""
    return -float(np.nan_to_num(comparison.verdict.difference, nan=-np.inf))


def answered(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The comparisons that are answered. A baseline is in the table alone, unless nothing else is compared."""
    competitors = [each for each in comparisons if not each.is_baseline]
    return competitors or list(comparisons)


def _family(comparison: Comparison) -> str:
    """The family of a comparison of two cells: that of the page, or of a competitor over numbers of labels."""
    # Nobody asks whether a baseline helps, so it takes nothing from the levels of the others.
    is_of_page = comparison.labels is None and not comparison.is_baseline
    return "" if is_of_page else comparison.name


def claimed_together(comparisons: Sequence[C], margin: float, family_of: Callable[[C], str]) -> list[C]:
    """The comparisons with the answers that hold together in each family, family by family."""
    families: dict[str, list[C]] = {}
    for each in comparisons:
        families.setdefault(family_of(each), []).append(each)
    answered_together = []
    for family in families.values():
        decisions = decided_together([each.verdict for each in family], margin)
        for each, decision in zip(family, decisions, strict=True):
            answered_together.append(
                replace(
                    each,
                    verdict=with_interval(each.verdict, decision),
                    # It stays in its family: a side that has not learnt is seen in the same results as the levels.
                    claimed=CANNOT_TELL if each.spoilt else decision.answer,
                    p_together=1.0 if each.spoilt else decision.p_together,
                    needed=decision.needed,
                )
            )
    return answered_together


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
    tables = {results.rows[pair.cell]["dataset"]: {ONE: pair.cell, OTHER: pair.reference} for pair in pairs}
    return judged(
        two_settings(ONE, OTHER),
        tables,
        results,
        options,
        context=one_pair.context if several or one_pair.labels is not None else "",
        name=one_pair.name,
        reference=one_pair.reference_name,
        against=one_pair.against,
        labels=one_pair.labels,
    )


def judged(
    contrast: Contrast,
    tables: Mapping[str, Mapping[Setting, int]],
    results: CellResults,
    options: ReportOptions,
    *,
    context: str,
    name: str,
    reference: str,
    against: str,
    labels: float | None,
) -> Comparison:
    """The comparison of some settings with others, over all datasets.

    Args:
        contrast: of the settings.
        tables: the cell of each setting, by dataset.
        results, options: of the report.
        context, name, reference, against, labels: as in `Comparison`.
    """
    metric, margin = options.measure, options.rope
    trials = []
    for cells in tables.values():
        trials.append({setting: trials_of(results, cell, metric) for setting, cell in cells.items()})
    by_dataset = []
    # More datasets would make a figure that nobody reads, and their verdicts take the time of a page.
    if 1 < len(trials) <= MOST_IN_A_FOREST:
        by_dataset = [judge_contrast(contrast, [of_table], metric, margin) for of_table in trials]
    means = []
    for of_table in trials:
        of_trials = contrast_gains(contrast, of_table, metric)
        means.append(float(of_trials.mean()) if len(of_trials) else math.nan)
    ones = [cells[setting] for cells in tables.values() for setting in contrast.ones]
    others = [cells[setting] for cells in tables.values() for setting in contrast.others]
    broken, broken_reference = on_not_learnt(ones, results), on_not_learnt(others, results)
    verdict = judge_contrast(contrast, trials, metric, margin)
    verdict, spoilt = unless_spoilt(verdict, broken, broken_reference, reference)
    first, second = results.rows[ones[0]], results.rows[others[0]]
    return Comparison(
        context=context,
        name=name,
        reference=reference,
        pairs=list(zip(ones, others, strict=True)),
        datasets=list(map(str, tables)),
        verdict=verdict,
        by_dataset=tuple(by_dataset),
        means=tuple(means),
        labels=labels,
        against=against,
        not_learnt=broken,
        spoilt=spoilt,
        is_baseline=first["method"] == LEARNS_NOTHING,
        is_rival=first.get("network") is None and second.get("network") is not None,
    )


def unless_spoilt(verdict: Verdict, broken: str, broken_reference: str, reference: str) -> tuple[Verdict, str]:
    """The verdict, and why it gives no answer: the side that is worse has learnt nothing, which is an accident and no
    answer about the method.

    Args:
        verdict: on a competitor beside the reference.
        broken, broken_reference: the signs that either has learnt nothing; empty if there are none.
        reference: its name.
    """
    spoilt = ""
    if broken and verdict.answer in HURTING:
        spoilt = f"it {broken}"
    elif broken_reference and verdict.answer in HELPING:
        spoilt = f"{reference} {broken_reference}"
    if spoilt:
        verdict = replace(verdict, answer=CANNOT_TELL, reason=spoilt)
    return verdict, spoilt


def on_not_learnt(cells: Sequence[int], results: CellResults) -> str:
    """The sign that a setting has learnt nothing, on a third of its datasets or more; empty otherwise."""
    signs = []
    for cell in cells:
        # The baseline is to predict one class, so this is no sign of a fault.
        if results.cells.loc[cell, "method"] == LEARNS_NOTHING:
            continue
        rows = results.evidence_of(cell)
        if sign := not_learnt(rows, results.targets.get(cell)):
            signs.append(sign)
    # On a hard dataset or two nothing may be learnt by any method.
    if len(signs) < max(1, FEWEST_CONSTANT * len(cells)):
        return ""
    if len(cells) == 1:
        return f"{signs[0]}, so it has not learnt"
    return f"{signs[0]}, and has not learnt on {len(signs)} of {len(cells)} datasets"
