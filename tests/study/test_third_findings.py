"""The analysis of the third edition, on made-up trials of a known truth and against closed forms."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from study.third_edition.comparisons import LEVEL, Tables, compare, draws_of, mean_and_error, worth
from study.third_edition.findings import BUDGETS, LONGEST, findings, multiples

FAMILIES = np.repeat(np.arange(12), [1, 1, 2, 2, 3, 3, 4, 5, 6, 8, 9, 10])
NAMES = tuple(f"table {number}" for number in range(len(FAMILIES)))
OF_TABLES = pd.Series(FAMILIES, NAMES).map("family {}".format)
SPREADS = (2.1, 1.7, 1.2, 1.0)
"""Points of a difference over tables by budget, those of the second edition."""


def world(random: np.random.Generator, gain: float = 0.0) -> list[Tables]:
    """Tables at each budget, whose families have a part of their own."""
    shared = random.normal(0, 0.5, 12)[FAMILIES]
    return [Tables(NAMES, FAMILIES, gain + shared + random.normal(0, each, len(NAMES))) for each in SPREADS]


def trials(times: float, *, seed: int = 0, n: int = 5) -> pd.DataFrame:
    """Trials of a network whose AUROC rises by 4 points with each doubling, and of a SCARF worth so many times the
    labels; of a CatBoost worth twice as many, and of a linear model that is alike."""
    random, rows = np.random.default_rng(seed), []
    for name in NAMES:
        level = random.normal(60, 8)
        for labels in BUDGETS:
            own = random.normal(0, 0.3)
            for competitor, factor in (
                ("no pre-training", 1), ("SCARF", times), ("CatBoost", 2), ("logistic regression", 1)
            ):  # fmt: skip
                curve = level + 4 * np.log2(labels * factor / 20)
                for trial in range(n):
                    value = (curve + own * (competitor == "SCARF") + random.normal(0, 0.5)) / 100
                    rows.append((name, labels, competitor, trial, value))
    return pd.DataFrame(rows, columns=["dataset", "labels", "competitor", "trial", "auroc"])


def test_a_draw_has_as_many_families_and_as_many_tables_of_each() -> None:
    sizes = np.bincount(FAMILIES)
    draws = list(draws_of(FAMILIES, 4000))
    assert len(draws) == 12
    for weights in draws:
        of_families = np.array([weights[:, family == FAMILIES].sum(axis=1) for family in range(12)]).T
        assert ((of_families > 0).sum(axis=1) == 1).all(), "a draw within a draw is of one family"
        assert (of_families.max(axis=1) == sizes[of_families.argmax(axis=1)]).all()
    # A table is as often in a draw as any other, once in the mean.
    assert sum(draws).mean(axis=0) == pytest.approx(np.ones(len(FAMILIES)), abs=0.1)


def test_the_error_of_a_mean_of_families_of_one_table_is_the_usual_one() -> None:
    values = np.random.default_rng(0).normal(size=30)
    ((mean,), (error,)) = mean_and_error(values, (np.eye(30, dtype=np.int64)[[row]] for row in range(30)))
    assert mean == pytest.approx(values.mean())
    assert error == pytest.approx(stats.sem(values))


def test_answers_and_intervals_agree() -> None:
    random, seen = np.random.default_rng(1), set()
    for gain in (0.0, 0.4, -0.6):
        for _ in range(5):
            for each in compare(world(random, gain), BUDGETS, n_draws=400):
                seen.add(each.answer)
                found = "yes" if each.low > 0 else "hurts" if each.high < 0 else "cannot tell"
                # The interval is read from the draws, the level from their counts: a draw lies between them.
                assert each.answer == found or abs(each.p - LEVEL / 4) < 0.01
                assert each.low < each.mean < each.high
                assert each.is_alike == (each.low >= -0.25 and each.high <= 0.25)
    assert seen == {"yes", "hurts", "cannot tell"}


def curve_means(*levels: float, competitor: float) -> pd.DataFrame:
    """Means of one curve on ten tables, and of a competitor with 20 labels."""
    columns = pd.MultiIndex.from_tuples([(labels, "none") for labels in BUDGETS] + [(20, "other")])
    return pd.DataFrame([[*levels, competitor]] * 10, index=NAMES[:10], columns=columns)


@pytest.mark.parametrize(
    ("competitor", "expected"),
    [(60, 1.0), (63, np.sqrt(50 / 20)), (66, 2.5), (80, 25 * np.sqrt(5)), (57, np.sqrt(20 / 50))],
)
def test_a_worth_lies_on_straight_lines_over_the_logarithm_of_labels(competitor: float, expected: float) -> None:
    """Six points between 20 and 50 labels and six between 100 and 500; both lines go on beyond their ends."""
    means = curve_means(60, 66, 71, 77, competitor=competitor)
    if competitor == 80:
        expected = 25 * np.exp((80 - 77) / 6 * np.log(5))
    found = worth(means, OF_TABLES, "other", "none", 20, BUDGETS, n_draws=50)
    assert found is not None
    assert [found.factor, found.low, found.high] == pytest.approx([expected] * 3)


def test_a_curve_that_does_not_rise_has_no_worth() -> None:
    assert worth(curve_means(60, 59, 70, 80, competitor=65), OF_TABLES, "other", "none", 20, BUDGETS) is None
    assert multiples([None]) == "unknown"


@pytest.mark.parametrize(("times", "answer"), [(1.0, "cannot tell"), (1.5, "yes"), (0.7, "hurts")])
def test_findings_are_those_of_the_truth(times: float, answer: str) -> None:
    first, second, third = findings(trials(times), OF_TABLES, n_draws=300)
    assert first.startswith(f"Does SCARF raise AUROC? {answer.capitalize()} with 20, 50, 100 and 500 labels (")
    several = f"{', '.join([f'{times}'] * 3)} and {times}"
    assert second == f"SCARF is worth {several} times the labels at 20, 50, 100 and 500."
    assert "CatBoost is worth 2.0, 2.0, 2.0 and 2.0 times the labels, logistic regression 1.0, " in third
    assert max(len(each.split()) for each in (first, second, third)) <= LONGEST


def test_a_table_that_lacks_a_trial_takes_no_part() -> None:
    known = trials(1.5)
    lacking = known[~((known["dataset"] == NAMES[0]) & (known["trial"] == 4) & (known["competitor"] == "SCARF"))]
    others = known[known["dataset"] != NAMES[0]]
    # The other models have all of their trials on it.
    assert findings(lacking, OF_TABLES, n_draws=300)[:2] == findings(others, OF_TABLES, n_draws=300)[:2]
