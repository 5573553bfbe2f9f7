"""The six answers: where an interval lies, and what Holm's correction leaves of it."""

import math

import numpy as np
import pytest

from scarf_lightning.intervals import Interval
from scarf_lightning.verdicts.answers import UNDECIDED, Levels, answer_of, needed_together


@pytest.mark.parametrize(
    ("low", "high", "answer"),
    [
        (0.011, 0.05, "helps"),
        (0.001, 0.05, "helps, size open"),
        (0.001, 0.009, "no practical difference"),
        (-0.009, 0.009, "no practical difference"),
        (-0.009, 0.011, UNDECIDED),
        # An interval that ends at a bound lies within the margin, and neither beyond it nor beyond zero.
        (-0.01, 0.01, "no practical difference"),
        (0.01, 0.05, "helps, size open"),
        (0.0, 0.05, UNDECIDED),
        (-0.05, 0.05, UNDECIDED),
        (math.nan, math.nan, UNDECIDED),
    ],
)
def test_an_answer_is_where_the_interval_lies_and_its_mirror_image_mirrors_it(
    low: float, high: float, answer: str
) -> None:
    mirrored = answer.replace("helps", "hurts")

    assert answer_of(Interval((low + high) / 2, low, high), 0.01) == answer
    assert answer_of(Interval(-(low + high) / 2, -high, -low), 0.01) == mirrored


def test_the_surest_comparison_needs_most_and_those_left_open_share_alike() -> None:
    """Holm by hand: 0.06 over three, over two, and the last two that miss it share it, whatever their order."""
    levels = [Levels(0.5, 0.01, 0.5), Levels(0.001, 0.02, 0.5), Levels(0.2, 0.05, 0.5)]

    found = np.array(needed_together(levels, alpha=0.06))

    assert found[:, 0] == pytest.approx([0.03, 0.02, 0.03])
    assert found[:, 1] == pytest.approx([0.02, 0.03, 0.06])
    assert found[:, 2] == pytest.approx([0.02, 0.02, 0.02])
    assert needed_together([]) == []
