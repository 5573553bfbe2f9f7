"""Verdicts on columns: their sign, Holm's correction over all of a page, and rates where the truth is known."""

import numpy as np
import pytest

from scarf_lightning.importance.judging import ColumnVerdict, Importance, judge_column, name_of
from scarf_lightning.metrics import metric_named
from scarf_lightning.verdicts.answers import ANSWERS, HELPING
from scarf_lightning.verdicts.trials import RowsOfTrial, Split

ACCURACY = metric_named("accuracy")
ADDED = np.array([[1.0, 0.0]])


def rows(values: np.ndarray, numbers: np.ndarray) -> RowsOfTrial:
    return RowsOfTrial(numbers, values.astype(np.float64), ADDED, numbers)


def verdict(
    random: np.random.Generator, gain: float, *, name: str = "a", trials: int = 5, n: int = 300
) -> ColumnVerdict:
    """A competitor that is right on 80 % of rows, and on ``gain`` fewer without the column."""
    luck = random.random(n)
    intact, changed = [], []
    for _ in range(trials):
        tested = random.permutation(n)[: n // 5]
        moved = np.where(random.random(len(tested)) < 0.85, luck[tested], random.random(len(tested)))
        intact.append(rows(luck[tested] < 0.8, tested))
        changed.append(rows(moved < 0.8 - gain, tested))
    return judge_column((name,), "permuted", "network", intact, changed, ACCURACY, Split("random", 0.7 * n))


def test_a_column_that_is_missed_helps_and_one_that_misleads_hurts() -> None:
    random = np.random.default_rng(0)
    found = Importance([verdict(random, 0.2, name="good"), verdict(random, -0.15, name="bad")], ACCURACY)

    assert found.answers == ["helps", "hurts"]
    frame = found.frame.set_index("columns")
    assert frame.loc["good", "difference"] == pytest.approx(0.2, abs=0.05)
    assert frame.loc["good", "score"] - frame.loc["good", "without"] == pytest.approx(frame.loc["good", "difference"])
    assert found.helping("permuted") == ["good"]
    (sentence,) = found.sentences
    assert sentence.startswith("network, permuted: helps: good +")
    assert "; hurts: bad −" in sentence


def test_more_columns_and_those_that_were_not_tried_make_a_claim_harder() -> None:
    random = np.random.default_rng(1)
    found = [verdict(random, 0.06) for _ in range(60)]
    one = next(each for each in found if 0.005 < each.verdict.levels.direction < 0.02)

    assert Importance([one], ACCURACY).answers[0] in HELPING
    assert Importance([one] * 12, ACCURACY).answers == ["cannot tell"] * 12
    assert Importance([one], ACCURACY, n_untried=11).answers == ["cannot tell"]


@pytest.mark.slow
def test_false_claims_of_a_page_of_noise_are_rare() -> None:
    """Ten columns that make no difference; without the correction more of such pages would claim one."""
    random = np.random.default_rng(2)
    pages = alone = 0
    for _ in range(40):
        verdicts = [verdict(random, 0.0) for _ in range(10)]
        pages += any(answer.startswith(("helps", "hurts")) for answer in Importance(verdicts, ACCURACY).answers)
        alone += any(each.verdict.answer.startswith(("helps", "hurts")) for each in verdicts)

    assert pages <= 4
    assert alone > pages


def test_one_model_has_the_error_of_its_rows_alone() -> None:
    random = np.random.default_rng(3)
    differences = random.choice([1.0, 0.0, -1.0], p=[0.2, 0.75, 0.05], size=150)
    numbers = np.arange(150)
    intact, changed = rows(np.maximum(differences, 0), numbers), rows(np.maximum(-differences, 0), numbers)

    one = judge_column(("a",), "permuted", "m", [intact], [changed], ACCURACY, Split(), fewest=1).verdict
    none = judge_column(("a",), "permuted", "m", [intact], [changed], ACCURACY, Split()).verdict

    plain = 1.976 * differences.std(ddof=1) / np.sqrt(150)
    assert (one.high - one.low) / 2 == pytest.approx(plain, rel=0.1)
    assert np.isnan(none.low)


def test_of_errors_the_difference_is_a_part_of_the_error_without_the_column() -> None:
    rmse, numbers = metric_named("rmse"), np.arange(40)
    nothing = np.full((1, 2), np.nan)
    three = [RowsOfTrial(numbers, np.full(40, 3.0) + t / 100, nothing, numbers) for t in range(3)]
    four = [RowsOfTrial(numbers, np.full(40, 4.0) + t / 100, nothing, numbers) for t in range(3)]

    found = judge_column(("a",), "left out", "m", three, four, rmse, Split())

    assert found.verdict.difference == pytest.approx(1 / 4.01, rel=1e-3)
    assert (found.score, found.changed) == (pytest.approx(3.01), pytest.approx(4.01))


def test_names_and_answers_are_those_of_the_workbench() -> None:
    random = np.random.default_rng(5)
    found = Importance([verdict(random, gain, name=str(gain)) for gain in (0.0, 0.1, 0.3)], ACCURACY)

    assert set(found.frame["answer"]) <= set(ANSWERS)
    assert found.of("permuted")[0][0].name == "0.3"
    assert name_of(["a", "b", "c", "d", "e"]) == "a + b + c and 2 more"
    assert len(found.figure().axes[0].get_yticks()) == 3
