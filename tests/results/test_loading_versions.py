"""Versions of tables, plugins and the package: the newest of each, never two as two things."""

import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from scarf_lightning.errors import RecordWarning, UsageError
from scarf_lightning.reporting.cell_results import cells_of_folder
from scarf_lightning.results import (
    SCIENCE_VERSION,
    CellStore,
    columns,
    described_cells,
    load,
    newest_versions,
)
from scarf_lightning.results.records import SCHEMA_VERSION
from tests.cells import described, identity_of, some_config, some_record
from tests.results.sealing import reseal

A, B, C = (letter * 64 for letter in "abc")
V1, V2 = ("1" * 64, "2" * 64)
BLEND: dict[str, Any] = {"plugins": {"my_parts": V1}, "corruption": {"name": "marginal", "rate": 0.25}}
"""A cell of a plugin."""
DAY = "2026-11-2{}T12:00:00+00:00"


def leave(
    results: Path,
    *,
    data: str = A,
    day: int | None = None,
    trials: int = 1,
    name: str = "t",
    source: str = "t.csv",
    features: Sequence[str] = ("V1", "V2"),
    dataset: dict[str, Any] | None = None,
    dataset_id: int | None = None,
    split: dict[str, Any] | None = None,
    science: int = SCIENCE_VERSION,
    plugins: dict[str, str] | None = None,
    more_options: dict[str, Any] | None = None,
    **chosen: Any,
) -> str:
    """A cell in the store, written on this day of a month; its fingerprint."""
    config = some_config(**chosen)
    fields = identity_of(config, data) | {"science": science} | ({"plugins": plugins} if plugins else {})
    store = CellStore(results, fields | (more_options or {}))
    described(
        store,
        dataset=name,
        dataset_id=dataset_id,
        source=source,
        columns=[{"name": feature, "categories": None} for feature in features],
        options=columns(config) | (more_options or {}),
        config={"dataset": {"target": "y"} | (dataset or {}), "split": split or {"name": "random"}},
    )
    if trials:
        store.add(some_record(range(trials)))
    for contents in store.folder.glob("stacks/*/trials.json") if day is not None else ():
        reseal(contents, {"written": DAY.format(day)})
    return store.fingerprint


def newest(results: Path) -> set[str]:
    cells, _ = newest_versions(list(described_cells(results)))
    return {place.name for place, _ in cells}


def sentences(results: Path) -> list[str]:
    return newest_versions(list(described_cells(results)))[1]


OTHER_SPLIT = {"name": "group", "column": "patient"}


@pytest.mark.parametrize(
    ("first", "then", "newest_of"),
    [
        # A version without a trial is not the newest.
        ({"data": B, "day": 1}, [{"data": A, "trials": 0}], [0]),
        # A file that was put back, and trained on again.
        ({"data": A, "day": 1}, [{"data": B, "day": 2}, {"data": A, "day": 3, "pretrain": "none"}], [0, 2]),
        # Another kind of split is of the same table.
        ({"data": B, "day": 1, "split": {"name": "stratified"}}, [{"data": A, "day": 2}], [1]),
        # A weight is part of the data, and no column of results tells them apart.
        ({"data": B, "day": 1}, [{"data": A, "day": 2, "dataset": {"weight": "w"}}], [1]),
        # Other questions are no versions.
        *(
            ({"data": B, "day": 1}, [{"data": A, "day": 2, **other}], [0, 1])
            for other in (
                {"name": "other"}, {"dataset": {"target": "z"}}, {"dataset_id": 61}, {"split": OTHER_SPLIT},
                {"more_options": {"dataset.drop": "[a]"}},
            )
        ),
        # A class was added to the module of a plugin; the cells of the other one stay finished.
        (BLEND | {"day": 1}, [{"day": 2, "plugins": {"my_parts": V2}, "pretrain": "none"}], [0, 1]),
        # A plugin may change anything, such as the loss of a cell that has the same options.
        (BLEND | {"day": 1}, [{"day": 2, "corruption": BLEND["corruption"]}], [0, 1]),
    ],
)  # fmt: skip
def test_what_is_a_version_of_what(
    tmp_path: Path, first: dict[str, Any], then: list[dict[str, Any]], newest_of: list[int]
) -> None:
    cells = [leave(tmp_path, **each) for each in (first, *then)]

    assert newest(tmp_path) == {cells[number] for number in newest_of}
    assert (sentences(tmp_path) == []) == (len(newest_of) == len(cells))


class TestAnotherRelease:
    @pytest.mark.parametrize("science", [SCIENCE_VERSION - 1, SCIENCE_VERSION + 1, None])
    def test_cells_of_another_science_are_left_out(self, tmp_path: Path, science: int) -> None:
        leave(tmp_path, science=science, day=3)
        fresh = leave(tmp_path, day=2)

        assert newest(tmp_path) == {fresh}
        (sentence,) = sentences(tmp_path)
        assert sentence.startswith("Left out: 1 cell of another science version,")

    def test_a_store_in_another_layout_is_named_by_its_version_and_not_read(self, tmp_path: Path) -> None:
        other = leave(tmp_path, trials=2)
        reseal(tmp_path / other / "cell.json", {"schema": SCHEMA_VERSION - 1})
        (environment,) = (tmp_path / other).glob("stacks/*/environment.json")
        environment.write_text(json.dumps({"packages": {"scarf-lightning": "0.1.0"}}))

        with pytest.raises(UsageError, match=r"holds no results that can be used.*version 0\.1\.0 wrote it"):
            cells_of_folder(tmp_path)
        fresh = leave(tmp_path, data=B)
        with pytest.warns(RecordWarning, match=r"version 0\.1\.0 wrote it"):
            assert load(tmp_path)["fingerprint"].tolist() == [fresh]


class TestLoad:
    def test_it_takes_the_newest_and_names_the_others(self, tmp_path: Path) -> None:
        leave(tmp_path, data=B, day=1, trials=3)
        fresh = leave(tmp_path, data=A, day=2)

        with pytest.warns(RecordWarning, match=r"^Left out: 1 cell of .* earlier content of the data") as warned:
            frame = load(tmp_path)

        assert len(warned) == 1
        assert warned[0].filename == __file__
        assert frame["fingerprint"].tolist() == [fresh]
        assert frame["science"].tolist() == [SCIENCE_VERSION]

    def test_cells_that_are_named_are_given_whatever_version_they_are_of(self, tmp_path: Path) -> None:
        named = [leave(tmp_path, data=B, day=1), leave(tmp_path, science=SCIENCE_VERSION - 1), leave(tmp_path, day=3)]

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert load(tmp_path, named)["fingerprint"].tolist() == named
