"""What a report is told besides its results."""

from dataclasses import dataclass
from typing import get_args

from ..errors import UsageError
from .statistics import Test

TEST_NAMES = {
    "welch": "Welch's t-test",
    "paired": "paired t-test",
    "corrected": "corrected resampled t-test",
}


@dataclass(frozen=True)
class Options:
    """How differences are tested.

    Args:
        test: ``welch`` is the paper's; ``paired`` uses that trials share splits, ``corrected`` that these overlap.
        adjust: Holm's correction over datasets.
        alpha: a difference counts where p is below it.
        nemenyi: the bars of critical-difference diagrams are Nemenyi's instead of Wilcoxon-Holm's.

    Raises:
        UsageError: an unknown test, or an alpha that is no probability.
    """

    test: Test = "welch"
    adjust: bool = False
    alpha: float = 0.05
    nemenyi: bool = False

    def __post_init__(self) -> None:
        if self.test not in get_args(Test):
            raise UsageError(f"test={self.test} is unknown; the options are: {', '.join(get_args(Test))}.")
        if not 0 < self.alpha < 1:
            raise UsageError(f"alpha={self.alpha:g} must be between 0 and 1; the paper's is 0.05.")

    @property
    def in_words(self) -> str:
        corrected = " after Holm's correction over datasets" if self.adjust else ""
        return f"{TEST_NAMES[self.test]}, p < {self.alpha:g}{corrected}"


_SWITCHES = {
    "test": {name: name for name in get_args(Test)},
    "adjust": {"holm": True, "none": False},
    "nemenyi": {"true": True, "false": False},
}


def read_options(given: dict[str, str]) -> Options:
    """Options as a command line gives them: ``test=welch|paired|corrected adjust=holm|none alpha=0.05 nemenyi=true``.

    Raises:
        UsageError: an unknown option, or one with a wrong value.
    """
    values: dict[str, object] = {}
    for name, text in given.items():
        if name == "alpha":
            values[name] = _number(text)
        elif name not in _SWITCHES:
            raise UsageError(f"{name} is not an option; the options are: {', '.join([*_SWITCHES, 'alpha'])}.")
        elif text not in _SWITCHES[name]:
            raise UsageError(f"{name}={text} is unknown; the options are: {', '.join(_SWITCHES[name])}.")
        else:
            values[name] = _SWITCHES[name][text]
    return Options(**values)  # type: ignore[arg-type]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"alpha={text} is not a number; the paper's is 0.05.") from None
