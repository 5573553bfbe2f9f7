"""Question 3 of the third edition: gains, checks and named facts, from made-up trials of a known truth."""

import numpy as np
import pandas as pd
import pytest

from study.third_edition.findings import BUDGETS
from study.third_edition.where import FACTS, by_fact, checks, fitted, gains

N_TABLES = 40
RANDOM = np.random.default_rng(0)
TABLES = pd.DataFrame(
    {
        "kind": "classes",
        "family": [f"family {number % 8}" for number in range(N_TABLES)],
        "signal": RANDOM.uniform(0.6, 1.0, N_TABLES),
        "rows": RANDOM.integers(650, 60_000, N_TABLES),
        "columns": RANDOM.integers(4, 40, N_TABLES),
        "categorical_share": RANDOM.uniform(0, 1, N_TABLES),
        "classes": RANDOM.integers(2, 6, N_TABLES),
    },
    index=pd.Index([f"t{number}" for number in range(N_TABLES)], name="table"),
)


def trials(n: int = 3) -> pd.DataFrame:
    """Of SCARF, which gains two points with each standard deviation of the share of categories, and nothing else."""
    share = TABLES["categorical_share"]
    standard = (share - share.mean()) / share.std(ddof=0)
    rows = []
    for table in TABLES.index:
        for labels in BUDGETS:
            for trial in range(n):
                base = RANDOM.normal(0.7, 0.05)
                gain = (2 * standard[table] + RANDOM.normal(0, 0.5)) / 100
                rows.append((table, labels, trial, "no pre-training", base))
                rows.append((table, labels, trial, "SCARF", base + gain))
    return pd.DataFrame(rows, columns=["dataset", "labels", "trial", "competitor", "auroc"])


def test_a_gain_is_of_one_trial_and_facts_are_standardised_over_tables() -> None:
    known = trials()
    # A trial that only one of both has is no gain, and a table of numbers takes no part.
    lacking = known[~((known["dataset"] == "t0") & (known["trial"] == 1) & (known["competitor"] == "SCARF"))]
    facts = TABLES.assign(kind=["classes"] * (N_TABLES - 1) + ["number"])

    frame = gains(lacking, facts)

    assert len(frame) == (N_TABLES - 1) * len(BUDGETS) * 3 - len(BUDGETS)
    assert list(frame["budget"].unique()) == ["b020", "b050", "b100", "b500"]
    of_tables = frame.drop_duplicates("table")
    for fact in FACTS:
        assert of_tables[fact].mean() == pytest.approx(0, abs=1e-9)
        assert of_tables[fact].std(ddof=0) == pytest.approx(1)
    one = known[(known["dataset"] == "t3") & (known["labels"] == 50) & (known["trial"] == 2)].set_index("competitor")
    (gain,) = frame[(frame["table"] == "t3") & (frame["labels"] == 50) & (frame["trial"] == 2)]["d"]
    assert gain == pytest.approx(100 * (one.loc["SCARF", "auroc"] - one.loc["no pre-training", "auroc"]))


@pytest.mark.parametrize(("shift", "scale", "inside"), [(0.0, 1.0, True), (5.0, 1.0, False), (0.0, 4.0, False)])
def test_a_model_that_draws_other_gains_fails_its_checks(shift: float, scale: float, inside: bool) -> None:
    frame = gains(trials(), TABLES)
    random = np.random.default_rng(1)
    drawn = shift + scale * (2 * frame["categorical_share"].to_numpy() + random.normal(0, 0.5, (500, len(frame))))

    found = checks(frame, drawn)

    assert len(found) == 2 * len(BUDGETS)
    assert all(each["is_inside"] for each in found) == inside
    seen = frame[frame["budget"] == "b020"].groupby("table")["d"].mean()
    assert found[0]["seen"] == pytest.approx((seen > 0).mean())
    assert found[1]["seen"] == pytest.approx(seen.std(ddof=0))


def test_a_fact_is_named_where_its_interval_is_on_one_side_of_zero() -> None:
    draws = np.random.default_rng(2).normal([0.0, 1.0, -1.0, 0.3], 0.3, (4000, 4))
    found = by_fact({"signal": draws})
    assert [each["named"] for each in found] == [False, True, True, False]
    assert found[1]["low"] == pytest.approx(1 - 1.96 * 0.3, abs=0.05)


@pytest.mark.slow
def test_the_model_names_the_share_of_categories_and_nothing_else() -> None:
    pytest.importorskip("bambi")
    found = fitted(gains(trials(2), TABLES), draws=300)
    assert found["is_used"]
    named = {(each["fact"], each["labels"]) for each in found["facts"] if each["named"]}
    assert {(fact, labels) for fact, labels in named if fact == "categorical_share"} == {
        ("categorical_share", labels) for labels in BUDGETS
    }
    # One interval in twenty leaves zero out by chance.
    assert len(named) <= len(BUDGETS) + 3
