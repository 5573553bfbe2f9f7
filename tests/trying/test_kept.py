"""Notes on modules that were tried already, in the user's cache folder."""

from pathlib import Path

import pytest

from scarf_lightning.trying.kept import keep_notes, kept_notes


@pytest.fixture(autouse=True)
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "scarf-lightning" / "parts"


def test_notes_are_kept_by_the_source_of_their_module(cache_folder: Path) -> None:
    assert kept_notes("mine") is None
    keep_notes("mine", ["slow"])
    keep_notes("mine", ["slow", "large"])
    assert (kept_notes("mine"), kept_notes("other")) == (["slow", "large"], None)
    assert len(list(cache_folder.iterdir())) == 1


def test_notes_that_cannot_take_their_name_leave_no_other_file(cache_folder: Path) -> None:
    keep_notes("mine", ["slow"])
    (file,) = cache_folder.iterdir()
    file.unlink()
    file.mkdir()
    keep_notes("mine", ["slow"])
    assert list(cache_folder.iterdir()) == [file]
    assert kept_notes("mine") is None
