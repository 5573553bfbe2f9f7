"""The columns that carry a model, on tables of which it is known which ones do."""

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.data.reading import ReadingOptions
from scarf_lightning.data.table import Table
from scarf_lightning.data.untyped import read_table
from scarf_lightning.estimators.carrying import ModelTrial, carriers
from scarf_lightning.metrics import metric_named

N = 400
SIGNAL = np.random.default_rng(0).normal(size=(N, 3))
IS_CHURNED = SIGNAL.sum(axis=1) > 0.5
KNOWN_LATE = np.where(IS_CHURNED, "2024-05-01", None)
TESTED = np.arange(0, N, 4)


def table_of(target: np.ndarray, **columns: np.ndarray) -> Table:
    frame = pd.DataFrame({"a": SIGNAL[:, 0], "b": SIGNAL[:, 1], "c": SIGNAL[:, 2], **columns})
    return read_table(frame, pd.Series(target, name="y"), ReadingOptions(), name="t", source="t")


def perfect(table: Table) -> ModelTrial:
    """A model that is right on every test row."""
    labels = table.labels[TESTED]
    is_classes = table.target.n_classes_among(labels) is not None
    return ModelTrial(TESTED, table.target.soft(labels) if is_classes else labels)


@pytest.mark.parametrize("name", ["accuracy", "balanced_accuracy", "auroc", "log_loss"])
def test_a_column_that_is_known_late_carries_a_model_of_classes(name: str) -> None:
    table = table_of(np.where(IS_CHURNED, "yes", "no"), left=KNOWN_LATE, age=np.arange(N) % 61)

    (found,) = carriers(table, [perfect(table)], metric_named(name), 0.01)

    assert found.column == "left"
    assert found.share == pytest.approx(1)
    assert found.level == pytest.approx(0 if name == "log_loss" else 1)
    # One answer for all rows, by hand.
    is_test = np.isin(np.arange(N), TESTED)
    share = IS_CHURNED[~is_test].mean()
    true = IS_CHURNED[is_test]
    by_hand = {
        "accuracy": (~true).mean(),
        "balanced_accuracy": 0.5,
        "auroc": 0.5,
        "log_loss": -np.where(true, np.log(share), np.log(1 - share)).mean(),
    }
    assert found.without == pytest.approx(by_hand[name])


def test_none_carries_a_model_that_needs_three_columns() -> None:
    table = table_of(np.where(IS_CHURNED, "yes", "no"))

    assert carriers(table, [perfect(table)], metric_named("accuracy"), 0.01) == []


def test_two_columns_that_tell_the_same_are_both_named() -> None:
    table = table_of(np.where(IS_CHURNED, "yes", "no"), left=KNOWN_LATE, reason=np.where(IS_CHURNED, "moved", "none"))

    found = carriers(table, [perfect(table)], metric_named("accuracy"), 0.01)

    assert {each.column for each in found} == {"left", "reason"}


def test_a_price_in_another_currency_carries_a_model_of_numbers() -> None:
    price = 100 + 10 * SIGNAL.sum(axis=1)
    table = table_of(price, dollars=1.1 * price)

    (found,) = carriers(table, [perfect(table)], metric_named("r2"), 0.01)

    assert found.column == "dollars"
    assert 0.9 < found.share <= 1
    assert found.without == pytest.approx(0, abs=0.05)


def test_a_model_that_is_no_better_than_one_answer_is_carried_by_nothing() -> None:
    table = table_of(np.where(IS_CHURNED, "yes", "no"), left=KNOWN_LATE)
    always_no = ModelTrial(TESTED, np.tile([1.0, 0.0], (len(TESTED), 1)))

    assert carriers(table, [always_no], metric_named("accuracy"), 0.01) == []
