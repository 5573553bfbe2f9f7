"""Results as tables: all cells of a folder, one cell, one trial, predictions and curves.

What is torn, damaged, of another schema or of another cell is left out, with a warning that names it.
"""

import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import NDArray

from ..errors import RecordWarning, UsageError
from ..metrics import METRICS, metrics
from .files import DamagedRecordError
from .identity import with_reading
from .records import PREDICTIONS, WEIGHTS, Row, check_fields, read_file
from .store import (
    COUNTS,
    CURVES,
    ENVIRONMENT,
    PREPROCESSING,
    SECONDS,
    TRIES,
    Predictions,
    Stored,
    of_stacks,
    read_cell,
    read_description,
)
from .versions import newest_versions, version_numbers

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
"""The columns that tell the records of curves apart."""


@dataclass(frozen=True)
class StoredCell:
    """What the store has of one cell.

    Attributes:
        description: its identity, dataset, options, labels of its parts, the table's columns and classes, and the
            overrides that ask for it.
        trials: a row for each trial: metrics, epochs, seconds and split sizes, as in `load`.
        curves: a row for each epoch and trial: ``phase`` (``pretrain``, ``finetune``), ``trial``, ``epoch`` (from 1),
            and the losses and errors, NaN if a phase has none.
        tries: of a cell that was tuned, a row for each try and trial: ``trial``, ``try`` (from 0, the cell's own
            options), whether it was ``chosen``, its ``score`` on the validation rows by the ``metric``, ``seconds``,
            and a column for each option.
    """

    fingerprint: str
    description: dict[str, Any]
    trials: "pd.DataFrame"
    curves: "pd.DataFrame"
    tries: "pd.DataFrame"

    @property
    def config(self) -> dict[str, Any]:
        """The resolved configuration of its first run."""
        config: dict[str, Any] = self.description["config"]
        return config


@dataclass(frozen=True)
class StoredTrial:
    """What is kept of one trial: its row, the vectors ``(M,)`` of its preprocessing (``fill, shift, scale``), and the
    weights of its networks by name, none if they were not kept."""

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

        def of_trial(arrays: Mapping[str, NDArray[Any]], t: int) -> dict[str, NDArray[Any]]:
            return {name: array[t] for name, array in arrays.items()}

        return [cls(row, of_trial(preprocessing, t), of_trial(weights, t)) for t, row in enumerate(rows)]


def load(
    folder: str | Path = "results",
    fingerprints: Iterable[str] | None = None,
    *,
    versions: Literal["newest", "all"] = "newest",
) -> "pd.DataFrame":
    """The results in a folder, or those of the cells with these fingerprints, a row for each trial.

    Of datasets and plugins that have several versions, and of cells that several science versions of the package have
    trained, the newest are taken, see `newest_versions`; a warning names the others. ``versions="all"`` takes all, with
    a column ``version``: its number among those of the dataset, from 1, the oldest.

    Columns: ``dataset_id, dataset``; one for each axis (``regime, scaling, pretrain, corruption, selection, views,
    loss, method``) and each option of it (such as ``corruption.rate``), null if the cell does not use it; each option
    of reading that a cell sets (such as ``dataset.drop``), the text "null" where one does not; ``trial``;
    the metrics of `scarf_lightning.metrics`, NaN in rows that are older than the metric and have kept no predictions;
    ``diverged``, the phase (``pretrain``, ``finetune``) in which a trial without metrics diverged; epochs, steps and
    seconds of each phase; ``fits``, how many; split sizes; hardware; ``fingerprint``; ``science``, the version of the
    package's numbers.

    Records that cannot be used are left out, with a warning that names them.

    Raises:
        UsageError: no such folder, or no results in it that can be used.
    """
    if versions not in ("newest", "all"):
        raise UsageError(f"versions={versions!r} is neither 'newest' nor 'all'.")
    folder = Path(folder)
    named = _fingerprints(folder) if fingerprints is None else fingerprints
    cells: list[tuple[Path, Stored]] = []
    damaged: dict[Path, str] = {}
    for name in named:
        stored = read_with_warnings(folder / name)
        damaged |= stored.damaged
        if stored.description is not None:
            cells.append((folder / name, stored))
    # Cells that are asked for by name are given, whatever version they are of.
    if fingerprints is None and versions == "newest":
        cells, sentences = newest_versions(cells)
        for sentence in sentences:
            warnings.warn(sentence, RecordWarning, stacklevel=2)

    numbers = version_numbers(cells)
    rows: list[Row] = []
    measured = set[str]()
    for (_, stored), number in zip(cells, numbers, strict=True):
        version = {"version": number} if versions == "all" else {}
        rows += _rows(stored, version)
        measured.update(metric.name for metric in stored.target.metrics())
    if not rows:
        raise no_results(folder, damaged)
    rows = with_reading(rows)
    others = {metric.name for metric in METRICS} - measured  # of another kind of target
    first = [column for column in FIRST_COLUMNS if column not in others]
    if versions == "all":
        first.insert(first.index("dataset") + 1, "version")
    return as_table(rows, first)


def described_cells(folder: Path) -> Iterator[tuple[Path, Stored]]:
    """The cells in a folder, whole or damaged, but for those that are not described yet: their places, and what they
    hold."""
    for fingerprint in _fingerprints(folder):
        stored = read_cell(folder / fingerprint)
        if stored.description is not None or stored.damaged:
            yield folder / fingerprint, stored


def descriptions(folder: Path) -> Iterator[tuple[Path, Row]]:
    """What the cells in a folder are, without a look at their trials. Those that cannot be read are left out."""
    for fingerprint in _fingerprints(folder):
        try:
            described = read_description(folder / fingerprint)
        except DamagedRecordError:
            continue
        if described is not None:
            yield folder / fingerprint, described


def no_results(folder: Path, damaged: Mapping[Path, str]) -> UsageError:
    """Why a folder has no results that can be used: what is ``damaged`` in it, or that it has none."""
    if not damaged:
        return UsageError(f"{folder} holds no results; train a cell first, or name another folder.")
    path, reason = next(iter(damaged.items()))
    others = f" The same is so of {len(damaged) - 1} more." if len(damaged) > 1 else ""
    return UsageError(f"{folder} holds no results that can be used; {path}: {reason}.{others}")


def load_cell(fingerprint: str, results: str | Path = "results") -> StoredCell:
    """One cell of a folder of results; what is damaged is left out, with a warning that names it.

    Raises:
        UsageError: the folder has no such cell, or its description is damaged.
    """
    import pandas as pd

    stored, description = _described(Path(results) / fingerprint)
    curves, without_curves = read_curves(stored)
    tries, without_tries = of_stacks(stored, TRIES, partial(_frame, columns=("trial", "try")))
    for stack, reason in (without_curves | without_tries).items():
        warnings.warn(f"{stack} has no curves or tries: {reason}.", RecordWarning, stacklevel=2)
    rows = [row for _, row in sorted(stored.rows.items())]
    there = set().union(*rows)
    return StoredCell(
        fingerprint,
        description=description,
        trials=as_table(rows, [column for column in FIRST_COLUMNS if column in there]),
        curves=curves,
        tries=pd.concat(tries).drop_duplicates(["trial", "try"], ignore_index=True) if tries else pd.DataFrame(),
    )


def load_trials(fingerprint: str, results: str | Path = "results") -> list[StoredTrial]:
    """The finished trials of a cell, by number; what is damaged is left out, with a warning that names it.

    Raises:
        UsageError: the folder has no such cell, or the arrays of a trial cannot be used.
    """
    stored, _ = _described(Path(results) / fingerprint, weights=True)
    found: dict[int, StoredTrial] = {}
    for stack, table in stored.stacks.items():
        try:
            vectors = _arrays(stack, table, PREPROCESSING)
            weights = _arrays(stack, table, WEIGHTS) if WEIGHTS in table["files"] else {}
        except DamagedRecordError as error:
            raise UsageError(f"{stack} cannot be used: {error}.") from error
        for trial in StoredTrial.of_stack(table["trials"], vectors, weights):
            found.setdefault(trial.row["trial"], trial)
    return [found[number] for number in sorted(found)]


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
    found, damaged = read_predictions(stored)
    for stack, reason in damaged.items():
        warnings.warn(f"{stack} has no predictions: {reason}.", RecordWarning, stacklevel=2)
    if not found:
        raise UsageError(
            f"Cell {fingerprint} has kept no predictions; train it again with force=true and a larger "
            "keep_predictions_mb."
        )
    return pd.concat([_predicted(each) for _, each in sorted(found.items())], ignore_index=True)


def _predicted(predictions: Predictions) -> "pd.DataFrame":
    """The predictions of one trial with the columns of `load_predictions`."""
    target = predictions.target
    frame = target.frame(predictions.values)
    if not len(frame.columns):
        frame["predicted"] = target.decided(predictions.values)
    truth = target.named(predictions.labels).to_numpy()
    # A class may have the name of one of these columns.
    frame.insert(0, target.heading, truth, allow_duplicates=True)
    frame.insert(0, "row", predictions.rows)
    frame.insert(0, "trial", predictions.trial)
    return frame


def read_curves(stored: Stored) -> tuple["pd.DataFrame", dict[Path, str]]:
    """The curves of a cell, as in `StoredCell`, and the stacks whose curves cannot be used, with what is wrong."""
    import pandas as pd

    read, damaged = of_stacks(stored, CURVES, partial(_frame, columns=CURVE))
    frames = [frame for frame in read if len(frame)]  # no network, no curve
    curves = pd.concat(frames) if frames else pd.DataFrame(columns=list(CURVE))
    return curves.drop_duplicates(list(CURVE), ignore_index=True), damaged


def read_environments(stored: Stored) -> tuple[list[Row], dict[Path, str]]:
    """Versions and hardware that each stack of a cell was trained with, and the stacks where they cannot be used."""

    def parse(content: bytes) -> Row:
        found: Row = json.loads(content)
        check_fields(found, {"packages": dict} if "packages" in found else {})
        return found

    return of_stacks(stored, ENVIRONMENT, parse)


def keeps_predictions(stored: Stored) -> bool:
    """Whether some predictions of a cell were kept."""
    return any(PREDICTIONS in table["files"] for table in stored.stacks.values())


def read_predictions(stored: Stored) -> tuple[dict[int, Predictions], dict[Path, str]]:
    """The predictions of a cell by trial, and the stacks whose predictions cannot be used, with what is wrong."""
    if stored.description is None:
        return {}, {}
    target = stored.target

    def parse(content: bytes) -> list[Predictions]:
        return Predictions.of(_frame(content, ("trial", "row", "label")), target)

    of_each, damaged = of_stacks(stored, PREDICTIONS, parse)
    found: dict[int, Predictions] = {}
    for predictions in of_each:
        for each in predictions:
            found.setdefault(each.trial, each)
    return found, damaged


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
        rows[trial] = rows[trial] | {name: functions[name](its.values, its.labels) for name in late[trial]}
    return rows


def read_with_warnings(cell: Path, *, weights: bool = False) -> Stored:
    """What a cell's folder holds, see `measured_rows`; a warning names each record that cannot be used."""
    stored = read_cell(cell, weights=weights)
    stored.rows = measured_rows(stored)
    for damaged, reason in stored.damaged.items():
        warnings.warn(f"{damaged} is left out: {reason}.", RecordWarning, stacklevel=3)
    return stored


def as_table(rows: Sequence[Row], first: Sequence[str]) -> "pd.DataFrame":
    """Rows as a frame, the columns of ``first`` before the others."""
    import pandas as pd

    columns = list(dict.fromkeys([*first, *(column for row in rows for column in row)]))
    values = {column: [row.get(column) for row in rows] for column in columns}
    return pd.DataFrame({column: pd.Series(values[column], dtype=_dtype(column, values[column])) for column in columns})


def _dtype(column: str, values: list[Any]) -> Any:
    """Whole numbers and truth values keep their type if some rows have none; NaN stands for a missing number."""
    types = {type(value) for value in values if value is not None}
    is_measured = column in SECONDS or any(column == metric.name for metric in metrics())
    if types <= {int} and (types or column in (*COUNTS, "dataset_id")) and not is_measured:
        return "Int64"
    if types <= {int, float} and (types or is_measured):
        return "float64"
    return "boolean" if types == {bool} else object


def _frame(content: bytes, columns: Sequence[str]) -> "pd.DataFrame":
    """A Parquet file with at least these columns."""
    import pandas as pd

    frame = pd.read_parquet(BytesIO(content))
    frame[list(columns)].drop_duplicates()  # readers join by these, so they must be there and be plain values
    return frame


def _arrays(stack: Path, table: Row, name: str) -> dict[str, NDArray[Any]]:
    """Arrays of a stack by name, ``(T, ...)``."""
    from safetensors.numpy import load

    arrays = read_file(stack, table, name, load)
    if any(array.shape[:1] != (len(table["trials"]),) for array in arrays.values()):
        raise DamagedRecordError(f"{name} is of other trials")
    return arrays


def _rows(stored: Stored, more: Row) -> list[Row]:
    """The rows of a described cell with the columns that its trials share, and ``more`` of these."""
    assert stored.description is not None
    cell = stored.description
    shared = cell["options"] | more
    for name in ("dataset_id", "dataset", "fingerprint"):
        shared[name] = cell[name]
    shared["science"] = cell["identity"].get("science")
    return [shared | row for _, row in sorted(stored.rows.items())]


def _fingerprints(folder: Path) -> list[str]:
    """The folders of cells in a folder. What is in them may not be readable, and they need not be described yet.

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
    """What the store has of a described cell, and its description."""
    stored = read_with_warnings(cell, weights=weights)
    if stored.description is None:
        raise UsageError(
            f"{cell.parent} holds no cell {cell.name}; scarf_lightning.results.load names its cells in the column "
            "fingerprint."
        )
    return stored, stored.description
