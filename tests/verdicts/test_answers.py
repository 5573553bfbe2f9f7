"""The six answers: where an interval lies, and what Holm's correction leaves of it."""

import math

import numpy as np
import pytest

from scarf_lightning.intervals import Interval
from scarf_lightning.verdicts.answers import (
    ANSWERS,
    CANNOT_TELL,
    Levels,
    answer_of,
    corrected,
    needed_together,
)

SURE = Levels(1e-6, 1e-6, 1e-6)


@pytest.mark.parametrize(
    ("low", "high", "answer"),
    [
        (0.011, 0.05, "helps"),
        (0.001, 0.05, "helps, size open"),
        (0.001, 0.009, "no practical difference"),
        (-0.009, 0.009, "no practical difference"),
        (-0.009, 0.011, CANNOT_TELL),
        # An interval that ends at a bound lies within the margin, and neither beyond it nor beyond zero.
        (-0.01, 0.01, "no practical difference"),
        (0.01, 0.05, "helps, size open"),
        (0.0, 0.05, CANNOT_TELL),
        (-0.05, 0.05, CANNOT_TELL),
        (math.nan, math.nan, CANNOT_TELL),
    ],
)
def test_an_answer_is_where_the_interval_lies_and_its_mirror_image_mirrors_it(
    low: float, high: float, answer: str
) -> None:
    mirrored = answer.replace("helps", "hurts")

    assert answer_of(Interval((low + high) / 2, low, high), SURE, 0.01) == answer
    assert answer_of(Interval(-(low + high) / 2, -high, -low), SURE, 0.01) == mirrored
    assert {answer, mirrored} <= set(ANSWERS)
    assert len(set(ANSWERS)) == 6


OUTSIDE, WITHIN = Interval(0.03, 0.02, 0.04), Interval(0.0, -0.005, 0.005)


@pytest.mark.parametrize(
    ("interval", "levels", "answer"),
    [
        (OUTSIDE, Levels(0.05, 0.05, 1.0), "helps"),
        (OUTSIDE, Levels(0.05, 0.06, 1.0), "helps, size open"),
        (OUTSIDE, Levels(0.06, 0.06, 1.0), CANNOT_TELL),
        (WITHIN, Levels(1.0, 1.0, 0.04), "no practical difference"),
        (WITHIN, Levels(1.0, 1.0, 0.06), CANNOT_TELL),
    ],
)
def test_a_corrected_level_takes_back_the_size_first_and_then_the_direction(
    interval: Interval, levels: Levels, answer: str
) -> None:
    mirrored = Interval(-interval.mean, -interval.high, -interval.low)
    assert answer_of(interval, levels, 0.01) == answer
    assert answer_of(mirrored, levels, 0.01) == answer.replace("helps", "hurts")


def test_each_question_is_corrected_over_all_comparisons() -> None:
    """Holm by hand: the least of three levels times three, the next times two, never below the one before."""
    levels = [Levels(0.01, 0.3, 0.5), Levels(0.012, 0.001, 0.01), Levels(0.04, 0.2, 0.2)]

    found = np.array(corrected(levels))

    assert found[:, 0] == pytest.approx([0.03, 0.03, 0.04])
    assert found[:, 1] == pytest.approx([0.4, 0.003, 0.4])
    assert found[:, 2] == pytest.approx([0.5, 0.03, 0.4])
    assert corrected([]) == []
    # The level is shared by the claims that are not made yet; if all are made, nothing is shared.
    assert needed_together([SURE, Levels(0.3, 0.3, 0.3), Levels(0.5, 0.5, 0.5)], alpha=0.06) == (0.03, 0.03)
    assert needed_together([SURE], alpha=0.06) == (0.06, 0.06)
