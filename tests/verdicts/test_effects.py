"""Families of answers, sides that have not learnt, and the frame of effects."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from scarf_lightning.metrics import metric_named
from scarf_lightning.verdicts import Effect, answered, frame_of
from scarf_lightning.verdicts.effects import Sums, effect_of
from scarf_lightning.verdicts.looks import Look, spent
from tests.reporting.cell_results import gains_at
from tests.verdicts.worlds import cell


def beside(
    level: float, name: str = "scarf", gain: int = 1, fault: str = "", reference_fault: str = "", **known: Any
) -> Effect:
    """A competitor whose gain, or loss, has a direction that is found at this level alone."""
    gains = gain * gains_at(level, known.pop("trials", 12), 1 / 9)
    one, other = cell(name, 0.6 + gains, fault=fault), cell("none", np.full(len(gains), 0.6), fault=reference_fault)
    by = Sums(metric_named("accuracy"))
    return effect_of({"iris": ([one], [other])}, by, kind="competitor", what=name, reference="none", **known)


@pytest.mark.parametrize(
    ("families", "claims"), [("a", True), ("aa", False), ("ab", True)], ids=["one", "two of one", "two of two"]
)
def test_holms_correction_asks_for_5_percent_over_the_effects_of_a_family(families: str, claims: bool) -> None:
    found = answered([beside(0.03, f"c{n}", family=family) for n, family in enumerate(families)])

    for effect in found:
        assert effect.verdict.levels.direction == pytest.approx(0.03 / spent([12])[0])
        assert effect.claimed.startswith("helps") is claims


def test_competitors_come_best_first_and_axes_in_their_order() -> None:
    ordered = [replace(beside(level, name), kind=kind) for name, level, kind in (
        ("x", 0.3, "interaction"), ("a", 0.3, "competitor"), ("y", 0.001, "axis"), ("b", 0.001, "competitor"),
    )]  # fmt: skip

    assert [each.what for each in answered(ordered)] == ["b", "a", "x", "y"]


@pytest.mark.parametrize(
    ("gain", "side", "reason"),
    [
        (-1, "fault", "it predicts one class, so it has not learnt"),
        (1, "fault", ""),
        (1, "reference_fault", "none predicts one class, so it has not learnt"),
        (-1, "reference_fault", ""),
    ],
)
def test_a_side_that_has_not_learnt_gives_no_answer_where_it_is_worse(gain: int, side: str, reason: str) -> None:
    (found,) = answered([beside(0.001, gain=gain, **{side: "predicts one class"})])

    assert found.spoilt == found.verdict.reason == reason
    assert found.claimed == ("undecided" if reason else ("helps" if gain > 0 else "hurts"))


def test_a_spoilt_answer_stays_in_its_family() -> None:
    """Whether a side has learnt is seen in the same results as the levels, so it leaves no room to the others."""
    sound = beside(0.03, "vime")

    (alone,) = answered([sound])
    (_, second) = answered([replace(beside(0.03), spoilt="it is broken"), sound])

    assert (alone.claimed, second.claimed) == ("helps, size open", "undecided")


@pytest.mark.parametrize(
    ("level", "trials", "n", "looks", "shown"),
    [
        (0.001, 12, 1, [], "helps"),
        (0.001, 8, 1, [], "undecided (8 trials)"),
        (0.03, 12, 4, [], "undecided (4 comparisons)"),
        (0.03, 12, 1, [10], "undecided (looked at before)"),
        (0.049, 12, 1, [11], "undecided (looked at before)"),
        (0.049, 12, 1, [], "undecided (level kept for later looks)"),
        (0.3, 12, 4, [10], "undecided"),
    ],
)
def test_an_undecided_answer_says_what_its_claim_lacks(
    level: float, trials: int, n: int, looks: list[int], shown: str
) -> None:
    found = answered([beside(level, trials=trials)] * n, 0.001, lambda _: [Look(trials) for trials in looks])

    assert [each.shown for each in found] == [shown] * n


def test_the_frame_has_a_row_an_effect_with_all_of_its_numbers() -> None:
    (found,) = answered([beside(0.001)])

    (row,) = frame_of([found]).to_dict("records")

    assert (row["what"], row["against"], row["n"], row["answer"]) == ("scarf", "none", 12, "helps")
    assert (row["difference"], row["low"], row["high"]) == found.verdict.interval
    assert row["p"] == pytest.approx(0.001 / spent([12])[0])
