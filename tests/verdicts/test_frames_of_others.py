"""Frames of other libraries, in their documented formats, beside the same numbers in ours."""

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.metrics import Metric, metric_named
from scarf_lightning.verdicts import compare
from scarf_lightning.verdicts.frame_columns import known_columns

ACCURACY = metric_named("accuracy")
TRIALS = 10
NOISE = np.random.default_rng(0).normal(0, 0.003, (2, TRIALS))
VALUES = {"forest": 0.9 + NOISE[0], "tree": 0.8 + NOISE[1]}


def ours(metric: str, dataset: str, values: dict[str, np.ndarray]) -> pd.DataFrame:
    rows = [(dataset, t, name, value) for name, its in values.items() for t, value in enumerate(its.tolist())]
    return pd.DataFrame(rows, columns=["dataset", "trial", "competitor", metric])


def test_bencheval_has_a_row_a_method_task_and_seed_with_an_error() -> None:
    """Its README: ``method, task, seed, metric_error``, lower is better."""
    rows = [
        {"method": name, "task": "t1", "seed": seed, "metric_error": 1 - value, "time_train_s": 1.0}
        for name, its in VALUES.items()
        for seed, value in enumerate(its.tolist())
    ]

    found = compare(pd.DataFrame(rows), metric="accuracy", reference="tree").frame

    expected = compare(ours("accuracy", "t1", VALUES), metric="accuracy", reference="tree").frame
    pd.testing.assert_frame_equal(found, expected)
    # A loss is its own error.
    losses = pd.DataFrame(rows).assign(metric_error=lambda frame: 1 - frame["metric_error"])
    loss = compare(losses, metric="log_loss", reference="tree").frame
    pd.testing.assert_frame_equal(
        loss, compare(ours("log_loss", "t1", VALUES), metric="log_loss", reference="tree").frame
    )


def test_a_benchmark_with_a_metric_for_each_kind_of_task_is_asked_about_one() -> None:
    rows = [
        {"method": name, "task": task, "fold": fold, "metric": metric, "metric_error": 1 - value}
        for task, metric in (("a", "roc_auc"), ("b", "rmse"))
        for name, its in VALUES.items()
        for fold, value in enumerate(its.tolist())
    ]
    frame = pd.DataFrame(rows)

    assert compare(frame, metric="auroc", reference="tree").frame["datasets"].tolist() == [1]
    with pytest.raises(UsageError, match="No task of this frame has the metric accuracy; name one"):
        compare(frame, metric="accuracy", reference="tree")


def test_a_summary_of_skore_has_a_row_an_estimator_split_and_metric() -> None:
    """``report.metrics.summarize().summary``: ``name, estimator, data_source, label, split, score``."""
    rows = []
    for estimator, its in VALUES.items():
        for split, value in enumerate(its.tolist()):
            shared = {"estimator": estimator, "split": split, "average": None, "output": None}
            rows.append(shared | {"name": "accuracy", "data_source": "test", "label": None, "score": value})
            rows.append(shared | {"name": "accuracy", "data_source": "train", "label": None, "score": 1.0})
            rows += [
                shared | {"name": "precision", "data_source": "test", "label": label, "score": 0.5} for label in (0, 1)
            ]
    frame = pd.DataFrame(rows)

    found = compare(frame, metric="accuracy", reference="tree").frame

    expected = compare(ours("accuracy", "the table", VALUES), metric="accuracy", reference="tree").frame
    pd.testing.assert_frame_equal(found, expected)
    with pytest.raises(UsageError, match=r"no value of auroc over all classes\. Its metrics are: accuracy, precision"):
        compare(frame, metric="auroc", reference="tree")


def known(rows: list[dict[str, object]], metric: Metric = ACCURACY) -> list[dict[str, object]]:
    """The rows of a frame in our columns."""
    return known_columns(pd.DataFrame(rows), metric).to_dict("records")


def test_frames_of_others_may_lack_a_number_of_the_trial_a_source_and_a_class() -> None:
    """A row of skore without a source is of the test rows."""
    bencheval = {"method": "forest", "task": "wine", "metric_error": 0.25}
    skore = {"estimator": "forest", "name": "accuracy", "score": 0.75}
    forest = {"trial": 0, "competitor": "forest", "accuracy": 0.75}

    assert known([bencheval]) == [{"dataset": "wine"} | forest]
    assert known([bencheval | {"fold": 3}]) == [{"dataset": "wine"} | forest | {"trial": 3}]
    assert known([skore]) == [{"dataset": "the table"} | forest]
    of_test = skore | {"split": 2, "data_source": None, "label": None}
    others = [of_test | {"data_source": "train", "score": 1.0}, of_test | {"label": "a", "score": 0.1}]
    assert known([of_test, *others]) == [{"dataset": "the table"} | forest | {"trial": 2}]


@pytest.mark.parametrize(
    ("row", "metric", "message"),
    [
        ({"method": "a", "task": "b", "metric_error": "n/a"}, "accuracy", "metric_error needs numbers, and holds n/a"),
        ({"estimator": "a", "name": "accuracy", "score": "n/a"}, "accuracy", "score needs numbers, and holds n/a"),
        (
            {"method": "a", "task": "b", "metric_error": 20},
            "accuracy",
            "^metric_error lies between 0 and 1, and .* a has 20",
        ),
        (
            {"method": "a", "task": "b", "metric_error": -1},
            "rmse",
            "^metric_error is 0 or more, and .* a has -1 in trial 0",
        ),
        ({"method": "a", "task": "b", "metric_error": 0.5}, "likelihood", "metric_error of likelihood is not known"),
    ],
)
def test_a_frame_of_others_without_the_metric_is_refused(row: dict[str, object], metric: str, message: str) -> None:
    likelihood = Metric("likelihood", "log-likelihood", True, (-np.inf, np.inf), lambda _, __: 0.0)

    with pytest.raises(UsageError, match=message):
        known([row], likelihood if metric == "likelihood" else metric_named(metric))


def two_by_two(effect: float = 0.1) -> pd.DataFrame:
    noise = np.random.default_rng(1).normal(0, 0.002, (4, TRIALS))
    rows = []
    for place, (a, b) in enumerate((a, b) for a in ("a0", "a1") for b in ("b0", "b1")):
        rows += [("t", t, a, b, 0.7 + effect * (a == "a1") + noise[place, t]) for t in range(TRIALS)]
    return pd.DataFrame(rows, columns=["dataset", "trial", "first", "second", "accuracy"])


def test_factors_have_their_effects_and_interactions() -> None:
    found = compare(two_by_two(), metric="accuracy", factors=["first", "second"])

    frame = found.effects_frame
    assert frame["effect"].tolist() == ["first", "second", "first × second"]
    assert frame["answer"].tolist()[:2] == ["helps", "no practical difference"]
    assert frame["difference"].tolist() == pytest.approx([0.1, 0.0, 0.0], abs=0.005)
    assert str(found).splitlines()[0].startswith("first: a1 beside a0: helps; +")
    assert found.reference == "a0, b0"


def test_a_product_with_a_hole_is_refused() -> None:
    frame = two_by_two()
    is_hole = (frame["first"] == "a1") & (frame["second"] == "b1")

    with pytest.raises(UsageError, match="factors needs all 4 combinations on a table, and this frame has 3 of them"):
        compare(frame[~is_hole], metric="accuracy", factors=["first", "second"])
    with pytest.raises(UsageError, match="lacks the column third"):
        compare(frame, metric="accuracy", factors=["first", "third"])
    for factors in (["first"], ["first", "first"], "first"):
        with pytest.raises(UsageError, match="factors needs two columns or more, each once"):
            compare(frame, metric="accuracy", factors=factors)
    with pytest.raises(UsageError, match="column second has rows without a value, and is a factor; fill or drop"):
        compare(frame.assign(second=frame["second"].where(~is_hole)), metric="accuracy", factors=["first", "second"])


def test_settings_without_a_common_trial_are_refused() -> None:
    frame = two_by_two()
    frame["trial"] += TRIALS * (frame["second"] == "b1")

    with pytest.raises(UsageError, match="a1 and a0 of first have no trial in common over all settings; run every"):
        compare(frame, metric="accuracy", factors=["first", "second"])


def test_values_of_factors_may_be_numbers() -> None:
    frame = two_by_two()
    numbers = frame.assign(first=frame["first"].map({"a0": 0.5, "a1": 2.0}), second=frame["second"] == "b1")

    found = compare(numbers, metric="accuracy", factors=["first", "second"], reference="0.5, False")

    assert found.effects_frame["value"].tolist() == ["2.0", "True", "2.0 × True"]
    expected = compare(frame, metric="accuracy", factors=["first", "second"]).effects_frame
    assert found.effects_frame["difference"].tolist() == expected["difference"].tolist()
