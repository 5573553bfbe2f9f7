import json
import os
import re
import shutil
import stat
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from safetensors import SafetensorError
from safetensors.numpy import load_file

from scarf_lightning.results import CellStore, LostClaimError, fingerprint, identity
from scarf_lightning.results.files import UNFINISHED
from scarf_lightning.results.records import WEIGHTS
from tests.cells import DATA_HASH, OF_WDBC, some_config, some_record

FILES = ["curves.parquet", "environment.json", "preprocessing.safetensors", "trials.json"]


@pytest.fixture
def cell(tmp_path: Path) -> CellStore:
    return CellStore(tmp_path / "results", identity(some_config(), DATA_HASH))


def describe(cell: CellStore, config: str = "seed: 0\n") -> None:
    cell.describe(dataset="wdbc", dataset_id=1510, source="scikit-learn:breast_cancer", config=config, **OF_WDBC)


def stacks(cell: CellStore) -> list[Path]:
    folder = cell.folder / "stacks"
    return sorted(folder.iterdir()) if folder.exists() else []


def test_a_cell_is_named_by_its_identity(cell: CellStore, tmp_path: Path) -> None:
    assert cell.fingerprint == fingerprint(cell.identity)
    assert cell.folder == tmp_path / "results" / cell.fingerprint


def test_looking_into_a_cell_that_is_not_there_makes_nothing(cell: CellStore) -> None:
    assert cell.rows() == []
    assert cell.missing(range(3)) == [0, 1, 2]
    assert not cell.folder.parent.exists()


def test_a_described_cell_has_no_trials_yet(cell: CellStore) -> None:
    describe(cell)

    assert cell.rows() == []
    assert cell.missing([0]) == [0]


def test_a_description_says_what_the_cell_is(cell: CellStore) -> None:
    describe(cell)

    assert sorted(path.name for path in cell.folder.iterdir()) == ["cell.json", "config.yaml"]
    assert (cell.folder / "config.yaml").read_text() == "seed: 0\n"
    written = json.loads((cell.folder / "cell.json").read_text())
    assert fingerprint(written["identity"]) == written["fingerprint"] == cell.fingerprint
    assert written.pop("sha256")
    assert {key: value for key, value in written.items() if key not in ("identity", "fingerprint")} == {
        "schema": 2,
        "files": {"config.yaml": 8},
        "hashes": {"config.yaml": sha256(b"seed: 0\n").hexdigest()},
        "dataset": "wdbc",
        "dataset_id": 1510,
        "source": "scikit-learn:breast_cancer",
        "columns": [{"name": "V1", "categories": None}, {"name": "V2", "categories": ["a", "b"]}],
        "classes": ["1", "2"],
        "overrides": [],
        "reading": {},
    }


def test_the_first_description_stays(cell: CellStore) -> None:
    describe(cell)
    describe(cell, config="seed: 0 # a later run\n")

    assert (cell.folder / "config.yaml").read_text() == "seed: 0\n"


def test_a_description_cut_short_before_its_last_file_is_made_again(cell: CellStore) -> None:
    describe(cell, config="half of")
    (cell.folder / "cell.json").unlink()
    describe(cell)

    assert (cell.folder / "config.yaml").read_text() == "seed: 0\n"


def test_rows_come_back_as_they_were_given(cell: CellStore) -> None:
    record = some_record([0, 1])

    cell.add(record)

    assert cell.rows() == list(record.rows)
    assert cell.missing(range(4)) == [2, 3]


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


def test_arrays_that_do_not_lie_in_one_piece_are_stored_by_value(cell: CellStore) -> None:
    transposed = np.arange(6.0).reshape(3, 2).T

    cell.add(replace(some_record([0, 1]), preprocessing={"fill": transposed}))

    np.testing.assert_array_equal(load_file(stacks(cell)[0] / "preprocessing.safetensors")["fill"], transposed)


@pytest.mark.parametrize("missing", [float("nan"), np.float64("nan"), np.float32("nan"), None])
def test_a_metric_that_is_not_defined_is_null(cell: CellStore, missing: Any) -> None:
    cell.add(some_record([0], auroc=missing))

    assert '"auroc": null' in (stacks(cell)[0] / "trials.json").read_text()
    assert cell.rows()[0]["auroc"] is None
    assert cell.missing([0]) == []


def test_numpy_values_become_plain_ones_of_full_precision(cell: CellStore) -> None:
    third = np.float64(1) / 3

    cell.add(some_record([np.int64(0)], accuracy=third, n_train=np.int64(2**40), device=np.True_))

    (row,) = cell.rows()
    assert row["trial"] == 0
    assert row["accuracy"] == third
    assert row["n_train"] == 2**40
    assert row["device"] is True
    assert {type(row[key]) for key in ("trial", "n_train", "pretrain_epochs")} == {int}


def test_trials_that_are_asked_for_later_are_the_missing_ones(cell: CellStore) -> None:
    cell.add(some_record(range(5)))

    assert cell.missing(range(5)) == []
    assert cell.missing(range(30)) == list(range(5, 30))
    assert cell.missing(range(3)) == []


def test_trials_of_several_stacks_are_one_list_in_order(cell: CellStore) -> None:
    cell.add(some_record([5, 6]))
    cell.add(some_record([0, 1]))
    cell.add(some_record([3]))

    assert [row["trial"] for row in cell.rows()] == [0, 1, 3, 5, 6]
    assert cell.missing(range(7)) == [2, 4]


def test_rows_can_be_asked_for_by_trial(cell: CellStore) -> None:
    cell.add(some_record(range(5)))

    assert [row["trial"] for row in cell.rows([4, 0, 9])] == [0, 4]
    assert cell.rows([]) == []
    assert [row["trial"] for row in cell.rows(range(2))] == [0, 1]


def test_a_trial_that_was_trained_twice_is_one_row(cell: CellStore) -> None:
    """Two processes may train it at the same time; equal rows then come from both."""
    cell.add(some_record([0, 1]))
    cell.add(some_record([1, 2]))
    cell.add(some_record([1, 2]))

    assert len(stacks(cell)) == 3
    assert [row["trial"] for row in cell.rows()] == [0, 1, 2]
    assert [row["accuracy"] for row in cell.rows()] == [0.5, 0.51, 0.52]


def test_of_rows_that_differ_the_first_stacks_is_taken(cell: CellStore) -> None:
    cell.add(some_record([1, 2], first=0.7))
    cell.add(some_record([0, 1]))

    assert [row["accuracy"] for row in cell.rows()] == [0.5, 0.51, 0.72]


def test_other_cells_are_not_looked_into(cell: CellStore) -> None:
    cell.add(some_record([0]))

    other = CellStore(cell.folder.parent, identity(some_config(seed=1), DATA_HASH))

    assert other.rows() == []
    assert other.missing([0]) == [0]


def test_a_stack_that_was_cut_short_by_a_kill_does_not_count(cell: CellStore) -> None:
    cell.add(some_record([0]))
    left = cell.folder / "stacks" / f"{UNFINISHED}abc"
    left.mkdir()
    (left / "trials.json").write_text('[{"trial": 1}]')
    (cell.folder / "stacks" / f"{UNFINISHED}empty").mkdir()

    assert [row["trial"] for row in cell.rows()] == [0]
    assert cell.missing(range(2)) == [1]


@pytest.mark.parametrize(
    ("part", "error"),
    [
        ({"rows": [{"trial": 1, "accuracy": float("inf")}]}, ValueError),  # JSON has no infinity
        ({"curves": [{"phase": object()}]}, pa.ArrowInvalid),
        ({"preprocessing": {"fill": np.array(["text"])}}, SafetensorError),
        ({"environment": {"path": Path()}}, TypeError),
    ],
    ids=lambda part: next(iter(part)) if isinstance(part, dict) else "",
)
def test_a_stack_that_cannot_be_written_leaves_nothing(
    cell: CellStore, part: dict[str, Any], error: type[Exception]
) -> None:
    cell.add(some_record([0]))

    with pytest.raises(error):
        cell.add(replace(some_record([1]), **part))

    assert [path.name[:9] for path in stacks(cell)] == ["0000-0000"]
    assert cell.missing(range(2)) == [1]


@pytest.mark.parametrize("file", FILES)
def test_an_interruption_between_the_files_of_a_stack_leaves_nothing(
    cell: CellStore, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stop where a file would be written, whichever library writes it."""
    writers = {
        "trials.json": "pathlib.Path.write_text",
        "environment.json": "pathlib.Path.write_text",
        "curves.parquet": "pandas.DataFrame.to_parquet",
        "preprocessing.safetensors": "safetensors.numpy.save",
    }
    original = Path.write_text

    def stop(*args: Any, **kwargs: Any) -> None:
        if file.endswith(".json") and args[0].name != file:
            original(*args, **kwargs)
            return
        raise KeyboardInterrupt

    monkeypatch.setattr(writers[file], stop)

    with pytest.raises(KeyboardInterrupt):
        cell.add(some_record([0]))

    assert stacks(cell) == []
    assert cell.missing([0]) == [0]


def test_others_may_read_what_the_umask_lets_them_read(cell: CellStore) -> None:
    before = os.umask(0o022)
    try:
        cell.add(replace(some_record([0]), weights={"w": np.zeros((1, 3))}))
    finally:
        os.umask(before)
    (stack,) = stacks(cell)
    assert {stat.S_IMODE(path.stat().st_mode) for path in stack.iterdir()} == {0o644}


def test_what_is_added_after_the_claim_was_lost_is_not_kept(cell: CellStore) -> None:
    with cell.claim() as claim:
        shutil.rmtree(cell.folder / "claim")
        with pytest.raises(LostClaimError):
            cell.add(some_record([0]), claim)

    assert stacks(cell) == []


def test_a_stray_file_among_the_stacks_is_passed_over(tmp_path: Path) -> None:
    cell = CellStore(tmp_path, identity(some_config(), DATA_HASH))
    cell.add(some_record([0]))
    (cell.folder / "stacks" / ".nfs0001").write_text("")
    assert cell.missing([0, 1]) == [1]


def foreign(cell: CellStore) -> CellStore:
    other = CellStore(cell.results, identity(some_config(seed=1), DATA_HASH))
    describe(other)
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
        describe(cell)
        cell.add(some_record([0, 1]))
        cell.add(some_record([2]))
        return cell

    def test_nothing_is_wrong_with_whole_records(self, trained: CellStore) -> None:
        assert trained.mend() == []
        assert not (trained.results / "set_aside").exists()

    @pytest.mark.parametrize("file", FILES)
    def test_a_torn_stack_is_named_and_set_aside_and_its_trials_are_missing(
        self, trained: CellStore, file: str
    ) -> None:
        stack = stacks(trained)[0]
        (stack / file).write_bytes((stack / file).read_bytes()[:-2])

        (sentence,) = trained.mend()

        name = f"{trained.fingerprint}/stacks/{stack.name}"
        assert sentence.startswith(f"{name} is set aside in {trained.results / 'set_aside'}")
        assert sentence.endswith(f": {file} is torn.")
        assert aside(trained) == {name: f"{file} is torn"}
        assert trained.missing(range(3)) == [0, 1]
        assert trained.mend() == []

    @pytest.mark.parametrize("file", [*FILES, WEIGHTS])
    def test_a_stack_with_a_flipped_bit_is_set_aside(self, cell: CellStore, file: str) -> None:
        describe(cell)
        cell.add(replace(some_record([0]), weights={"w": np.zeros((1, 3))}))
        (stack,) = stacks(cell)
        content = bytearray((stack / file).read_bytes())
        content[len(content) // 2] ^= 1
        (stack / file).write_bytes(content)

        assert cell.missing([0]) == ([] if file == WEIGHTS else [0])  # whether large files are whole is not asked
        (sentence,) = cell.mend()

        assert re.search(rf"{stack.name} is set aside in .*: {re.escape(file)} is (damaged|torn)\.$", sentence)
        assert cell.missing([0]) == [0]

    def test_a_configuration_with_a_flipped_bit_is_set_aside_with_the_description(self, trained: CellStore) -> None:
        (trained.folder / "config.yaml").write_text("seed: 1\n")

        trained.mend()
        describe(trained)

        name = trained.fingerprint
        assert aside(trained) == {f"{name}/config.yaml, {name}/cell.json": "config.yaml is damaged"}
        assert trained.mend() == []
        assert trained.missing(range(3)) == []

    def test_records_of_before_there_were_hashes_are_used(self, trained: CellStore) -> None:
        for path in (trained.folder / "cell.json", *trained.folder.glob("stacks/*/trials.json")):
            content = json.loads(path.read_text())
            without = {key: value for key, value in content.items() if key not in ("sha256", "hashes")}
            path.write_text(json.dumps(without))

        assert trained.mend() == []
        assert trained.missing(range(3)) == []

    @pytest.mark.parametrize(
        "change",
        [
            {"trials": None}, {"trials": [3]}, {"trials": [{"accuracy": 0.5}]}, {"fingerprint": None}, {"files": []},
            {"hashes": 3}, {"trials": [{"trial": 0, "accuracy": float("nan")}]},
        ],
    )  # fmt: skip
    def test_fields_that_are_missing_or_no_numbers_in_a_file_without_a_hash_are_damage(
        self, trained: CellStore, change: dict[str, Any]
    ) -> None:
        path = stacks(trained)[0] / "trials.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"sha256": None} | change))

        assert trained.missing(range(3)) == [0, 1]
        assert len(trained.mend()) == 1

    @pytest.mark.parametrize("field", ["dataset", "dataset_id", "identity", "columns", "classes", "overrides"])
    def test_a_description_that_lacks_a_field_is_set_aside(self, trained: CellStore, field: str) -> None:
        path = trained.folder / "cell.json"
        content = json.loads(path.read_text())
        del content[field], content["sha256"]
        path.write_text(json.dumps(content))

        (sentence,) = trained.mend()

        assert sentence.endswith(f": it has no {field}.")

    def test_a_stack_of_another_cell_is_set_aside(self, trained: CellStore) -> None:
        (stack,) = stacks(foreign(trained))
        stack.rename(trained.folder / "stacks" / stack.name)

        assert [row["trial"] for row in trained.rows()] == [0, 1, 2]
        assert trained.mend()
        assert list(aside(trained).values()) == [f"it belongs to {stack.parent.parent.name}"]

    def test_records_of_the_schema_before_are_set_aside(self, trained: CellStore) -> None:
        """Then trials.json was the rows alone."""
        stack = stacks(trained)[0]
        (stack / "trials.json").write_text(json.dumps([{"trial": 0, "accuracy": 0.5}]))
        described = json.loads((trained.folder / "cell.json").read_text())
        (trained.folder / "cell.json").write_text(json.dumps(described | {"schema": 1}))

        assert len(trained.mend()) == 2

        name = trained.fingerprint
        assert aside(trained) == {
            f"{name}/config.yaml, {name}/cell.json": "it has schema 1, and this version reads 2",
            f"{name}/stacks/{stack.name}": "it has no schema",
        }

    @pytest.mark.parametrize("damage", ["torn", "foreign", "moved"])
    def test_a_description_that_is_wrong_is_set_aside_and_written_again(self, trained: CellStore, damage: str) -> None:
        path = trained.folder / "cell.json"
        other = foreign(trained).folder / "cell.json"
        described = json.loads(path.read_text())
        text, reason = {
            "torn": (path.read_text()[:-9], "cell.json is torn"),
            "foreign": (other.read_text(), f"it belongs to {other.parent.name}"),
            "moved": (
                json.dumps(described | {"identity": json.loads(other.read_text())["identity"], "sha256": None}),
                "its identity is another cell's",
            ),
        }[damage]
        path.write_text(text)

        trained.mend()
        describe(trained)

        name = trained.fingerprint
        assert aside(trained) == {f"{name}/config.yaml, {name}/cell.json": reason}
        assert json.loads(path.read_text()) == described
        assert trained.missing(range(3)) == []

    def test_clearing_sets_all_stacks_aside_whole_or_not(self, trained: CellStore) -> None:
        for file in stacks(trained)[0].iterdir():
            file.unlink()
        names = [stack.name for stack in stacks(trained)]

        sentence = trained.clear("why")

        assert sentence.endswith(": why.")
        assert stacks(trained) == []
        (place,) = (trained.results / "set_aside").iterdir()
        assert sorted(path.name for path in (place / trained.fingerprint / "stacks").iterdir()) == names
        assert trained.missing(range(3)) == [0, 1, 2]
        assert (trained.folder / "cell.json").exists()


class TestClaim:
    def test_one_process_has_the_cell(self, cell: CellStore) -> None:
        with cell.claim() as mine:
            assert mine is not None
            with cell.claim() as other:
                assert other is None
        assert list(cell.folder.iterdir()) == []

    def test_what_killed_processes_left_half_written_is_removed_after_an_hour_by_the_holder(
        self, cell: CellStore
    ) -> None:
        left = [folder / f"{UNFINISHED}{age}" for folder in (cell.folder, cell.folder / "stacks") for age in "ab"]
        for folder in left:
            folder.mkdir(parents=True)
            (folder / "curves.parquet").write_bytes(b"half")
        for folder in left[::2]:
            os.utime(folder, (0, 0))

        with cell.claim():
            assert [folder.exists() for folder in left] == [False, True, False, True]
