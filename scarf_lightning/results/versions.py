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
from collections.abc import Callable, Iterable, Sequence
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
    science = [pair for pair in cells if _is_of_this_science(pair[1])]
    sources = dict[str, str]()
    for _, stored in science:
        # A file that was moved is one source as long as its content is known.
        sources.setdefault(_data(stored), _text(_description(stored).get("source")))
    data = _newest(science, lambda stored: (sources[_data(stored)], _question(_description(stored))), _data)
    newest = _newest(data, _options, lambda stored: _text(_plugins(stored)))

    reasons = []
    if others := _without(cells, science):
        reasons.append(f"of {trained_by(others)}")
    if others := _without(science, data):
        names = sorted({str(_description(stored)["dataset"]) for stored in others})
        reasons.append(f"of earlier contents of {_listed(names)}")
    if others := _without(data, newest):
        plugins = sorted(set().union(*map(_plugins, others)))
        reasons.append(f"of earlier sources of {_listed(plugins)}")
    if not reasons:
        return newest, []
    n_others = len(cells) - len(newest)
    they = "it trains" if n_others == 1 else "they train"
    left_out = f"{counted(n_others, 'cell')} {'is' if n_others == 1 else 'are'} left out"
    return newest, [f"{left_out}, {enumeration(reasons)}; {they} anew when asked for."]


def trained_by(cells: Iterable[Stored]) -> str:
    """The versions of the package that trained these cells: ``version 0.1.0 (science 2)``."""
    versions = set()
    for stored in cells:
        if stored.description is None:
            versions.add(f"version {stored.release}")
        else:
            package = packages_of(stored).get("scarf-lightning", "unknown")
            versions.add(f"version {package} (science {stored.description['identity'].get('science')!s:.20})")
    return _listed(sorted(versions))


def _is_of_this_science(stored: Stored) -> bool:
    return stored.description is not None and stored.description["identity"].get("science") == SCIENCE_VERSION


def _newest(
    cells: Cells, thing: Callable[[Stored], Any], version: Callable[[Stored], str]
) -> list[tuple[Path, Stored]]:
    """The cells of the version of each thing that was written last; of two at one time of the last by name."""
    last = dict[Any, str]()
    for stored in sorted((stored for _, stored in cells), key=lambda stored: (stored.written, version(stored))):
        last[thing(stored)] = version(stored)
    return [(place, stored) for place, stored in cells if last[thing(stored)] == version(stored)]


def _without(cells: Cells, others: Cells) -> list[Stored]:
    """What the cells hold that are not among others."""
    places = {place for place, _ in others}
    return [stored for place, stored in cells if place not in places]


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


def _listed(names: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``, ``a, b, c, d, e and 3 more``."""
    shown = list(names[:NAMED])
    if len(names) > NAMED:
        shown.append(f"{len(names) - NAMED} more")
    return enumeration(shown)


def _text(value: Any) -> str:
    """A value as a text that is equal for equal values."""
    return json.dumps(value, sort_keys=True, default=str)
