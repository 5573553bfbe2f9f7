"""A model as a folder.

    model.json                  what the model is and how it reads rows; sizes and hashes of all files
    weights.safetensors         of f and h by name, (T, ...)
    preprocessing.safetensors   fill, shift and scale, (T, M)

Nothing in the folder is code, and `opening.read_model` trusts nothing that it says: names, types, sizes, ranges and
shapes are checked before anything is built.
"""

from collections.abc import Mapping
from dataclasses import asdict
from os import PathLike, fsdecode
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save as as_safetensors

from ..data.reading.frames import is_half_a_character
from ..errors import UsageError
from ..results.files import UNFINISHED, DamagedRecordError, temporary
from ..results.records import WEIGHTS, new_record, read_record

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

CONTENTS = "model.json"
PREPROCESSING = "preprocessing.safetensors"
KIND = "scarf-lightning model"
LAYOUT = 6
"""Version of the description's layout."""


def place(path: "str | PathLike[str]") -> Path:
    """A path, with ``~`` for the user's home.

    Raises:
        UsageError: it is no path, or cannot be one.
    """
    if not isinstance(path, (str, PathLike)):
        raise UsageError(f"The place of a model must be a path, not {path!r}.")
    text = fsdecode(path)
    if "\0" in text or is_half_a_character(text):
        raise UsageError(f"{text!r} can be no path: it holds a NUL character, or half a character.")
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise UsageError(f"{text} has no meaning here: {error}") from error


def save(
    folder: Path,
    description: "DataclassInstance",
    weights: Mapping[str, NDArray[Any]],
    preprocessing: Mapping[str, NDArray[Any]],
) -> None:
    """Write a model into a folder of its own; see `Model.save`."""
    try:
        ours = _files_to_replace(folder)
        # Written beside its place and then renamed, so a reader finds the old model or the new one, and never half of
        # one.
        with temporary(folder) as made:
            described = {"version": LAYOUT} | asdict(description)
            with new_record(made, CONTENTS, KIND, {"model": described}) as place:
                for file, arrays in ((WEIGHTS, weights), (PREPROCESSING, preprocessing)):
                    content = as_safetensors({name: np.ascontiguousarray(array) for name, array in arrays.items()})
                    (place / file).write_bytes(content)
            if ours is None:
                made.rename(folder)
            else:
                _replace(folder, made, ours)
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror or error}.") from error


def _files_to_replace(folder: Path) -> list[str] | None:
    """The files in a model's folder, which may be replaced; None if there is no such folder."""
    # Renaming would replace the link, and leave what it leads to as it is.
    if folder.is_symlink():
        raise UsageError(f"{folder} is a link; name the folder that it leads to, or another one.")
    if not folder.exists():
        return None
    if not folder.is_dir():
        raise UsageError(f"{folder} is a file; name a folder.")
    there = sorted(path.name for path in folder.iterdir())
    try:
        files = {CONTENTS, *read_record(folder, CONTENTS, KIND)["files"]} if there else set()
    except (DamagedRecordError, FileNotFoundError):
        files = set()
    # A slip, such as a home folder, must not cost files that are no model's.
    if foreign := [name for name in there if name not in files]:
        raise UsageError(f"{folder} holds {foreign[0]}, which is not part of a model; name an empty or a new folder.")
    return there


def _replace(folder: Path, made: Path, ours: list[str]) -> None:
    """Put a new folder in the place of a model's with these files. The old one comes back if that fails."""
    old = folder.parent / f"{UNFINISHED}{uuid4().hex}"
    try:
        folder.rename(old)
        made.rename(folder)
    except BaseException:
        if old.exists():
            old.rename(folder)
        raise
    for name in ours:
        (old / name).unlink(missing_ok=True)
    for path in old.iterdir():
        # A file that appeared meanwhile is somebody else's.
        path.rename(folder / path.name)
    old.rmdir()
