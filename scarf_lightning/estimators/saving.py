"""A model as a folder.

    model.json                  what it is, how it reads rows; sizes and hashes of all files
    weights.safetensors         of f and h by name, (T, ...)
    preprocessing.safetensors   fill, shift and scale, (T, M)

Nothing in it is code: opening one runs nothing that it says.
"""

from dataclasses import asdict
from pathlib import Path

import numpy as np
from safetensors.numpy import save as as_safetensors

from ..errors import UsageError
from ..results.files import temporary
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
    is_there = folder.exists()
    if is_there and not (folder / CONTENTS).is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is there already and is no model; name another folder.")
    said = model.description
    plain = asdict(said) | {"reader": said.reader.as_plain(), "version": VERSION}
    arrays = {
        WEIGHTS: dict(model.weights),
        PREPROCESSING: {name: getattr(model.preprocessing, name) for name in VECTORS},
    }
    with temporary(folder) as made, temporary(folder) as old:
        with new_record(made, CONTENTS, KIND, {"model": plain}) as place:
            for file, named in arrays.items():
                content = as_safetensors({name: np.ascontiguousarray(array) for name, array in named.items()})
                (place / file).write_bytes(content)
        try:
            if is_there:
                folder.rename(old)
            made.rename(folder)
        finally:
            if is_there and not folder.exists():  # stopped between the two
                old.rename(folder)
