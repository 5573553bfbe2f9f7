"""Bits flipped at random over every kind of file that a results folder keeps: each is named, or changes no number."""

import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from scarf_lightning.data.sources import open_source
from scarf_lightning.errors import UsageError
from scarf_lightning.estimators import load_model
from scarf_lightning.reporting.cell_results import cells_of_folder, curves_of, environments, read_results
from scarf_lightning.results import CellStore, keep_failure, known_data, load, load_cell, load_predictions, read_failure
from tests.storing import stored

pytestmark = [pytest.mark.slow]

N_FLIPS = 72
FAILED = "0123456789abcdef"
WDBC = open_source("wdbc", id=None, name=None, openml_cache=None)
KINDS = {
    "[0-9a-f]*/cell.json", "[0-9a-f]*/stacks/*/trials.json",
    "[0-9a-f]*/stacks/*/curves.parquet", "[0-9a-f]*/stacks/*/preprocessing.safetensors",
    "[0-9a-f]*/stacks/*/weights.safetensors", "[0-9a-f]*/stacks/*/environment.json",
    "[0-9a-f]*/stacks/*/predictions.parquet",
    "pretrained/*/trials/*/curve.json", "pretrained/*/trials/*/weights.safetensors", "datasets/*.json",
    "failures/*.json", "set_aside/**/*.*",
}  # fmt: skip


@dataclass(frozen=True)
class Read:
    """All that is read of a results folder, by what reads it, and what was said meanwhile."""

    values: dict[str, Any]
    said: list[str]


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> CellStore:
    """A cell that is pre-trained, in a folder with a rival, a failure, noted data and a record set aside."""
    results = tmp_path_factory.mktemp("flipped") / "results"
    cell = stored(results, "trials=2", "trainer.trials_per_stack=1", "keep_weights=true")
    stored(results, "trials=1", "method=logistic")
    stored(results, "trials=1", "seed=7").clear("it is to be set aside")
    try:
        raise FloatingPointError("training diverged")
    except FloatingPointError as error:
        keep_failure(results, FAILED, "seed=1", error)
    return cell


def read(cell: CellStore, rows: pd.DataFrame) -> Read:
    """Whatever a user may read, with no exception but the sentences that are written for them."""
    results, values, said = cell.results, {}, []

    def embed(phase: Any) -> bytes:
        return load_model(cell.folder, phase=phase).transform(rows).tobytes()

    def note(name: str, reader: Callable[[], Any]) -> Any:
        try:
            values[name] = reader()
        except UsageError as error:
            said.append(str(error))
            values[name] = None
        return values[name]

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        note("load", lambda: load(results).to_csv())
        found = note("cell", lambda: load_cell(cell.fingerprint, results))
        if found is not None:
            values["cell"] = (found.config, found.description, found.trials.to_csv(), found.curves.to_csv())
        for phase in ("pretrain", "finetune"):
            note(f"encoder {phase}", partial(embed, phase))
        note("predictions", lambda: load_predictions(cell.fingerprint, results).to_csv())
        note("model", lambda: load_model(cell.folder).predict_proba(rows).tobytes())
        reported_cells = note("report", lambda: cells_of_folder(results))
        if reported_cells is not None:
            reported = read_results(*reported_cells)
            seen = (reported.cells, reported.trials, curves_of(reported, reported.folders))
            values["report"] = (*(frame.to_csv() for frame in seen), environments(reported))
            said += [f"{path}: {reason}" for path, reason in reported.damaged.items()]
    values["failure"] = read_failure(results, FAILED)
    said.append(str(values["failure"]))
    return Read(values, said + [str(warning.message) for warning in warned])


def record_of(path: Path, results: Path) -> str:
    """What a sentence on a damaged file must name."""
    inside = path.relative_to(results)
    if {"stacks", "trials"} & set(inside.parts):
        return str(inside.parent)
    return str(inside)


def test_every_flipped_bit_is_named_or_changes_no_number(cell: CellStore) -> None:
    table = WDBC.read().table
    rows = pd.DataFrame(table.values[:5], columns=[column.name for column in table.columns])
    results, draw = cell.results, random.Random(3)
    strata = {kind: sorted(path for path in results.glob(kind) if path.is_file()) for kind in sorted(KINDS)}
    kept = {path for path in results.rglob("*") if path.is_file()}
    assert all(strata.values())
    assert kept == {path for paths in strata.values() for path in paths}
    calm, known = read(cell, rows), known_data(results, WDBC)
    assert None not in calm.values.values()
    assert calm.said == [str(read_failure(results, FAILED))]

    for number in range(N_FLIPS):
        path = draw.choice(list(strata.values())[number % len(strata)])
        whole = path.read_bytes()
        position, bit = draw.randrange(len(whole)), draw.randrange(8)
        flipped = bytearray(whole)
        flipped[position] ^= 1 << bit
        path.write_bytes(flipped)

        found = read(cell, rows)

        assert known_data(results, WDBC) in (None, known), "a damaged note is none, and the data are read again"
        is_named = any(record_of(path, results) in sentence for sentence in found.said if sentence not in calm.said)
        assert is_named or found.values == calm.values, f"bit {bit} of byte {position} of {path} changes a number"
        path.write_bytes(whole)
    assert read(cell, rows).values == calm.values
