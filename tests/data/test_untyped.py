import numpy as np
import pandas as pd

from scarf_lightning.data.table import Table
from scarf_lightning.data.untyped import leaks

N = 600
RANDOM = np.random.default_rng(0)
LABELS = RANDOM.integers(3, size=N)


def found(columns: dict[str, object], labels: np.ndarray = LABELS, categorical: tuple[str, ...] = ()) -> list[str]:
    frame = pd.DataFrame(columns)
    target = pd.Series(labels, name="y").astype(object).where(labels >= 0)
    flags = [name in categorical for name in frame.columns]
    table = Table.from_frame(frame, target, categorical=flags, name="t", source="test:t")
    said = leaks(table, list(columns), [[m] for m in range(len(columns))])
    return [str(sentence).split("'")[1] for sentence in said]


def test_columns_that_give_the_target_away_are_named_and_good_ones_are_not() -> None:
    noise = RANDOM.normal(size=N)
    columns = {
        "good": LABELS + 0.5 * noise,
        "noise": noise,
        "coded": np.array(["q", "z", "m"])[LABELS],
        "shifted": 10.0 - 3 * LABELS + 0.01 * noise,
        "rows": np.arange(N),
        "gaps": np.where(RANDOM.random(N) < 0.5, np.nan, LABELS),
    }
    assert found(columns, categorical=("coded",)) == ["coded", "shifted"]


def test_the_majority_class_is_no_prediction() -> None:
    labels = np.where(RANDOM.random(N) < 0.99, 0, 1)
    assert found({"noise": RANDOM.normal(size=N)}, labels) == []


def test_rows_without_a_label_are_not_looked_at() -> None:
    labels = np.where(np.arange(N) < 450, -1, LABELS)
    assert found({"leak": np.where(labels < 0, 7.0, labels)}, labels) == ["leak"]
    few = np.where(np.arange(N) < 550, -1, LABELS)
    assert found({"leak": few.astype(float)}, few) == [], "too few rows to tell"
