"""Folders of models that somebody else wrote, with seals and hashes that are right."""

import os
import random
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from safetensors.numpy import load_file, save_file

from scarf_lightning.errors import UsageError
from scarf_lightning.estimators import load_model
from tests.results.sealing import replace_file, rewritten
from tests.storing import stored, write_csv
from tools.fuzzing.attacking import USED, sentence_of
from tools.fuzzing.values import changed

COUNT = 600
ARRAYS = ("weights.safetensors", "preprocessing.safetensors")


def prepare(folder: Path) -> tuple[Path, pd.DataFrame]:
    """A saved model, and rows that it predicts."""
    random, n = np.random.default_rng(5), 60
    rows = pd.DataFrame(
        {
            "height": random.normal(170, 10, n),
            "price": [f"{value:,.2f} €" for value in random.lognormal(7, 1, n)],
            "since": [f"{1 + i % 28:02d}/{1 + i % 12:02d}/2021" for i in range(n)],
            "text": [f"{i} {'ab' * (i % 7)}" for i in random.integers(0, 45, n)],
            "colour": random.choice(["red", "green", "blue"], n),
        }
    )
    target = pd.Series(random.choice(["yes", "no"], n))
    asked = [*write_csv(folder, rows, target), "trials=2", "keep_weights=true", "pretrain=none"]
    model = folder / "saved"
    load_model(stored(folder / "results", *asked).folder).save(model)
    load_model(model).predict_proba(rows)
    return model, rows


def attack(prepared: tuple[Path, pd.DataFrame], draw: random.Random, folder: Path) -> str:
    original, rows = prepared
    model = Path(shutil.copytree(original, folder / "model"))
    chances = {_arrays: 0.2, _content: 0.1, _fields: 0.6, _no_file: 0.1}
    ways = [way for way, chance in chances.items() if draw.random() < chance] or [_fields]
    for way in ways:
        way(model, draw)
    before = sorted(folder.iterdir())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loaded = load_model(model)
            probabilities = loaded.predict_proba(rows.head(3))
            embedded = loaded.transform(rows.head(3))
    except UsageError as error:
        return sentence_of(error)
    assert np.isfinite(probabilities).all(), "probabilities are not numbers"
    assert np.isfinite(embedded).all(), "embeddings are not numbers"
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-4)
    assert probabilities.shape == (3, len(loaded.classes_))
    assert sorted(folder.iterdir()) == before
    return USED


def _fields(model: Path, draw: random.Random) -> None:
    """Another description."""

    def change(content: dict[str, Any]) -> None:
        changed(content["model"] if isinstance(content.get("model"), dict) and draw.random() < 0.8 else content, draw)

    rewritten(model / "model.json", change)


@np.errstate(all="ignore")
def _arrays(model: Path, draw: random.Random) -> None:
    """Other arrays."""
    name = draw.choice(ARRAYS)
    arrays = load_file(model / name)
    array = draw.choice(sorted(arrays))
    old = arrays[array]
    new = draw.choice([
        old[:, :1], old[:1], old[..., None], old * np.nan, old * np.inf, old * 1e30, old * 0, old * -1e-30,
        old.astype(np.float64), old.astype(np.float16), old.astype(np.int8), old.astype(bool), old.T,
        np.zeros(0, old.dtype), np.concatenate([old, old]),
    ])  # fmt: skip
    arrays[array] = np.ascontiguousarray(new)
    if draw.random() < 0.2:
        arrays[draw.choice(["more", "encoder.missing", "", "head.layers.9.weight"])] = arrays.pop(array)
    save_file(arrays, model / "new")
    content = (model / "new").read_bytes()
    (model / "new").unlink()
    replace_file(model, "model.json", name, content)


def _content(model: Path, draw: random.Random) -> None:
    """Other bytes in the place of arrays."""
    header = draw.choice([2**62, 100, 0]).to_bytes(8, "little")
    content = draw.choice([
        b"", b"\x00" * 50, header + b'{"a": 1}', header, b"\x80\x04.", (8).to_bytes(8, "little") + b"[" * 8,
        (60).to_bytes(8, "little") + b'{"a":{"dtype":"F32","shape":[1e9],"data_offsets":[0,4]}}   ' + b"1234",
    ])  # fmt: skip
    replace_file(model, "model.json", draw.choice(ARRAYS), content)


def _no_file(model: Path, draw: random.Random) -> None:
    """What is no file of ours, in the place of one."""
    path = model / draw.choice([*ARRAYS, "model.json"])
    path.unlink()
    make: Callable[[Path], object] = draw.choice([
        os.mkfifo, Path.mkdir, lambda path: path.symlink_to("/dev/zero"), lambda path: path.symlink_to("nowhere"),
        lambda path: path.symlink_to(path.name), lambda path: path.write_bytes(b""), _sparse,
    ])  # fmt: skip
    make(path)


def _sparse(path: Path) -> None:
    """A terabyte that takes no place on the disk."""
    path.touch()
    os.truncate(path, 1 << 40)
