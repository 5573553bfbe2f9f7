import json
import socket
from pathlib import Path

import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.results import forget_failure, keep_failure, read_failure


def fail(results: Path, key: str = "abc", error: Exception | None = None) -> None:
    try:
        raise error or FloatingPointError("training diverged")
    except Exception as raised:
        keep_failure(results, key, "seed=1 scaling=none", raised)


def test_nothing_has_failed_at_first(tmp_path: Path) -> None:
    assert read_failure(tmp_path / "results", "abc") is None
    forget_failure(tmp_path / "results", "abc")
    assert list(tmp_path.iterdir()) == []


def test_the_traceback_is_kept_with_the_cell_and_where_it_ran(tmp_path: Path) -> None:
    fail(tmp_path)

    failure = read_failure(tmp_path, "abc")
    assert failure is not None
    assert (failure.cell, failure.host) == ("seed=1 scaling=none", socket.gethostname())
    assert failure.error.startswith("Traceback (most recent call last):\n")
    assert "in fail\n    raise error or" in failure.error
    assert failure.error.endswith("\nFloatingPointError: training diverged")
    assert str(failure) == f"seed=1 scaling=none failed on {socket.gethostname()}:\n{failure.error}"


def test_of_bad_input_the_sentence_is_kept(tmp_path: Path) -> None:
    fail(tmp_path, error=UsageError("there is no file t.csv."))

    assert str(read_failure(tmp_path, "abc")) == "seed=1 scaling=none: there is no file t.csv."


def test_each_cell_has_its_own_and_the_last_one_counts(tmp_path: Path) -> None:
    fail(tmp_path, "abc")
    fail(tmp_path, "def", UsageError("first."))
    fail(tmp_path, "def", UsageError("second."))

    forget_failure(tmp_path, "abc")

    assert read_failure(tmp_path, "abc") is None
    assert str(read_failure(tmp_path, "def")).endswith("second.")
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")] == ["failures/def.json"]
    assert json.loads((tmp_path / "failures" / "def.json").read_text())["error"] == "second."


@pytest.mark.parametrize("text", ["", '{"cell": "a', "[]", '{"cell": "a", "why": "b"}'])
def test_a_note_that_cannot_be_read_is_a_failure_that_says_so(tmp_path: Path, text: str) -> None:
    fail(tmp_path)
    path = tmp_path / "failures" / "abc.json"
    path.write_text(text)

    said = str(read_failure(tmp_path, "abc"))

    assert said.startswith(f"Cell abc: why it failed is not known, {path} cannot be used: ")


def test_a_note_with_a_flipped_bit_is_not_shown(tmp_path: Path) -> None:
    fail(tmp_path, error=UsageError("there is no file t.csv."))
    path = tmp_path / "failures" / "abc.json"
    path.write_text(path.read_text().replace("t.csv", "u.csv"))

    assert str(read_failure(tmp_path, "abc")).endswith("cannot be used: abc.json is damaged.")


def test_a_note_of_before_there_were_hashes_is_shown(tmp_path: Path) -> None:
    (tmp_path / "failures").mkdir()
    note = {"cell": "seed=1", "error": "why.", "host": "here", "time": "now"}
    (tmp_path / "failures" / "abc.json").write_text(json.dumps(note))

    assert str(read_failure(tmp_path, "abc")) == "seed=1: why."
