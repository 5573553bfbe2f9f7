"""The one way to an answer: each difference is judged alone, and the differences of a family are answered together.

`compare` answers by it for frames of any library, and the report for cells of a sweep.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ..metrics import Metric
from .answers import ALONE, CANNOT_TELL, HELPING, HURTING, MARGIN, Answer, Levels
from .factors import Cells, Contrast, Setting, judge_contrast, two_settings
from .verdict import Verdict, decided_together, with_interval

COMPETITOR: Setting = ("competitor",)
REFERENCE: Setting = ("reference",)
"""The settings of a competitor and of its reference, where no factors are varied."""
BESIDE = two_settings(COMPETITOR, REFERENCE)
"""A competitor beside its reference."""

J = TypeVar("J", bound="Judged")


@dataclass(frozen=True)
class Judged:
    """A competitor beside its reference, an effect of a factor, or the interaction of two, with its answer.

    Attributes:
        name, reference: of the two that are compared.
        contrast: of their settings.
        datasets: the names of the tables.
        verdict: on their differences, with the interval from which ``claimed`` was read.
        context: the number of labels or the seed that both share; empty if there is one for all comparisons.
        labels: how many labels training sees, infinity for all; None if that does not vary.
        against: the reference in a sentence; empty for an interaction, which has none.
        claimed: the answer, claimed together with those of its family.
        needed: the levels that it must reach to be claimed with the others, see `answers.needed_together`.
        spoilt: why there is no answer: the side that is worse has not learnt. Empty otherwise.
    """

    name: str
    reference: str
    contrast: Contrast
    datasets: Sequence[str]
    verdict: Verdict
    context: str = ""
    labels: float | None = None
    against: str = ""
    claimed: Answer = CANNOT_TELL
    needed: Levels = ALONE
    spoilt: str = ""

    @property
    def label(self) -> str:
        """The competitor with its context."""
        return self._context_verdicts(self.name)

    @property
    def reference_label(self) -> str:
        """The reference with its context."""
        return self._context_verdicts(self.reference)

    def _context_verdicts(self, name: str) -> str:
        return f"{name} ({self.context})" if self.context else name

    @property
    def family(self) -> str:
        """The family whose answers hold together: that of a factor, of all interactions, of a competitor over numbers
        of labels, or else of all competitors."""
        if self.contrast.is_interaction:
            return "interactions"
        if self.contrast.factors:
            return self.contrast.factors[0]
        return "" if self.labels is None else self.name

    @property
    def columns(self) -> dict[str, Any]:
        """The answer and its evidence by column, as a frame has them."""
        verdict = self.verdict
        return {
            "answer": self.claimed,
            "claim": verdict.claim,
            "difference": verdict.difference,
            "low": verdict.low,
            "high": verdict.high,
            "coverage": verdict.coverage,
            "p": verdict.levels.direction,
            "basis": verdict.basis,
            "trials": verdict.trials,
            "datasets": verdict.datasets,
        }


def judged(
    contrast: Contrast,
    tables: Mapping[str, Cells],
    metric: Metric,
    margin: float = MARGIN,
    *,
    name: str,
    reference: str,
    context: str = "",
    labels: float | None = None,
    against: str = "",
    broken: str = "",
    broken_reference: str = "",
) -> Judged:
    """A contrast of settings with its verdict, before it is answered together with others.

    Args:
        contrast: of the settings.
        tables: the trials of each setting, by the name of the table.
        metric: of the trials.
        margin: a difference no larger than this is of no practical consequence.
        name, reference, context, labels, against: as in `Judged`.
        broken, broken_reference: the signs that either side has learnt nothing; empty if there are none. If such a side
            is worse, that is an accident and no answer about the method.

    Raises:
        UsageError: a table lacks one of the settings.
    """
    verdict = judge_contrast(contrast, list(tables.values()), metric, margin)
    spoilt = ""
    if broken and verdict.answer in HURTING:
        spoilt = f"it {broken}"
    elif broken_reference and verdict.answer in HELPING:
        spoilt = f"{reference} {broken_reference}"
    if spoilt:
        verdict = replace(verdict, answer=CANNOT_TELL, reason=spoilt)
    return Judged(name, reference, contrast, list(tables), verdict, context, labels, against, spoilt=spoilt)


def claimed_together(comparisons: Sequence[J], margin: float = MARGIN) -> list[J]:
    """The comparisons with the answers that hold together in each family, family by family.

    A gain whose direction is found at 4 % alone is not found beside another one:

    >>> from scarf_lightning.metrics import metric_named
    >>> from scarf_lightning.verdicts.frame import Trials
    >>> one = Trials(dict(enumerate([0.63, 0.64, 0.62, 0.65, 0.60])))
    >>> other = Trials(dict(enumerate([0.59, 0.60, 0.60, 0.61, 0.59])))
    >>> cells = {"iris": {COMPETITOR: one, REFERENCE: other}}
    >>> found = judged(BESIDE, cells, metric_named("accuracy"), name="scarf", reference="none")
    >>> [each.claimed for each in claimed_together([found])], [each.claimed for each in claimed_together([found] * 2)]
    (['helps, size open'], ['cannot tell', 'cannot tell'])
    """
    families: dict[str, list[J]] = {}
    for each in comparisons:
        families.setdefault(each.family, []).append(each)
    answered = []
    for family in families.values():
        decisions = decided_together([each.verdict for each in family], margin)
        for each, decision in zip(family, decisions, strict=True):
            answered.append(
                replace(
                    each,
                    verdict=with_interval(each.verdict, decision),
                    # It stays in its family: a side that has not learnt is seen in the same results as the levels.
                    claimed=CANNOT_TELL if each.spoilt else decision.answer,
                    needed=decision.needed,
                )
            )
    return answered
