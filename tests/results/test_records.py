import json
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from scarf_lightning.results.files import UNFINISHED
from scarf_lightning.results.records import (
    SCHEMA_VERSION,
    WEIGHTS,
    DamagedRecordError,
    check_contents,
    new_record,
    read_file,
    read_record,
    record_folders,
)

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


def test_an_error_leaves_no_record(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="full"), new_record(tmp_path / "one", CONTENTS, MINE, {}):
        raise OSError("full")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_that_json_lacks_are_refused(tmp_path: Path, value: float) -> None:
    with pytest.raises(ValueError, match="JSON compliant"), new_record(tmp_path / "one", CONTENTS, MINE, {"x": value}):
        pass

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("keep", range(0, 100, 9))
def test_torn_contents_are_damage(record: Path, keep: int) -> None:
    whole = (record / CONTENTS).read_bytes()
    (record / CONTENTS).write_bytes(whole[:keep])
    assert keep < len(whole)

    assert reason(record) == "contents.json is torn"


def test_contents_that_are_no_text_are_damage(record: Path) -> None:
    (record / CONTENTS).write_bytes(b"\xff\xfe\x00")

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


def test_nan_is_no_json(record: Path) -> None:
    path = record / CONTENTS
    path.write_text(path.read_text().replace("42", "NaN"))

    assert reason(record) == "contents.json is torn"


def test_a_record_of_before_there_were_hashes_is_as_good_as_its_sizes(record: Path) -> None:
    change(record, sha256=None, hashes={})

    assert read_record(record, CONTENTS, MINE)["answer"] == 42
    (record / "a.txt").write_text("fiver")
    assert reason(record) == "a.txt is torn"


def test_an_older_schema_is_damage(record: Path) -> None:
    change(record, schema=1)

    assert reason(record) == "it has schema 1, and this version reads 2"


@pytest.mark.parametrize("older", ["[]", '[{"trial": 0}]', "{}", '{"rows": []}', "3"])
def test_contents_of_before_there_were_schemas_are_damage(record: Path, older: str) -> None:
    (record / CONTENTS).write_text(older)

    assert reason(record) == "it has no schema"


def test_a_record_of_something_else_is_damage(record: Path) -> None:
    assert reason(record, "fedcba9876543210") == f"it belongs to {MINE}"
    with pytest.raises(DamagedRecordError, match="it belongs to other"):
        check_contents({"schema": SCHEMA_VERSION, "fingerprint": "other"}, MINE)


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
