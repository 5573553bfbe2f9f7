"""Comparisons of a report: the verdict on each competitor beside its reference."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from ..verdicts import Answer, Verdict, answers_together
from ..verdicts.answers import ALONE, CANNOT_TELL, STOPPING, Needed, corrected, needed_together
from ..verdicts.scores import mean_of
from .learning import FEWEST_CONSTANT, LEARNS_NOTHING, not_learnt
from .loading import CellResults
from .pairing import Pair, pairs_of
from .report_options import ReportOptions
from .verdicts import verdict_of

MOST_IN_A_FOREST = 12
"""Datasets that have a line each in the first figure."""


@dataclass(frozen=True)
class Comparison:
    """A competitor beside its reference.

    Attributes:
        context: the number of labels or the seed that both share; empty if there is one for all comparisons.
        name, reference: the names of the two among the competitors.
        pairs: labels of their cells, ``(cell, reference)`` for each of the ``datasets``.
        verdict: on their differences.
        claimed: the answer, claimed together with those of all other comparisons of the page; over the number of
            labels, together with those of the same competitor, which share a sentence.
        p_together: the level of its direction after the correction over the same comparisons.
        is_sure: true if the answer is as sure as further trials need, see `answers.STOPPING`.
        needed: the levels that this comparison must reach to be claimed with the others, see `needed_together`.
        by_dataset: over a few datasets, the verdict on each.
        means: the mean difference on each dataset.
        labels: how many labels training sees, infinity for all; None if cells do not differ in it.
        against: the reference in a sentence.
        not_learnt: the sign that the competitor has learnt nothing, see `learning.not_learnt`; empty if there is none.
        spoilt: why there is no answer: the side that is worse has not learnt. Empty otherwise.
        is_baseline: true for the method that always gives one answer.
    """

    context: str
    name: str
    reference: str
    pairs: Sequence[tuple[int, int]]
    datasets: Sequence[str]
    verdict: Verdict
    claimed: Answer = CANNOT_TELL
    p_together: float = 1.0
    is_sure: bool = False
    needed: Needed = ALONE
    by_dataset: tuple[Verdict, ...] = ()
    means: tuple[float, ...] = ()
    labels: float | None = None
    against: str = ""
    not_learnt: str = ""
    spoilt: str = ""
    is_baseline: bool = False

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
    trials = results.trials.dropna(subset=[metric.name])
    values = metric.sign * trials.pivot_table(index="cell", columns="trial", values=metric.name)
    groups: dict[tuple[str, str], list[Pair]] = {}
    # One comparison has the pairs of all datasets on which its competitor and its context are the same.
    for pair in pairs:
        if pair.cell in values.index and pair.reference in values.index:
            groups.setdefault((pair.context, pair.name), []).append(pair)

    comparisons = []
    several = len({pair.context for pair in pairs}) > 1
    for group in groups.values():
        comparisons.append(_compare(group, values, results, options, several=several))
    # Answers are corrected before they are sorted, and the order decides nothing.
    claimed = _claimed_together(comparisons, options.rope)
    return sorted(claimed, key=_best_first)


def _best_first(comparison: Comparison) -> float:
    """A sort key by the difference; one that is not known comes last."""
    return -float(np.nan_to_num(comparison.verdict.difference, nan=-np.inf))


def answered(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The comparisons that are answered. A baseline is in the table alone, unless nothing else is compared."""
    competitors = [each for each in comparisons if not each.is_baseline]
    return competitors or list(comparisons)


def _claimed_together(comparisons: Sequence[Comparison], margin: float) -> list[Comparison]:
    """The comparisons with the answers that hold together: of the page, or of a competitor over numbers of labels."""
    families: dict[str, list[Comparison]] = {}
    for each in comparisons:
        # Nobody asks whether a baseline helps, so it takes nothing from the levels of the others.
        is_of_page = each.labels is None and not each.is_baseline
        families.setdefault("" if is_of_page else each.name, []).append(each)
    answered_together = []
    for family in families.values():
        verdicts = [each.verdict for each in family]
        answers = answers_together(verdicts, margin)
        # Further trials are looked at again and again, so they stop at a stricter level than a claim.
        strict_answers = answers_together(verdicts, margin, STOPPING)
        levels = [verdict.levels for verdict in verdicts]
        needed = needed_together(levels)
        for each, answer, strict_answer, together in zip(
            family, answers, strict_answers, corrected(levels), strict=True
        ):
            # It stays in its family: a side that has not learnt is seen in the same results as the levels.
            claimed = CANNOT_TELL if each.spoilt else answer
            is_sure = strict_answer != CANNOT_TELL
            answered_together.append(
                replace(
                    each,
                    claimed=claimed,
                    p_together=1.0 if each.spoilt else together.direction,
                    is_sure=is_sure,
                    needed=needed,
                )
            )
    return answered_together


def _compare(
    pairs: Sequence[Pair], values: pd.DataFrame, results: CellResults, options: ReportOptions, *, several: bool
) -> Comparison:
    """One competitor beside its reference.

    Args:
        pairs: of their cells, one a dataset.
        values: of the metric, ``(cells, trials)``, higher if better.
        results: of the report.
        options: of the report.
        several: whether there are several contexts, so that the comparison must say which is its own.
    """
    first = values.loc[[pair.cell for pair in pairs]].to_numpy()
    second = values.loc[[pair.reference for pair in pairs]].to_numpy()
    sizes = np.ones(len(second))
    if options.measure.is_relative:
        # In percent of the reference's mean, unless that is zero.
        means = np.abs(mean_of(second))
        sizes = np.where(means > 0, means, 1.0)
    differences = (first - second) / sizes[:, None]
    cells = [(pair.cell, pair.reference) for pair in pairs]
    by_dataset = []
    # More datasets would make a figure that nobody reads, and their verdicts take the time of a page.
    if 1 < len(pairs) <= MOST_IN_A_FOREST:
        for place, pair in enumerate(cells):
            own, size = differences[[place]], sizes[[place]]
            by_dataset.append(verdict_of(results, [pair], own, size, options))
    # Pairs of one comparison share their names and their context.
    one_pair = pairs[0]
    verdict = verdict_of(results, cells, differences, sizes, options)
    broken = _not_learnt([pair.cell for pair in pairs], results)
    broken_reference = _not_learnt([pair.reference for pair in pairs], results)
    # A side that is worse because it has learnt nothing is an accident, and no answer about the method.
    spoilt = ""
    if broken and verdict.answer.startswith("hurts"):
        spoilt = f"it {broken}"
    elif broken_reference and verdict.answer.startswith("helps"):
        spoilt = f"{one_pair.reference_name} {broken_reference}"
    if spoilt:
        verdict = replace(verdict, answer="cannot tell", reason=spoilt)
    return Comparison(
        context=one_pair.context if several or one_pair.labels is not None else "",
        name=one_pair.name,
        reference=one_pair.reference_name,
        pairs=cells,
        datasets=[str(results.cells.loc[cell, "dataset"]) for cell, _ in cells],
        verdict=verdict,
        by_dataset=tuple(by_dataset),
        means=tuple(mean_of(differences).tolist()),
        labels=one_pair.labels,
        against=one_pair.against,
        not_learnt=broken,
        spoilt=spoilt,
        is_baseline=results.rows[one_pair.cell]["method"] == LEARNS_NOTHING,
    )


def _not_learnt(cells: Sequence[int], results: CellResults) -> str:
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
