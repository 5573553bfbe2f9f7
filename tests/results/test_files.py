import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.results.files import (
    check_folder,
    set_aside,
    whole_folder,
    write_whole,
)
from tests.results.sealing import refuse


class Crash(BaseException):
    """Like a KeyboardInterrupt, caught by no `except Exception`."""


class Watch:
    """The calls that bring files to the disk and give them their names, in their order; one of them may crash."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, crash_at: int | None = None) -> None:
        self.events: list[tuple[str, Any]] = []
        self._crash_at = crash_at
        fsync, rename, replace = os.fsync, Path.rename, Path.replace
        monkeypatch.setattr(os, "fsync", lambda number: self._note("sync", os.fstat(number).st_ino) or fsync(number))
        monkeypatch.setattr(Path, "rename", lambda *paths: self._note("name", paths[1]) or rename(*paths))
        monkeypatch.setattr(Path, "replace", lambda *paths: self._note("name", paths[1]) or replace(*paths))

    def _note(self, kind: str, subject: Any) -> None:
        if len(self.events) == self._crash_at:
            raise Crash
        self.events.append((kind, subject))


def store_folder(target: Path) -> None:
    with whole_folder(target) as folder:
        (folder / "a").write_text("first")
        (folder / "b").write_text("second")


def store_file(target: Path) -> None:
    write_whole(target, "first\nsecond\n")


def is_whole(target: Path) -> bool:
    if target.is_dir():
        return {file.name: file.read_text() for file in target.iterdir()} == {"a": "first", "b": "second"}
    return target.read_bytes() == b"first\nsecond\n"


Store = Callable[[Path], None]
of_both = pytest.mark.parametrize("store", [store_folder, store_file])


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """A path whose parents do not exist yet."""
    return tmp_path / "results" / "cell" / "target"


def is_alone(target: Path) -> bool:
    return is_whole(target) and list(target.parent.iterdir()) == [target]


@of_both
def test_everything_reaches_the_disk_before_it_gets_its_name_and_the_name_after(
    store: Store, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = Watch(monkeypatch)

    store(target)

    assert is_alone(target)
    named = watch.events.index(("name", target))
    synced = {inode for kind, inode in watch.events[:named] if kind == "sync"}
    assert synced == {path.stat().st_ino for path in [target, *(target.iterdir() if target.is_dir() else ())]}
    assert watch.events[named + 1 :] == [("sync", target.parent.stat().st_ino)]


def crashes(store: Store, target: Path) -> Iterator[bool]:
    """Crash at each of the calls in turn, and say each time whether there was one left to crash at."""
    for call in range(100):
        with pytest.MonkeyPatch.context() as patch:
            watch = Watch(patch, crash_at=call)
            try:
                store(target)
            except Crash:
                yield True
            else:
                yield False
                assert len(watch.events) == call
                return


@of_both
def test_a_crash_leaves_the_whole_target_or_nothing(store: Store, target: Path) -> None:
    seen = []
    for crashed in crashes(store, target):
        found = list(target.parent.iterdir())
        assert found in ([], [target])
        assert not found or is_whole(target)
        seen.append((crashed, bool(found)))
        if found and target.is_dir():
            for file in target.iterdir():
                file.unlink()
            target.rmdir()
        elif found:
            target.unlink()

    # All but the last crash come before the name, the last one after it, and then nothing is left to crash at.
    assert seen == [(True, False)] * (len(seen) - 2) + [(True, True), (False, True)]
    assert len(seen) >= 4


def test_a_file_is_replaced_whole_and_its_readers_are_not_disturbed(
    target: Path,
) -> None:
    store_file(target)
    with pytest.raises(UnicodeEncodeError):
        write_whole(target, "half of it and then \ud800")
    assert is_alone(target)

    with target.open(encoding="utf-8") as reader:
        write_whole(target, "nëw")
        assert reader.read() == "first\nsecond\n"
    assert target.read_text(encoding="utf-8") == "nëw"
    assert list(target.parent.iterdir()) == [target]


class TestFolder:
    @pytest.mark.parametrize("inside", [".", "sub", "sub/sub"])
    def test_a_file_in_the_place_of_a_folder_is_named(self, tmp_path: Path, inside: str) -> None:
        (tmp_path / "FILE").touch()
        results = tmp_path / "FILE" / inside

        with pytest.raises(UsageError, match=rf"paths\.results={results} cannot be used: .*FILE is not a folder"):
            check_folder(results, writable=False)

    def test_one_that_is_not_there_is_made_when_it_is_to_be_written_to(self, tmp_path: Path) -> None:
        check_folder(tmp_path / "a" / "b", writable=False)
        assert list(tmp_path.iterdir()) == []

        check_folder(tmp_path / "a" / "b", writable=True)
        assert list((tmp_path / "a" / "b").iterdir()) == []

    def test_one_that_cannot_be_written_to_is_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Path, "write_bytes", refuse)

        check_folder(tmp_path, writable=False)
        with pytest.raises(UsageError, match=r"cannot be written to: Permission denied; name another folder, or give"):
            check_folder(tmp_path, writable=True)

    @pytest.mark.parametrize("name", ["failures", "tables", "chunks", "set_aside", "0123456789abcdef"])
    def test_nothing_is_written_through_a_link_within_it(self, tmp_path: Path, name: str) -> None:
        results, docs = tmp_path / "results", tmp_path / "docs"
        for folder in (results, docs):
            folder.mkdir()
        (results / name).symlink_to(docs)
        said = f"{name} is a link, and is not written through; remove it"

        for is_writable in (False, True):
            with pytest.raises(UsageError, match=said):
                check_folder(results, writable=is_writable)
        with pytest.raises(UsageError, match=said):
            write_whole(results / name / "a", "a")
        assert list(docs.iterdir()) == []


def test_records_keep_their_places_and_their_content_and_the_reason_is_beside_them(tmp_path: Path) -> None:
    """What another process set aside meanwhile is passed over."""
    torn, old = tmp_path / "cell" / "stacks" / "one", tmp_path / "cell" / "cell.json"
    torn.mkdir(parents=True)
    (torn / "rows").write_text("half")
    old.write_text("old")

    sentence = set_aside(tmp_path, [torn, old, tmp_path / "cell" / "gone"], "it is torn")

    (place,) = (tmp_path / "set_aside").iterdir()
    assert sentence == f"cell/stacks/one, cell/cell.json, cell/gone is set aside in {place}: it is torn."
    assert (place / "reason.txt").read_text() == "cell/stacks/one, cell/cell.json, cell/gone: it is torn\n"
    assert (place / "cell" / "stacks" / "one" / "rows").read_text() == "half"
    assert (place / "cell" / "cell.json").read_text() == "old"
    assert [path.name for path in (tmp_path / "cell").rglob("*")] == ["stacks"]
