"""Frames that tests of verdicts share."""

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="session")
def metrics() -> pd.DataFrame:
    """Accuracies of three competitors in twelve trials of a table."""
    random = np.random.default_rng(0)
    rows = []
    for trial in range(12):
        easy = random.normal(0.8, 0.02)
        for name, gain in (("base", 0.0), ("better", 0.05), ("same", 0.0)):
            rows.append(("t0", trial, name, easy + gain + random.normal() * 0.005))
    return pd.DataFrame(rows, columns=["dataset", "trial", "competitor", "accuracy"])


@pytest.fixture(scope="session")
def predictions() -> pd.DataFrame:
    """Predicted classes of two competitors, one of which is right on more rows, in an order of their own."""
    random = np.random.default_rng(1)
    labels = random.integers(0, 2, 300)
    hard = {"base": random.random(300) < 0.3, "better": random.random(300) < 0.15}
    rows = []
    for trial in range(10):
        test = random.permutation(300)[:60]
        for name, wrong in hard.items():
            for row in random.permutation(test):
                rows.append(("t", trial, name, row, labels[row], labels[row] ^ wrong[row]))
    return pd.DataFrame(rows, columns=["dataset", "trial", "competitor", "row", "label", "prediction"])


@pytest.fixture(scope="session")
def probabilities(predictions: pd.DataFrame) -> pd.DataFrame:
    """The same with a probability for each class in place of a prediction."""
    sure = np.where(predictions["prediction"] == 1, 0.8, 0.2)
    return predictions.drop(columns="prediction").assign(probability_0=1 - sure, probability_1=sure)
