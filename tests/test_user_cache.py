"""Files in the user's cache folder are whole, or they are as if they were not there."""

import os
from pathlib import Path

import pytest

from scarf_lightning.user_cache import cache_file, read_cached, write_cached


def test_what_was_written_is_read_and_nothing_else_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    file = cache_file("of", "mine.json")
    assert file == tmp_path / "scarf-lightning" / "of" / "mine.json"
    for content in ({"a": 0.5}, ["b"]):
        write_cached(file, content)
        assert read_cached(file) == content
    assert list(file.parent.iterdir()) == [file]


def test_a_file_that_cannot_be_replaced_leaves_nothing_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.mkdir()
    write_cached(file, 1)
    assert list(tmp_path.iterdir()) == [file]


def test_a_pipe_and_a_damaged_file_are_as_good_as_none(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "torn").write_text("[1", encoding="utf-8")
    (tmp_path / "deep").write_text("[" * 100_000, encoding="utf-8")
    assert [read_cached(tmp_path / name) for name in ("pipe", "torn", "deep", "none")] == [None] * 4
