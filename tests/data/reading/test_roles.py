"""Columns that are the target, split rows or weigh them: how they are read, and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scarf_lightning import ScarfRegressor
from scarf_lightning.data.reading.roles import ReadTarget, read_target, split_values
from scarf_lightning.data.sources import FileSource
from scarf_lightning.data.table import Table
from scarf_lightning.data.targets import Number
from scarf_lightning.errors import UsageError


def test_times_keep_their_nanoseconds_and_may_be_of_any_year() -> None:
    times = pd.Series(pd.to_datetime(["1970-01-01 00:00:00.000000001", "1970-01-01 00:00:00.000000002", None]))
    np.testing.assert_allclose(split_values("time", times, "t.csv")[0], [1e-9, 2e-9, np.nan], rtol=1e-9)
    # pandas 2 reads text as nanoseconds alone.
    written = ["1066-10-14", "9999-12-31"] if pd.__version__ >= "3" else ["1678-10-14", "2261-12-31"]
    for years, dtype in ((written, "str"), (["-0044-03-15", "12000-01-01"], "datetime64[s]")):
        column = pd.Series(np.array(years, dtype=dtype))
        expected = np.array(years, dtype="datetime64[s]").astype(np.int64)
        np.testing.assert_array_equal(split_values("time", column, "t.csv")[0], expected)


def test_a_doubt_about_dates_that_split_is_said() -> None:
    _, notes = split_values("time", pd.Series(["03/04/2020", "05/06/2020"], name="d"), "t.csv")
    assert [str(note).partition(",")[0] for note in notes] == ["Column 'd': its dates are read as %m/%d/%Y"]


def test_numbers_that_are_text_are_times_too() -> None:
    values, notes = split_values("time", pd.Series(["1,5", "0,25", None], name="d"), "t.csv")
    np.testing.assert_array_equal(values, [1.5, 0.25, np.nan])
    assert not notes
    with pytest.raises(UsageError, match=r"column 'd' of t.csv, which split=time sorts by, holds neither numbers nor"):
        split_values("time", pd.Series(["soon", "late"], name="d"), "t.csv")


def test_groups_have_one_form_and_those_that_differ_by_case_are_said() -> None:
    values, notes = split_values("group", pd.Series(["p7", "p7 ", "e\u0301", "\u00e9", None], name="g"), "t.csv")
    np.testing.assert_array_equal(values, [0, 0, 1, 1, np.nan])
    assert not notes
    _, notes = split_values("group", pd.Series(["p7", "P7"], name="g"), "t.csv")
    assert [note.startswith("Column 'g': ") for note in notes] == [True]


@pytest.mark.parametrize("dtype", ["object", "category", "str"])
def test_parts_go_by_the_names_that_people_give_them(dtype: str) -> None:
    names = {"train": 0, "validation": 1, "val": 1, "test": 2, " Train": 0, "VAL ": 1, None: np.nan}
    found, _ = split_values("column", pd.Series(list(names), dtype=dtype), "t.csv")
    np.testing.assert_array_equal(found, list(names.values()))
    with pytest.raises(UsageError, match=r"says 'rest' of a row, and split=column knows train, validation and test"):
        split_values("column", pd.Series(["train", "rest"], dtype=dtype), "t.csv")


def read(values: Any, kind: str | None = "number") -> ReadTarget:
    return read_target(pd.Series(values, name="y"), "t.csv", kind, is_raw=True)


def test_text_with_thousands_and_gaps() -> None:
    found = read(["1,200.5", " 3 ", None, None, *map(str, range(20))])
    assert found.target == Number("y")
    np.testing.assert_array_equal(found.labels[:4], [1200.5, 3, np.nan, np.nan])
    assert found.target.is_labelled(found.labels).sum() == 22


@pytest.mark.parametrize(
    ("values", "kind", "said"),
    [
        ([*range(20), np.inf], "number", "from 0 to inf, which cannot be learnt; rescale it"),
        ([1e308, -1e308] * 10, "number", r"from -1e\+308 to 1e\+308"),
        ([*map(str, range(20)), "red"], "number", "holds 'red'; .* dataset.target_kind=classes"),
        ([7.0] * 20, "number", "from 7 to 7, which cannot be learnt"),
        ([1e-200, 2e-200] * 10, "number", "from 1e-200 to 2e-200"),
        ([1.5, *[None] * 30], "number", "1 rows with a label in 'y'; .* at least 10"),
        ([" a ", "a"] * 10, None, "the one class 'a'; two are needed"),
    ],
)
def test_what_cannot_be_learnt_is_refused(values: Any, kind: str | None, said: str) -> None:
    with pytest.raises(UsageError, match=rf"t\.csv.*{said}"):
        read(values, kind)


def cycle(n_distinct: int, n_rows: int, start: float) -> list[float]:
    return np.resize(np.arange(n_distinct) + start, n_rows).tolist()


@pytest.mark.parametrize(
    ("values", "n_classes"),
    [
        pytest.param([1.0, 2.0, 3.0] * 4, 3, id="whole numbers as floats"),
        pytest.param([True, False] * 6, 2, id="Booleans"),
        pytest.param(list(range(12)), 12, id="a whole number a row"),
        pytest.param(cycle(6, 12, 0.5), 6, id="half as many fractions as rows"),
        pytest.param(cycle(7, 12, 0.5), None, id="more than half as many fractions as rows"),
        pytest.param(cycle(20, 600, 0.5), 20, id="20 fractions"),
        pytest.param(cycle(21, 600, 0.5), None, id="21 fractions"),
        pytest.param(cycle(50, 3000, 0), 50, id="50 whole numbers"),
        pytest.param(cycle(51, 3060, 0), None, id="51 whole numbers"),
        pytest.param(cycle(21, 420, 0), 21, id="21 whole numbers 20 times"),
        pytest.param(cycle(21, 399, 0), None, id="21 whole numbers 19 times"),
    ],
)
def test_many_numbers_are_a_number_and_few_are_classes(values: list[float], n_classes: int | None) -> None:
    for column, kind in ((values, None), (list(map(str, values)), None)):
        found = read(column, kind).target
        assert (found == Number("y")) == (n_classes is None)
        assert n_classes is None or found.n_outputs == n_classes
    assert read(values, "classes").target.n_outputs == len(set(values))


def test_a_number_is_noted_to_be_one_unless_it_is_asked_for() -> None:
    (note,) = read(np.arange(60) / 7, None).notes
    assert "'y' has 60 different numbers" in note
    assert "dataset.target_kind=classes" in note
    assert read(np.arange(60) % 3) == ReadTarget(Number("y"), pytest.approx(np.arange(60) % 3))


@pytest.mark.parametrize(("n_classes", "n_rows", "is_said"), [(21, 40, True), (20, 40, False), (20, 20, False)])
def test_more_classes_than_half_of_the_rows_are_noted_as_an_id(n_classes: int, n_rows: int, is_said: bool) -> None:
    found = read([f"id{n % n_classes}" for n in range(n_rows)], None).notes
    assert [f"Target 'y' of t.csv has {n_classes} classes in {n_rows} labelled rows" in note for note in found] == [
        True
    ] * is_said


@pytest.mark.parametrize(
    ("values", "metric"),
    [
        (["yes"] * 7 + ["no"] * 93, "balanced_accuracy"),
        (["yes"] * 10 + ["no"] * 90, "accuracy"),
        ([chr(97 + n % 26) for n in range(260)], "accuracy"),  # 26 equal classes
    ],
)
def test_an_imbalanced_target_leads_with_balanced_accuracy(values: list[str], metric: str) -> None:
    assert read(values, None).target.metric == metric


ROWS = 60


def frame(weight: Any = None) -> pd.DataFrame:
    random = np.random.default_rng(3)
    size = random.normal(size=ROWS)
    table = pd.DataFrame({"size": size, "colour": random.choice(["red", "blue"], ROWS), "y": 10 * size})
    return table if weight is None else table.assign(w=weight)


def loaded(table: pd.DataFrame, folder: Path, **options: Any) -> Table:
    path = folder / "t.csv"
    table.to_csv(path, index=False)
    return FileSource(path, "y", **options).load()


UNEQUAL = np.linspace(0, 2, ROWS)


class TestReading:
    def test_the_column_is_no_feature(self, tmp_path: Path) -> None:
        spelled = [f"{1000 + row},5" for row in range(ROWS)]
        for given, expected in ((UNEQUAL, UNEQUAL), (spelled, np.arange(ROWS) + 1000.5)):
            table = loaded(frame(given), tmp_path, weight="w")
            assert table.weights.tolist() == expected.tolist(), "numbers may be text"
            assert [column.name for column in table.columns] == ["size", "colour"]

    def test_only_unequal_weights_make_other_data(self, tmp_path: Path) -> None:
        plain = loaded(frame(), tmp_path)
        equal = loaded(frame(3.0), tmp_path, weight="w")
        unequal = loaded(frame(UNEQUAL), tmp_path, weight="w")
        assert equal.weights is None
        assert equal.hash == plain.hash != unequal.hash

    def test_rows_without_a_label_may_lack_a_weight(self, tmp_path: Path) -> None:
        given = frame(np.where(np.arange(ROWS) < 30, 1.0, 3.0))
        given.loc[0, ["y", "w"]] = np.nan
        table = loaded(given, tmp_path, weight="w")
        mean = given["w"].mean()
        assert table.weights[[0, 1, -1]].tolist() == pytest.approx([mean, 1, 3])


def test_an_estimator_has_the_weights_as_a_parameter_of_its_own() -> None:
    with pytest.raises(UsageError, match=r"dataset\.weight is a parameter of its own; set sample_weight in fit\."):
        ScarfRegressor(options={"dataset.weight": "w"}).fit(frame()[["size"]], frame()["y"])


def test_the_table_of_a_file_is_that_of_the_estimator_with_the_same_weights(tmp_path: Path) -> None:
    table = frame(UNEQUAL)
    task = ScarfRegressor(pretrain="none")._read(table[["size", "colour"]], table["y"], table["w"])
    assert task.table.hash == loaded(table, tmp_path, weight="w").hash
