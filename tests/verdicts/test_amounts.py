"""Effects in words."""

import math
from dataclasses import replace

import pytest

from scarf_lightning.metrics import Metric, metric_named
from scarf_lightning.reporting.comparisons import Comparison, compare_all
from scarf_lightning.reporting.report_options import ReportOptions
from scarf_lightning.verdicts.amounts import brief_effect, effect, effect_over, ends_of, unsigned, won
from tests.reporting.cell_results import compared

ERROR = Metric("error_rate", "error rate", False, (0.0, 1.0), lambda _, __: 0.0)
ACCURACY, LOG_LOSS, MCC = map(metric_named, ("accuracy", "log_loss", "mcc"))
(SOME,) = compare_all(compared({"iris": {"none": [0.5] * 3, "scarf": [0.6] * 3}}), ReportOptions())


def of(difference: float, low: float = math.nan, high: float = math.nan, datasets: int = 1) -> Comparison:
    average = 2 * difference if datasets > 1 else math.nan
    verdict = replace(SOME.verdict, difference=difference, low=low, high=high, datasets=datasets, average=average)
    return replace(SOME, verdict=verdict)


@pytest.mark.parametrize(
    ("metric", "comparison", "words", "briefly"),
    [
        (ACCURACY, of(0.012, 0.004, 0.02),
         "+1.20 points of accuracy (95 %: +0.40 to +2.00)", "+1.20 points of accuracy"),
        (ACCURACY, of(-0.012), "−1.20 points of accuracy", "−1.20 points of accuracy"),
        (ERROR, of(0.0088, -0.002, 0.015), "error rate −0.88 (95 %: −1.50 to +0.20)", "error rate −0.88"),
        (LOG_LOSS, of(0.05, 0.01, 0.09), "log-loss 0.95 times as high (95 %: 0.91 to 0.99 times)", None),
        (LOG_LOSS, of(-1.34, -5.35, 1.0), "log-loss 2.34 times as high (95 %: at most 6.35 times)", None),
        (MCC, of(0.02), "+0.0200 in Matthews' correlation", None),
        (ACCURACY, of(0.01, 0.002, 0.015, datasets=2),
         "+2.00 points of accuracy on average, +1.00 points of accuracy (95 %: +0.20 to +1.50) on the median dataset",
         "+1.00 points of accuracy"),
    ],
)  # fmt: skip
def test_an_effect_says_its_direction_and_briefly_has_no_interval(
    metric: Metric, comparison: Comparison, words: str, briefly: str | None
) -> None:
    assert effect(comparison, metric) == words
    assert briefly in (None, brief_effect(comparison, metric))


def test_the_reference_follows() -> None:
    assert effect_over(of(0.01), ACCURACY) == "+1.00 points of accuracy beside no pre-training"


def test_ends_have_signs() -> None:
    assert ends_of(of(0.01, -0.004, 0.02).verdict, ERROR) == "−0.40 to +2.00"
    assert ends_of(of(0.01).verdict, ERROR) == ""


@pytest.mark.parametrize(
    ("value", "metric", "words"),
    [(0.01, ACCURACY, "1 point"), (0.02, ACCURACY, "2 points"), (0.02, LOG_LOSS, "2 % of the reference"),
     (0.05, MCC, "0.05")],
)  # fmt: skip
def test_a_size_has_the_unit_of_differences(value: float, metric: Metric, words: str) -> None:
    assert unsigned(value, metric) == words


def test_what_was_won_is_trials_of_one_dataset_or_datasets() -> None:
    assert won(SOME) == "better in 3 of 3 trials"
    counts = {"datasets": 9, "claim": "tables like these", "won": 5}
    for lost, words in ((4, "better on 5, worse on 4 of 9 datasets"),
                        (1, "better on 5, worse on 1 and equal on 3 of 9 datasets")):  # fmt: skip
        assert won(replace(SOME, verdict=replace(SOME.verdict, lost=lost, **counts))) == words
