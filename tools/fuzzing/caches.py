"""Pre-trainings and notes in a results folder that somebody else wrote, with hashes that are right.

A run that meets them uses them, or sets them aside and trains; its numbers are finite.
"""

import random
import shutil
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save

from scarf_lightning.cli import commands
from scarf_lightning.results import load
from tests.processes import TINY, here
from tests.results.sealing import replace_file, rewritten
from tools.fuzzing.attacking import USED
from tools.fuzzing.values import changed

COUNT = 100
ASKED = ("trials=2", "pretrain.max_epochs=1", "finetune.max_epochs=1", *TINY[2:])


def prepare(folder: Path) -> Path:
    """A cell, with its pre-trainings in the cache."""
    ran = here(commands.train, *ASKED, cwd=folder)
    assert ran.returncode == 0, ran.stderr
    return folder / "results"


def attack(prepared: Path, draw: random.Random, folder: Path) -> str:
    results = Path(shutil.copytree(prepared, folder / "results"))
    (place,) = (results / "pretrained").glob("*/trials/0000")
    what = draw.choice(["weights", "weights", "curve", "note", "description", "failure"])
    if what == "weights":
        _weights(place, draw)
    elif what == "failure":
        (results / "failures").mkdir(exist_ok=True)
        (results / "failures" / f"{draw.choice(['a', '../a', 'é' * 80]).replace('/', '')}.json").write_text("{}")
    else:
        files = {"curve": place / "curve.json", "description": place.parents[1] / "pretraining.json"}
        (note,) = (results / "datasets").iterdir()
        rewritten(files.get(what, note), lambda content: changed(content, draw))

    ran = here(commands.train, *ASKED, "finetune.patience=1", cwd=folder)

    assert ran.returncode == 0, ran.stderr
    assert "Traceback" not in ran.stderr, ran.stderr
    found = load(results)
    assert len(found) == 4
    measured = found[found["diverged"].isna()]
    assert np.isfinite(measured["log_loss"].astype(float)).all(), "a number is not finite"
    return " ".join(ran.stderr.split()) or USED


@np.errstate(all="ignore")
def _weights(place: Path, draw: random.Random) -> None:
    """Other arrays."""
    arrays = load_file(place / "weights.safetensors")
    name = draw.choice(sorted(arrays))
    old = arrays.pop(name)
    new = draw.choice([
        None, old[:1], old[..., None], old * np.nan, old * np.inf, old * 1e38, old.astype(np.float64),
        old.astype(np.int8), old.T, np.zeros(0, old.dtype), np.concatenate([old, old]),
    ])  # fmt: skip
    if new is not None:
        arrays[draw.choice([name, name, name, "more", ""])] = np.ascontiguousarray(new)
    replace_file(place, "curve.json", "weights.safetensors", save(arrays))
