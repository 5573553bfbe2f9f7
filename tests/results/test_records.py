import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.results.records import (
    SCHEMA_VERSION,
    UNFINISHED,
    DamagedRecordError,
    check_folder,
    fields_of,
    read_file,
    read_record,
    record_folders,
    set_aside,
    whole_folder,
    write_record,
    write_whole,
)
from tests.results.sealing import refuse, reseal

CONTENTS = "contents.json"
MINE = "0123456789abcdef"


@pytest.fixture
def record(tmp_path: Path) -> Path:
    folder = tmp_path / "records" / "one"
    write_record(folder, CONTENTS, MINE, {"answer": 42}, {"empty": b"", "a.txt": b"four"})
    return folder


def reason(folder: Path, fingerprint: str = MINE) -> str:
    with pytest.raises(DamagedRecordError) as caught:
        read_record(folder, CONTENTS, fingerprint)
    return str(caught.value)


def test_a_record_knows_its_schema_what_it_is_of_and_the_sizes_of_its_files(record: Path) -> None:
    hashes = {"a.txt": sha256(b"four").hexdigest(), "empty": sha256(b"").hexdigest()}
    files = {"files": {"a.txt": 4, "empty": 0}, "hashes": hashes}
    table = {"schema": SCHEMA_VERSION, "fingerprint": MINE, "answer": 42} | files

    assert read_record(record, CONTENTS, MINE) == table
    written = json.loads((record / CONTENTS).read_text())
    assert written.pop("sha256") == sha256(json.dumps(table, sort_keys=True).encode()).hexdigest()
    assert written == table


def contents(text: str) -> Callable[[Path], object]:
    return lambda record: (record / CONTENTS).write_text(text)


def resealed(without: str | None = None, **fields: Any) -> Callable[[Path], object]:
    return lambda record: reseal(record / CONTENTS, fields, without=without)


def changed(**fields: Any) -> Callable[[Path], object]:
    """Without another hash."""
    return lambda record: contents(json.dumps(json.loads((record / CONTENTS).read_text()) | fields))(record)


def written(name: str, text: str) -> Callable[[Path], object]:
    return lambda record: (record / name).write_text(text)


NAMED = ("../a.txt", "/dev/zero", "..", "", "a\0b", "sub\\a.txt")
TORN = f"{CONTENTS} is torn"
HASH = sha256(b"four").hexdigest()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (contents("{"), TORN),
        (lambda record: (record / CONTENTS).unlink(), "contents.json is missing"),
        (lambda record: (record / "empty").unlink(), "empty is missing"),
        (written("a.txt", "thr"), "a.txt is torn"),
        (written("a.txt", "five"), "a.txt is damaged"),
        (changed(sha256=None), f"{CONTENTS} is damaged"),
        (resealed(hashes={}), "it has no size or hash of a.txt"),
        (resealed(without="files"), "it.files is missing"),
        *((resealed(schema=schema), f"it has schema {schema}, and this version reads {SCHEMA_VERSION}")
          for schema in (SCHEMA_VERSION + 1, 2.0, True, None)),
        *((resealed(files={name: 4}, hashes={name: HASH}), f"it names {name!r}, which is not a file of its folder")
          for name in NAMED),
        (resealed(files={"a.txt": -1}), "it has no size or hash of a.txt"),
        *((resealed(files={"a.txt": size}), f"it.files.a.txt={said}: it takes a whole number")
          for size, said in (("4", "4"), (None, "null"), (4.0, "4.0"), (True, "True"))),
        *((contents(text), TORN) for text in ("[" * 100_000, "9" * 5000, '{"schema": 1e999}')),
        (contents("[]"), f"{CONTENTS} has no fields"),
        (contents('{"a": "\\ud800"}'), TORN),
        (resealed(fingerprint="fedcba9876543210"), "it belongs to fedcba9876543210"),
    ],
)  # fmt: skip
def test_damage_is_said(record: Path, damage: Callable[[Path], object], said: str) -> None:
    (record.parent / "a.txt").write_text("four")
    damage(record)

    assert reason(record) == said


def test_a_file_that_is_read_is_checked_and_parsed(record: Path) -> None:
    table = read_record(record, CONTENTS, MINE)

    assert read_file(record, table, "a.txt", bytes.decode) == "four"
    with pytest.raises(DamagedRecordError, match=r"a\.txt cannot be read: Expecting value"):
        read_file(record, table, "a.txt", json.loads)
    (record / "a.txt").write_text("five")
    with pytest.raises(DamagedRecordError, match=r"a\.txt is damaged"):
        read_file(record, table, "a.txt", bytes.decode)


@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "loop", "gone"])
@pytest.mark.parametrize("name", ["a.txt", CONTENTS])
def test_what_is_no_file_is_never_waited_for(record: Path, name: str, kind: str) -> None:
    path = record / name
    path.unlink()
    make = {
        "pipe": lambda: os.mkfifo(path),
        "folder": path.mkdir,
        "device": lambda: path.symlink_to("/dev/zero"),
        "loop": lambda: path.symlink_to(path),
        "gone": lambda: path.symlink_to("nowhere"),
    }
    make[kind]()

    assert reason(record).partition(" ")[0] == name


@dataclass
class Needed:
    count: int
    note: str | None = None


def test_a_record_may_have_more_fields_than_its_readers_need() -> None:
    assert fields_of(Needed, {"count": 3, "more": []}) == Needed(3)
    for content, said in (({"note": "x"}, "it.count is missing"), ({"count": True}, "it.count=True: it takes"),
                          ({"count": 1, "note": 2}, "it.note=2: it takes")):  # fmt: skip
        with pytest.raises(DamagedRecordError, match=f"^{said}"):
            fields_of(Needed, content)


@pytest.mark.parametrize("value", [2**53, -(2**53), {"a": [10**30]}])
def test_what_a_sealed_file_holds_has_bounds(record: Path, value: Any) -> None:
    reseal(record / CONTENTS, {"answer": value})
    assert reason(record) == TORN


def test_records_are_listed_by_name_without_what_is_unfinished_or_no_folder(record: Path) -> None:
    records = record.parent
    for name in ("zero", "another", f"{UNFINISHED}abc"):
        (records / name).mkdir()
    (records / ".nfs0001").write_text("")

    assert [path.name for path in record_folders(records)] == ["another", "one", "zero"]
    assert record_folders(records / "nothing") == []


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
