"""Results as tables: all cells of a folder, one cell, one trial, predictions and curves.

What is torn, damaged, of another schema or of another cell is left out, with a warning that names it.
"""

import json
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
        return [
            cls(row, *({name: array[t] for name, array in arrays.items()} for arrays in (preprocessing, weights)))
            for t, row in enumerate(rows)
        ]


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
    folder = Path(folder)
    names = _fingerprints(folder) if fingerprints is None else fingerprints
    cells: list[tuple[Path, Stored]] = []
    damaged: dict[Path, str] = {}
    for name in names:
        stored = read_with_warnings(folder / name)
        damaged |= stored.damaged
        if stored.description is not None:
            cells.append((folder / name, stored))
    if fingerprints is None and versions == "newest":
        cells, sentences = newest_versions(cells)
        for sentence in sentences:
            warnings.warn(sentence, RecordWarning, stacklevel=2)
    numbers = version_numbers(cells) if versions == "all" else [None] * len(cells)
    rows = [row for (_, stored), number in zip(cells, numbers, strict=True) for row in _rows(stored, number)]
    if not rows:
        raise no_results(folder, damaged)
    measured = {metric.name for _, stored in cells for metric in stored.target.metrics()}
    rows = with_reading(rows)
    others = {metric.name for metric in METRICS} - measured  # of another kind of target
    first = [column for column in FIRST_COLUMNS if column not in others]
    return as_table(rows, first if versions == "newest" else [*first[:2], "version", *first[2:]])


def described_cells(folder: Path) -> Iterator[tuple[Path, Stored]]:
    """The cells in a folder that have a description, whole or damaged: their places, and what they hold."""
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
    damaged: dict[Path, str] = {}
    curves = read_curves(stored, damaged)
    tries = list(of_stacks(stored, TRIES, partial(_frame, columns=("trial", "try")), damaged))
    for stack, reason in damaged.items():
        warnings.warn(f"{stack} has no curves or tries: {reason}.", RecordWarning, stacklevel=2)
    rows = [row for _, row in sorted(stored.rows.items())]
    return StoredCell(
        fingerprint,
        description=description,
        trials=as_table(rows, [column for column in FIRST_COLUMNS if any(column in row for row in rows)]),
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
    damaged: dict[Path, str] = {}
    found = read_predictions(stored, damaged)
    for stack, reason in damaged.items():
        warnings.warn(f"{stack} has no predictions: {reason}.", RecordWarning, stacklevel=2)
    if not found:
        raise UsageError(
            f"Cell {fingerprint} has kept no predictions; train it again with force=true and a larger "
            "keep_predictions_mb."
        )
    frames = []
    for _, each in sorted(found.items()):
        frame, truth = each.target.frame(each.values), each.target.named(each.labels).to_numpy()
        if not len(frame.columns):
            frame["predicted"] = each.target.decided(each.values)
        frame.insert(0, each.target.heading, truth, allow_duplicates=True)
        frame.insert(0, "row", each.rows)
        frame.insert(0, "trial", each.trial)
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def read_curves(stored: Stored, damaged: dict[Path, str]) -> "pd.DataFrame":
    """The curves of a cell, as in `StoredCell`; stacks whose curves are damaged are noted in ``damaged``."""
    import pandas as pd

    read = of_stacks(stored, CURVES, partial(_frame, columns=CURVE), damaged)
    frames = [frame for frame in read if len(frame)]  # no network, no curve
    curves = pd.concat(frames) if frames else pd.DataFrame(columns=list(CURVE))
    return curves.drop_duplicates(list(CURVE), ignore_index=True)


def read_environments(stored: Stored, damaged: dict[Path, str]) -> list[Row]:
    """Versions and hardware that each stack of a cell was trained with; damage is noted as in `read_curves`."""

    def parse(content: bytes) -> Row:
        found: Row = json.loads(content)
        check_fields(found, {"packages": dict} if "packages" in found else {})
        return found

    return list(of_stacks(stored, ENVIRONMENT, parse, damaged))


def keeps_predictions(stored: Stored) -> bool:
    """Whether some predictions of a cell were kept."""
    return any(PREDICTIONS in table["files"] for table in stored.stacks.values())


def read_predictions(stored: Stored, damaged: dict[Path, str]) -> dict[int, Predictions]:
    """The predictions of a cell, by trial; damage is noted as in `read_curves`."""
    found: dict[int, Predictions] = {}
    if stored.description is None:
        return found
    target = stored.target

    def parse(content: bytes) -> list[Predictions]:
        return Predictions.of(_frame(content, ("trial", "row", "label")), target)

    for predictions in of_stacks(stored, PREDICTIONS, parse, damaged):
        for each in predictions:
            found.setdefault(each.trial, each)
    return found


def measured_rows(stored: Stored) -> dict[int, Row]:
    """A cell's rows by trial.

    A metric that is younger than a row is computed from the trial's predictions, if they were kept.
    """
    known = () if stored.description is None else stored.target.metrics()
    late = {
        trial: [metric for metric in known if metric.name not in row]
        for trial, row in stored.rows.items()
        if row.get("diverged") is None
    }
    if not any(late.values()):
        return stored.rows
    predictions = read_predictions(stored, stored.damaged)
    rows = dict(stored.rows)
    for trial in predictions.keys() & late.keys():
        its = predictions[trial]
        rows[trial] = rows[trial] | {each.name: each.function(its.values, its.labels) for each in late[trial]}
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


def _rows(stored: Stored, version: int | None) -> list[Row]:
    """The rows of a described cell, with the columns that its trials share; ``version`` is one if it is given."""
    assert stored.description is not None
    cell = stored.description
    shared = cell["options"] | {name: cell[name] for name in ("dataset_id", "dataset", "fingerprint")}
    shared |= {"science": cell["identity"].get("science")} | ({} if version is None else {"version": version})
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
