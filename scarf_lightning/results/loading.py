"""Results as tables: all cells of a folder, one cell, one trial, predictions and curves.

What is torn, damaged, of another schema or of another cell is left out, with a warning that names it.
"""

import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import NDArray

from ..errors import RecordWarning, UsageError
from ..metrics import METRICS, metrics
from .files import DamagedRecordError
from .identity import with_reading
from .records import PREDICTIONS, WEIGHTS, Row, fields_of, read_file
from .store import (
    COUNTS,
    CURVES,
    ENVIRONMENT,
    PREPROCESSING,
    SECONDS,
    Predictions,
    Stored,
    read_cell,
    read_description,
    stack_files,
)
from .versions import newest_versions

if TYPE_CHECKING:
    import pandas as pd

FINGERPRINT = re.compile(r"[0-9a-f]{16}")
"""The name of a cell's folder."""
FIRST_COLUMNS = (
    "dataset_id", "dataset", "regime", "scaling", "pretrain", "corruption", "selection", "views", "loss", "method",
    "trial", *(metric.name for metric in METRICS), "diverged", "pretrain_epochs", "finetune_epochs", "fingerprint",
    "science",
)  # fmt: skip
CURVE = ("phase", "trial", "epoch")
"""The columns that identify a record of curves."""


@dataclass(frozen=True)
class StoredCell:
    """One cell of the store.

    Attributes:
        description: its identity, dataset, options, labels of its parts, the table's columns and classes, and the
            overrides that ask for it.
        trials: a row for each trial: metrics, epochs, seconds and split sizes, as in `load`.
        curves: a row for each epoch and trial: ``phase`` (``pretrain``, ``finetune``), ``trial``, ``epoch`` (from 1),
            and the losses and errors, NaN if a phase has none.
    """

    fingerprint: str
    description: dict[str, Any]
    trials: "pd.DataFrame"
    curves: "pd.DataFrame"

    @property
    def config(self) -> dict[str, Any]:
        """The resolved configuration of its first run."""
        config: dict[str, Any] = self.description["config"]
        return config


@dataclass(frozen=True)
class StoredTrial:
    """One trial of the store.

    Attributes:
        row: metrics, epochs, seconds and split sizes.
        preprocessing: the vectors ``fill``, ``shift`` and ``scale``, ``(M,)``.
        weights: of its networks, by name; none if they were not kept.
    """

    row: Mapping[str, Any]
    preprocessing: Mapping[str, NDArray[Any]]
    weights: Mapping[str, NDArray[Any]]

    @classmethod
    def of_stack(
        cls,
        rows: Sequence[Mapping[str, Any]],
        preprocessing: Mapping[str, NDArray[Any]],
        weights: Mapping[str, NDArray[Any]],
    ) -> "list[StoredTrial]":
        """The trials of a stack, whose arrays are ``(T, ...)``."""

        trials = []
        for t, row in enumerate(rows):
            own_preprocessing = {name: array[t] for name, array in preprocessing.items()}
            own_weights = {name: array[t] for name, array in weights.items()}
            trials.append(cls(row, own_preprocessing, own_weights))
        return trials


@dataclass(frozen=True)
class Environment:
    """The field of an environment that readers rely on. Early records have no versions of packages."""

    packages: dict[str, Any] = field(default_factory=dict)


def load(
    folder: str | Path = "results",
    fingerprints: Iterable[str] | None = None,
    *,
    versions: Literal["newest", "all"] = "newest",
) -> "pd.DataFrame":
    """The results in a folder, or those of the cells with these fingerprints, a row for each trial.

    Of datasets and plugins that have several versions, and of cells that several science versions of the package have
    trained, the newest are taken, see `newest_versions`; a warning names the others. ``versions="all"`` takes all.

    Columns: ``dataset_id, dataset``; one for each axis (``regime, scaling, pretrain, corruption, selection,
    views, loss, method``) and each option of it (such as ``corruption.rate``), null if the cell does not use it; each
    option of reading that a cell sets (such as ``dataset.drop``), the text "null" where one does not; ``trial``;
    the metrics of `scarf_lightning.metrics`, NaN in rows that are older than the metric and have kept no predictions;
    ``diverged``, the phase (``pretrain``, ``finetune``) in which a trial without metrics diverged; epochs, steps and
    seconds of each phase; ``fits``, how many; split sizes; ``n_features``, the columns that are not constant to the
    models; hardware; ``fingerprint``; ``science``, the version of the
    package's numbers.

    Records that cannot be used are left out, with a warning that names them.

    Raises:
        UsageError: no such folder or cell, or no results in it that can be used.
    """
    if versions not in ("newest", "all"):
        raise UsageError(f"versions={versions!r} is neither 'newest' nor 'all'.")
    folder = Path(folder)
    known = _fingerprints(folder)
    names = known if fingerprints is None else list(fingerprints)
    if unknown := set(names).difference(known):
        raise _no_cell(folder / min(unknown))
    found: list[tuple[Path, Stored]] = []
    damaged: dict[Path, str] = {}
    for name in names:
        stored = read_with_warnings(folder / name)
        if not stored.release:
            damaged |= stored.damaged
        # A cell that is not described yet has no finished trial.
        if stored.description is not None or stored.release:
            found.append((folder / name, stored))
    cells, sentences = found, list[str]()
    # Cells that are asked for by name are given, whatever version they are of.
    if fingerprints is None and versions == "newest":
        cells, sentences = newest_versions(found)
        if cells:
            for sentence in sentences:
                warnings.warn(sentence, RecordWarning, stacklevel=2)

    rows: list[Row] = []
    measured = set[str]()
    for _, stored in cells:
        if stored.description is not None:
            rows += _rows(stored, stored.description)
            measured.update(metric.name for metric in stored.target.metrics())
    if not rows:
        raise no_results(folder, damaged, sentences)
    rows = with_reading(rows)
    # Metrics of another kind of target would be columns without a value.
    others = {metric.name for metric in METRICS} - measured
    return as_table(rows, [column for column in FIRST_COLUMNS if column not in others])


def described_cells(folder: Path) -> Iterator[tuple[Path, Stored]]:
    """The cells in a folder, whole, damaged or of another release, but for those that are not described yet: their
    places, and what they hold."""
    for fingerprint in _fingerprints(folder):
        stored = read_cell(folder / fingerprint)
        if stored.description is not None or stored.damaged or stored.release:
            yield folder / fingerprint, stored


def descriptions(folder: Path) -> Iterator[tuple[Path, Row]]:
    """The descriptions of the cells in a folder, without a look at their trials; unreadable ones are left out."""
    for fingerprint in _fingerprints(folder):
        try:
            described = read_description(folder / fingerprint)
        except DamagedRecordError:
            continue
        if described is not None:
            yield folder / fingerprint, described


def no_results(folder: Path, damaged: Mapping[Path, str], others: Sequence[str] = ()) -> UsageError:
    """The error for a folder without results that can be used: it names what is ``damaged``, if anything is, and has
    the sentences on ``others`` versions."""
    if others:
        return UsageError(f"{folder} holds no results of this version: {' '.join(others)}")
    if not damaged:
        return UsageError(f"{folder} holds no results; train a cell first, or name another folder.")
    path, reason = next(iter(damaged.items()))
    others = ""
    if len(damaged) > 1:
        others = f" The same is so of {len(damaged) - 1} more."
    return UsageError(f"{folder} holds no results that can be used; {path}: {reason}.{others}")


def load_cell(fingerprint: str, results: str | Path = "results") -> StoredCell:
    """One cell of a folder of results; what is damaged is left out, with a warning that names it.

    Raises:
        UsageError: the folder has no such cell, or its description is damaged.
    """
    stored, description = _described(Path(results) / fingerprint)
    curves, damaged_curves = read_curves(stored)
    for stack, reason in damaged_curves.items():
        warnings.warn(f"{stack} has no curves: {reason}.", RecordWarning, stacklevel=2)
    rows = [stored.rows[trial] for trial in sorted(stored.rows)]
    names = set().union(*rows)
    first = [column for column in FIRST_COLUMNS if column in names]
    return StoredCell(fingerprint, description=description, trials=as_table(rows, first), curves=curves)


def load_trials(fingerprint: str, results: str | Path = "results") -> list[StoredTrial]:
    """The finished trials of a cell, by number; what is damaged is left out, with a warning that names it.

    Raises:
        UsageError: the folder has no such cell, or the arrays of a trial cannot be used.
    """
    stored, _ = _described(Path(results) / fingerprint, weights=True)
    trials: dict[int, StoredTrial] = {}
    for stack, table in stored.stacks.items():
        weights: dict[str, NDArray[Any]] = {}
        try:
            vectors = _arrays(stack, table, PREPROCESSING)
            if WEIGHTS in table["files"]:
                weights = _arrays(stack, table, WEIGHTS)
        except DamagedRecordError as error:
            raise UsageError(f"{stack} cannot be used: {error}.") from error
        for trial in StoredTrial.of_stack(table["trials"], vectors, weights):
            # The first record of a trial counts.
            trials.setdefault(trial.row["trial"], trial)
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

    stored, _ = _described(Path(results) / fingerprint)
    predictions, damaged = read_predictions(stored)
    for stack, reason in damaged.items():
        warnings.warn(f"{stack} has no predictions: {reason}.", RecordWarning, stacklevel=2)
    if not predictions:
        raise UsageError(
            f"Cell {fingerprint} has kept no predictions; train it again with force=true and a larger "
            "keep_predictions_mb."
        )
    frames = [_predicted(predictions[trial]) for trial in sorted(predictions)]
    return pd.concat(frames, ignore_index=True)


def _predicted(predictions: Predictions) -> "pd.DataFrame":
    """The predictions of one trial with the columns of `load_predictions`."""
    target = predictions.target
    frame = target.frame(predictions.values)
    # Classes have a column of probabilities each, a number has none.
    if not len(frame.columns):
        frame["predicted"] = predictions.values
    truth = target.named(predictions.labels).to_numpy()
    # A class may have the name of one of these columns.
    frame.insert(0, target.heading, truth, allow_duplicates=True)
    frame.insert(0, "row", predictions.rows)
    frame.insert(0, "trial", predictions.trial)
    return frame


def read_curves(stored: Stored) -> tuple["pd.DataFrame", dict[Path, str]]:
    """The curves of a cell, as in `StoredCell`, and the stacks whose curves cannot be used, with what is wrong."""
    import pandas as pd

    read, damaged = stack_files(stored, CURVES, partial(_frame, columns=CURVE))
    # A cell without networks has no curves.
    frames = [frame for frame in read if len(frame)]
    curves = pd.DataFrame(columns=list(CURVE))
    if frames:
        curves = pd.concat(frames)
    return curves.drop_duplicates(list(CURVE), ignore_index=True), damaged


def read_environments(stored: Stored) -> tuple[list[Row], dict[Path, str]]:
    """Versions and hardware that each stack of a cell was trained with, and the stacks where they cannot be used."""

    def parse(content: bytes) -> Row:
        environment: Row = json.loads(content)
        fields_of(Environment, environment)
        return environment

    return stack_files(stored, ENVIRONMENT, parse)


def keeps_predictions(stored: Stored) -> bool:
    """Tell whether some predictions of a cell were kept."""
    return any(PREDICTIONS in table["files"] for table in stored.stacks.values())


def read_predictions(stored: Stored) -> tuple[dict[int, Predictions], dict[Path, str]]:
    """The predictions of a cell by trial, and the stacks whose predictions cannot be used, with what is wrong."""
    if stored.description is None:
        return {}, {}
    target = stored.target

    def parse(content: bytes) -> list[Predictions]:
        frame = _frame(content, ("trial", "row", "label"))
        return Predictions.of(frame, target)

    stacks, damaged = stack_files(stored, PREDICTIONS, parse)
    by_trial: dict[int, Predictions] = {}
    for stack in stacks:
        for predictions in stack:
            # The first record of a trial counts, as of its row.
            by_trial.setdefault(predictions.trial, predictions)
    return by_trial, damaged


def measured_rows(stored: Stored) -> dict[int, Row]:
    """A cell's rows by trial.

    Metrics and ``one_class``, if they are younger than a row, are computed from the trial's predictions, if kept.
    """
    if stored.description is None:
        return stored.rows
    target = stored.target
    functions: dict[str, Callable[[Any, Any], float | bool | None]] = {}
    for metric in target.metrics():
        functions[metric.name] = metric.function
    functions["one_class"] = lambda predictions, labels: target.is_one_class(predictions)
    late: dict[int, list[str]] = {}
    for trial, row in stored.rows.items():
        # A trial that diverged has no metrics at all.
        missing = [name for name in functions if name not in row]
        if missing and row.get("diverged") is None:
            late[trial] = missing
    if not late:
        return stored.rows
    predictions, damaged = read_predictions(stored)
    stored.damaged |= damaged
    rows = dict(stored.rows)
    for trial in predictions.keys() & late.keys():
        its = predictions[trial]
        row = dict(rows[trial])
        for name in late[trial]:
            row[name] = functions[name](its.values, its.labels)
        rows[trial] = row
    return rows


def read_with_warnings(cell: Path, *, weights: bool = False) -> Stored:
    """The content of a cell's folder, with its `measured_rows`; a warning names each record that cannot be used."""
    stored = read_cell(cell, weights=weights)
    stored.rows = measured_rows(stored)
    # A cell of another release is no damage.
    if not stored.release:
        for damaged, reason in stored.damaged.items():
            warnings.warn(f"{damaged} is left out: {reason}.", RecordWarning, stacklevel=3)
    return stored


def as_table(rows: Sequence[Row], first: Sequence[str]) -> "pd.DataFrame":
    """Rows as a frame, the columns of ``first`` before the others."""
    import pandas as pd

    # Names in the order of their first row, which a set would lose.
    names = dict.fromkeys(first)
    for row in rows:
        names.update(dict.fromkeys(row))
    columns = {}
    for name in names:
        values = [row.get(name) for row in rows]
        columns[name] = pd.Series(values, dtype=_dtype(name, values))
    return pd.DataFrame(columns)


def _dtype(column: str, values: list[Any]) -> Any:
    """The type of a column: one with gaps for whole numbers and truth values, NaN for a missing other number."""
    types = {type(value) for value in values if value is not None}
    # JSON writes a metric of 1.0 as 1, so these columns go by their names.
    is_measured = column in SECONDS or column in {metric.name for metric in metrics()}
    is_count = column in (*COUNTS, "dataset_id")
    if is_measured and types <= {int, float}:
        return "float64"
    if types == {int} or (not types and is_count):
        return "Int64"
    if types and types <= {int, float}:
        return "float64"
    if types == {bool}:
        return "boolean"
    return object


def _frame(content: bytes, columns: Sequence[str]) -> "pd.DataFrame":
    """A Parquet file with at least these columns."""
    import pandas as pd

    frame = pd.read_parquet(BytesIO(content))
    # Readers join by these columns, so they must be there and be plain values.
    frame[list(columns)].drop_duplicates()
    return frame


def _arrays(stack: Path, table: Row, name: str) -> dict[str, NDArray[Any]]:
    """Arrays of a stack by name, ``(T, ...)``."""
    from safetensors.numpy import load

    arrays = read_file(stack, table, name, load)
    n_trials = len(table["trials"])
    for array in arrays.values():
        if array.shape[:1] != (n_trials,):
            raise DamagedRecordError(f"{name} is of other trials")
    return arrays


def _rows(stored: Stored, cell: Row) -> list[Row]:
    """The rows of a cell of this description with the columns that its trials share."""
    shared = dict(cell["options"])
    for name in ("dataset_id", "dataset", "fingerprint"):
        shared[name] = cell[name]
    shared["science"] = cell["identity"].get("science")
    return [shared | stored.rows[trial] for trial in sorted(stored.rows)]


def _fingerprints(folder: Path) -> list[str]:
    """The folders of cells in a folder, also of unreadable ones and of those that are not described yet.

    Raises:
        UsageError: the folder cannot be read.
    """
    try:
        names = [path.name for path in folder.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise UsageError(f"{folder} cannot be read: {error.strerror}; name another folder.") from error
    return sorted(name for name in names if FINGERPRINT.fullmatch(name))


def _described(cell: Path, *, weights: bool = False) -> tuple[Stored, Row]:
    """A described cell of the store, and its description."""
    stored = read_with_warnings(cell, weights=weights)
    if stored.description is None:
        raise _no_cell(cell)
    return stored, stored.description


def _no_cell(cell: Path) -> UsageError:
    return UsageError(
        f"{cell.parent} holds no cell {cell.name}; scarf_lightning.results.load names its cells in the column "
        "fingerprint."
    )
