"""SECURITY.md: every promise names the tests that hold it, and these exist."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import scarf_lightning
from tests.documentation import ROOT

PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(tests/[\w/]+\.py)`|`(test_\w+)`")


def named_tests() -> Iterator[tuple[str, str]]:
    """The tests on the page, each after the file that was named last; a file without any stands for all of its own."""
    file = ""
    for match in NAMED.finditer(PAGE):
        if match[1]:
            file = match[1]
        yield file, match[2] or "test_"


def promises() -> list[str]:
    """The rows of the table of what is trusted, and the items of what the code guarantees."""
    rows = re.findall(r"^\|.*\| (?:yes|no|partly) \|.*\|.*\|$", PAGE.partition("| | trusted?")[2], re.MULTILINE)
    items = re.findall(r"^- (?:.|\n(?=  ))*", PAGE.partition("## What the code guarantees")[2], re.MULTILINE)
    return rows + items


@pytest.mark.parametrize(("file", "name"), sorted(set(named_tests())))
def test_a_test_that_is_named_exists(file: str, name: str) -> None:
    assert f"def {name}" in (ROOT / file).read_text(encoding="utf-8")


def test_every_promise_names_a_test() -> None:
    assert len(promises()) > 10
    assert [promise for promise in promises() if "`test_" not in promise and "`tests/" not in promise] == []


PACKAGE = Path(scarf_lightning.__file__).parent
READERS = {
    "read_text", "read_bytes", "loads", "open", "read_parquet", "read_json", "ParquetFile", "read_schema", "read_csv",
    "read_excel", "read_feather", "read_table", "dataset",
}  # fmt: skip
"""Functions and methods of libraries that read a file, or the text of one."""
LOADERS = {"json", "yaml", "OmegaConf", "torch", "np", "pickle", "joblib"}
"""Those whose ``load`` reads a file."""
READ_BY_THEM = {
    "cli/commands.py": {"read_text"},  # conf/ of the package
    "cli/process.py": {"open"},  # the null device
    "data/reading/frames.py": {"read_csv", "read_excel", "read_json", "read_table"},  # the user's own file
    "options/checking.py": {"loads"},  # a text that it has just made of values
    "machine.py": {"read_text"},  # the system
    "options/plugins.py": {"read_bytes", "read_text"},  # modules that the user names
    "reporting/making.py": {"read_text"},  # figures that it has just written, and the package's own files
    "reporting/style.py": {"read_bytes"},  # such a figure
    "results/claims.py": {"read_text"},  # the system
    "results/notes.py": {"open"},  # to write
    "results/loading.py": {"read_parquet"},
    "results/records.py": {"loads", "open"},  # to read regular files, and to sync
    "sweeping/compose.py": {"load"},  # conf/, and folders of --config-dir, which are code
    "sweeping/folders.py": {"load"},  # conf/, and the text of a sweep file, by OmegaConf's safe loader
}
"""Modules that call them: those below `results`, and those of sweep files, on bytes that `results.records.read_bytes`
has read within limits."""


def called_readers(file: Path) -> set[str]:
    """The readers that a module calls as methods or by their modules; functions of its own package have plain names."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            is_loader = node.func.attr == "load" and ast.unparse(node.func.value) in LOADERS
            if is_loader or node.func.attr in READERS:
                found.add(node.func.attr)
    return found


def test_files_of_strangers_are_read_by_the_one_reader_within_limits() -> None:
    others = {}
    for file in PACKAGE.rglob("*.py"):
        name = file.relative_to(PACKAGE).as_posix()
        others[name] = called_readers(file) - READ_BY_THEM.get(name, set())

    assert {name: readers for name, readers in others.items() if readers} == {}
