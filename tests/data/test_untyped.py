import numpy as np
import pandas as pd
import pytest

from scarf_lightning.data.reading import ReadingOptions
from scarf_lightning.data.table import Table
from scarf_lightning.data.untyped import leaks, read_table
from scarf_lightning.errors import UsageError

N = 600
RANDOM = np.random.default_rng(0)
LABELS = RANDOM.integers(3, size=N)


def found(columns: dict[str, object], labels: np.ndarray = LABELS, categorical: tuple[str, ...] = ()) -> list[str]:
    frame = pd.DataFrame(columns)
    target = pd.Series(labels, name="y").astype(object).where(labels >= 0)
    flags = [name in categorical for name in frame.columns]
    table = Table.from_frame(frame, target, categorical=flags, name="t", source="test:t")
    said = leaks(table, dict.fromkeys(columns, 1))
    return [str(sentence).split("'")[1] for sentence in said]


def test_every_column_of_a_frame_is_read_with_a_note_on_what_is_left_out() -> None:
    columns = {
        "when": pd.date_range("2024-01-30", periods=60),
        "size": ["1.5", "?", None, "2"] * 15,
        "key": [f"k{i}" for i in range(60)],
        "row_id": range(1, 60 + 1),
        "same": [3] * 60,
    }
    target = pd.Series(["a", "b"] * 30, name="y")

    table = read_table(pd.DataFrame(columns), target, ReadingOptions(), name="t", source="test:t")

    assert [reading.column for reading in table.reading] == list(columns)
    assert [reading.kind for reading in table.reading] == ["dates", "numbers", "id or text", "id", "constant"]
    assert [reading.missing for reading in table.reading] == [0, 30, 0, 0, 0]
    assert [reading.distinct for reading in table.reading] == [60, 3, 60, 60, 1]
    assert [column.name for column in table.columns] == ["when (days)", "when (month)", "when (weekday)", "size"]
    assert table.reader.names == ["when", "size"]
    assert [str(note) for note in table.notes] == [
        "Column 'size': 15 of its values are not numbers ('?') and are read as missing.",
        "Column 'key' has a different value in every row and is left out; dataset.text=[key] reads it as text.",
        "Column 'row_id' has a different value in every row and is left out.",
    ]


def test_a_table_without_a_value_is_refused_by_its_first_thirty_columns() -> None:
    frame = pd.DataFrame({f"c{i:02}": [None] * 60 for i in range(31)})
    target = pd.Series(["a", "b"] * 30, name="y")
    with pytest.raises(
        UsageError, match=r"^test:t has no column with a value in it to learn from: 'c00' is "
    ) as refused:
        read_table(frame, target, ReadingOptions(), name="t", source="test:t")
    assert "'c29'" in str(refused.value)
    assert "'c30'" not in str(refused.value)
    assert "keeps that column" not in str(refused.value)


@pytest.mark.parametrize(
    ("values", "option"), [([f"k{i}" for i in range(60)], "dataset.text=[key]"), (range(60), "dataset.numeric=[key]")]
)
def test_a_table_of_ids_alone_is_refused_with_the_option_that_keeps_one(values: object, option: str) -> None:
    frame = pd.DataFrame({"same": [3] * 60, "key": values})
    target = pd.Series(["a", "b"] * 30, name="y")
    said = (
        f"test:t has no column with a value in it to learn from: 'same' is left out: one value alone; 'key' is left "
        f"out: an ID (every row has another value); {option} keeps that column."
    )
    with pytest.raises(UsageError) as refused:
        read_table(frame, target, ReadingOptions(), name="t", source="test:t")
    assert str(refused.value) == said


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


def test_a_column_that_misses_a_rare_class_does_not_give_the_target_away() -> None:
    """Every class counts alike, so two of three are a balanced accuracy of 2/3."""
    labels = np.resize([0, 1], 3000)
    labels[::100] = 2
    assert found({"all": labels, "but one": np.where(labels == 2, 0, labels)}, labels) == ["all"]


def test_rows_without_a_label_are_not_looked_at_and_the_majority_class_is_no_prediction() -> None:
    labels = np.where(np.arange(N) < 450, -1, LABELS)
    assert found({"leak": np.where(labels < 0, 7.0, labels)}, labels) == ["leak"]
    few = np.where(np.arange(N) < 550, -1, LABELS)
    assert found({"leak": few.astype(float)}, few) == [], "too few rows to tell"
    rare = np.where(RANDOM.random(N) < 0.99, 0, 1)
    assert found({"noise": RANDOM.normal(size=N)}, rare) == []


def test_a_column_that_was_read_as_several_gives_the_target_away_by_any_of_them() -> None:
    """As a date does whose month is the target; its days, the first of them, are noise."""
    columns = {"days": RANDOM.normal(size=N), "month": 2.0 * LABELS, "noise": RANDOM.normal(size=N)}
    target = pd.Series(LABELS, name="y").astype(object)
    table = Table.from_frame(pd.DataFrame(columns), target, categorical=[False] * 3, name="t", source="test:t")

    (said,) = leaks(table, {"when": 2, "noise": 1})

    assert str(said).startswith("Column 'when' predicts the target almost alone (balanced accuracy 1.000 ")


@pytest.mark.parametrize("seed", range(4))
def test_a_column_that_is_filled_for_one_class_alone_is_named_with_few_labels_and_noise(seed: int) -> None:
    """As the day on which a client signed on, which 97 % of those who did have, and nobody else."""
    random = np.random.default_rng(seed)
    n = 3000
    labels = np.where(random.random(n) < 0.1, "yes", "no")
    known = np.zeros(n, bool)
    known[random.choice(n, 300, replace=False)] = True
    columns = {
        "age": random.integers(18, 80, n),
        "balance": random.normal(size=n).round(2),
        "signed on": np.where((labels == "yes") & (random.random(n) < 0.97), "2014-01-05", None),
        "answered": np.where((labels == "yes") & (random.random(n) < 0.9), np.nan, random.normal(size=n)),
        "often": np.where(random.random(n) < np.where(labels == "yes", 0.9, 0.05), random.normal(size=n), np.nan),
        "rarely": np.where((labels == "yes") & (random.random(n) < 0.2), 1.5, np.nan),
    }
    target = pd.Series(np.where(known, labels, None), name="subscribed")

    table = read_table(pd.DataFrame(columns), target, ReadingOptions(), name="t", source="test:t")

    said = [str(note) for note in table.notes if "if it is known only once the target is" in str(note)]
    assert {note.split("'")[1] for note in said} == {"signed on", "answered"}
    (of_answered,) = [note for note in said if "answered" in note]
    is_yes = (labels == "yes") & known
    n_empty = (is_yes & np.isnan(columns["answered"])).sum()
    counts = (
        f"is empty in rows of one class only: {n_empty} of {is_yes.sum()} with yes, 0 of {300 - is_yes.sum()} others"
    )
    assert counts in of_answered or "almost alone" in of_answered


def test_names_that_differ_by_case_or_spaces_are_named_with_their_rows() -> None:
    columns = {"size": np.arange(60.0) % 7, "colour": ["red", "Red", "blue", "r ed"] * 15}
    target = pd.Series(["Yes", "yes", "NO"] * 20, name="y")

    table = read_table(pd.DataFrame(columns), target, ReadingOptions(), name="t", source="test:t")

    assert [str(note) for note in table.notes] == [
        "Target: the classes 'Yes' (20) and 'yes' (20) differ by case or spaces alone; "
        "write them alike if they are one.",
        "Column 'colour': the categories 'Red' (15) and 'r ed' (15) and 'red' (15) differ by case or spaces alone; "
        "write them alike if they are one.",
    ]
