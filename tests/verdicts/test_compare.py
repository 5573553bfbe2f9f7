"""Verdicts on results of any library: from metrics, from predictions, and over tables."""

import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import scarf_lightning
from scarf_lightning.errors import UsageError
from scarf_lightning.verdicts import compare, judge, judge_rows, median_gain
from scarf_lightning.verdicts.looks import spent
from scarf_lightning.verdicts.verdict import after_looks
from tests.reporting.cell_results import gains_at


def metrics_of(tables: int = 1, trials: int = 12) -> pd.DataFrame:
    """Accuracies of three competitors."""
    random = np.random.default_rng(0)
    rows = []
    for table in range(tables):
        for trial in range(trials):
            easy = random.normal(0.8, 0.02)
            for name, gain in (("base", 0.0), ("better", 0.05), ("same", 0.0)):
                rows.append((f"t{table}", trial, name, easy + gain + random.normal() * 0.005))
    return pd.DataFrame(rows, columns=["dataset", "trial", "competitor", "accuracy"])


def predictions_of(trials: int = 10, n: int = 300) -> pd.DataFrame:
    """Predicted classes of two competitors, one of which is right on more rows, in an order of their own."""
    random = np.random.default_rng(1)
    labels = random.integers(0, 2, n)
    hard = {"base": random.random(n) < 0.3, "better": random.random(n) < 0.15}
    rows = []
    for trial in range(trials):
        test = random.permutation(n)[: n // 5]
        for name, wrong in hard.items():
            for row in random.permutation(test):
                rows.append(("t", trial, name, row, labels[row], labels[row] ^ wrong[row]))
    return pd.DataFrame(rows, columns=["dataset", "trial", "competitor", "row", "label", "prediction"])


def test_metrics_are_judged_by_the_resampled_test_and_answered_together() -> None:
    frame = metrics_of()
    wide = frame.pivot_table(index="trial", columns="competitor", values="accuracy")

    found = compare(frame, metric="accuracy", reference="base")

    assert found.frame["what"].tolist() == ["better", "same"]
    alone = after_looks(judge((wide["better"] - wide["base"]).to_numpy()[None], width=1.0), [])
    its = found.effects[0].verdict
    assert (its.difference, its.levels, its.answer) == (alone.difference, alone.levels, alone.answer)
    assert its.interval == alone.interval
    assert found.frame["answer"].tolist() == ["helps", "undecided"]
    assert found.sentences[0].startswith("On t0, beside base: better helps, +")


@pytest.mark.parametrize(("competitors", "answer"), [(1, "helps"), (2, "helps, size open"), (3, "undecided")])
def test_answers_hold_together_by_the_margin_and_the_overlap_that_are_given(competitors: int, answer: str) -> None:
    """A direction is found at 2 % and a size above the margin at 3 %; Holm asks for 5 % over the competitors."""
    gains = gains_at(0.02, 12, 1 / 9)
    values = {"base": np.zeros(12)} | {f"better {number}": gains for number in range(competitors)}
    rows = [("t", trial, name, 0.6 + gain) for name, its in values.items() for trial, gain in enumerate(its)]
    frame = pd.DataFrame(rows, columns=["dataset", "trial", "competitor", "accuracy"])

    found = compare(frame, metric="accuracy", reference="base", margin=0.001, test_to_train=1 / 9)

    assert found.frame["answer"].tolist() == [answer] * competitors
    # It is the first look, and those that follow keep a part of the level.
    assert found.frame["p"].tolist() == pytest.approx([0.02 / spent([12])[0]] * competitors, rel=1e-6)


def test_predictions_are_judged_by_rows_and_fits() -> None:
    frame = predictions_of()
    right = frame.assign(right=(frame["label"] == frame["prediction"]).astype(float))
    values, rows = [], []
    for _, trial in right.groupby("trial"):
        wide = trial.pivot_table(index="row", columns="competitor", values="right")
        values.append((wide["better"] - wide["base"]).to_numpy())
        rows.append(wide.index.to_numpy())

    found = compare(frame, metric="accuracy", reference="base")

    expected = judge_rows(values, rows, unseen=np.array([[1.0, -1.0]]), width=1.0)
    verdict = found.effects[0].verdict
    assert (verdict.low, verdict.high) == pytest.approx((expected.low, expected.high))
    assert (verdict.basis, verdict.answer) == ("rows and fits", "helps")
    metrics = right.groupby(["dataset", "trial", "competitor"])["right"].mean().rename("accuracy").reset_index()
    without = compare(metrics, metric="accuracy", reference="base").effects[0].verdict
    assert without.difference == pytest.approx(verdict.difference)
    assert without.high - without.low > verdict.high - verdict.low
    level = found.levels.set_index("competitor").loc["base"]
    assert level["low"] < 0.7 < level["high"]


def test_probabilities_give_metrics_that_need_them_and_numbers_are_relative() -> None:
    frame = predictions_of()
    sure = np.where(frame["prediction"] == 1, 0.8, 0.2)
    with_probabilities = frame.drop(columns="prediction").assign(probability_0=1 - sure, probability_1=sure)
    numbers = frame.assign(prediction=frame["prediction"] * 1.0, label=frame["label"] * 1.0)

    for metric in ("auroc", "log_loss"):
        assert compare(with_probabilities, metric=metric, reference="base").frame["answer"].tolist() == ["helps"]
    (effect,) = compare(numbers, metric="mae", reference="base").effects
    errors = frame.assign(error=(frame["label"] != frame["prediction"]) * 1.0)
    means = errors.groupby(["competitor", "trial"])["error"].mean().groupby("competitor").mean()
    assert effect.verdict.difference == pytest.approx(1 - means["better"] / means["base"])


def test_published_means_are_compared_over_tables() -> None:
    """One value a table, as a paper prints it."""
    means = metrics_of(tables=12, trials=1)
    wide = means.pivot_table(index="dataset", columns="competitor", values="accuracy")

    found = compare(means, metric="accuracy", reference="base")

    expected = median_gain((wide["better"] - wide["base"]).to_numpy())
    assert tuple(found.effects[0].verdict.interval) == pytest.approx(tuple(expected))
    assert found.frame.loc[0, "claim"] == "tables like these"
    assert found.frame.loc[0, "p"] < stats.wilcoxon(wide["better"] - wide["base"]).pvalue * 2


METRICS, PREDICTIONS = metrics_of(), predictions_of(trials=3)
PROBABILITIES = PREDICTIONS.drop(columns="prediction").assign(
    probability_0=1 - np.where(PREDICTIONS["prediction"] == 1, 0.8, 0.2),
    probability_1=np.where(PREDICTIONS["prediction"] == 1, 0.8, 0.2),
)
WITH_PROBABILITIES = PREDICTIONS.drop(columns="prediction").assign(probability_1=1.0, probability_2=0.0)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (METRICS.drop(columns="trial"), "lacks the column trial"),
        (METRICS.drop(columns="accuracy"), "neither the column accuracy, a row a trial, nor row"),
        (pd.concat([METRICS, METRICS.head(1)]), "two rows for trial 0 of t0"),
        (METRICS.assign(accuracy=[np.inf, *METRICS["accuracy"][1:]]), "infinite value"),
        (METRICS.assign(accuracy=[0.5, "high", "low"] * 12), "column accuracy needs numbers, and holds high"),
        (METRICS[METRICS["competitor"] != "base"], "reference=base is no competitor of these results"),
        (
            METRICS.assign(accuracy=METRICS["accuracy"].where(METRICS["competitor"] != "base")),
            "reference=base is no competitor of these results",
        ),
        (METRICS.assign(dataset=None), "rows without a dataset"),
        (pd.concat([METRICS, METRICS["accuracy"]], axis=1), "two columns accuracy; rename or drop one"),
        (METRICS[METRICS["competitor"] == "base"], "No other competitor shares"),
        (
            METRICS.replace("base", "other"),
            r"reference=base is no competitor of these results\. Name a competitor\. The competitors are: 'other'",
        ),
        (pd.concat([PREDICTIONS, PREDICTIONS.head(1)]), "two predictions for row"),
        (WITH_PROBABILITIES, "The label 0 has no column probability_0"),
        (WITH_PROBABILITIES.drop(columns="row"), "neither the column accuracy, a row a trial, nor row"),
        (WITH_PROBABILITIES.assign(probability_2="low"), "column probability_2 needs numbers, and holds low"),
        (PREDICTIONS.drop(columns="prediction"), "neither the column accuracy, a row a trial, nor prediction"),
        (PREDICTIONS.assign(prediction=None), "rows without a value of row, label, prediction"),
    ],
)
def test_a_frame_that_cannot_be_compared_gets_one_sentence(frame: pd.DataFrame, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        compare(frame, metric="accuracy", reference="base")


@pytest.mark.parametrize("change", [lambda its: its.round(2), lambda its: its * (1 + 1e-7), lambda its: its * 0.9999])
def test_probabilities_may_be_rounded(change: Callable[[pd.DataFrame], pd.DataFrame]) -> None:
    classes = ["probability_0", "probability_1", "probability_2"]
    random = np.random.default_rng(0)
    its = random.dirichlet([1.0, 1.0, 1.0], len(PREDICTIONS))
    its[:3] = np.eye(3)
    frame = PREDICTIONS.drop(columns="prediction")
    frame[classes] = its
    rounded = frame.copy()
    rounded[classes] = change(frame[classes])

    found, expected = (compare(each, metric="brier_score", reference="base").levels for each in (rounded, frame))

    assert found["mean"].tolist() == pytest.approx(expected["mean"].tolist(), abs=0.01)


@pytest.mark.parametrize(
    ("frame", "metric", "message"),
    [
        (METRICS.assign(accuracy=80.0), "accuracy",
         "^accuracy lies between 0 and 1, and competitor base has 80 in trial 0 of t0; divide percentages by 100.$"),
        (METRICS.assign(accuracy=-0.1), "accuracy", "accuracy lies between 0 and 1, and .* has -0.1 .*; turn its sign"),
        (METRICS.assign(log_loss=-0.4), "log_loss", "^log_loss is 0 or more, and .* has -0.4 in .*; turn its sign"),
        (METRICS.assign(r2=70), "r2", "^r2 is 1 or less, and .* has 70 in .*; divide percentages by 100"),
        (METRICS.assign(accuracy=METRICS["accuracy"].map(lambda value: 2 if value > 0.83 else value)), "accuracy",
         "competitor better has 2 in trial 0"),
    ],
)  # fmt: skip
def test_a_metric_lies_within_its_bounds(frame: pd.DataFrame, metric: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        compare(frame, metric=metric, reference="base")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"probability_1": 80.0}, "^probability_1 lies between 0 and 1, and .* has 80 in trial 0 of t; divide percent"),
        ({"probability_0": -1.0}, "^probability_0 lies between 0 and 1, and .* has -1 in trial 0 of t; turn its sign"),
        (
            {"probability_0": 0.25, "probability_1": 0.25},
            "row .* sum to 0.5 for competitor base in trial 0 of t, not to 1",
        ),
        ({"probability_0": "nan"}, "sum to nan for competitor base"),
    ],
)
def test_probabilities_lie_between_0_and_1_and_sum_to_1(changes: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        compare(PROBABILITIES.assign(**changes), metric="log_loss", reference="base")


def test_a_row_has_one_label_in_all_trials_and_competitors() -> None:
    is_base = PREDICTIONS["competitor"] == "base"
    row = PREDICTIONS["row"].iloc[0]
    frame = PREDICTIONS.assign(label=PREDICTIONS["label"].where(is_base, 1 - PREDICTIONS["label"]))

    for metric in ("accuracy", "rmse"):
        with pytest.raises(UsageError, match=f"^Row {row} of t has the labels [01] and [01]; the column row needs the"):
            compare(frame, metric=metric, reference="base")
    # Numbers of two tables, and of two precisions, are no two labels.
    tables = pd.concat([PREDICTIONS, PREDICTIONS.assign(dataset="other", label=1 - PREDICTIONS["label"])])
    assert compare(tables, metric="accuracy", reference="base").levels["dataset"].nunique() == 2
    third = PREDICTIONS["label"] / 3
    precise = PREDICTIONS.assign(label=third.where(is_base, third.astype(np.float32).astype(float)))
    assert compare(precise, metric="rmse", reference="base").frame["what"].tolist() == ["better"]


def test_predictions_of_other_classes_than_the_labels_are_refused() -> None:
    is_base = PREDICTIONS["competitor"] == "base"
    words = PREDICTIONS["prediction"].map({0: "no", 1: "yes"})
    frame = PREDICTIONS.assign(prediction=PREDICTIONS["prediction"].astype(object).where(is_base, words))

    with pytest.raises(UsageError, match="prediction of competitor better on t holds no, yes, which the column label"):
        compare(frame, metric="accuracy", reference="base")
    # A class that only predictions have is a wrong one.
    third = PREDICTIONS.assign(prediction=PREDICTIONS["prediction"].where(PREDICTIONS["prediction"] == 1, 2))
    assert compare(third, metric="accuracy", reference="base").levels["mean"].between(0.1, 0.7).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"margin": -1}, "margin=-1 needs to be 0 or more and below 1; 0.01 is the default"),
        ({"margin": math.nan}, "margin=nan needs to be"),
        ({"margin": 1}, "margin=1 needs to be"),
        ({"margin": "small"}, "margin=small needs to be"),
        ({"test_to_train": -1}, "test_to_train=-1 is no ratio; give test rows over training rows"),
        ({"test_to_train": math.inf}, "test_to_train=inf is no ratio"),
        ({"looks": [0]}, r"looks=\[0\] needs a list of whole numbers from 1 up, such as"),
        ({"looks": [5, 7.5]}, r"looks=\[5, 7.5\] needs a list"),
        ({"looks": 5}, "looks=5 needs a list"),
    ],
)
def test_an_option_out_of_range_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        compare(METRICS, metric="accuracy", reference="base", **options)


def test_rows_of_predictions_may_stand_in_any_order_and_those_of_tables_among_each_other() -> None:
    frame = pd.concat([PREDICTIONS.assign(dataset=name) for name in ("b", "a")])
    text = frame.assign(label=frame["label"].astype(str), prediction=frame["prediction"].astype(str))

    for metric, its in (("accuracy", frame), ("mae", frame), ("mae", text)):
        found = compare(its.sample(frac=1, random_state=1), metric=metric, reference="base")
        pd.testing.assert_frame_equal(
            found.levels.sort_values(["dataset", "competitor"], ignore_index=True),
            compare(frame, metric=metric, reference="base").levels.sort_values(
                ["dataset", "competitor"], ignore_index=True
            ),
        )
        assert found.levels.loc[found.levels["dataset"] == "a", "trials"].tolist() == [3, 3]


@pytest.mark.slow
def test_the_door_and_the_statistics_import_no_torch() -> None:
    code = (
        "import sys, scarf_lightning, scarf_lightning.verdicts; scarf_lightning.compare; "
        "print([name for name in ('torch', 'pytorch_lightning', 'hydra', 'sklearn') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
    assert scarf_lightning.compare.__module__ == compare.__module__ == "scarf_lightning.verdicts.compare"


def over_labels(tables: int = 1, trials: int = 10, noise: float = 0.002) -> pd.DataFrame:
    """Accuracies that rise by a tenth with each doubling of the labels, of which one competitor needs half."""
    random = np.random.default_rng(2)
    rows = []
    for table in range(tables):
        for trial in range(trials):
            for labels in (20, 40, 80):
                for name, factor in (("base", 1.0), ("better", 2.0)):
                    value = 0.3 + 0.1 * np.log2(labels * factor / 20) + noise * random.normal()
                    rows.append((f"t{table}", trial, name, labels, value))
    return pd.DataFrame(rows, columns=["dataset", "trial", "competitor", "n_labels", "accuracy"])


def test_over_labels_a_competitor_is_compared_at_each_number_and_labels_interact() -> None:
    frame = over_labels()

    found = compare(frame, metric="accuracy", reference="base", labels="n_labels")

    assert found.frame["context"].tolist() == ["20 labels", "40 labels", "80 labels", "", ""]
    assert found.frame["what"].tolist() == ["better"] * 3 + ["better × 40 labels", "better × 80 labels"]
    alone = compare(frame[frame["n_labels"] == 40], metric="accuracy", reference="base")
    assert found.effects[1].verdict.difference == alone.effects[0].verdict.difference
    assert found.worth_frame.empty, "trials of one table show no worth"
    assert found.sentences[0].startswith("Better on t0, beside base: helps with 20 labels, +")
    assert found.levels["labels"].nunique() == 3


def test_over_tables_each_gain_is_also_worth_a_number_of_labels() -> None:
    """The curve, measured to 80 labels, is continued by its last step."""
    found = compare(over_labels(6), metric="accuracy", reference="base", labels="n_labels")

    assert found.worth_frame["worth"].tolist() == pytest.approx([2, 2, 2], rel=0.05)
    assert found.worth_frame["curve"].tolist() == ["measured", "measured", "continued"]
    assert found.sentences[-1].startswith("Better is worth ")
    assert found.sentences[-1].endswith(" at 80.")


def test_each_of_two_to_five_tables_has_an_answer_at_each_number_of_labels() -> None:
    found = compare(over_labels(2), metric="accuracy", reference="base", labels="n_labels")

    assert found.frame["context"].tolist()[0] == "on t0 with 20 labels"
    assert set(found.frame["claim"]) == {"this table"}
    assert len(found.frame) == 2 * (3 + 2)


def test_over_labels_answers_are_corrected_together() -> None:
    found = compare(over_labels(), metric="accuracy", reference="base", labels="n_labels")

    # Holm's steps of three.
    needed = [each.needed.direction for each in found.effects if each.kind == "competitor"]
    assert sorted(needed) == pytest.approx([0.05 / 3, 0.025, 0.05])


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({}, {"labels": "labels"}, "The frame lacks the column labels, which labels names."),
        ({"n_labels": 0}, {"labels": "n_labels"}, "The column n_labels holds 0; a number of labels is above zero."),
        ({"n_labels": [1, 0] + [20] * 58}, {"labels": "n_labels"}, "The column n_labels holds 0; a number"),
        ({"n_labels": [20, 0, -5] + [20] * 57}, {"labels": "n_labels"}, "The column n_labels holds 0; a number"),
        ({"n_labels": pd.array([20, None] + [20] * 58, "Int64")}, {"labels": "n_labels"}, "holds <NA>; a number of"),
        ({"n_labels": "all"}, {"labels": "n_labels"}, "The column n_labels holds all; a number of labels is above"),
        ({"n_labels": np.inf}, {"labels": "n_labels"}, "The column n_labels holds inf; a number of labels is above"),
    ],
)
def test_a_frame_without_numbers_of_labels_is_refused(
    changes: dict[str, object], options: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        compare(over_labels().assign(**changes), metric="accuracy", reference="base", **options)  # type: ignore[arg-type]


BASE = {"a": "a0", "b": "b0", "c": "c0"}


def of_settings(*settings: dict[str, str], trials: int = 10) -> pd.DataFrame:
    """Accuracies of settings, each five points worse than the one before it."""
    random = np.random.default_rng(3)
    rows = []
    for trial in range(trials):
        for place, setting in enumerate(settings):
            value = 0.9 - 0.05 * place + random.normal(0, 0.002)
            rows.append({"dataset": "t", "trial": trial, "accuracy": value} | BASE | setting)
    return pd.DataFrame(rows)


def test_factors_of_a_star_are_changes_of_one_thing_at_a_time() -> None:
    found = compare(of_settings({}, {"a": "a1"}, {"b": "b1"}), metric="accuracy", factors=["a", "b", "c"])

    assert found.frame["what"].tolist() == ["a=a1", "b=b1"]
    assert set(found.frame["against"]) == {"a=a0, b=b0"}
    assert found.sentences[0].startswith("Base: a=a0, b=b0, accuracy ")


def test_factors_of_unlike_settings_are_compared_with_the_first_or_the_one_that_is_named() -> None:
    frame = of_settings({}, {"a": "a1"}, {"b": "b1", "c": "c1"})

    first, named = (
        compare(frame, metric="accuracy", factors=["a", "b", "c"], reference=name) for name in (None, "a1, b0, c0")
    )

    assert first.frame["what"].tolist() == ["a1, b0, c0", "a0, b1, c1"]
    assert named.frame["against"].unique().tolist() == ["a1, b0, c0"]
    assert named.frame["what"].tolist() == ["a0, b0, c0", "a0, b1, c1"]
