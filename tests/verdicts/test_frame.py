"""Long frames of metrics and of predictions as cells, and what is refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.metrics import metric_named
from scarf_lightning.verdicts import Cell
from scarf_lightning.verdicts.compare import cells_of

Change = Callable[[pd.DataFrame], pd.DataFrame]


def read(frame: pd.DataFrame, metric: str = "accuracy", **options: Any) -> list[Cell]:
    return cells_of(frame, metric_named(metric), **options)


def means(cells: list[Cell]) -> dict[tuple[str, str], float]:
    return {(cell.table, cell.name): pytest.approx(cell.trials.mean, abs=1e-6) for cell in cells}


def test_metrics_are_the_values_of_trials(metrics: pd.DataFrame) -> None:
    empty = metrics.assign(accuracy=metrics["accuracy"].where(metrics["trial"] > 0))

    base, *others = read(empty)

    assert (base.table, base.name, [cell.name for cell in others]) == ("t0", "base", ["better", "same"])
    its = metrics[metrics["competitor"] == "base"].set_index("trial")["accuracy"]
    assert base.trials.values == its[1:].to_dict()
    assert base.trials.rows == {}


def test_predictions_are_rows_by_their_number_in_whatever_order_they_stand(predictions: pd.DataFrame) -> None:
    frame = pd.concat([predictions.assign(dataset=name) for name in "ba"])
    text = frame.assign(label=frame["label"].astype(str), prediction=frame["prediction"].astype(str))
    right = (predictions["label"] == predictions["prediction"]).groupby(predictions["competitor"]).mean()

    for its in (frame, text):
        cells = read(its.sample(frac=1, random_state=1))
        assert means(cells) == {(table, name): right[name] for table in "ab" for name in ("base", "better")}
        for rows in cells[0].trials.rows.values():
            assert (np.diff(rows.rows) > 0).all()
    assert means(read(text, "mae")) == means(read(frame, "mae"))


def test_numbers_of_labels_are_contexts(metrics: pd.DataFrame) -> None:
    frame = pd.concat([metrics.assign(n=n) for n in (1000, 20)])

    cells = read(frame, labels="n")

    assert [(cell.labels, cell.context) for cell in cells[::3]] == [(20, "20 labels"), (1000, "1,000 labels")]


def test_factors_stand_in_place_of_a_competitor(metrics: pd.DataFrame) -> None:
    rates = metrics["competitor"].map({"base": 1.0, "better": 0.5, "same": np.nan})

    cells = read(metrics.assign(kind="a", rate=rates).drop(columns="competitor"), factors=["kind", "rate"])

    assert {cell.name: cell.options for cell in cells} == {
        "a, 1": {"kind": "a", "rate": "1"}, "a, 0.5": {"kind": "a", "rate": "0.5"}, "a, not used": {"kind": "a"},
    }  # fmt: skip


def to(**columns: Any) -> Change:
    return lambda frame: frame.assign(**columns)


def drop(*columns: str) -> Change:
    return lambda frame: frame.drop(columns=list(columns))


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (drop("trial"), {}, "lacks the column trial; it needs dataset, trial, competitor"),
        (drop("accuracy"), {}, "lacks the column row; it needs .* accuracy for each trial or row, label"),
        (to(dataset=None), {}, "rows without a value of dataset"),
        (lambda frame: pd.concat([frame, frame.head(1)]), {}, "competitor base in trial 0 of t0 has a row twice"),
        (to(accuracy=np.inf), {}, "accuracy needs numbers between 0 and 1, and .* in trial 0 of t0 has inf"),
        (to(accuracy="high"), {}, "accuracy needs numbers between 0 and 1, and .* has high"),
        (to(accuracy=80.0), {}, "accuracy needs numbers between 0 and 1, and .* in trial 0 of t0 has 80.0; divide"),
        (to(log_loss=-0.4), {"metric": "log_loss"}, "log_loss needs numbers between 0 and inf, and .* has -0.4; "),
        (to(), {"labels": "n"}, "lacks the column n"),
        (to(n=[20, 0] * 18), {"labels": "n"}, "n needs numbers between 1 and inf, and .* has 0"),
        (to(n=pd.array([20, None] * 18, "Int64")), {"labels": "n"}, "rows without a value of .*n"),
        (to(n="all"), {"labels": "n"}, "n needs numbers between 1 and inf, and .* has all"),
        (to(), {"factors": ["competitor"]}, "factors needs two columns or more"),
        (to(), {"factors": ["competitor", "rate"]}, "lacks the column rate"),
    ],
)  # fmt: skip
def test_a_frame_of_metrics_that_cannot_be_read_gets_one_sentence(
    change: Change, options: dict[str, Any], message: str, metrics: pd.DataFrame
) -> None:
    with pytest.raises(UsageError, match=message):
        read(change(metrics), **options)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (drop("row"), "lacks the column row"),
        (lambda frame: pd.concat([frame, frame.head(1)]), "has a row twice"),
        (lambda its: its.rename(columns={"probability_0": "probability_2"}), "The label 0 has no column probability_0"),
        (to(probability_1="low"), "probability_1 needs numbers between 0 and 1, and .* has low"),
        (to(probability_1=None), "rows without a value of .* probability_1"),
        (to(probability_1=80.0), "probability_1 needs numbers between 0 and 1, and .* has 80"),
        (to(probability_0=-1.0), "probability_0 needs numbers between 0 and 1, and .* has -1"),
        (to(probability_0=0.25, probability_1=0.25), "Probabilities of competitor base in .* do not sum to 1"),
        (lambda frame: frame.assign(label=frame["label"].where(frame["competitor"] == "base", 1 - frame["label"])),
         "^Row t [0-9]* has two labels; the column row needs the number of the row in the table"),
    ],
)  # fmt: skip
def test_probabilities_that_cannot_be_read_get_one_sentence(
    change: Change, message: str, probabilities: pd.DataFrame
) -> None:
    with pytest.raises(UsageError, match=message):
        read(change(probabilities), "log_loss")


def test_predictions_of_other_classes_than_the_labels_are_refused(predictions: pd.DataFrame) -> None:
    with pytest.raises(UsageError, match="The column prediction holds no class of the column label"):
        read(predictions.assign(prediction="no"))
    # A class that only predictions have is a wrong one.
    third = predictions["prediction"].where(predictions["prediction"] == 1, 2)
    assert all(0.1 < cell.trials.mean < 0.7 for cell in read(predictions.assign(prediction=third)))
