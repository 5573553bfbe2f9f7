"""Records that somebody else wrote, with hashes that are right: they are used, or left out and named."""

import random
import shutil
import warnings
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from safetensors.numpy import load_file, save

from scarf_lightning.cli.report_command import report
from scarf_lightning.errors import UsageError
from scarf_lightning.estimators import load_model
from scarf_lightning.results import CellStore, load, load_cell, load_predictions, load_trials, read_cell
from tests.results.sealing import replace_file, rewritten
from tests.storing import stored
from tools.fuzzing.attacking import USED, sentence_of
from tools.fuzzing.values import changed

COUNT = 400


def prepare(folder: Path) -> Path:
    """Two cells, one with a model."""
    for asked in ("keep_weights=true", "seed=1"):
        stored(folder / "results", "trials=2", "pretrain=none", asked)
    _read_everything(folder / "results")
    return folder / "results"


def attack(prepared: Path, draw: random.Random, folder: Path) -> str:
    results = Path(shutil.copytree(prepared, folder / "results"))
    crafted, other = draw.sample([cell.parent for cell in sorted(results.glob("*/cell.json"))], 2)
    stack = draw.choice(sorted((crafted / "stacks").iterdir()))
    if draw.random() < 0.3:
        _file(stack, draw)
    for file in draw.choice([[crafted / "cell.json"], [stack / "trials.json"], [crafted / "cell.json"] * 2]):
        rewritten(file, lambda content: changed(content, draw))
    before = {path: path.read_bytes() for path in results.rglob("*") if path.is_file()}

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        refusals = _read_everything(results)
        found = load(results)
    assert other.name in set(found["fingerprint"]), "the other cell is not read"
    is_read = crafted.name in set(found["fingerprint"])
    assert is_read or any(crafted.name in str(warning.message) for warning in warned), "it is left out without a word"
    CellStore(results, {}).missing([0])
    read_cell(crafted, weights=True)
    assert {path: path.read_bytes() for path in results.rglob("*") if path.is_file()} == before
    return USED if is_read and not refusals else "; ".join(refusals) or "It is left out."


def _read_everything(results: Path) -> list[str]:
    """Whatever a user may read; the sentences by which it is refused."""

    readers: list[Any] = [
        lambda: load(results).to_csv().encode(),
        lambda: report(results=results, out=results.with_name("report")),
    ]
    for folder in results.glob("*/cell.json"):
        name = folder.parent.name
        readers += [
            lambda name=name: load_cell(name, results),
            lambda name=name: load_trials(name, results),
            lambda name=name: load_predictions(name, results),
            lambda name=name: load_model(results / name),
        ]
    refusals = []
    for reader in readers:
        try:
            reader()
        except UsageError as error:
            refusals.append(sentence_of(error))
    return refusals


def _file(stack: Path, draw: random.Random) -> None:
    """Replace a file of a stack by one of the same format and other content, or of another format."""
    frame = draw.choice([
        pd.DataFrame(),
        pd.DataFrame({"trial": ["a", "b"], "epoch": [[1], [2]], "phase": [1, 2]}),
        pd.DataFrame({"trial": [0, 9], "row": [1, -5], "label": [0, 99], "0": [0.5, np.nan]}),
        pd.DataFrame({"trial": [0, 1], "row": [1, 5], "label": [0, 1], "0": [0.5, 0.2], "x": [0.5, 0.8]}),
        pd.DataFrame({"phase": ["x"], "trial": [10**12], "epoch": [0], "train_loss": ["high"]}),
        pd.DataFrame({"phase": ["finetune"] * 2, "trial": [0] * 2, "epoch": [1] * 2, "train_loss": [np.inf] * 2}),
        pd.DataFrame({"trial": [0], "try": [None], "score": ["a"]}),
    ])  # fmt: skip
    parquet = BytesIO()
    frame.to_parquet(parquet)
    contents = [
        b"", b"\x00" * 50, b"[" * 5000, b'{"packages": 3}', b"[[1, 2], [3, 4]]", b'{"a": 1e999}', parquet.getvalue(),
        parquet.getvalue(), parquet.getvalue()[:-9] + b"\xff" * 9, save({}), save({"fill": np.ones(1)}),
        save({"encoder.body": np.zeros((7, 2))}),
    ]  # fmt: skip
    file = draw.choice(sorted(path for path in stack.iterdir() if path.name != "trials.json"))
    if file.suffix != ".json" and draw.random() < 0.5:
        contents = [_changed_frame(file, draw) if file.suffix == ".parquet" else _changed_arrays(file, draw)]
    replace_file(stack, "trials.json", file.name, draw.choice(contents))


def _changed_frame(file: Path, draw: random.Random) -> bytes:
    """A Parquet file in which one column is gone, has another name, or has other values or another type."""
    frame = pd.read_parquet(file)
    column = draw.choice([*frame])
    values = frame.pop(column).tolist()
    other = draw.choice([None, -1, 0, 1, 10**12, 0.5, np.nan, np.inf, "", "a", True, [1], b"a"])
    kind = draw.choice(["gone", "renamed", "one", "all", "text", "shuffled"])
    if kind == "one" and values and type(other) in (int, float) and isinstance(values[0], (int, float)):
        values[draw.randrange(len(values))] = other
    elif kind == "all":
        values = [other] * len(values)
    elif kind == "text":
        values = list(map(str, values))
    elif kind == "shuffled":
        draw.shuffle(values)
    changed_frame = frame if kind == "gone" else frame.assign(**{"x" if kind == "renamed" else column: values})
    content = BytesIO()
    changed_frame.to_parquet(content)
    return content.getvalue()


def _changed_arrays(file: Path, draw: random.Random) -> bytes:
    """Arrays of which one is gone, has another name, or has other values, another type or another shape."""
    arrays = load_file(file)
    name = draw.choice(sorted(arrays))
    array = arrays.pop(name)
    others = {
        "gone": {},
        "renamed": {draw.choice(["x", "fill", "head.x", "encoder.missing"]): array},
        "infinite": {name: array * np.inf},
        "negative": {name: -array},
        "zero": {name: array * 0},
        "cut": {name: np.ascontiguousarray(array[..., 1:])},
        "deeper": {name: array[..., None]},
        "doubled": {name: np.concatenate([array, array])},
        "whole": {name: array.astype(np.int64)},
        "true": {name: array.astype(bool)},
    }
    return save(arrays | others[draw.choice(sorted(others))])
