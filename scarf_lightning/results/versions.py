"""Versions: results of one thing at two times are never results of two things.

A dataset has versions, as a file has that grows. So has a plugin, whose source changes, and the package, whose science
version says that numbers changed. What is compared or counted must be of one version, so readers take

- the cells of this science version;
- among these of each dataset the content whose results were written last, with all cells that were trained on it;
- among these of cells with the same options the source of a plugin whose results were written last.

Two contents are versions of one dataset if they have one name and one OpenML id or none, are read and split by the same
columns for the same target, and come from one source.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..errors import counted, enumeration
from .identity import NOT_OPTIONS, SCIENCE_VERSION
from .records import Row
from .store import Stored, packages_of

Cells = Sequence[tuple[Path, Stored]]
"""Cells: their folders, and what these hold."""
NAMED = 5
"""Names that a sentence lists before it counts the others."""
OF_A_SPLIT = ("column", "validation", "test")
"""Options of a split that decide which rows and columns a table has."""


def newest_versions(cells: Cells) -> tuple[list[tuple[Path, Stored]], list[str]]:
    """The cells among these that are of the newest versions, and a sentence on the others, if there are any."""
    science = [pair for pair in cells if _science(pair[1]) == SCIENCE_VERSION]
    sources = dict[str, str]()
    for _, stored in science:
        # A file that was moved is one source as long as its content is known.
        sources.setdefault(_data(stored), _text(_description(stored).get("source")))
    data = _newest(science, lambda stored: (sources[_data(stored)], _question(_description(stored))), _data)
    newest = _newest(data, _options, lambda stored: _text(_plugins(stored)))
    if len(newest) == len(cells):
        return newest, []
    named = dict[str, None]()
    for kept, before, name in ((science, cells, _version), (data, science, _dataset), (newest, data, _plugin_names)):
        places = {place for place, _ in kept}
        named |= dict.fromkeys(sorted({name(stored) for place, stored in before if place not in places}))
    n_others, names = len(cells) - len(newest), list(named)
    if len(names) > NAMED:
        names[NAMED:] = [f"{len(names) - NAMED} more"]
    are, they = ("is", "it trains") if n_others == 1 else ("are", "they train")
    left_out = f"{counted(n_others, 'cell')} {are} left out, of {enumeration(names)}"
    return newest, [f"{left_out}; {they} anew when asked for."]


def _science(stored: Stored) -> Any:
    return None if stored.description is None else stored.description["identity"].get("science")


def _version(stored: Stored) -> str:
    """The version of the package that trained a cell: ``version 0.1.0 (science 2)``."""
    if stored.description is None:
        return f"version {stored.release}"
    package = packages_of(stored).get("scarf-lightning", "unknown")
    return f"version {package} (science {_science(stored)!s:.20})"


def _dataset(stored: Stored) -> str:
    return f"an earlier content of {_description(stored)['dataset']}"


def _plugin_names(stored: Stored) -> str:
    return f"an earlier source of {' and '.join(sorted(_plugins(stored)))}"


def _newest(
    cells: Cells, thing: Callable[[Stored], Any], version: Callable[[Stored], str]
) -> list[tuple[Path, Stored]]:
    """The cells of the version of each thing that was written last; of two at one time of the last by name."""
    last = dict[Any, str]()
    for stored in sorted((stored for _, stored in cells), key=lambda stored: (stored.written, version(stored))):
        last[thing(stored)] = version(stored)
    return [(place, stored) for place, stored in cells if last[thing(stored)] == version(stored)]


def _data(stored: Stored) -> str:
    """The hash of the content of a cell's table."""
    return str(_description(stored)["identity"].get("data"))


def _plugins(stored: Stored) -> dict[str, Any]:
    """The hashes of the plugins that a cell uses, by name."""
    plugins = _description(stored)["identity"].get("plugins")
    return plugins if isinstance(plugins, dict) else {}


def _options(stored: Stored) -> str:
    """The options of a cell that differ from their defaults, and the names of its plugins."""
    options = dict(_description(stored)["identity"])
    for name in NOT_OPTIONS:
        options.pop(name, None)
    return _text([options, sorted(_plugins(stored))])


def _question(description: Row) -> str:
    """The question that a dataset poses: its target, and the columns by which its rows are read and split."""
    dataset, split, target = (description["config"].get("dataset"), description["config"].get("split"),
                              description.get("target"))  # fmt: skip
    asked = [
        description["dataset"],
        description["dataset_id"],
        dataset.get("target") if isinstance(dataset, dict) else None,
        target["kind"] if isinstance(target, dict) else None,
        # Cells that differ in a column of reading are different cells, and no versions of one.
        {name: value for name, value in description["options"].items() if name.startswith("dataset.")},
        [split.get(option) for option in OF_A_SPLIT] if isinstance(split, dict) else None,
    ]
    return _text(asked)


def _description(stored: Stored) -> Row:
    assert stored.description is not None
    return stored.description


def _text(value: Any) -> str:
    """A value as a text that is equal for equal values."""
    return json.dumps(value, sort_keys=True, default=str)
