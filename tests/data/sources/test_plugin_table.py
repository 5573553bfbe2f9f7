"""A source of rows in a plugin: chosen like a dataset, read like a file, known by its rows."""

import re
import sqlite3
from pathlib import Path

import pandas as pd
import pytest

from scarf_lightning import load, plan, run
from scarf_lightning.data.sources import FileSource, LastTable, open_source
from scarf_lightning.errors import UsageError
from scarf_lightning.options.plugins import load_plugins
from scarf_lightning.sweeping.composer import composing
from scarf_lightning.trying import check_module
from tests.documentation import QUICK, ROOT, blocks_of

SHOP = """
import sqlite3
from dataclasses import dataclass
from typing import ClassVar

import pandas as pd

from scarf_lightning.data.sources import OwnTable
from scarf_lightning.options import option


@dataclass
class Customers(OwnTable):
    name: ClassVar[str] = "customers"
    since: int = option(0, "first year", "[0, 3000]")

    def read(self):
        with sqlite3.connect("shop.db") as shop:
            return pd.read_sql("SELECT * FROM customers WHERE year >= ?", shop, params=[self.since])

    def files(self):
        return [FILES]
"""
ROWS = pd.DataFrame(
    {
        "year": [2000 + row % 20 for row in range(60)],
        "plan": ["basic", "plus", "plus"] * 20,
        "spent": [row * 7 % 31 / 10 for row in range(60)],
        "bought": ["yes" if row * 7 % 31 > 14 else "no" for row in range(60)],
    }
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder with a database and the class that reads it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.py").write_text(SHOP.replace("FILES", '"shop.db"'), encoding="utf-8")
    keep(ROWS)
    return tmp_path


def keep(rows: pd.DataFrame) -> None:
    with sqlite3.connect("shop.db") as shop:
        rows.to_sql("customers", shop, index=False, if_exists="replace")


def opened(**options: object) -> FileSource:
    load_plugins(["shop"])
    source = open_source("customers", name=None, openml_cache=None, target="bought", options=options)
    assert isinstance(source, FileSource)
    return source


def test_its_rows_are_the_table_that_a_file_with_them_is(folder: Path) -> None:
    ROWS.to_csv("rows.csv", index=False)
    of_file = FileSource(Path("rows.csv"), "bought").load()

    table = opened().load()

    assert table.hash == of_file.hash
    assert [read.kind for read in table.reading] == [read.kind for read in of_file.reading]
    assert (table.name, table.source) == ("customers", "customers")
    assert opened(since=2010).load().n_rows == 30


@pytest.mark.slow
def test_a_command_trains_on_it_once_and_again_only_if_its_rows_change(folder: Path) -> None:
    asked = ["plugins=[shop]", "dataset=customers", "dataset.target=bought", "dataset.since=2005", *QUICK]
    run(asked, "workers=1")
    assert plan(asked)["missing"].sum() == 0
    assert set(load("results")["dataset"]) == {"customers"}

    keep(ROWS.assign(spent=ROWS["spent"] + 1))

    assert plan(asked)["missing"].sum() == 2


@pytest.mark.parametrize("files", ['"shop.db"', ""])
def test_other_rows_are_read_where_files_or_rows_have_changed(files: str, folder: Path) -> None:
    """Without files a process reads once; another process sees the new rows by another stamp."""
    (folder / "shop.py").write_text(SHOP.replace("FILES", files), encoding="utf-8")
    last, source = LastTable(), opened()
    before = last.load(source)
    assert last.load(source).table is before.table
    assert (source.load() is source.load()) == (not files)
    keep(ROWS.iloc[:40])

    again = last.load(source)

    assert again.table.n_rows == (40 if files else 60)
    assert (again.stamps != before.stamps) == bool(files)
    assert source.files() == ((Path("shop.db"),) if files else ())


def test_a_version_of_the_class_or_another_option_has_a_note_of_its_own(folder: Path) -> None:
    keys = {opened().key, opened(since=2010).key}
    assert len(keys) == 2
    assert all(re.fullmatch(r"own-customers-[0-9a-f]{12}", key) for key in keys)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "refusal"),
    [
        ("dataset.sinc=2005", r"dataset\.sinc is not an option\. Did you mean since\? "),
        ("dataset.since=5000", r"dataset\.since must be at most 3000, not 5000\."),
        (
            "dataset.path=shop.db",
            r"dataset\.path is not an option of dataset\.source=customers\. Its options are: name, ",
        ),
        ("dataset.target=age", r"dataset\.target names 'age', which is not a column of customers"),
        ("split=files", r"split=files does not go with dataset\.source=customers, which has no files of its own"),
    ],
)
def test_an_option_that_it_does_not_take_is_refused_before_training(option: str, refusal: str, folder: Path) -> None:
    asked = ["plugins=[shop]", "dataset=customers", "dataset.target=bought", option, "plan=true"]
    with pytest.raises(UsageError, match=refusal):
        plan(asked)


@pytest.mark.parametrize("name", ["csv", "wdbc", "cc18-adult"])
def test_the_name_of_a_dataset_of_the_package_is_refused(name: str, folder: Path) -> None:
    # A module of its own for each: the refused class outlives its test.
    module = f"shop_{name.replace('-', '_')}"
    (folder / f"{module}.py").write_text(
        SHOP.replace("FILES", "").replace('"customers"', f'"{name}"'), encoding="utf-8"
    )
    refusal = rf"^{module}\.Customers has the name {name}, which is a dataset of the package; give it another name\."
    with pytest.raises(UsageError, match=refusal):
        plan([f"plugins=[{module}]", f"dataset={name}", "dataset.target=bought"])


def test_the_refusal_of_another_source_names_it(folder: Path) -> None:
    with pytest.raises(
        UsageError, match=r"customer is not a source\. Did you mean customers\? The sources are: csv, customers, diab"
    ):
        plan(["plugins=[shop]", "dataset=csv", "dataset.source=customer", "dataset.target=bought"])


@pytest.mark.parametrize(
    ("line", "refusal"),
    [
        ("return 3", r"shop\.Customers\.read returns a int; it has to return a frame"),
        ("raise OSError('the line is dead')", r"shop\.Customers\.read fails, OSError: the line is dead; it has to"),
        ("return pd.DataFrame({'bought': []})", r"shop\.Customers\.read returns no row"),
    ],
)
def test_rows_that_are_no_table_are_refused_in_a_sentence(line: str, refusal: str, folder: Path) -> None:
    source = SHOP.replace("FILES", "").replace("        with sqlite3", f"        {line}\n        with sqlite3")
    (folder / "shop.py").write_text(source, encoding="utf-8")
    with pytest.raises(UsageError, match=refusal):
        opened().read()


@pytest.mark.slow
def test_methods_that_need_unlabelled_rows_may_find_them(folder: Path) -> None:
    with composing(["plugins=[shop]"]) as composer:
        config = composer(("plugins=[shop]", "dataset=customers", "dataset.target=bought", "method=self_train"))
    assert config.recipe == "practical"
    assert config.dataset.options == {"since": 0}


@pytest.mark.slow
def test_the_page_of_parts_has_one_that_is_taken_and_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = list(blocks_of(ROOT / "docs" / "plugins.md"))
    [code] = [block.code for block in blocks if block.code.startswith("# wine.py")]
    (tmp_path / "wine.py").write_text(code, encoding="utf-8")
    [verdict] = check_module("wine")
    assert str(verdict).startswith("dataset=wine: taken;")
    [words] = [
        words for block in blocks if block.language == "console" for words in block.commands if "dataset=wine" in words
    ]

    run(words[2:], *QUICK, "workers=1")

    trials = load("results")
    assert set(trials["dataset"]) == {"wine"}
    assert len(trials) == 2
