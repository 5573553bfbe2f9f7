"""A model as a folder.

    model.json                  what the model is and how it reads rows; sizes and hashes of all files
    weights.safetensors         of f and h by name, (T, ...)
    preprocessing.safetensors   fill, shift and scale, (T, M)

Nothing in the folder is code, and `opening.read_model` trusts nothing that it says: names, types, sizes, ranges and
shapes are checked before anything is built.
"""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from ..errors import UsageError
from ..results.records import WEIGHTS, DamagedRecordError, as_safetensors, read_record, temporary, write_record

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

CONTENTS = "model.json"
PREPROCESSING = "preprocessing.safetensors"
KIND = "scarf-lightning model"
LAYOUT = 6
"""Version of the description's layout."""


def save(
    folder: Path,
    description: "DataclassInstance",
    weights: Mapping[str, NDArray[Any]],
    preprocessing: Mapping[str, NDArray[Any]],
) -> None:
    """Write a model into a folder of its own; see `Model.save`."""
    try:
        is_replaced = _is_replaced(folder)
        # Written beside its place and then renamed, so a reader finds the old model or the new one, and never half of
        # one.
        with temporary(folder) as made:
            described = {"version": LAYOUT} | asdict(description)
            files = {WEIGHTS: as_safetensors(weights), PREPROCESSING: as_safetensors(preprocessing)}
            write_record(made, CONTENTS, KIND, {"model": described}, files)
            if is_replaced:
                _replace(folder, made)
            else:
                made.rename(folder)
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror or error}.") from error


def _is_replaced(folder: Path) -> bool:
    """True if there is such a folder, which may be replaced: it is empty or a model's."""
    # Renaming would replace the link, and leave what it leads to as it is.
    if folder.is_symlink():
        raise UsageError(f"{folder} is a link; name the folder that it leads to, or another one.")
    if not folder.exists():
        return False
    there = sorted(path.name for path in folder.iterdir())
    try:
        files = {CONTENTS, *read_record(folder, CONTENTS, KIND)["files"]} if there else set()
    except (DamagedRecordError, FileNotFoundError):
        files = set()
    # A slip, such as a home folder, must not cost files that are no model's.
    if foreign := [name for name in there if name not in files]:
        raise UsageError(f"{folder} holds {foreign[0]}, which is not part of a model; name an empty or a new folder.")
    return True


def _replace(folder: Path, made: Path) -> None:
    """Put a new folder in the place of a model's. The old one comes back if that fails."""
    with temporary(folder) as old:
        try:
            folder.rename(old)
            made.rename(folder)
        except BaseException:
            if old.exists():
                old.rename(folder)
            raise
