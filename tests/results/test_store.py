import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file

from scarf_lightning.results import CellStore, fingerprint
from scarf_lightning.results.records import SCHEMA_VERSION, UNFINISHED, WEIGHTS
from scarf_lightning.results.store import Description, read_cell
from tests.cells import DATA_HASH, described, identity_of, some_config, some_record
from tests.results.sealing import close, flip, reseal

FILES = ["curves.parquet", "environment.json", "preprocessing.safetensors", "trials.json"]


@pytest.fixture
def cell(tmp_path: Path) -> CellStore:
    return CellStore(tmp_path / "results", identity_of(some_config(), DATA_HASH))


def rows(cell: CellStore) -> list[dict[str, Any]]:
    return read_cell(cell.folder).in_order


def stacks(cell: CellStore) -> list[Path]:
    folder = cell.folder / "stacks"
    return sorted(folder.iterdir()) if folder.exists() else []


def test_a_description_says_what_the_cell_is_and_the_first_one_stays(cell: CellStore) -> None:
    described(described(cell), config={"seed": 1})

    assert [path.name for path in cell.folder.iterdir()] == ["cell.json"]
    written = json.loads((cell.folder / "cell.json").read_text())
    assert fingerprint(written["identity"]) == written["fingerprint"] == cell.fingerprint
    assert written.pop("sha256")
    assert {key: value for key, value in written.items() if key not in ("identity", "fingerprint")} == {
        "schema": SCHEMA_VERSION, "files": {}, "hashes": {}, "dataset": "wdbc", "dataset_id": 1510,
        "source": "somewhere",
        "columns": [{"name": "V1", "categories": None}, {"name": "V2", "categories": ["a", "b"]}],
        "classes": ["1", "2"], "target": {"kind": "classes", "rarest": 1.0, "dtype": "object"}, "overrides": [],
        "config": {"seed": 0}, "options": {}, "reading": {},
    }  # fmt: skip


def test_a_stack_is_a_folder_of_four_files_that_any_program_reads(cell: CellStore) -> None:
    record = some_record([3, 4])

    cell.add(record)

    (stack,) = stacks(cell)
    assert stack.name.startswith("0003-0004-")
    assert sorted(path.name for path in stack.iterdir()) == FILES
    assert pd.read_parquet(stack / "curves.parquet").to_dict("records") == list(record.curves)
    arrays = load_file(stack / "preprocessing.safetensors")
    assert sorted(arrays) == ["fill", "scale", "shift"]
    for name, array in record.preprocessing.items():
        assert arrays[name].dtype == np.float64
        np.testing.assert_array_equal(arrays[name], array)
    assert json.loads((stack / "environment.json").read_text()) == record.environment


def test_numpy_values_become_plain_ones_of_full_precision_and_what_is_not_defined_is_null(cell: CellStore) -> None:
    third = np.float64(1) / 3
    missing = {"auroc": float("nan"), "log_loss": np.float64("nan"), "f1": np.float32("nan"), "late": None}

    cell.add(some_record([np.int64(0)], accuracy=third, n_train=np.int64(2**40), is_odd=np.True_, **missing))

    (row,) = rows(cell)
    assert (row["trial"], row["accuracy"], row["n_train"], row["is_odd"]) == (0, third, 2**40, True)
    assert {type(row[key]) for key in ("trial", "n_train", "pretrain_epochs")} == {int}
    assert {row[name] for name in missing} == {None}
    assert '"auroc": null' in (stacks(cell)[0] / "trials.json").read_text()
    assert cell.missing([0]) == []


def test_trials_of_several_stacks_are_one_list_in_order_each_once_of_the_first_stack(cell: CellStore) -> None:
    """Two processes may train one at the same time; equal rows then come from both."""
    assert (rows(cell), cell.missing(range(3))) == ([], [0, 1, 2])
    assert not cell.folder.parent.exists(), "looking makes nothing"
    records = [some_record([5, 6]), some_record([0, 1]), some_record([3])]
    for record in records:
        cell.add(record)
    (cell.folder / "stacks" / ".nfs0001").touch()  # a file server's
    half = cell.folder / "stacks" / f"{UNFINISHED}abc"  # of a process that was killed
    half.mkdir()
    (half / "trials.json").write_text('[{"trial": 2}]')

    assert rows(cell) == sorted((row for record in records for row in record.rows), key=lambda row: row["trial"])
    assert cell.missing(range(7)) == [2, 4]
    assert CellStore(cell.results, identity_of(some_config(seed=1), DATA_HASH)).missing([0]) == [0]

    cell.add(some_record([1, 2], first=0.7))
    assert [row["accuracy"] for row in rows(cell)] == [0.5, 0.51, 0.72, 0.53, 0.55, 0.56]


def foreign(cell: CellStore) -> CellStore:
    other = CellStore(cell.results, identity_of(some_config(seed=1), DATA_HASH))
    described(other)
    other.add(some_record([0]))
    return other


def aside(cell: CellStore) -> dict[str, str]:
    """What was set aside of the results, by path, with the reasons."""
    found = {}
    for reason in cell.results.glob("set_aside/*/reason.txt"):
        named, _, why = reason.read_text().strip().partition(": ")
        assert all((reason.parent / name).exists() for name in named.split(", "))
        found[named] = why
    return found


class TestMending:
    @pytest.fixture
    def trained(self, cell: CellStore) -> CellStore:
        described(cell)
        cell.add(some_record([0, 1]))
        cell.add(some_record([2]))
        return cell

    @pytest.mark.parametrize(
        ("file", "damage"), [*((file, "torn") for file in FILES), *((file, "flipped") for file in (*FILES, WEIGHTS))]
    )
    def test_a_damaged_stack_is_named_and_set_aside_and_its_trials_are_missing(
        self, cell: CellStore, file: str, damage: str
    ) -> None:
        described(cell)
        cell.add(replace(some_record([0, 1]), weights={"w": np.zeros((2, 3))}))
        cell.add(some_record([2]))
        stack = stacks(cell)[0]
        if damage == "torn":
            (stack / file).write_bytes((stack / file).read_bytes()[:-2])
        else:
            flip(stack / file)

        assert cell.missing(range(3)) == ([] if file == WEIGHTS else [0, 1]), "large files are not checked here"
        (sentence,) = cell.mend()

        name = f"{cell.fingerprint}/stacks/{stack.name}"
        assert sentence.startswith(f"{name} is set aside in {cell.results / 'set_aside'}")
        why = aside(cell)[name]
        assert sentence.endswith(f": {why}.")
        assert why in (f"{file} is torn", f"{file} is damaged"[: None if damage == "flipped" else 0])
        assert cell.missing(range(3)) == [0, 1]
        assert cell.mend() == []

    @pytest.mark.parametrize(
        "rows",
        [
            None, [], [3], [{"trial": 0}, {"trial": 0}],
            [{"accuracy": 0.5}], [{"trial": True}], [{"trial": -1}], [{"trial": 10_000}],
            [{"trial": 0, "accuracy": "high"}], [{"trial": 0, "device": ["cpu"]}], [{"trial": 0, "threads": 0.5}],
        ],
    )  # fmt: skip
    def test_rows_of_other_types_are_damage(self, trained: CellStore, rows: Any) -> None:
        reseal(stacks(trained)[0] / "trials.json", {"trials": rows})

        assert trained.missing(range(3)) == [0, 1]
        assert len(trained.mend()) == 1

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            *((field, None) for field in sorted(Description.__dataclass_fields__)),
            ("classes", [1, 2]),
            ("overrides", [3]),
            ("config", {"metric": ["accuracy"]}),
            ("target", {"kind": "weather"}),
        ],
    )
    def test_a_description_that_lacks_a_field_or_has_another_value_is_damage(
        self, trained: CellStore, field: str, value: Any
    ) -> None:
        path = trained.folder / "cell.json"
        reseal(path, {} if value is None else {field: value}, without=field if value is None else None)

        stored = read_cell(trained.folder)

        assert (stored.description, list(stored.damaged)) == ({}, [path])
        assert value is not None or stored.damaged[path] == f"it.{field} is missing"

    def test_a_record_that_this_user_may_not_read_stays_where_it_is(
        self, trained: CellStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It is another user's and whole, so its trials are neither set aside nor trained again."""
        close(monkeypatch, "curves.parquet")
        with pytest.raises(PermissionError):
            trained.mend()

    @pytest.mark.parametrize("damage", ["torn", "changed", "foreign", "moved", "of another schema"])
    def test_a_description_that_is_wrong_is_set_aside_and_written_again(self, trained: CellStore, damage: str) -> None:
        path = trained.folder / "cell.json"
        other, text = foreign(trained).folder / "cell.json", path.read_text()
        written, reason = {
            "torn": (text[:-9], "cell.json is torn"),
            "changed": (text.replace("1510", "1511"), "cell.json is damaged"),
            "foreign": (other.read_text(), f"it belongs to {other.parent.name}"),
            "moved": (text, "its identity is another cell's"),
            "of another schema": (
                json.dumps(json.loads(text) | {"schema": 1}),
                f"it has schema 1, and this version reads {SCHEMA_VERSION}; version unknown wrote it",
            ),
        }[damage]
        path.write_text(written)
        if damage == "moved":
            reseal(path, {"identity": json.loads(other.read_text())["identity"]})

        trained.mend()
        described(trained)

        assert aside(trained) == {f"{trained.fingerprint}/cell.json": reason}
        assert path.read_text() == text
        assert trained.missing(range(3)) == []
