"""All that results are asked, and the answers, as the page, the terminal and loggers read them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ..verdicts.amounts import effect, won
from ..verdicts.answers import HELPING
from .ablation import ablation_in_words, is_ablation
from .axis_sentences import axis_answers
from .blocks import named
from .by_axis import AnswersByAxis, answers_by_axis, asked, product_of
from .cell_results import CellResults
from .comparisons import Comparison, answered, compare_all
from .names import at
from .remembered_looks import remember_looks
from .report_options import ReportOptions
from .sentences import answer_in_words, claims_in_words
from .worth_table import Valued, worths


@dataclass(frozen=True)
class Answers:
    """The answers that results give.

    Attributes:
        results, options: that they are by.
        every: the comparisons of all competitors with their references, baselines too, best first.
        by_axis: the answers by axis, if the cells are a product of axes.
    """

    results: CellResults
    options: ReportOptions
    every: Sequence[Comparison]
    by_axis: AnswersByAxis | None = None

    @cached_property
    def comparisons(self) -> Sequence[Comparison]:
        """The comparisons that are answered."""
        return answered(self.every)

    @cached_property
    def worths(self) -> Sequence[Valued]:
        """The worth in labels of each competitor, over numbers of labels."""
        return worths(self.comparisons, self.results, self.options.measure)

    @property
    def asked(self) -> Sequence[Comparison]:
        """The comparisons that advice is about."""
        return self.comparisons if self.by_axis is None else asked(self.by_axis)

    def remember(self) -> None:
        """Remember in the store that these answers were shown: further looks at the same cells are stricter."""
        axes = [] if self.by_axis is None else [*self.by_axis.effects, *self.by_axis.interactions]
        remember_looks([*self.every, *axes], self.results, self.options)

    @property
    def other_kind_note(self) -> str:
        """A sentence on datasets with another kind of target, which the metric does not measure; empty for none."""
        # A folder may hold tables of classes and of numbers, and one metric measures only one kind.
        metric, results = self.options.measure, self.results
        other = [label for label, target in results.targets.items() if not target.is_among(metric.targets)]
        if not other:
            return ""
        datasets = [str(each) for each in dict.fromkeys(results.cells.loc[other, "dataset"])]
        kinds = dict.fromkeys(results.targets[label].name for label in other)
        return (
            f"{metric.label} does not measure {named(datasets)}, whose target is of another kind: "
            f"{named(list(kinds))}. Name another metric=, or report these datasets by themselves."
        )

    @property
    def in_words(self) -> list[str]:
        """The answer in sentences; none if nothing is compared."""
        if self.by_axis is not None:
            every = [*self.by_axis.effects, *self.by_axis.interactions]
            return [*axis_answers(self.by_axis, self.options), *claims_in_words(every)]
        if not self.comparisons:
            return []
        if is_ablation(self.comparisons):
            sentences = ablation_in_words(self.comparisons, self.results, self.options.measure)
            return [*sentences, *claims_in_words(self.comparisons)]
        return [*answer_in_words(self.comparisons, self.options), *self._beaten_in_words]

    @property
    def _beaten_in_words(self) -> list[str]:
        """A sentence on each reference that the constant answer beats."""
        sentences = []
        for each in self.every:
            if each.is_baseline and each.claimed in HELPING and each not in self.comparisons:
                size = effect(each, self.options.measure)
                sentences.append(f"The constant answer beats {each.against}{at(each.context)}: {size}, {won(each)}.")
        return sentences


def answers_of(results: CellResults, options: ReportOptions) -> Answers:
    """Compare all cells, and answer by axis where they are a product of axes.

    Raises:
        UsageError: no competitor is the reference that the options name.
    """
    every = compare_all(results, options)
    if not every:
        return Answers(results, options, every)
    product = product_of(results, options)
    by_axis = None if product is None else answers_by_axis(product, results, options)
    return Answers(results, options, every, by_axis)
