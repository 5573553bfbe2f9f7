import pandas as pd
import pytest

from scarf_lightning.data.reading import ReadingOptions
from scarf_lightning.data.untyped import read_table
from scarf_lightning.errors import UsageError


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
    assert [reading.distinct for reading in table.reading] == [60, 2, 60, 60, 1]
    assert [column.name for column in table.columns] == ["when (days)", "when (month)", "when (weekday)", "size"]
    assert table.reader.names == ["when", "size"]
    assert [str(note) for note in table.notes] == [
        "Column 'key': it has a different value in every row and is left out; dataset.text=[key] reads it as text.",
        "Column 'row_id': it has a different value in every row and is left out; dataset.numeric=[row_id] reads it as "
        "numbers.",
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
    assert "reads it" not in str(refused.value)


@pytest.mark.parametrize(
    ("values", "option"),
    [
        ([f"k{i}" for i in range(60)], "dataset.text=[key] reads it as text"),
        (range(60), "dataset.numeric=[key] reads it as numbers"),
    ],
)
def test_a_table_of_ids_alone_is_refused_with_the_option_that_keeps_one(values: object, option: str) -> None:
    frame = pd.DataFrame({"same": [3] * 60, "key": values})
    target = pd.Series(["a", "b"] * 30, name="y")
    said = (
        f"test:t has no column with a value in it to learn from: 'same' is left out: one value alone; 'key' is left "
        f"out: an ID (every row has another value); {option}."
    )
    with pytest.raises(UsageError) as refused:
        read_table(frame, target, ReadingOptions(), name="t", source="test:t")
    assert str(refused.value) == said
