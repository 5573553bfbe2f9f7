"""A model as a folder.

    model.json                  what the model is and how it reads rows; sizes and hashes of all files
    weights.safetensors         of f and h by name, (T, ...); of networks
    preprocessing.safetensors   fill, shift and scale, (T, M)

Nothing in the folder is code, and `opening.read_model` trusts nothing that it says: names, types, sizes, ranges and
shapes are checked before anything is built.
"""

import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from os import PathLike, fsdecode
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from safetensors.numpy import save as as_safetensors

from ..data.reading import Reader
from ..data.reading.frames import is_half_a_character
from ..data.reading.rules import KINDS, Rule
from ..data.table import Column
from ..errors import UsageError
from ..results.files import UNFINISHED, DamagedRecordError, surely, temporary
from ..results.records import new_record, parsed, read_record

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


class Savable(Protocol):
    """A model with a description in plain values, and its files by name."""

    @property
    def description(self) -> "DataclassInstance": ...
    def files(self) -> Mapping[str, bytes]: ...


def as_tensors(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Named arrays in the format of safetensors."""
    return as_safetensors({name: np.ascontiguousarray(array) for name, array in arrays.items()})


def save(model: Savable, folder: Path) -> None:
    """Write a model into a folder of its own; see `Predictor.save`."""
    files = model.files()
    try:
        ours = _files_to_replace(folder)
        # Written beside its place and then renamed, so a reader finds the old model or the new one, and never half of
        # one.
        with temporary(folder) as made:
            described = {"version": LAYOUT} | asdict(model.description)
            with new_record(made, CONTENTS, KIND, {"model": described}) as place:
                for file, content in files.items():
                    (place / file).write_bytes(content)
            with _out_of_the_way(folder, ours):
                made.rename(folder)
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


@contextmanager
def _out_of_the_way(folder: Path, ours: list[str] | None) -> Iterator[None]:
    """Move a folder aside for the block. If a new one has taken its name, our files in the old one are removed."""
    if ours is None:
        yield
        return
    old = folder.parent / f"{UNFINISHED}{uuid4().hex}"

    def tidy() -> None:
        if old.exists() and not folder.exists():
            old.rename(folder)
        elif old.exists():
            for name in ours:
                (old / name).unlink(missing_ok=True)
            for path in old.iterdir():
                # A file that appeared meanwhile is somebody else's.
                path.rename(folder / path.name)
            old.rmdir()

    try:
        folder.rename(old)
        yield
    finally:
        surely(tidy)


def check_reader(rules: list[Any], columns: tuple[Column, ...]) -> None:
    """Try the reader of these `Reader.plain_rules` and columns. Raises DamagedRecordError if it does not work."""
    for plain in parsed(list[dict[str, Any]], rules, "rules"):
        own = dict(plain)
        column, rule = (parsed(str, own.pop(name, None), f"the {name} of a rule") for name in ("column", "rule"))
        if rule not in KINDS or set(own) - {"from_text", *KINDS[rule].options}:
            raise DamagedRecordError(f"the rule {rule[:40]!r} is unknown, or has unknown options")
        parsed(Rule, {"kind": rule, **own}, f"the rule of {column[:40]!r}")
    reader = Reader.with_rules(rules, columns)
    # A missing value and a text: rules of all kinds meet both.
    for value in (None, "1"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                reader.values(pd.DataFrame({name: [value] for name in reader.names}, dtype=object))
            except UsageError:
                # "1" need not be a value of the column.
                pass
            except Exception as error:
                # A rule's library raises what it likes at options that are none.
                raise DamagedRecordError(f"its rules of reading do not work: {error}") from error


def check_imported(needed: Collection[str], imported: Collection[str], what: str) -> None:
    """Refuse a file with plugins that the caller has not named: importing a module runs it."""
    if unnamed := sorted(set(needed) - set(imported)):
        raise UsageError(f"{what} needs the module {unnamed[0]}; allow its import with plugins=[{unnamed[0]!r}].")
