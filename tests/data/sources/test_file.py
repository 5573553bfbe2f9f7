"""Tables of a user's own, in files: their columns, options, splits and identity."""

import os
import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.cli.running import load_training
from scarf_lightning.cli.show import Terminal
from scarf_lightning.data.sources import FileSource, open_source
from scarf_lightning.data.table import Table
from scarf_lightning.errors import UsageError
from scarf_lightning.sweeping.expand import ExpandedSweep
from scarf_lightning.sweeping.launchers import launch_by
from scarf_lightning.sweeping.run import run
from tests.composing import cells_of

N = 400
PARTS = [*["train"] * 80, *["val"] * 10, *["test"] * 30]
CODES = [*[0.0] * 80, *[1.0] * 10, *[2.0] * 30]


def frame(n: int = N) -> pd.DataFrame:
    """A table as users have them: ids, dates, prices as text, and labels of which some are missing."""
    random = np.random.default_rng(3)
    dates = pd.Timestamp("2023-01-01") + pd.to_timedelta(random.integers(700, size=n), unit="D")
    return pd.DataFrame(
        {
            "customer": np.arange(n) + 5000,
            "reference": [f"R-{i * 7919 % 9973}" for i in range(n)],
            "since": dates.strftime("%Y-%m-%d"),
            "price": [f"${value:,.2f}" for value in random.uniform(0, 9000, n)],
            "weight": ["?" if i % 50 == 7 else f"{value:.4f}" for i, value in enumerate(random.normal(size=n))],
            "zip": [f"{value:05d}" for value in random.integers(1, 30, n)],
            "colour": random.choice(["red", "red ", "blue"], n),
            "member": random.random(n) < 0.4,
            "same": 1,
            "nothing": np.nan,
            "level": random.choice(["low", "high", None], n),
        }
    )


def in_csv(table: pd.DataFrame, path: Path, **options: Any) -> Path:
    table.to_csv(path, index=False, **options)
    return path


def loaded(path: Path, target: str = "level", **options: Any) -> Table:
    return FileSource(path, target, **options).load()


def refusal(path: Path, target: str = "level", **options: Any) -> str:
    """The one sentence that a file is refused with."""
    with pytest.raises(UsageError) as caught:
        FileSource(path, target, **options).load()
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    return sentence


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    return loaded(in_csv(frame(), tmp_path_factory.mktemp("plain") / "t.csv"))


def test_every_column_is_read_and_said(table: Table) -> None:
    assert {reading.column: reading.kind for reading in table.reading} == {
        "customer": "id", "reference": "id", "since": "dates", "price": "numbers", "weight": "numbers",
        "zip": "categories", "colour": "categories", "member": "categories", "same": "constant", "nothing": "empty",
    }  # fmt: skip
    names = ["since (days)", "since (month)", "since (weekday)", "price", "weight", "zip", "colour", "member"]
    assert [column.name for column in table.columns] == names
    assert table.values[:, 3].tolist() == [float(text[1:].replace(",", "")) for text in frame()["price"]]
    assert table.n_unlabelled == frame()["level"].isna().sum()
    assert table.columns[-2].categories == ("blue", "red")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("t.csv", {"sep": ";", "decimal": ","}),
        ("t.tsv.gz", {"sep": "\t"}),
        ("t.parquet", {}),
        ("t.feather", {}),
        ("t.jsonl", {"lines": True}),
        ("t.json", {}),
    ],
)
def test_it_is_the_same_table_in_every_format(tmp_path: Path, table: Table, name: str, options: dict[str, Any]) -> None:
    path = tmp_path / name
    if path.suffix in (".json", ".jsonl"):
        frame().to_json(path, orient="records", **options)
    elif path.suffix in (".parquet", ".feather"):
        getattr(frame(), f"to_{path.suffix[1:]}")(path)
    else:
        in_csv(frame(), path, **options)
    assert loaded(path).hash == table.hash


def test_files_of_one_pattern_are_one_table(tmp_path: Path, table: Table) -> None:
    for place in range(4):
        in_csv(frame()[100 * place : 100 * place + 100], tmp_path / f"part{place}.csv")
    source = FileSource(tmp_path / "part*.csv", "level")
    assert source.load().hash == table.hash
    assert len(source.files()) == 4


def test_options_say_otherwise(tmp_path: Path) -> None:
    path = in_csv(frame(), tmp_path / "t.csv")
    read = loaded(path, drop=("since",), numeric=("customer", "zip"), categorical=("price",), text=("reference",))
    assert {reading.column: (reading.kind, reading.done) for reading in read.reading} | {
        "customer": ("numbers", "as they are"),
        "zip": ("numbers", "as they are"),
        "price": ("categories", "one-hot encoded"),
        "reference": ("text", "32 numbers that are hashes of their letters"),
    } == {reading.column: (reading.kind, reading.done) for reading in read.reading}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"target": ""}, "dataset.target= names no column of"),
        ({"drop": ("prise",)}, "dataset.drop=prise names no column of"),
        ({"numeric": ("weight", "colour")}, "Column 'colour' is read as numbers, and holds 'blue'"),
    ],
)
def test_options_that_do_not_fit_are_refused(tmp_path: Path, options: dict[str, Any], sentence: str) -> None:
    given = {"target": "level"} | options
    assert sentence in refusal(in_csv(frame(), tmp_path / "t.csv"), **given)


def test_columns_that_are_dropped_are_not_read(tmp_path: Path) -> None:
    """A list is no value of a feature."""
    whole = frame()[["price", "level"]].assign(odd=[[1, 2]] * N)
    whole.to_parquet(tmp_path / "t.parquet")
    assert [column.name for column in loaded(tmp_path / "t.parquet", drop=("odd",)).columns] == ["price"]
    assert "Column 'odd' holds " in refusal(tmp_path / "t.parquet")


def test_what_has_no_name_or_no_value_is_left_out(tmp_path: Path, table: Table) -> None:
    path = tmp_path / "t.csv"
    frame().to_csv(path)
    path.write_text(path.read_text() + "," * 11 + "\n")
    read = loaded(path)
    assert read.hash == table.hash
    assert loaded(path, numeric=("Unnamed: 0",)).columns[0].name == "Unnamed: 0"


def test_files_of_one_pattern_have_the_same_columns_but_those_that_are_dropped(tmp_path: Path) -> None:
    whole = frame(60)[["since", "price", "colour", "level"]]
    in_csv(whole, tmp_path / "t0.csv")
    less = in_csv(whole.drop(columns="price"), tmp_path / "t1.csv")
    pattern = tmp_path / "t?.csv"
    assert loaded(pattern, drop=("price",)).n_rows == 120
    assert f"{less} has no column 'price', which {pattern} has; both need the same columns" in refusal(pattern)


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        (("no", "yes", "no "), ("no", "yes")),
        (("a", "b", ""), ("a", "b")),
        (("007", "7"), ("007", "7")),
        (("9007199254740993", "9007199254740992", ""), ("9007199254740992", "9007199254740993")),
    ],
)
def test_classes_are_kept_apart(tmp_path: Path, values: tuple[str, ...], classes: tuple[str, ...]) -> None:
    rows = [f"{i / 8},{values[i % len(values)]}" for i in range(60)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["x,y", *rows]))
    assert loaded(path, "y").target.names == classes


WHOLE = frame(120)[["since", "price"]].assign(level=["a", "b"] * 60, who=[f"w{i % 7}" for i in range(120)], part=PARTS)


@pytest.mark.parametrize(
    ("kind", "column", "values"),
    [
        ("group", "who", [float(i % 7) for i in range(120)]),
        ("column", "part", CODES),
        ("time", "since", [*((pd.to_datetime(WHOLE["since"]) - pd.Timestamp(0)) / pd.Timedelta(seconds=1))]),
    ],
)
def test_the_column_that_a_split_goes_by_is_no_feature(
    tmp_path: Path, kind: str, column: str, values: list[float]
) -> None:
    read = loaded(in_csv(WHOLE, tmp_path / "t.csv"), split=(kind, column))
    assert not [each.name for each in read.columns if each.name.startswith(column)]
    assert read.split_by.tolist() == values


def test_the_key_is_that_of_the_path_the_target_and_the_kinds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given: dict[str, Any] = {"path": Path("t.csv"), "target": "level"}
    others: list[dict[str, Any]] = [
        {"path": Path("u.csv")}, {"path": Path("t.csv.gz")}, {"path": tmp_path / "folder" / "t.csv"},
        {"target": "flag"}, {"categorical": ("count",)}, {"numeric": ("count",)}, {"weight": "count"},
        {"split": ("group", "count")},
    ]  # fmt: skip
    key = FileSource(**given).key
    keys = {FileSource(**given | other).key for other in others}
    assert len({key} | keys) == len(others) + 1
    assert re.fullmatch(r"csv-[0-9a-f]{12}", key)
    assert FileSource(tmp_path / "folder" / ".." / "t.csv", "level", dataset_name="another").key == key
    for file, label in (("iris.csv", "iris"), ("a/my.data.v2.TSV.gz", "my.data.v2"), ("x.parquet", "x")):
        assert FileSource(Path(file), "level").label == label


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "json", "parquet", "feather", "xlsx"])
def test_a_pipe_is_refused_and_never_waited_for(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"t.{ending}"
    os.mkfifo(path)
    for read in (FileSource(path, "y").check, FileSource(path, "y").load):
        with pytest.raises(UsageError, match=f"^there is no file {path}; set dataset.path to"):
            read()


class TestConfiguration:
    def test_every_option_reaches_the_field_of_its_name(self) -> None:
        given: dict[str, Any] = {each: (each,) for each in ("categorical", "numeric", "drop", "text")}
        given |= {each: each for each in ("separator", "decimal", "encoding", "weight")}
        given |= {"target_kind": "number", "path": "t.csv", "target": "y"}
        split = {"name": "time", "column": "day"}
        source = open_source("csv", name="mine", openml_cache=None, split=split, **given)
        assert vars(source) == given | {"path": Path("t.csv"), "dataset_name": "mine", "split": ("time", "day")}

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            ("dataset.path=gone.csv dataset.target=level", "^there is no file gone.csv; set dataset.path to"),
            ("dataset.path=. dataset.target=level", "is a folder; set dataset.path to"),
            ("dataset.path=none*.csv dataset.target=level", r"^there is no file none\*.csv; set dataset.path to"),
            ("dataset.path=t.csv dataset.target=leve", "^dataset.target=leve names no column of t.csv. Did you mean "),
        ],
    )
    def test_what_is_wrong_with_a_file_is_said_before_the_first_cell_trains(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, said: str
    ) -> None:
        monkeypatch.chdir(tmp_path)
        in_csv(frame(), tmp_path / "t.csv")

        class NoLauncher:
            def launch(self, *args: Any, **kwargs: Any) -> Any:
                raise AssertionError("a cell was trained")

        cells = cells_of("dataset=csv", *arguments.split())
        with pytest.raises(UsageError, match=said):
            run(ExpandedSweep(cells), load_training, Terminal(), partial(launch_by, NoLauncher()))  # type: ignore[arg-type]
        assert list(tmp_path.iterdir()) == [tmp_path / "t.csv"]
