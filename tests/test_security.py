"""SECURITY.md: every promise names the tests that hold it, and these exist."""

import re
from collections.abc import Iterator

import pytest

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
