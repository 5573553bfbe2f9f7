import json
import os
import shutil
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import pytest

from scarf_lightning.results.files import UNFINISHED
from scarf_lightning.results.records import (
    DEEPEST,
    LARGEST,
    SCHEMA_VERSION,
    WEIGHTS,
    DamagedRecordError,
    are_usable,
    check_fields,
    new_record,
    parsed,
    read_file,
    read_record,
    record_folders,
)
from tests.results.sealing import reseal

CONTENTS = "contents.json"
MINE = "0123456789abcdef"


@pytest.fixture
def record(tmp_path: Path) -> Path:
    folder = tmp_path / "records" / "one"
    with new_record(folder, CONTENTS, MINE, {"answer": 42}) as unfinished:
        (unfinished / "a.txt").write_text("four")
        (unfinished / "empty").write_text("")
        assert not folder.exists()
    return folder


def reason(folder: Path, fingerprint: str = MINE) -> str:
    with pytest.raises(DamagedRecordError) as caught:
        read_record(folder, CONTENTS, fingerprint)
    return str(caught.value)


def change(folder: Path, **values: Any) -> None:
    path = folder / CONTENTS
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_a_record_knows_its_schema_what_it_is_of_and_the_sizes_of_its_files(record: Path) -> None:
    hashes = {"a.txt": sha256(b"four").hexdigest(), "empty": sha256(b"").hexdigest()}
    files = {"files": {"a.txt": 4, "empty": 0}, "hashes": hashes}
    table = {"schema": SCHEMA_VERSION, "fingerprint": MINE, "answer": 42} | files

    assert read_record(record, CONTENTS, MINE) == table
    written = json.loads((record / CONTENTS).read_text())
    assert written.pop("sha256") == sha256(json.dumps(table, sort_keys=True).encode()).hexdigest()
    assert written == table


def test_the_table_of_contents_is_the_last_file_written(tmp_path: Path) -> None:
    with new_record(tmp_path / "one", CONTENTS, MINE, {}) as unfinished:
        (unfinished / "a.txt").write_text("four")
        assert [path.name for path in unfinished.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("keep", range(0, 100, 9))
def test_torn_contents_are_damage(record: Path, keep: int) -> None:
    whole = (record / CONTENTS).read_bytes()
    (record / CONTENTS).write_bytes(whole[:keep])
    assert keep < len(whole)

    assert reason(record) == "contents.json is torn"


@pytest.mark.parametrize("name", ["a.txt", "empty", CONTENTS])
def test_a_missing_file_is_damage(record: Path, name: str) -> None:
    (record / name).unlink()

    assert reason(record) == f"{name} is missing"


@pytest.mark.parametrize(("name", "text"), [("a.txt", "thr"), ("a.txt", "fiver"), ("a.txt", ""), ("empty", "x")])
def test_a_file_of_another_size_is_damage(record: Path, name: str, text: str) -> None:
    (record / name).write_text(text)

    assert reason(record) == f"{name} is torn"


@pytest.mark.parametrize("bit", range(0, 8 * 350, 67))
def test_a_flipped_bit_in_the_contents_is_damage_or_changes_nothing(record: Path, bit: int) -> None:
    before = read_record(record, CONTENTS, MINE)
    content = bytearray((record / CONTENTS).read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    (record / CONTENTS).write_bytes(content)

    try:
        after = read_record(record, CONTENTS, MINE)
    except DamagedRecordError:
        return
    assert {name: after[name] for name in before} == before


def test_a_file_of_the_same_size_and_another_content_is_damage(record: Path) -> None:
    table = read_record(record, CONTENTS, MINE)
    (record / "a.txt").write_text("five")

    assert reason(record) == "a.txt is damaged"
    with pytest.raises(DamagedRecordError, match=r"a\.txt is damaged"):
        read_file(record, table, "a.txt", bytes.decode)


def test_a_file_that_is_read_is_checked_and_parsed(record: Path) -> None:
    table = read_record(record, CONTENTS, MINE)

    assert read_file(record, table, "a.txt", bytes.decode) == "four"
    with pytest.raises(DamagedRecordError, match=r"a\.txt cannot be read: Expecting value"):
        read_file(record, table, "a.txt", json.loads)


def test_weights_are_judged_by_size_unless_they_are_asked_for(tmp_path: Path) -> None:
    with new_record(tmp_path / "one", CONTENTS, MINE, {}) as folder:
        (folder / WEIGHTS).write_bytes(b"four")
    (tmp_path / "one" / WEIGHTS).write_bytes(b"five")

    table = read_record(tmp_path / "one", CONTENTS, MINE)
    with pytest.raises(DamagedRecordError, match="is damaged"):
        read_record(tmp_path / "one", CONTENTS, MINE, weights=True)
    with pytest.raises(DamagedRecordError, match="is damaged"):
        read_file(tmp_path / "one", table, WEIGHTS, bytes)


def test_the_layout_of_the_contents_is_free(record: Path) -> None:
    table = read_record(record, CONTENTS, MINE)
    content = json.loads((record / CONTENTS).read_text())
    (record / CONTENTS).write_text(json.dumps(dict(reversed(content.items()))).replace(", ", ",\r\n"))

    assert read_record(record, CONTENTS, MINE) == table


@pytest.mark.parametrize("lost", ["sha256", "hashes", "files"])
def test_a_record_without_hashes_is_damage(record: Path, lost: str) -> None:
    if lost == "sha256":
        change(record, sha256=None)
    else:
        reseal(record / CONTENTS, {lost: {}} if lost == "hashes" else {}, without=None if lost == "hashes" else lost)

    said = {"sha256": f"{CONTENTS} is damaged", "hashes": "it has no size or hash of a.txt", "files": "it has no files"}
    assert reason(record) == said[lost]


def test_another_schema_is_damage(record: Path) -> None:
    change(record, schema=1)

    assert reason(record) == f"it has schema 1, and this version reads 2 and {SCHEMA_VERSION}"


@pytest.mark.parametrize("name", ["../a.txt", "/dev/zero", "sub/a.txt", "..", ".", "", "a\0b", "sub\\a.txt"])
def test_a_file_is_one_of_the_records_own_folder(record: Path, name: str) -> None:
    (record.parent / "a.txt").write_text("four")
    reseal(record / CONTENTS, {"files": {name: 4}, "hashes": {name: sha256(b"four").hexdigest()}})

    assert reason(record) == f"it names {name!r}, which is not a file of its folder"


@pytest.mark.parametrize("size", [-1, 10**30, "4", None, True, 4.0])
def test_a_size_is_a_number_of_bytes(record: Path, size: Any) -> None:
    reseal(record / CONTENTS, {"files": {"a.txt": size}})

    assert reason(record) in ("it has no size or hash of a.txt", "a.txt is torn", "it has no files")


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


@pytest.mark.parametrize(
    "content", ["[" * 100_000, '{"a":' * 100_000, "9" * 5000, '{"schema": 1e999}', '{"a": "\\ud800"}', "null", '"a"']
)
def test_contents_that_no_program_of_ours_writes_are_damage(record: Path, content: str) -> None:
    (record / CONTENTS).write_text(content)

    assert reason(record) in (f"{CONTENTS} is torn", f"{CONTENTS} is damaged", "it has no schema")


def nested(depth: int) -> Any:
    return [nested(depth - 1)] if depth else 0


@pytest.mark.parametrize(
    ("kind", "value"),
    [(int, True), (int, 2**53), (int, 1.0), (str, 1), (str, "\ud800"), (list, nested(20)), (dict, {"a": 10**30})],
)
def test_fields_have_types_and_ranges(kind: type, value: Any) -> None:
    with pytest.raises(DamagedRecordError, match="it has no field"):
        check_fields({"field": value}, {"field": kind})
    check_fields({"field": None}, {"field": kind | None})


@pytest.mark.parametrize(
    ("other", "said"),
    [("[]", "it has no schema"), ("3", "it has no schema"), ("{}", "contents.json is damaged")],
)
def test_contents_without_a_schema_are_damage(record: Path, other: str, said: str) -> None:
    (record / CONTENTS).write_text(other)

    assert reason(record) == said


def test_a_record_of_something_else_is_damage(record: Path) -> None:
    assert reason(record, "fedcba9876543210") == f"it belongs to {MINE}"
    reseal(record / CONTENTS, {"fingerprint": "\ud800"})
    assert reason(record).encode() == rb"it belongs to \ud800"


def test_no_record_is_no_damage(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_record(tmp_path / "nothing", CONTENTS, MINE)


def test_a_record_may_be_moved_and_copied(record: Path, tmp_path: Path) -> None:
    table = read_record(record, CONTENTS, MINE)

    assert read_record(Path(shutil.copytree(record, tmp_path / "copy")), CONTENTS, MINE) == table
    assert read_record(record.rename(tmp_path / "moved"), CONTENTS, MINE) == table


def test_records_are_listed_by_name_without_what_is_unfinished_or_no_folder(record: Path) -> None:
    records = record.parent
    for name in ("zero", "another", f"{UNFINISHED}abc"):
        (records / name).mkdir()
    (records / ".nfs0001").write_text("")

    assert [path.name for path in record_folders(records)] == ["another", "one", "zero"]
    assert record_folders(records / "nothing") == []


def nested(depth: int, innermost: Any) -> Any:
    """A value in so many fields or lists, by turns."""
    for level in range(depth):
        innermost = {"inner": innermost} if level % 2 else [innermost]
    return innermost


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        ({"a": [1, "é", None, True, 0.5]}, True),
        (LARGEST - 1, True),
        (LARGEST, False),
        (-LARGEST, False),
        ("\ud800", False),
        (nested(DEEPEST, 1), True),
        (nested(DEEPEST + 1, 1), False),
        (nested(3, LARGEST), False),
        ({"\ud800": 1}, False),
        ({"a": "\udfff"}, False),
    ],
)
def test_a_value_is_usable_where_files_and_people_can_hold_it(value: Any, is_one: bool) -> None:
    assert are_usable([0, value], DEEPEST + 1) is is_one


@dataclass
class Inner:
    share: float

    def __post_init__(self) -> None:
        if self.share > 1:
            raise ValueError("share must be at most 1")


@dataclass
class Outer:
    name: str
    count: int | None = None
    mode: Literal["a", "b", 1] = "a"
    names: tuple[str, ...] = ()
    sizes: dict[str, int] = field(default_factory=dict)
    inner: Inner | None = None
    any: Any = None


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"name": "x"}, Outer("x")),
        ({"name": "x", "count": 3, "mode": "b"}, Outer("x", 3, "b")),
        ({"name": "x", "count": LARGEST - 1, "mode": 1}, Outer("x", LARGEST - 1, 1)),
        ({"name": "x", "names": ["p", "q"], "sizes": {"p": 1}}, Outer("x", names=("p", "q"), sizes={"p": 1})),
        ({"name": "x", "inner": {"share": 1}, "any": [None]}, Outer("x", inner=Inner(1), any=[None])),
        ({}, "it has no name"),
        ({"name": "x", "more": 1}, 'it has an unknown field "more"'),
        ({"name": 1}, "it.name cannot be 1"),
        ({"name": {}}, "it.name cannot be {}"),
        ({"name": None}, "it.name cannot be null"),
        ({"name": "x", "count": True}, "it.count cannot be true"),
        ({"name": "x", "count": 0.5}, "it.count cannot be 0.5"),
        ({"name": "x", "count": LARGEST}, f"it.count cannot be {LARGEST}"),
        ({"name": "x", "mode": "c"}, 'it.mode cannot be "c"'),
        ({"name": "x", "mode": True}, "it.mode cannot be true"),
        ({"name": "x", "names": "pq"}, 'it.names cannot be "pq"'),
        ({"name": "x", "names": ["p", 1]}, "it.names cannot be 1"),
        ({"name": "x", "sizes": {"p": "1"}}, 'it.sizes.p cannot be "1"'),
        ({"name": "x", "sizes": [1]}, "it.sizes cannot be [1]"),
        ({"name": "x", "inner": {"share": True}}, "it.inner.share cannot be true"),
        ({"name": "x", "inner": {"share": 2.0}}, "it.inner.share must be at most 1"),
        ([], "it cannot be []"),
    ],
)
def test_fields_of_a_class_are_of_its_types(content: Any, expected: Outer | str) -> None:
    if isinstance(expected, Outer):
        found = parsed(Outer, content, "it")
        assert (found, type(found.names)) == (expected, tuple)
    else:
        with pytest.raises(DamagedRecordError) as refused:
            parsed(Outer, content, "it")
        assert str(refused.value) == expected
