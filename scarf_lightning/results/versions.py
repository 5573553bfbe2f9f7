"""Versions: results of one thing at two times are never results of two things.

A table has versions, as a file has that grows; so has a plugin, and so have the package's numbers. What is compared or
counted must be of one version, so readers take

- the cells of this science version;
- of each dataset the content whose results were written last, with all cells that were trained on it;
- of cells with the same options the sources of plugins whose results were written last.

Two contents are versions of one dataset if they have one name, one source and one OpenML id or none, and are read and
split by the same columns for the same target.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..errors import counted, enumeration
from .identity import NOT_OPTIONS, SCIENCE_VERSION
from .store import Stored

Cells = Sequence[tuple[Path, Stored]]
"""Cells: their folders, and what these hold."""
OF_A_SPLIT = ("column", "validation", "test")
"""Options of a split that decide which rows and columns a table has."""


def newest_versions(cells: Cells) -> tuple[Cells, list[str]]:
    """The cells among these that are of the newest versions, and a sentence on the others, if there are any."""
    of_this_science = [each for each in cells if each[1].described["identity"].get("science") == SCIENCE_VERSION]
    of_this_data = _written_last(of_this_science, "data", _question)
    newest = _written_last(of_this_data, "plugins", _options)
    left_out = {
        "of another science version": len(cells) - len(of_this_science),
        "of an earlier content of their data": len(of_this_science) - len(of_this_data),
        "of an earlier plugin": len(of_this_data) - len(newest),
    }
    reasons = [f"{counted(number, 'cell')} {which}" for which, number in left_out.items() if number]
    return newest, [f"Left out: {enumeration(reasons)}. Their commands train them anew."] if reasons else []


def _written_last(cells: Cells, field: str, thing: Callable[[Stored], str]) -> Cells:
    """The cells whose version of a ``thing``, which a ``field`` of their identity holds, was written last."""
    versions = [_text(stored.described["identity"].get(field)) for _, stored in cells]
    things = [thing(stored) for _, stored in cells]
    last = defaultdict[str, tuple[float, str]](lambda: (0.0, ""))
    # Of two versions that were written at one time the last by name is the newest.
    for (_, stored), name, version in zip(cells, things, versions, strict=True):
        last[name] = max(last[name], (stored.written, version))
    kept = []
    for cell, name, version in zip(cells, things, versions, strict=True):
        if version == last[name][1]:
            kept.append(cell)
    return kept


def _question(stored: Stored) -> str:
    """The question that a dataset poses: its target, and the columns by which its rows are read and split."""
    described, config = stored.described, stored.described["config"]
    # Cells that differ in a column of reading are different cells, and no versions of one.
    reading = {name: value for name, value in described["options"].items() if name.startswith("dataset.")}
    named = [described.get(name) for name in ("dataset", "dataset_id", "source")]
    split = [config.get("split", {}).get(option) for option in OF_A_SPLIT]
    return _text([named, config.get("dataset", {}).get("target"), stored.target.name, reading, split])


def _options(stored: Stored) -> str:
    """The options of a cell that differ from their defaults, and the names of its plugins."""
    identity = stored.described["identity"]
    options = {name: value for name, value in identity.items() if name not in NOT_OPTIONS}
    plugins = identity.get("plugins")
    return _text([options, sorted(plugins) if isinstance(plugins, dict) else []])


def _text(value: Any) -> str:
    """A value as a text that is equal for equal values."""
    return json.dumps(value, sort_keys=True, default=str)
