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

from ..errors import counted, enumeration
from .identity import NOT_OPTIONS, SCIENCE_VERSION
from .records import Row
from .store import Stored, packages_of

NAMED = 5
"""Names that a sentence lists before it counts the others."""
OF_A_SPLIT = ("column", "validation", "test")
"""Options of a split that decide which rows and columns a table has."""

Cells = Sequence[tuple[Path, Stored]]
"""Described cells: their folders, and what these hold."""


@dataclass(frozen=True)
class Version:
    """One cell, and which version it is of what.

    Attributes:
        place: its folder.
        stored: what the folder holds.
        name: of its dataset.
        dataset: number of its dataset among those of all cells.
        data: hash of the content of its table.
        science: version of the package's numbers.
        plugins: hashes of the plugins that it uses, by name, as text.
        options: its options that differ from their defaults, and the names of its plugins, as text.
    """

    place: Path
    stored: Stored
    name: str
    dataset: int
    data: str
    science: int
    plugins: str
    options: str


def newest_versions(cells: Cells) -> tuple[list[tuple[Path, Stored]], list[str]]:
    """The cells among these that are of the newest versions, and sentences on the others and on earlier science."""
    every = _versions(cells)

    # What is compared must be of one content: cells that only an earlier one has are left out too.
    content = _ordered_versions(every, lambda each: each.dataset, lambda each: each.data)
    newest_content = [each for each in every if content[each.dataset][-1] == each.data]

    # By number and not by time: an older version of the package may be used later.
    science = defaultdict[int, int](int)
    for each in newest_content:
        science[each.dataset] = max(science[each.dataset], each.science)
    newest_science = [each for each in newest_content if science[each.dataset] == each.science]

    # A plugin is one competitor on all datasets, so its source is chosen over all of them.
    source = _ordered_versions(newest_science, lambda each: each.options, lambda each: each.plugins)
    newest = [each for each in newest_science if source[each.options][-1] == each.plugins]

    sentences = [
        _data_note(_without(every, newest_content)),
        _science_note(_without(newest_content, newest_science)),
        _plugins_note(_without(newest_science, newest)),
        _earlier_science_note(newest),
    ]
    return [(each.place, each.stored) for each in newest], list(filter(None, sentences))


def version_numbers(cells: Cells) -> list[int]:
    """The number of each cell's version among those of its dataset, from 1, the oldest; the highest is the newest."""
    every = _versions(cells)
    content = _ordered_versions(every, lambda each: each.dataset, lambda each: each.data)
    source = _ordered_versions(every, lambda each: each.options, lambda each: each.plugins)
    versions = []
    dataset_versions = defaultdict[int, set[tuple[int, int, int]]](set)
    for each in every:
        place_of_content = content[each.dataset].index(each.data)
        place_of_source = source[each.options].index(each.plugins)
        version = (place_of_content, each.science, place_of_source)
        versions.append(version)
        dataset_versions[each.dataset].add(version)
    numbers = []
    for each, version in zip(every, versions, strict=True):
        ordered = sorted(dataset_versions[each.dataset])
        numbers.append(ordered.index(version) + 1)
    return numbers


def trained_by(cells: Iterable[Stored]) -> str:
    """The versions of the package that trained these cells: ``version 0.1.0 (science 2)``."""
    versions = set()
    for stored in cells:
        package = packages_of(stored).get("scarf-lightning", "unknown")
        versions.add(f"version {package} (science {science_of(_description(stored))})")
    return _listed(sorted(versions))


def science_of(description: Row) -> int:
    """The science version of a described cell; 0 if it has none."""
    science = description["identity"].get("science")
    return science if type(science) is int else 0


def _data_note(cells: Sequence[Version]) -> str:
    """A sentence on cells of an earlier content of their dataset."""
    if not cells:
        return ""
    return (
        f"{_cells(cells)} of earlier versions of {_datasets_of(cells)} {_are(cells)} left out, the newest is shown; "
        'load(versions="all") has all. Data that are no versions of each other need a dataset.name each.'
    )


def _science_note(cells: Sequence[Version]) -> str:
    """A sentence on cells of an earlier science than others of their dataset."""
    if not cells:
        return ""
    by = trained_by(each.stored for each in cells)
    return (
        f"{_cells(cells)} on {_datasets_of(cells)} {_are(cells)} left out, trained by {by}, since others are of a "
        'later science; load(versions="all") has all.'
    )


def _plugins_note(cells: Sequence[Version]) -> str:
    """A sentence on cells of an earlier source of a plugin."""
    if not cells:
        return ""
    plugins = set[str]()
    for each in cells:
        plugins.update(json.loads(each.plugins))
    named = _listed(sorted(plugins))
    return (
        f"{_cells(cells)} of earlier versions of the plugin {named} on {_datasets_of(cells)} {_are(cells)} left out, "
        'the newest is shown; load(versions="all") has all.'
    )


def _earlier_science_note(cells: Sequence[Version]) -> str:
    """A sentence on cells that are shown although an earlier science trained them, because nothing newer is there."""
    earlier = [each for each in cells if each.science != SCIENCE_VERSION]
    if not earlier:
        return ""
    by = trained_by(each.stored for each in earlier)
    were, them = ("was", "it") if len(earlier) == 1 else ("were", "them")
    return (
        f"{_cells(earlier)} {were} trained by {by}; this version has science {SCIENCE_VERSION}, and trains {them} anew "
        f"when asked for {them}."
    )


def _cells(cells: Sequence[Version]) -> str:
    return counted(len(cells), "cell")


def _are(cells: Sequence[Version]) -> str:
    return "is" if len(cells) == 1 else "are"


def _datasets_of(cells: Sequence[Version]) -> str:
    return _listed(sorted({each.name for each in cells}))


def _listed(names: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``, ``a, b, c, d, e and 3 more``."""
    shown = list(names[:NAMED])
    if len(names) > NAMED:
        shown.append(f"{len(names) - NAMED} more")
    return enumeration(shown)


def _without(cells: Sequence[Version], others: Sequence[Version]) -> list[Version]:
    """The cells that are not among others."""
    kept = {each.place for each in others}
    return [each for each in cells if each.place not in kept]


def _ordered_versions(
    cells: Sequence[Version], thing: Callable[[Version], Hashable], version: Callable[[Version], str]
) -> dict[Any, list[str]]:
    """The versions of each thing in the order of their last records. Of two at one time the last is that by name."""
    written = defaultdict[Hashable, defaultdict[str, list[float]]](lambda: defaultdict(list))
    for each in cells:
        written[thing(each)][version(each)].append(each.stored.written)
    ordered: dict[Any, list[str]] = {}
    for key, times in written.items():
        dated_names = sorted((max(its), name) for name, its in times.items())
        ordered[key] = [name for _, name in dated_names]
    return ordered


def _versions(cells: Cells) -> list[Version]:
    """The version of each cell, in their order."""
    datasets = _datasets(cells)
    versions = []
    for (place, stored), dataset in zip(cells, datasets, strict=True):
        description = _description(stored)
        identity = description["identity"]
        plugins = identity.get("plugins")
        if not isinstance(plugins, dict):
            plugins = {}
        options = dict(identity)
        for name in NOT_OPTIONS:
            options.pop(name, None)
        versions.append(
            Version(
                place,
                stored,
                name=description["dataset"],
                dataset=dataset,
                data=str(identity.get("data")),
                science=science_of(description),
                plugins=_text(plugins),
                options=_text([options, sorted(plugins)]),
            )
        )
    return versions


def _datasets(cells: Cells) -> list[int]:
    """The number of each cell's dataset: cells of one question share it if they share a source or their features.

    A cell may join two datasets: of three cells, the second shares the source of the first and the features of the
    third, so that all three are of one dataset.
    """
    numbers: list[int] = []
    # Two datasets may turn out to be one: then the later number leads to the earlier one.
    earlier: list[int] = []
    number_of: dict[Hashable, int] = {}
    for _, stored in cells:
        description = _description(stored)
        question = _question(description)
        features = tuple(column["name"] for column in description["columns"])
        clues = [(question, "source", _text(description.get("source"))), (question, "features", features)]
        known_numbers = set[int]()
        for clue in clues:
            if clue in number_of:
                known_numbers.add(_first(earlier, number_of[clue]))
        datasets = sorted(known_numbers)
        if not datasets:
            datasets = [len(earlier)]
            earlier.append(len(earlier))
        for number in datasets:
            earlier[number] = datasets[0]
        for clue in clues:
            number_of[clue] = datasets[0]
        numbers.append(datasets[0])
    return [_first(earlier, number) for number in numbers]


def _first(earlier: Sequence[int], number: int) -> int:
    """The first number of the datasets that turned out to be one with this."""
    while earlier[number] != number:
        number = earlier[number]
    return number


def _question(description: Row) -> str:
    """The question that a dataset poses, as text: its target, and the columns by which its rows are read and split."""
    config = description["config"]
    dataset = config.get("dataset")
    split = config.get("split")
    target = description.get("target")
    # Cells that differ in a column of reading are different cells there, and no versions of one.
    reading = {name: value for name, value in description["options"].items() if name.startswith("dataset.")}
    asked = {
        "name": description["dataset"],
        "id": description["dataset_id"],
        "target": dataset.get("target") if isinstance(dataset, dict) else None,
        "kind": target["kind"] if isinstance(target, dict) else None,
        "reading": reading,
    }
    if isinstance(split, dict):
        asked |= {option: split.get(option) for option in OF_A_SPLIT}
    return _text(asked)


def _text(value: Any) -> str:
    """A value as a text that is equal for equal values."""
    return json.dumps(value, sort_keys=True, default=str)


def _description(stored: Stored) -> Row:
    assert stored.description is not None
    return stored.description
