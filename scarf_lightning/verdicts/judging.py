"""The one way to an answer: each difference is judged alone, and the differences of a family are answered together.

`compare` answers by it for frames of any library, and the report for cells of a sweep.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ..errors import counted
from ..metrics import Metric
from .answers import ALONE, HELPING, HURTING, MARGIN, UNDECIDED, Answer, Levels, answer_of, needed_together
from .factors import Cells, Contrast, Setting, judge_contrast, two_settings
from .verdict import Verdict, decided

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
        verdict: on their differences, with a 95 % interval.
        context: the number of labels or the seed that both share; empty if there is one for all comparisons.
        labels: how many labels training sees, infinity for all; None if that does not vary.
        against: the reference in a sentence; empty for an interaction, which has none.
        claimed: the answer, claimed together with those of its family.
        needed: the levels that it must reach to be claimed with the others, see `answers.needed_together`.
        spoilt: why there is no answer: the side that is worse has not learnt. Empty otherwise.
        why: what a claim lacks that its 95 % interval would make, or any claim with few trials: ``4 comparisons``,
            ``looked at before``, ``5 trials``.
    """

    name: str
    reference: str
    contrast: Contrast
    datasets: Sequence[str]
    verdict: Verdict
    context: str = ""
    labels: float | None = None
    against: str = ""
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
    if broken and (verdict.high < 0 or verdict.answer in HURTING):
        spoilt = f"it {broken}"
    elif broken_reference and (verdict.low > 0 or verdict.answer in HELPING):
        spoilt = f"{reference} {broken_reference}"
    if spoilt:
        verdict = replace(verdict, answer=UNDECIDED, reason=spoilt)
    return Judged(name, reference, contrast, list(tables), verdict, context, labels, against, spoilt=spoilt)


def claimed_together(comparisons: Sequence[J], margin: float = MARGIN) -> list[J]:
    """The comparisons with the answers that hold together in each family, family by family.

    A gain whose direction is found at 3 % alone is not found beside another one:

    >>> from scarf_lightning.metrics import metric_named
    >>> from scarf_lightning.verdicts.frame import Trials
    >>> one = Trials(dict(enumerate([0.64, 0.65, 0.63, 0.66, 0.61, 0.61, 0.62, 0.63, 0.61, 0.62])))
    >>> other = Trials(dict(enumerate([0.59, 0.60, 0.60, 0.61, 0.59, 0.60, 0.60, 0.61, 0.61, 0.59])))
    >>> cells = {"iris": {COMPETITOR: one, REFERENCE: other}}
    >>> found = judged(BESIDE, cells, metric_named("accuracy"), name="scarf", reference="none")
    >>> [each.shown for each in claimed_together([found])], [each.shown for each in claimed_together([found] * 2)]
    (['helps, size open'], ['undecided (2 comparisons)', 'undecided (2 comparisons)'])
    """
    families: dict[str, list[J]] = {}
    for each in comparisons:
        families.setdefault(each.family, []).append(each)
    answered = []
    for family in families.values():
        every = needed_together([each.verdict.levels for each in family])
        for each, needed in zip(family, every, strict=True):
            # It stays in its family: a side that has not learnt is seen in the same results as the levels.
            claimed = UNDECIDED if each.spoilt else decided(each.verdict, needed, margin)
            why = "" if each.spoilt or claimed != UNDECIDED else _lacking(each.verdict, len(family), margin)
            answered.append(replace(each, claimed=claimed, needed=needed, why=why))
    return answered


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
