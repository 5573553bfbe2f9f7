"""Effects in words."""

import math
from dataclasses import replace

import pytest

from scarf_lightning.metrics import Metric, metric_named
from scarf_lightning.reporting.comparisons import Comparison, compare_all
from scarf_lightning.reporting.report_options import ReportOptions
from scarf_lightning.verdicts import Interval
from scarf_lightning.verdicts.amounts import brief_effect, effect, effect_over, ends_of, unsigned, won
from tests.reporting.cell_results import compared

ERROR = Metric("error_rate", "error rate", False, (0.0, 1.0), lambda _, __: 0.0)
ACCURACY, LOG_LOSS = metric_named("accuracy"), metric_named("log_loss")
(SOME,) = compare_all(compared({"iris": {"none": [0.5] * 3, "scarf": [0.6] * 3}}), ReportOptions())


def of(difference: float, low: float = math.nan, high: float = math.nan, datasets: int = 1) -> Comparison:
    average = Interval(2 * difference, 2 * low, 2 * high) if datasets > 1 else Interval(math.nan, math.nan, math.nan)
    verdict = replace(SOME.verdict, difference=difference, low=low, high=high, datasets=datasets, average=average)
    return replace(SOME, verdict=verdict)


@pytest.mark.parametrize(
    ("metric", "comparison", "words", "briefly"),
    [
        (ACCURACY, of(0.012, 0.004, 0.02), "+1.20 points of accuracy (+0.40 to +2.00)", "+1.20 points"),
        (ACCURACY, of(-0.012), "−1.20 points of accuracy", "−1.20 points"),
        (ERROR, of(0.0088, 0.002, 0.015), "error rate 0.88 points lower (0.20 to 1.50 lower)", "0.88 points lower"),
        (ERROR, of(-0.0088, -0.015, -0.002), "error rate 0.88 points higher (0.20 to 1.50 higher)", None),
        (ERROR, of(0.0088, -0.001, 0.018), "error rate 0.88 points lower (1.80 lower to 0.10 higher)", None),
        (ERROR, of(0.0088), "error rate 0.88 points lower", "0.88 points lower"),
        (LOG_LOSS, of(0.05, 0.01, 0.09), "log-loss 5.00 % lower (1.00 to 9.00 lower)", None),
        (ERROR, of(0.01, 0.002, 0.015, datasets=6),
         "error rate 2.00 points lower (0.40 to 3.00 lower) on average, 1.00 lower (0.20 to 1.50 lower) on the "
         "median dataset", "2.00 points lower on average, 1.00 lower on the median dataset"),
        (ACCURACY, of(0.01, 0.002, 0.015, datasets=2),
         "+2.00 points of accuracy (+0.40 to +3.00) on average, +1.00 (+0.20 to +1.50) on the median dataset",
         "+2.00 points on average, +1.00 on the median dataset"),
    ],
)  # fmt: skip
def test_an_effect_says_its_direction_and_briefly_has_no_interval(
    metric: Metric, comparison: Comparison, words: str, briefly: str | None
) -> None:
    assert effect(comparison, metric) == words
    assert briefly in (None, brief_effect(comparison, metric))


def test_the_reference_follows() -> None:
    assert effect_over(of(0.01), ACCURACY) == "+1.00 points of accuracy over no pre-training"
    assert effect_over(of(0.01), ERROR) == "error rate 1.00 points lower than no pre-training"


def test_ends_have_signs_and_another_coverage_than_the_usual_one() -> None:
    verdict = of(0.01, -0.004, 0.02).verdict
    assert ends_of(verdict, ERROR) == "−0.40 to +2.00"
    assert ends_of(replace(verdict, coverage=0.975), ERROR) == "97.5 %: −0.40 to +2.00"
    assert ends_of(of(0.01).verdict, ERROR) == ""


@pytest.mark.parametrize(
    ("value", "metric", "words"),
    [(0.01, ACCURACY, "1 point"), (0.02, ACCURACY, "2 points"), (0.02, LOG_LOSS, "2 % of the reference"),
     (0.05, metric_named("mcc"), "0.05")],
)  # fmt: skip
def test_a_size_has_the_unit_of_differences(value: float, metric: Metric, words: str) -> None:
    assert unsigned(value, metric) == words


def test_what_was_won_is_trials_of_one_dataset_or_datasets() -> None:
    assert won(SOME) == "better in 3 of 3 trials"
    counts = {"datasets": 9, "claim": "tables like these", "won": 5}
    for lost, words in ((4, "better on 5, worse on 4 of 9 datasets"),
                        (1, "better on 5, worse on 1 and equal on 3 of 9 datasets")):  # fmt: skip
        assert won(replace(SOME, verdict=replace(SOME.verdict, lost=lost, **counts))) == words
