import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from scarf_lightning.results.files import UNFINISHED
from scarf_lightning.results.records import (
    SCHEMA_VERSION,
    DamagedRecordError,
    fields_of,
    read_file,
    read_record,
    record_folders,
    write_record,
)
from tests.results.sealing import reseal

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
