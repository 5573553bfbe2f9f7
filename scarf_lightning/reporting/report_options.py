"""The options of a report."""

from dataclasses import dataclass, replace
from typing import Any

from ..data.targets import Classes
from ..metrics import Metric, metric_named
from ..options.option import Options, option, options_of
from ..verdicts import Test

TEST_NAMES: dict[str, str] = {
    "welch": "Welch's t-test, as in the paper, which finds up to 27 % of equal competitors different in 30 trials",
    "corrected": "corrected resampled t-test",
}


@dataclass
class ReportOptions(Options):
    """Options of a report: the metric of its comparisons, and the test of differences in its tables and matrices.

    Raises:
        ValueError: an option has a value that it does not take.
        UsageError: the metric is unknown.
    """

    metric: str | None = option(
        None, "metric that everything is compared by, such as auroc or log_loss; null takes the target's own"
    )
    rope: float = option(
        0.01,
        "largest difference without practical consequence; 0.01 is a point of accuracy, 1 % of the reference's rmse",
        "[0, inf)",
    )
    reference: str | None = option(
        None, "competitor that all others are compared with, such as scarf; null takes no pre-training or the usual"
    )
    test: Test = option(
        "corrected", "test behind win matrices and gains; welch is the paper's, which is too often false"
    )
    alpha: float = option(0.05, "level below which a p-value counts as a difference", "(0, 1)")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.metric is not None:
            metric_named(self.metric)

    def with_metric(self, usual: str) -> "ReportOptions":
        """The options with the usual metric of some results, if none is set."""
        return self if self.metric is not None else replace(self, metric=usual)

    @property
    def measure(self) -> Metric:
        """The metric."""
        return metric_named(self.metric or Classes.usual_metric)

    @property
    def how(self) -> dict[str, Any]:
        """The arguments of the statistics that say how to test."""
        return {"test": self.test, "alpha": self.alpha}

    @property
    def in_words(self) -> str:
        """Description of the test of differences."""
        return f"{TEST_NAMES[self.test]}, p < {self.alpha:g}"


NAMES = tuple(options_of(ReportOptions))


def help_lines() -> list[str]:
    """A line per option for ``--help``."""
    lines = []
    for each in options_of(ReportOptions).values():
        default = f"{each.name}={each.default}"
        allowed = f" ({each.allowed})" if each.allowed else ""
        lines.append(f"  {default:28}  {each.meaning}{allowed}")
    return lines
