"""Results as tables: all cells of a folder, one cell, one trial, predictions and curves.

What is torn, damaged, of another schema or of another cell is left out, with a warning that names it.

A table has versions, as a file has that grows; so has a plugin, and so have the package's numbers. What is compared or
counted must be of one version, so readers take

- the cells of this science version;
- of each dataset the content whose results were written last, with all cells that were trained on it;
- of cells with the same options the sources of plugins whose results were written last.

Two contents are versions of one dataset if they have one name, one source and one OpenML id or none, and are read and
split by the same columns for the same target.
"""

import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from itertools import chain
from pathlib import Path
from statistics import median
from types import NoneType
from typing import TYPE_CHECKING, Any

from ..errors import RecordWarning, UsageError, counted
from ..metrics import METRICS
from ..options.settings import expanded
from .identity import NOT_OPTIONS, SCIENCE_VERSION, with_reading
from .records import PREDICTIONS, WEIGHTS, Arrays, DamagedRecordError, Fields, Row, from_json, parsed, read_file
from .store import (
    CURVE,
    CURVES,
    ENVIRONMENT,
    PREPROCESSING,
    Damage,
    Predictions,
    Stored,
    dtypes_of_columns,
    read_cell,
    stack_files,
)

if TYPE_CHECKING:
    import pandas as pd

FINGERPRINT = re.compile(r"[0-9a-f]{16}")
"""The name of a cell's folder."""
AXES = (
    "dataset_id", "dataset", "regime", "scaling", "pretrain", "corruption", "selection", "views", "loss", "method",
)  # fmt: skip
"""Columns that a table of cells has, also where no cell uses the axis."""
FIRST_COLUMNS = (
    *AXES, "trial", *(metric.name for metric in METRICS), "diverged", "pretrain_epochs", "finetune_epochs",
    "fingerprint", "science",
)  # fmt: skip
"""The order of the first columns."""
OPTION_DTYPES = {
    frozenset({int}): "Int64",
    frozenset({bool}): "boolean",
    frozenset({float}): "float64",
    frozenset({int, float}): "float64",
}
"""The type of a column of options by those of its values; others are objects."""
FEW_STEPS = 100
"""Measured: with fewer steps networks lose accuracy. On iris it is 0.74 after 5 steps and 0.90 after 100."""
LONGER = {
    "pretrain": "pretrain.min_steps=100",
    "finetune": "finetune.min_steps=100 finetune.monitor=loss",
}
"""The options that train longer, by phase."""

Cells = Sequence[tuple[Path, Stored]]
"""Cells: their folders, and what these hold."""
OF_A_SPLIT = ("column", "validation", "test")
"""Options of a split that decide which rows and columns a table has."""


@dataclass(frozen=True)
class StoredCell:
    """One cell of the store.

    Attributes:
        description: its identity, dataset, options, the table's columns and classes, and the overrides that ask for it.
        trials: a row for each trial: metrics, epochs, seconds and split sizes, as in `load`.
        curves: a row for each epoch and trial: ``phase`` (``pretrain``, ``finetune``), ``trial``, ``epoch`` (from 1),
            and the losses and errors, NaN if a phase has none.
    """

    fingerprint: str
    description: Row
    trials: "pd.DataFrame"
    curves: "pd.DataFrame"

    @property
    def config(self) -> Row:
        """The resolved configuration of its first run."""
        config: Row = self.description["config"]
        return config


@dataclass(frozen=True)
class StoredTrial:
    """One trial of the store.

    Attributes:
        row: metrics, epochs, seconds and split sizes.
        preprocessing: the vectors ``fill``, ``shift`` and ``scale``, ``(M,)``.
        weights: of its networks, by name; none if they were not kept.
    """

    row: Fields
    preprocessing: Arrays
    weights: Arrays

    @classmethod
    def of_stack(cls, rows: Sequence[Fields], preprocessing: Arrays, weights: Arrays) -> "list[StoredTrial]":
        """The trials of a stack, whose arrays are ``(T, ...)``."""
        trials = []
        for t, row in enumerate(rows):
            vectors, trial_weights = (
                {name: array[t] for name, array in arrays.items()} for arrays in (preprocessing, weights)
            )
            trials.append(cls(row, vectors, trial_weights))
        return trials


def load(folder: str | Path = "results", fingerprints: Iterable[str] | None = None) -> "pd.DataFrame":
    """The results in a folder, or those of the cells with these fingerprints, a row for each trial.

    Of datasets and plugins that have several versions, and of cells that several science versions of the package have
    trained, the newest are taken, see `newest_versions`; a warning names the others. Cells that are named are given
    whatever version they are of.

    Columns: ``dataset_id, dataset``; one for each axis (``regime, scaling, pretrain, corruption, selection,
    views, loss, method``) and each option of it (such as ``corruption.rate``), null if the cell does not use it; each
    option of reading that a cell sets (such as ``dataset.drop``), the text "null" where one does not; ``trial``;
    the metrics of `scarf_lightning.metrics`, NaN in rows that are older than the metric;
    ``diverged``, the phase (``pretrain``, ``finetune``) in which a trial without metrics diverged; epochs, steps and
    seconds of each phase; ``fits``, how many; split sizes; ``n_features``, the columns that are not constant to the
    models; hardware; ``fingerprint``; ``science``, the version of the
    package's numbers.

    Records that cannot be used are left out, with a warning that names them.

    Raises:
        UsageError: no such folder or cell, or no results in it that can be used.
    """
    folder = expanded(folder)
    cells: list[tuple[Path, Stored]] = []
    damage: Damage = {}
    for place, stored in described_cells(folder, fingerprints):
        _warn(stored)
        damage |= stored.damaged
        if stored.description:
            cells.append((place, stored))
    newest, sentences = newest_versions(cells) if fingerprints is None else (cells, [])
    for sentence in sentences if newest else ():
        warnings.warn(sentence, RecordWarning, stacklevel=2)
    rows = list[Row]()
    for _, stored in newest:
        description = stored.description
        common = {name: description[name] for name in ("dataset_id", "dataset", "fingerprint")}
        common |= {"science": description["identity"].get("science"), **description["options"]}
        rows += [common | row for row in stored.in_order]
    if not rows:
        raise no_results(folder, damage, sentences)
    return _as_table(with_reading(rows), AXES)


def described_cells(folder: Path, fingerprints: Iterable[str] | None = None) -> Iterator[tuple[Path, Stored]]:
    """The cells in a folder, or those with these fingerprints: their places, and what they hold.

    Cells may be damaged. Those that are not described yet have no finished trial, and are left out.

    Raises:
        UsageError: no such cell, or the folder cannot be read.
    """
    names = _fingerprints(folder)
    for fingerprint in names if fingerprints is None else fingerprints:
        if fingerprint not in names:
            raise _no_cell(folder / fingerprint)
        stored = read_cell(folder / fingerprint)
        if stored.description or stored.damaged:
            yield folder / fingerprint, stored


def no_results(folder: Path, damage: Damage, sentences: Sequence[str] = ()) -> UsageError:
    """The error for a folder without results that can be used: it names the first of the ``damage``, if there is any;
    ``sentences`` are on cells of other versions."""
    if sentences:
        return UsageError(f"{folder} holds no results of this version. {sentences[0]}")
    if damage:
        path, reason = next(iter(damage.items()))
        return UsageError(f"{folder} holds no results that can be used: {path}: {reason}.")
    return UsageError(f"{folder} holds no results; train a cell first, or name another folder.")


def load_cell(fingerprint: str, results: str | Path = "results") -> StoredCell:
    """One cell of a folder of results; what is damaged is left out, with a warning that names it.

    Raises:
        UsageError: the folder has no such cell, or its description is damaged.
    """
    stored = _read_described(results, fingerprint)
    curves = read_curves(stored)
    _warn(stored)
    return StoredCell(fingerprint, stored.description, _as_table(stored.in_order), curves)


def load_trials(fingerprint: str, results: str | Path = "results") -> list[StoredTrial]:
    """The finished trials of a cell, by number; what is damaged is left out, with a warning that names it.

    Raises:
        UsageError: the folder has no such cell, or the arrays of a trial cannot be used.
    """
    from safetensors.numpy import load

    stored = _read_described(results, fingerprint, hashes=True)
    _warn(stored)
    trials: dict[int, StoredTrial] = {}
    for stack, table in stored.stacks.items():
        try:
            weights = read_file(stack, table, WEIGHTS, load) if WEIGHTS in table["files"] else {}
            stack_trials = StoredTrial.of_stack(table["trials"], read_file(stack, table, PREPROCESSING, load), weights)
        # An IndexError: its arrays have fewer trials.
        except (DamagedRecordError, IndexError) as error:
            raise UsageError(f"{stack} cannot be used: {error}.") from error
        # The first record of a trial counts.
        trials = {each.row["trial"]: each for each in stack_trials} | trials
    return [trials[number] for number in sorted(trials)]


def load_predictions(fingerprint: str, results: str | Path = "results") -> "pd.DataFrame":
    """The predictions of a cell's trials for their test rows; what is damaged is left out, with a warning.

    Returns:
        A row for each trial and test row: ``trial``; ``row``, its number in the table, from 0; and its ``class`` with
        ``probability_<class>`` for each class, to three digits, or the true ``number`` and the ``predicted`` one.

    Raises:
        UsageError: the folder has no such cell, or it has kept no predictions.
    """
    import pandas as pd

    stored = _read_described(results, fingerprint)
    predictions = read_predictions(stored)
    _warn(stored)
    if not predictions:
        raise UsageError(
            f"Cell {fingerprint} has kept no predictions; train it again with force=true and a larger "
            "keep_predictions_mb."
        )
    frames = []
    for trial, each in sorted(predictions.items()):
        place = pd.DataFrame({"trial": trial, "row": each.rows})
        frames.append(place.join(each.target.frame(each.labels, each.values)))
    return pd.concat(frames, ignore_index=True)


def read_curves(stored: Stored) -> "pd.DataFrame":
    """The curves of a cell, as in `StoredCell`."""
    import pandas as pd

    # A cell without networks has no curves.
    frames = [frame for frame in stack_files(stored, CURVES, partial(_frame, columns=CURVE)) if len(frame)]
    every = pd.concat(frames or [pd.DataFrame(columns=list(CURVE))])
    return every.drop_duplicates(list(CURVE), ignore_index=True)


def read_environments(stored: Stored) -> list[Row]:
    """Versions and hardware that each stack of a cell was trained with."""

    def parse(content: bytes) -> Row:
        environment = from_json(content, ENVIRONMENT)
        # Readers rely on no other field.
        parsed(dict[str, Any], environment.get("packages", {}), "packages")
        return environment

    return stack_files(stored, ENVIRONMENT, parse)


def read_predictions(stored: Stored) -> dict[int, Predictions]:
    """The predictions of a cell by trial."""
    if not stored.description:
        return {}
    target = stored.target

    def parse(content: bytes) -> list[Predictions]:
        return Predictions.of(_frame(content, ("trial", "row", "label")), target)

    # The first record of a trial counts, as of its row.
    return {each.trial: each for each in reversed(list(chain(*stack_files(stored, PREDICTIONS, parse))))}


def _read_described(results: str | Path, fingerprint: str, *, hashes: bool = False) -> Stored:
    """A described cell of the store."""
    cell = expanded(results) / fingerprint
    stored = read_cell(cell, hashes=hashes)
    if not stored.description:
        _warn(stored)
        raise _no_cell(cell)
    return stored


def _warn(stored: Stored) -> None:
    """Name each record of a cell that cannot be used."""
    for path, reason in stored.damaged.items():
        warnings.warn(f"{path} is left out: {reason}.", RecordWarning, stacklevel=3)


def _as_table(rows: Sequence[Row], required_columns: Sequence[str] = ()) -> "pd.DataFrame":
    """Rows as a frame, with ``required_columns`` and all columns of any row, `FIRST_COLUMNS` first."""
    import pandas as pd

    # In the order of their first row, which a set would lose.
    names = dict.fromkeys(chain(required_columns, *rows))
    first = [name for name in FIRST_COLUMNS if name in names]
    dtypes, columns = dtypes_of_columns() | {"dataset_id": "Int64"}, {}
    for name in dict.fromkeys([*first, *names]):
        values = [row.get(name) for row in rows]
        types = frozenset(map(type, values)) - {NoneType}
        columns[name] = pd.Series(values, dtype=dtypes.get(name) or OPTION_DTYPES.get(types, "object"))
    return pd.DataFrame(columns)


def _frame(content: bytes, columns: Sequence[str]) -> "pd.DataFrame":
    """A Parquet file with at least these columns."""
    import pandas as pd

    frame = pd.read_parquet(BytesIO(content))
    # Readers join by these columns, so they must be there and be plain values.
    frame[list(columns)].drop_duplicates()
    return frame


def _fingerprints(folder: Path) -> list[str]:
    """The folders of cells in a folder, also of unreadable ones and of those that are not described yet.

    Raises:
        UsageError: the folder cannot be read.
    """
    if not folder.is_dir():
        return []
    try:
        return sorted(path.name for path in folder.iterdir() if FINGERPRINT.fullmatch(path.name))
    except OSError as error:
        raise UsageError(f"{folder} cannot be read: {error.strerror}; name another folder.") from error


def _no_cell(cell: Path) -> UsageError:
    return UsageError(
        f"{cell.parent} holds no cell {cell.name}; scarf_lightning.results.load names its cells in the column "
        "fingerprint."
    )


def newest_versions(cells: Cells) -> tuple[Cells, list[str]]:
    """The cells among these that are of the newest versions, and a sentence on the others, if there are any."""
    current_cells = [each for each in cells if each[1].description["identity"].get("science") == SCIENCE_VERSION]
    newest = _select_latest(_select_latest(current_cells, "data", _question), "plugins", _options)
    if len(newest) == len(cells):
        return newest, []
    return newest, [
        f"Left out: {counted(len(cells) - len(newest), 'cell')} of another science version, of an earlier content of "
        "the data, or of an earlier plugin. Their commands train them again."
    ]


def _select_latest(cells: Cells, field: str, thing: Callable[[Stored], str]) -> Cells:
    """The cells whose version of a ``thing``, which a ``field`` of their identity holds, was written last."""
    versions = [(thing(stored), _text(stored.description["identity"].get(field))) for _, stored in cells]
    last: dict[str, tuple[str, str]] = {}
    # Of two versions that were written at one time the last by name is the newest.
    for (_, stored), (name, version) in zip(cells, versions, strict=True):
        last[name] = max(last.get(name, ("", "")), (stored.written, version))
    return [cell for cell, (name, version) in zip(cells, versions, strict=True) if version == last[name][1]]


def _question(stored: Stored) -> str:
    """The question that a dataset poses: its target, and the columns by which its rows are read and split."""
    description, config = stored.description, stored.description["config"]
    # Cells that differ in a column of reading are different cells, and no versions of one.
    reading = {name: value for name, value in description["options"].items() if name.startswith("dataset.")}
    origin = [description.get(name) for name in ("dataset", "dataset_id", "source")]
    split = [config.get("split", {}).get(option) for option in OF_A_SPLIT]
    return _text([origin, config.get("dataset", {}).get("target"), stored.target.name, reading, split])


def _options(stored: Stored) -> str:
    """The options of a cell that differ from their defaults, and the names of its plugins."""
    identity = stored.description["identity"]
    options = {name: value for name, value in identity.items() if name not in NOT_OPTIONS}
    plugins = identity.get("plugins")
    return _text([options, sorted(plugins) if isinstance(plugins, dict) else []])


def _text(value: Any) -> str:
    """A value as a text that is equal for equal values."""
    return json.dumps(value, sort_keys=True)


def few_steps_note(cells: Sequence[Sequence[Fields]]) -> list[str]:
    """A sentence on the phases in which the median trial of a cell made fewer than 100 steps, if there is one."""
    phrases = {}
    for phase in LONGER:
        medians, column = [], f"{phase}_steps"
        for rows in cells:
            if steps := [row[column] for row in rows if row.get(column) is not None]:
                medians.append(median(steps))
        if medians and min(medians) < FEW_STEPS:
            phrases[phase] = f"{min(medians):g} optimiser steps in {phase}"
    sentence = (
        f"The median trial of a cell made {' and '.join(phrases.values())}, fewer than {FEW_STEPS}: networks may have "
        f"learnt too little. {' '.join(LONGER[phase] for phase in phrases)} trains longer."
    )
    return [sentence] if phrases else []
