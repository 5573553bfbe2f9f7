"""What a report is told besides its results."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, get_args

from ..config.registry import checked
from ..errors import UsageError
from ..metrics import Metric, metric_named
from .statistics import Test

TEST_NAMES = {
    "welch": "Welch's t-test",
    "paired": "paired t-test",
    "corrected": "corrected resampled t-test",
}
ADJUSTMENTS = ("none", "holm")


@dataclass(frozen=True)
class Options:
    """How differences are tested, and of what.

    Args:
        metric: what everything is compared by, a name of `scarf_lightning.metrics`.
        rope: a difference of the metric smaller than this is of no practical consequence.
        test: ``welch`` is the paper's; ``paired`` uses that trials share splits, ``corrected`` that these overlap.
        adjust: ``holm`` corrects over datasets.
        alpha: a difference counts where p is below it.
        nemenyi: the bars of critical-difference diagrams are Nemenyi's instead of Wilcoxon-Holm's.

    Raises:
        UsageError: an unknown metric, test or correction, or a number out of its range.
    """

    metric: str = "accuracy"
    rope: float = 0.01
    test: Any = "welch"
    adjust: str = "none"
    alpha: float = 0.05
    nemenyi: bool = False

    def __post_init__(self) -> None:
        metric_named(self.metric)
        for option, allowed in (("test", get_args(Test)), ("adjust", ADJUSTMENTS)):
            if getattr(self, option) not in allowed:
                value = getattr(self, option)
                raise UsageError(f"{option}={value} is unknown; the options are: {', '.join(allowed)}.")
        if not 0 < self.alpha < 1:
            raise UsageError(f"alpha={self.alpha:g} must be between 0 and 1; the paper's is 0.05.")
        if not 0 <= self.rope < float("inf"):
            raise UsageError(f"rope={self.rope:g} must be 0 or more; 0.01 is one point of accuracy.")

    @property
    def measure(self) -> Metric:
        """The metric."""
        return metric_named(self.metric)

    @property
    def how(self) -> dict[str, Any]:
        """How the statistics are to test."""
        return {"test": self.test, "alpha": self.alpha, "adjust": self.adjust == "holm"}

    @property
    def in_words(self) -> str:
        corrected = " after Holm's correction over datasets" if self.adjust == "holm" else ""
        return f"{TEST_NAMES[self.test]}, p < {self.alpha:g}{corrected}"


def read_options(given: Mapping[str, str]) -> Options:
    """Options as a command line gives them: ``metric=auroc rope=0.005 test=paired adjust=holm nemenyi=true``.

    Raises:
        UsageError: an unknown option, or one with a wrong value.
    """
    options: Options = checked(Options, given, "")
    return options


NAMES = tuple(option.name for option in fields(Options))
