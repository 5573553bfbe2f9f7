"""How often answers are false, counted in a few draws of the tables of docs/calibration.md."""

import numpy as np
import pytest

from tools.benchmarks.calibration import BEGIN, CHANGES, EACH, END, FITS, PAGE, SOME, claims, counted, draw


def test_the_page_has_a_line_for_each_kind_of_table() -> None:
    lines = PAGE.read_text(encoding="utf8").partition(BEGIN)[2].partition(END)[0].split("\n")

    counts = [line.split("|")[1] for line in lines if line.startswith("| ")][1:]
    assert [float(fits) for fits in counts] == pytest.approx([100 * fits for fits in FITS])


def test_what_gains_is_claimed_at_some_look_and_a_trial_has_a_fifth_of_the_rows() -> None:
    drawn = draw(np.random.default_rng(0), 0.15, 0.01, EACH[-1])

    verdicts = {trials: [drawn.verdict(change, trials) for change in range(CHANGES)] for trials in SOME}
    assert drawn.rows.shape == (30, 120)
    assert claims(verdicts, SOME) == (True, True)
    assert drawn.differences.mean() == pytest.approx(0.15, abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("fits", FITS)
def test_at_most_six_in_a_hundred_claims_are_false_and_intervals_hold_the_truth(fits: float) -> None:
    draws = 150
    found = counted(0.0, fits, draws)

    error = 100 * (0.05 * 0.95 / draws) ** 0.5
    for name in ("one some", "one each", "axis some", "axis each"):
        assert found[name] <= 6 + 2 * error
    for trials in (10, 30):
        assert found[f"held {trials}"] >= 93 - 2 * error
