"""The door to the evaluator: effects of frames of metrics and of predictions, and over tables."""

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest

import scarf_lightning
from scarf_lightning.errors import UsageError
from scarf_lightning.verdicts import after_looks, compare, median_gain
from tests.verdicts.worlds import verdict_of


def test_metrics_are_judged_by_the_resampled_test_and_answered_together(metrics: pd.DataFrame) -> None:
    wide = metrics.pivot_table(index="trial", columns="competitor", values="accuracy")

    found = compare(metrics, metric="accuracy", reference="base")

    assert found.frame["what"].tolist() == ["better", "same"]
    alone = after_looks(verdict_of((wide["better"] - wide["base"]).to_numpy()), [])
    its = found.effects[0].verdict
    assert (its.interval, its.levels, its.answer) == (alone.interval, alone.levels, alone.answer)
    assert found.frame["answer"].tolist() == ["helps", "undecided"]
    assert found.sentences[0].startswith("On t0, beside base: better helps, +")
    assert compare(metrics, metric="accuracy").frame.equals(found.frame), "the first one is the reference"


def test_predictions_are_judged_by_rows_and_fits(predictions: pd.DataFrame) -> None:
    right = predictions.assign(right=(predictions["label"] == predictions["prediction"]).astype(float))
    values, rows = [], []
    for _, trial in right.groupby("trial"):
        wide = trial.pivot_table(index="row", columns="competitor", values="right")
        values.append((wide["better"] - wide["base"]).to_numpy())
        rows.append(wide.index.to_numpy())

    found = compare(predictions, metric="accuracy", reference="base")

    expected = verdict_of(values, rows, [[1.0, -1.0]])
    verdict = found.effects[0].verdict
    assert (verdict.low, verdict.high) == pytest.approx((expected.low, expected.high))
    assert (verdict.basis, verdict.answer) == ("rows and fits", "helps")
    level = found.levels.set_index("competitor").loc["base"]
    assert level["low"] < 0.7 < level["high"]


def test_probabilities_give_metrics_that_need_them_and_numbers_are_relative(
    predictions: pd.DataFrame, probabilities: pd.DataFrame
) -> None:
    numbers = predictions.astype({"prediction": float, "label": float})

    for metric in ("auroc", "log_loss"):
        assert compare(probabilities, metric=metric, reference="base").frame["answer"].tolist() == ["helps"]
    (effect,) = compare(numbers, metric="mae", reference="base").effects
    errors = predictions.assign(error=(predictions["label"] != predictions["prediction"]) * 1.0)
    means = errors.groupby(["competitor", "trial"])["error"].mean().groupby("competitor").mean()
    assert effect.verdict.difference == pytest.approx(1 - means["better"] / means["base"])


def test_published_means_are_compared_over_tables() -> None:
    """One value a table, as a paper prints it."""
    random = np.random.default_rng(0)
    gains = 0.05 + random.normal(0, 0.005, 12)
    rows = [(f"t{n}", 0, name, 0.8 + gain * own) for n, gain in enumerate(gains) for name, own in (("a", 0), ("b", 1))]
    means = pd.DataFrame(rows, columns=["dataset", "trial", "competitor", "accuracy"])

    found = compare(means, metric="accuracy", reference="a")

    assert tuple(found.effects[0].verdict.interval) == pytest.approx(tuple(median_gain(gains)))
    assert found.frame.loc[0, "claim"] == "tables like these"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"margin": -1}, "margin=-1 needs to be a number of 0 or more"),
        ({"margin": math.nan}, "margin=nan needs to be"),
        ({"n_trained": "many"}, "n_trained=many needs to be"),
        ({"reference": "bse"}, r"reference=bse is no competitor .* an axis. Did you mean 'base'\?"),
    ],
)
def test_an_option_out_of_range_is_refused(options: dict[str, Any], message: str, metrics: pd.DataFrame) -> None:
    with pytest.raises(UsageError, match=message):
        compare(metrics, metric="accuracy", **{"reference": "base"} | options)


def test_a_competitor_alone_is_compared_with_nothing(metrics: pd.DataFrame) -> None:
    alone = metrics[metrics["competitor"] == "base"]

    with pytest.raises(UsageError, match="No competitor shares a table and a trial"):
        compare(alone, metric="accuracy", reference="base")
    for frame in (alone.assign(accuracy=None), alone[:0]):
        with pytest.raises(UsageError, match="The frame has no value of accuracy"):
            compare(frame, metric="accuracy", reference="base")
    with pytest.raises(UsageError, match="The frame lacks the column dataset"):
        compare(np.ones((3, 3)), metric="accuracy")  # type: ignore[arg-type]


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
    assert found.sentences[0].startswith("On t0 with 20 labels, beside base: better helps, +")
    assert found.levels["labels"].nunique() == 3


def test_over_tables_each_gain_is_also_worth_a_number_of_labels() -> None:
    """The curve, measured to 80 labels, is continued by its last step."""
    found = compare(over_labels(6), metric="accuracy", reference="base", labels="n_labels")

    assert found.worth_frame["worth"].tolist() == pytest.approx([2, 2, 2], rel=0.05)
    assert found.sentences[-1].startswith("Better with 80 labels is worth ")


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
