"""Records that somebody else wrote, with right hashes: whatever they say, they are used or left out and named.

The environment variable ``CRAFTED`` says how many.
"""

import json
import os
import random
import warnings
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save

from scarf_lightning.errors import UsageError
from scarf_lightning.report.loading import cells_of_folder, curves_of, environments, read_results
from scarf_lightning.results import (
    CellStore,
    PretrainingStore,
    load,
    load_cell,
    load_predictions,
    load_trials,
    pretraining_identity,
    read_cell,
)
from tests.cells import DATA_HASH, finish, results_in, some_cell, some_config, some_pretrained, some_record
from tests.results.sealing import replace_file, reseal
from tests.results.test_predictions import predicted

N_CRAFTED = int(os.environ.get("CRAFTED", "40"))
ODD: list[Any] = [
    None, True, -1, 0, 0.5, 10**30, 2**63, "", "a", "../../a", "/dev/zero", "\ud800", "\x1b[2J", "${oc.env:HOME}", [],
    [1], [[1]], ["a"], {}, {"a": 1}, {"name": "a"}, {"a": {"b": {"c": [1, {"d": None}]}}}, [{"trial": 0}], "9" * 400,
]  # fmt: skip
DEEP = json.loads("[" * 200 + "]" * 200)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two cells, one of which is to be damaged, and a pre-training."""
    for seed in (0, 1):
        store = finish(some_cell(paths=results_in(tmp_path), seed=seed), trials=[])
        record = some_record([0, 1])
        weights = {"encoder.body": np.ones((2, 3))}
        tries = [{"trial": trial, "try": 0, "chosen": True, "score": 0.5} for trial in (0, 1)]
        predictions = [predicted(0), predicted(1)]
        store.add(type(record)(**vars(record) | {"weights": weights, "tries": tries, "predictions": predictions}))
    return tmp_path / "results"


def paths_in(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all values in nested fields."""
    inner = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in inner:
        yield (*path, key)
        yield from paths_in(value, (*path, key))


def craft_fields(file: Path, draw: random.Random) -> None:
    """Give one value of a JSON file another value, another name, or none."""
    content = json.loads(file.read_text())
    del content["sha256"]
    place = draw.choice(list(paths_in(content)))
    node = content
    for key in place[:-1]:
        node = node[key]
    if isinstance(node, dict) and draw.random() < 0.2:
        value = node.pop(place[-1])
        if draw.random() < 0.5:
            node[str(draw.choice(ODD))] = value
    else:
        node[place[-1]] = DEEP if draw.random() < 0.1 else draw.choice(ODD)
    file.write_text(json.dumps({"sha256": ""}))
    reseal(file, content)


def craft_file(stack: Path, draw: random.Random) -> None:
    """Replace a file of a stack by one of the same format and other content, or of another format."""
    frame = draw.choice([
        pd.DataFrame(),
        pd.DataFrame({"trial": ["a", "b"], "epoch": [[1], [2]], "phase": [1, 2]}),
        pd.DataFrame({"trial": [0, 9], "row": [1, -5], "label": [0, 99], "0": [0.5, np.nan]}),
        pd.DataFrame({"phase": ["x"], "trial": [10**12], "epoch": [0], "train_loss": ["high"]}),
        pd.DataFrame({"trial": [0], "try": [None], "score": ["a"]}),
    ])  # fmt: skip
    parquet = BytesIO()
    frame.to_parquet(parquet)
    contents = [
        b"", b"\x00" * 50, b"[" * 5000, b'{"packages": 3}', b"[[1, 2], [3, 4]]", b'{"a": 1e999}', parquet.getvalue(),
        save({}), save({"fill": np.ones(1)}), save({"encoder.body": np.zeros((7, 2))}),
    ]  # fmt: skip
    names = [path.name for path in stack.iterdir() if path.name != "trials.json"]
    replace_file(stack, "trials.json", draw.choice(names), draw.choice(contents))


def read_everything(results: Path) -> None:
    """Whatever a user may read; a `UsageError` is a sentence that is written for the user."""

    def cells() -> None:
        reported = read_results(*cells_of_folder(results))
        curves_of(reported, reported.folders)
        environments(reported)

    readers: list[Any] = [lambda: load(results).to_csv().encode(), cells]
    for folder in results.glob("*/cell.json"):
        name = folder.parent.name
        readers += [
            lambda name=name: load_cell(name, results),
            lambda name=name: load_trials(name, results),
            lambda name=name: load_predictions(name, results),
        ]
    for reader in readers:
        with suppress(UsageError):
            reader()


def test_no_crafted_record_stops_the_others_from_being_read(results: Path) -> None:
    crafted, other = (cell.parent for cell in sorted(results.glob("*/cell.json")))
    (stack,) = (crafted / "stacks").iterdir()
    files = {path: path.read_bytes() for path in (crafted / "cell.json", *stack.iterdir())}
    draw = random.Random(0)
    for _ in range(N_CRAFTED):
        what = draw.randrange(3)
        if what == 2:
            craft_file(stack, draw)
        else:
            craft_fields((crafted / "cell.json", stack / "trials.json")[what], draw)

        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            read_everything(results)
            found = load(results)
        assert other.name in set(found["fingerprint"])
        if crafted.name not in set(found["fingerprint"]):
            assert any(crafted.name in str(warning.message) for warning in warned)
        CellStore(results, {}).missing([0])
        read_cell(crafted, weights=True)

        for path, content in files.items():
            path.write_bytes(content)
        for path in set(stack.iterdir()) - set(files):
            path.unlink()


def test_no_crafted_pretraining_is_more_than_left_out(tmp_path: Path) -> None:
    store = PretrainingStore(tmp_path, pretraining_identity(some_config(), DATA_HASH), max_gb=1)
    store.add([some_pretrained(0)])
    place, draw = store.folder / "trials" / "0000", random.Random(1)
    files = {path: path.read_bytes() for path in place.iterdir()}
    for _ in range(N_CRAFTED // 3):
        craft_fields(place / "curve.json", draw)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loaded = store.load([0])
            with store.claim():
                pass
        assert bool(loaded) or store.missing([0]) == [0]
        place.mkdir(exist_ok=True)
        for path, content in files.items():
            path.write_bytes(content)
