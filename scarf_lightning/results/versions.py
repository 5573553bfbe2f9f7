"""Versions: results of one thing at two times are never results of two things.

A dataset has versions, whose rows or values differ, as a file has that grows. So has a plugin, whose source differs,
and the package, whose science version says that numbers changed. What is compared or counted must be of one version, so
readers take the newest of each and name the others:

- of a dataset the content whose results were written last, with all cells that were trained on it;
- among these the cells of the highest science version;
- of a plugin, among cells with the same options, the source whose results were written last.

Two tables are versions of one dataset if they have one name and one OpenML id or none, ask for the same target, are
read and split by the same columns, and come from one source or have the same features. The last also joins the folders
of two people, who have the file at different places.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import counted
from .identity import NOT_OPTIONS, SCIENCE_VERSION
from .records import Row
from .store import Stored, packages_of

NAMED = 5
"""Names that a sentence lists before it counts the others."""
OF_A_SPLIT = ("column", "validation", "test")
"""Options of a split that decide which rows and columns a table has."""


@dataclass(frozen=True)
class Version:
    """One cell, and which version it is of what.

    Attributes:
        place: its folder.
        stored: what the folder holds; it is described.
        dataset: number of its dataset among those of all cells.
        data: hash of the content of its table.
        science: version of the package's numbers.
        plugins: hashes of the plugins that it uses, by name, as text.
        options: its options that differ from their defaults, as text.
        written: time of its last record, in seconds since the epoch.
    """

    place: Path
    stored: Stored
    dataset: int
    data: str
    science: int
    plugins: str
    options: str
    written: float

    @property
    def name(self) -> str:
        assert self.stored.description is not None
        return str(self.stored.description["dataset"])


def versions_of(cells: Sequence[tuple[Path, Stored]]) -> list[Version]:
    """The version of each of these cells, which are described, in their order."""
    datasets = _datasets([_description(stored) for _, stored in cells])
    return [_version(place, stored, dataset) for (place, stored), dataset in zip(cells, datasets, strict=True)]


def newest_versions(cells: Sequence[tuple[Path, Stored]]) -> tuple[list[tuple[Path, Stored]], list[str]]:
    """The cells among these that are of the newest versions, and sentences on the others and on earlier science."""
    every = versions_of(cells)
    newest_data = _newest(every, lambda each: each.dataset, lambda each: each.data)
    of_newest_data = [each for each in every if newest_data[each.dataset] == each.data]
    science = {each.dataset: 0 for each in of_newest_data}
    for each in of_newest_data:
        science[each.dataset] = max(science[each.dataset], each.science)
    of_newest_science = [each for each in of_newest_data if each.science == science[each.dataset]]
    newest_plugin = _newest(of_newest_science, lambda each: each.options, lambda each: each.plugins)
    newest = [each for each in of_newest_science if each.plugins == newest_plugin[each.options]]
    sentences = [
        _on_data(_without(every, of_newest_data)),
        _on_science(_without(of_newest_data, of_newest_science)),
        _on_plugins(_without(of_newest_science, newest)),
        _on_earlier_science(newest),
    ]
    return [(each.place, each.stored) for each in newest], [sentence for sentence in sentences if sentence]


def version_numbers(cells: Sequence[tuple[Path, Stored]]) -> list[int]:
    """The number of each cell's version among those of its dataset, from 1, the oldest; the highest is the newest."""
    every = versions_of(cells)
    order_of_data = _order(every, lambda each: each.dataset, lambda each: each.data)
    order_of_plugins = _order(every, lambda each: each.options, lambda each: each.plugins)
    places = [
        (order_of_data[each.dataset, each.data], each.science, order_of_plugins[each.options, each.plugins])
        for each in every
    ]
    of_datasets = defaultdict[int, set[tuple[int, int, int]]](set)
    for each, place in zip(every, places, strict=True):
        of_datasets[each.dataset].add(place)
    numbers = {
        (dataset, place): number
        for dataset, found in of_datasets.items()
        for number, place in enumerate(sorted(found), start=1)
    }
    return [numbers[each.dataset, place] for each, place in zip(every, places, strict=True)]


def trained_by(cells: Iterable[Stored]) -> str:
    """The versions of the package that trained these cells: ``version 0.1.0 (science 2)``."""
    found = set()
    for stored in cells:
        version = packages_of(stored).get("scarf-lightning", "unknown")
        found.add(f"version {version} (science {science_of(_description(stored))})")
    return _listed(sorted(found))


def science_of(description: Row) -> int:
    """The science version of a described cell; 0 if it has none."""
    science = description["identity"].get("science")
    return science if type(science) is int else 0


def _on_earlier_science(cells: Iterable[Version]) -> str:
    """A sentence on cells whose numbers this version would not make."""
    earlier = [each.stored for each in cells if each.science != SCIENCE_VERSION]
    if not earlier:
        return ""
    were, them = ("was", "it") if len(earlier) == 1 else ("were", "them")
    return (
        f"{counted(len(earlier), 'cell')} {were} trained by {trained_by(earlier)}; this version has science "
        f"{SCIENCE_VERSION}, and trains {them} anew when asked for {them}."
    )


def _on_data(cells: Sequence[Version]) -> str:
    if not cells:
        return ""
    return (
        f"{counted(len(cells), 'cell')} of earlier versions of {_datasets_in(cells)} {_are(cells)} left out, the "
        'newest is shown; load(versions="all") has all. Data that are no versions of each other need a dataset.name '
        "each."
    )


def _on_science(cells: Sequence[Version]) -> str:
    if not cells:
        return ""
    return (
        f"{counted(len(cells), 'cell')} on {_datasets_in(cells)} {_are(cells)} left out, trained by "
        f"{trained_by(each.stored for each in cells)}, since others are of a later science; "
        'load(versions="all") has all.'
    )


def _on_plugins(cells: Sequence[Version]) -> str:
    if not cells:
        return ""
    named = _listed(sorted({name for each in cells for name in json.loads(each.plugins)}))
    return (
        f"{counted(len(cells), 'cell')} of earlier versions of the plugin {named} on {_datasets_in(cells)} "
        f'{_are(cells)} left out, the newest is shown; load(versions="all") has all.'
    )


def _are(cells: Sequence[Version]) -> str:
    return "is" if len(cells) == 1 else "are"


def _datasets_in(cells: Sequence[Version]) -> str:
    return _listed(sorted({each.name for each in cells}))


def _listed(names: Sequence[str]) -> str:
    shown = list(names[:NAMED])
    if others := len(names) - len(shown):
        shown.append(f"{others} more")
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _without(cells: Sequence[Version], others: Iterable[Version]) -> list[Version]:
    kept = {each.place for each in others}
    return [each for each in cells if each.place not in kept]


def _newest(
    cells: Sequence[Version], thing: Callable[[Version], Any], version: Callable[[Version], str]
) -> dict[Any, str]:
    """The version of each thing whose results were written last; of two at one time the last by name."""
    last: dict[Any, tuple[float, str]] = {}
    for each in cells:
        found = (each.written, version(each))
        last[thing(each)] = max(found, last.get(thing(each), found))
    return {key: newest for key, (_, newest) in last.items()}


def _order(
    cells: Sequence[Version], thing: Callable[[Version], Any], version: Callable[[Version], str]
) -> dict[tuple[Any, str], int]:
    """The place of each version of each thing in the order in which they were last written, from 0."""
    last = defaultdict[Any, dict[str, float]](dict)
    for each in cells:
        times = last[thing(each)]
        times[version(each)] = max(each.written, times.get(version(each), each.written))
    places: dict[tuple[Any, str], int] = {}
    for key, times in last.items():
        in_order = sorted(times, key=lambda name: (times[name], name))
        places |= {(key, name): place for place, name in enumerate(in_order)}
    return places


def _version(place: Path, stored: Stored, dataset: int) -> Version:
    identity = _description(stored)["identity"]
    return Version(
        place,
        stored,
        dataset,
        data=str(identity.get("data")),
        science=science_of(_description(stored)),
        plugins=_text(identity.get("plugins") or {}),
        options=_text({name: value for name, value in identity.items() if name not in NOT_OPTIONS}),
        written=stored.written,
    )


def _datasets(described: Sequence[Row]) -> list[int]:
    """The number of each cell's dataset: cells of one question share it if they share a source or their features."""
    numbers: list[int] = []
    roots: list[int] = []
    found: dict[Hashable, int] = {}
    for cell in described:
        question = _question(cell)
        features = tuple(column["name"] for column in cell["columns"])
        clues = [(question, "source", str(cell.get("source"))), (question, "features", features)]
        known = sorted({_root(roots, found[clue]) for clue in clues if clue in found})
        if not known:
            known = [len(roots)]
            roots.append(len(roots))
        for number in known:
            roots[number] = known[0]
        found |= dict.fromkeys(clues, known[0])
        numbers.append(known[0])
    return [_root(roots, number) for number in numbers]


def _root(roots: Sequence[int], number: int) -> int:
    """The first number of the datasets that turned out to be one with this."""
    while roots[number] != number:
        number = roots[number]
    return number


def _question(cell: Row) -> str:
    """What is predicted of a dataset, and by which columns its rows are read and split, as text."""
    config = cell["config"]
    dataset, split = (config[name] if isinstance(config.get(name), dict) else {} for name in ("dataset", "split"))
    target = cell.get("target")
    return _text(
        [
            cell["dataset"],
            cell["dataset_id"],
            dataset.get("target"),
            target["kind"] if isinstance(target, dict) else None,
            {name: value for name, value in cell["options"].items() if name.startswith("dataset.")},
            {name: split.get(name) for name in OF_A_SPLIT},
        ]
    )


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _description(stored: Stored) -> Row:
    assert stored.description is not None
    return stored.description
