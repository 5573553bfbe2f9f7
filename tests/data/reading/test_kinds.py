"""The kinds of columns that nobody has described."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.data.columns import Coded
from scarf_lightning.data.reading.frames import plain_column
from scarf_lightning.data.reading.kinds import Read, ReadingOptions, read_column
from scarf_lightning.errors import UsageError

N = 60
WORDS = ["one", "two", "three", "four", "five", "six", "seven"]


def read(values: Any, name: str = "c", **options: Any) -> Read:
    return read_column(plain_column(pd.Series(values, name=name)), ReadingOptions(**options))


KINDS: dict[str, tuple[list[Any], str, int]] = {
    "whole numbers": ([i % 40 for i in range(N)], "numbers", 1),
    "fractions": ([i / 8 for i in range(N)], "numbers", 1),
    "gaps": ([None, 1.5, 2.5] * 20, "numbers", 1),
    "question marks": (["?", "1.5", "2.5"] * 20, "numbers", 1),
    "words for gaps": (["n/a", "1", "20"] * 20, "numbers", 1),
    "percent": (["12 %", "7 %", "9.5 %"] * 20, "numbers", 1),
    "dollars": (["$1,200", "$3.50", "$7"] * 20, "numbers", 1),
    "decimal commas": (["1,5", "0,126", "7"] * 20, "numbers", 1),
    "ISO dates": ([f"2024-01-{1 + i % 28:02}" for i in range(N)], "dates", 2),
    "German dates": ([f"{1 + i % 28:02}.{1 + i % 3:02}.2024" for i in range(N)], "dates", 3),
    "times": (list(pd.date_range("2024-01-01", periods=N, freq="31h")), "dates", 4),
    "yes and no": (["yes", "no"] * 30, "categories", 1),
    "truth": ([True, False] * 30, "categories", 1),
    "truth with gaps": ([True, False, None] * 20, "categories", 1),
    "colours": (["red", "blue", None] * 20, "categories", 1),
    "codes": (["007", "010", "7"] * 20, "categories", 1),
    "one value": (["x"] * N, "constant", 0),
    "one value and gaps": (["x", None] * 30, "constant", 1),
    "nothing": ([None] * N, "empty", 0),
    "row numbers": (list(range(1, N + 1)), "id", 0),
    "names of rows": ([f"k{i}" for i in range(N)], "id or text", 0),
    "many strings": ([f"lane {WORDS[i % 7]} {i % 4}" for i in range(N)], "strings", 16),
    "texts": ([f"it was {WORDS[i % 7]} of {WORDS[i % 5]} things and {i}" for i in range(N)], "text", 32),
}


@pytest.mark.parametrize(("values", "kind", "n_features"), KINDS.values(), ids=KINDS)
def test_a_column_has_its_kind(values: list[Any], kind: str, n_features: int) -> None:
    found = read(values)
    assert (found.reading.kind, found.reading.n_features) == (kind, n_features)


@pytest.mark.parametrize(
    ("values", "n_others", "example"),
    [
        (["120", "<120", "90"] * 20, 20, "'<120'"),
        (["120 m2", "90 m2", "85 m2"] * 20, 60, "'120 m2'"),
        (["5k", "5000", "1.2M"] * 20, 40, "'5k'"),
        (["14:30", "15:00", "16:10"] * 20, 60, "'14:30'"),
        (["150", "many", "20"] * 20, 20, "'many'"),
        (["007", "136A", "008"] * 20, 20, "'136A'"),
    ],
)
def test_a_column_that_is_partly_numbers_is_a_category_and_said(values: list[str], n_others: int, example: str) -> None:
    found = read(values)
    assert found.reading.kind == "categories"
    assert found.notes == [
        f"{n_others} of its 60 values are no numbers, such as {example}, so it is read as text; clean them, and "
        "dataset.numeric=[c] reads it as numbers"
    ]


def test_names_with_numbers_in_them_need_no_note() -> None:
    assert read(["road 1", "road 2", "lane 3"] * 20).notes == []
    assert read([f"{place} of these long streets is here" for place in range(N)]).notes == []


@pytest.mark.parametrize(
    ("name", "values", "is_id"),
    [
        ("n", [3 * i for i in range(N)], False),
        ("customer_id", [7919 * i % 9973 for i in range(N)], True),
        ("paid", [7919 * i % 9973 for i in range(N)], False),
        ("id", [i / 7 for i in range(N)], False),
        ("id", list(range(29)), False),
    ],
)
def test_ids_are_whole_numbers_that_count_rows_or_are_called_so(name: str, values: list[float], is_id: bool) -> None:
    assert (read(values, name).reading.kind == "id") is is_id


def test_categories_are_stripped_and_have_one_form_of_every_letter() -> None:
    (found,) = read(["e\u0301", "\u00e9 ", "a"] * 20).features.values()
    assert isinstance(found, Coded)
    assert found.distinct == ["\u00e9", "a"]


def test_many_strings_share_numbers_with_those_that_share_letters() -> None:
    values = np.array([*read([f"Main Street {i % 30}" for i in range(N)]).features.values()])
    others = np.array([*read([f"{i % 30} quick fox" for i in range(N)]).features.values()])
    assert (values[:, 0] == values[:, 1]).mean() > (values[:, 0] == others[:, 0]).mean()
    assert np.abs(values).max() <= 1


def test_options_overrule_what_values_show() -> None:
    assert read(list(range(N)), numeric=["c"]).reading.kind == "numbers"
    assert read([1, 2, 3] * 20, categorical=["c"]).reading.kind == "categories"
    assert read(["007", "7"] * 30, numeric=["c"]).reading.kind == "numbers"
    assert read([True, None] * 30, numeric=["c"]).reading.kind == "numbers"
    assert read(["a b", "c"] * 30, text=["c"]).reading.kind == "text"


@pytest.mark.parametrize("values", [[[1, 2], [3]] * 30, [{"a": 1}] * N, [b"1"] * N, [1j] * N, ["a\0"] * N])
def test_what_is_neither_a_number_nor_a_category_is_refused_by_its_column(values: list[Any]) -> None:
    with pytest.raises(UsageError, match="olumn 'c' holds"):
        read(values)
