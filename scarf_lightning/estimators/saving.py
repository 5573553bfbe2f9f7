"""A model as a folder.

    model.json                  what it is, how it reads rows; sizes and hashes of all files
    weights.safetensors         of f and h by name, (T, ...)
    preprocessing.safetensors   fill, shift and scale, (T, M)

Nothing in it is code: opening one runs nothing that it says.
"""

import shutil
from dataclasses import asdict
from pathlib import Path

import numpy as np
from safetensors.numpy import save as as_safetensors

from ..errors import UsageError
from ..results.files import beside
from ..results.records import WEIGHTS, new_record
from .model import Model

CONTENTS = "model.json"
PREPROCESSING = "preprocessing.safetensors"
KIND = "scarf-lightning model"
VERSION = 1
"""Of what a model's description says."""

VECTORS = ("fill", "shift", "scale")


def save(model: Model, folder: Path) -> None:
    """See `Model.save`."""
    old = None
    if folder.exists():
        if not (folder / CONTENTS).is_file() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(f"{folder} is there already and is no model; name another folder.")
        old = beside(folder)
    said = model.description
    plain = asdict(said) | {"reader": said.reader.as_plain(), "version": VERSION}
    arrays = {
        WEIGHTS: dict(model.weights),
        PREPROCESSING: {name: getattr(model.preprocessing, name) for name in VECTORS},
    }
    unfinished = beside(folder)
    with new_record(unfinished, CONTENTS, KIND, {"model": plain}) as place:
        for file, named in arrays.items():
            content = as_safetensors({name: np.ascontiguousarray(array) for name, array in named.items()})
            (place / file).write_bytes(content)
    if old is not None:
        folder.rename(old)
    unfinished.rename(folder)
    if old is not None:
        shutil.rmtree(old)
