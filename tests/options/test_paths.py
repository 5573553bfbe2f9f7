"""Paths that a user names."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import scarf_lightning
from scarf_lightning.data.sources import open_source
from scarf_lightning.errors import UsageError
from scarf_lightning.options.settings import PathSettings, expanded
from scarf_lightning.results import load_cell
from scarf_lightning.sweeping.folders import read_sweep


def test_the_home_of_a_user_is_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert expanded("~/runs") == Path("/home/me/runs")
    assert PathSettings(results="~/runs").results == "/home/me/runs"
    assert expanded("a/~b") == Path("a/~b")


NOBODY = "~nosuchuser/x"
ASKED: dict[str, Callable[[], Any]] = {
    "paths.results": lambda: PathSettings(results=NOBODY),
    "load": lambda: scarf_lightning.load(NOBODY),
    "load_cell": lambda: load_cell("abc", NOBODY),
    "load_model": lambda: scarf_lightning.load_model(NOBODY),
    "report results=": lambda: scarf_lightning.report(results=NOBODY),
    "sweeps=": lambda: read_sweep(NOBODY),
    "dataset.path": lambda: open_source("csv", name=None, openml_cache=None, path=NOBODY, target="y"),
    "paths.openml": lambda: open_source("openml", name=None, openml_cache=NOBODY, id=3),
}


@pytest.mark.parametrize("asked", ASKED)
def test_a_user_who_does_not_exist_is_named_in_one_sentence(asked: str) -> None:
    with pytest.raises(UsageError, match=r"^~nosuchuser/x: this machine knows no home of its user; write"):
        ASKED[asked]()
