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
from collections.abc import Sequence
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
    newest, others = list[tuple[Path, Stored]](), set[str]()
    for place, stored in cells:
        if _science(stored) == SCIENCE_VERSION:
            newest.append((place, stored))
        else:
            others.add(f"version {stored.release}" if stored.release else f"science {_science(stored)!s:.20}")
    for field, thing in (("data", _question), ("plugins", _options)):
        versions = [(thing(stored), _text(stored.described["identity"].get(field))) for _, stored in newest]
        last = dict[str, tuple[float, str]]()
        # Of two versions that were written at one time the last by name is the newest.
        for (_, stored), (name, version) in zip(newest, versions, strict=True):
            last[name] = max(last.get(name, (0.0, "")), (stored.written, version))
        candidates, newest = newest, []
        for (place, stored), (name, version) in zip(candidates, versions, strict=True):
            if version == last[name][1]:
                newest.append((place, stored))
            else:
                of_data = f"an earlier content of {stored.described['dataset']}"
                others.add(of_data if field == "data" else "an earlier plugin")
    if not others:
        return newest, []
    n_others = len(cells) - len(newest)
    verb, they = ("is", "it trains") if n_others == 1 else ("are", "they train")
    left_out = f"{counted(n_others, 'cell')} {verb} left out, of {enumeration(sorted(others))}"
    return newest, [f"{left_out}; {they} anew when asked for."]


def _science(stored: Stored) -> Any:
    return None if stored.description is None else stored.description["identity"].get("science")


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
