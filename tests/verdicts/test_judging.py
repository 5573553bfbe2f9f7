"""Families of answers, and sides that have not learnt."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.metrics import metric_named
from scarf_lightning.verdicts import Judged, Trials, claimed_together, compare, judged
from scarf_lightning.verdicts.judging import BESIDE, COMPETITOR, REFERENCE
from scarf_lightning.verdicts.looks import Look
from scarf_lightning.verdicts.verdict import after_looks
from tests.reporting.cell_results import gains_at

ACCURACY = metric_named("accuracy")


def beside(gains: np.ndarray, **known: str) -> Judged:
    """A competitor that gains this much in each trial, beside its reference."""
    cells = {
        COMPETITOR: Trials(dict(enumerate((0.6 + gains).tolist())), test_to_train=1 / 9),
        REFERENCE: Trials(dict.fromkeys(range(len(gains)), 0.6), test_to_train=1 / 9),
    }
    return judged(BESIDE, {"iris": cells}, ACCURACY, name="scarf", reference="none", **known)


def test_over_numbers_of_labels_the_answers_on_each_competitor_are_a_family() -> None:
    random = np.random.default_rng(0)
    rows = []
    for trial in range(12):
        for labels in (20, 40):
            for name, gain in (("base", 0.0), ("one", 0.05), ("other", 0.01)):
                rows.append(("t", trial, name, labels, 0.7 + gain + labels / 400 + random.normal(0, 0.01)))
    frame = pd.DataFrame(rows, columns=["dataset", "trial", "competitor", "n_labels", "accuracy"])

    def found(of: pd.DataFrame) -> pd.DataFrame:
        return compare(of, metric="accuracy", reference="base", labels="n_labels").frame

    both = found(frame)
    for name in ("one", "other"):
        alone = found(frame[frame["competitor"].isin(["base", name])])
        pd.testing.assert_frame_equal(both[both["competitor"] == name].reset_index(drop=True), alone)


def test_each_factor_and_all_interactions_are_a_family_each() -> None:
    random = np.random.default_rng(1)
    rows = []
    for trial in range(12):
        for a in ("a0", "a1", "a2"):
            for b in ("b0", "b1"):
                rows.append(("t", trial, a, b, 0.7 + 0.05 * (a == "a1") + random.normal(0, 0.01)))
    frame = pd.DataFrame(rows, columns=["dataset", "trial", "a", "b", "accuracy"])

    effects = compare(frame, metric="accuracy", factors=["a", "b"]).effects

    assert [each.family for each in effects] == ["a", "a", "b", "interactions", "interactions"]
    # The surest of two, one and two questions is held against this share of the level, and the other one against all.
    assert sorted(each.needed.direction for each in effects[:2]) == pytest.approx([0.025, 0.05])
    assert [each.needed.direction for each in effects[2:]] == pytest.approx([0.05, 0.025, 0.025])


@pytest.mark.parametrize(
    ("gain", "side", "reason"),
    [
        (-1.0, "broken", "it predicts one class"),
        (1.0, "broken", ""),
        (1.0, "broken_reference", "none predicts one class"),
        (-1.0, "broken_reference", ""),
    ],
)
def test_a_side_that_has_not_learnt_gives_no_answer_where_it_is_worse(gain: float, side: str, reason: str) -> None:
    gains = gain * gains_at(0.001, 12, 1 / 9)

    (found,) = claimed_together([beside(gains, **{side: "predicts one class"})])

    assert found.spoilt == found.verdict.reason == reason
    assert found.claimed == ("undecided" if reason else ("helps" if gain > 0 else "hurts"))


def test_a_spoilt_answer_stays_in_its_family() -> None:
    """Whether a side has learnt is seen in the same results as the levels, so it leaves no room to the others."""
    gains = gains_at(0.03, 12, 1 / 9)
    sound = replace(beside(gains), name="vime")

    alone = claimed_together([sound])
    (_, beside_a_spoilt_one) = claimed_together([replace(beside(gains), spoilt="it is broken"), sound])

    assert alone[0].claimed == "helps, size open"
    assert beside_a_spoilt_one.claimed == "undecided"


@pytest.mark.parametrize(
    ("level", "trials", "n", "looks", "shown"),
    [
        (0.001, 12, 1, [], "helps"),
        (0.001, 8, 1, [], "undecided (8 trials)"),
        (0.03, 12, 4, [], "undecided (4 comparisons)"),
        (0.03, 12, 1, [10], "undecided (looked at before)"),
        (0.049, 12, 1, [11], "undecided (looked at before)"),
        (0.3, 12, 4, [10], "undecided"),
    ],
)
def test_an_undecided_answer_says_what_its_claim_lacks(
    level: float, trials: int, n: int, looks: list[int], shown: str
) -> None:
    one = beside(gains_at(level, trials, 1 / 9))
    one = replace(one, verdict=after_looks(one.verdict, [Look(trials) for trials in looks], 0.001))

    assert [each.shown for each in claimed_together([one] * n, 0.001)] == [shown] * n
