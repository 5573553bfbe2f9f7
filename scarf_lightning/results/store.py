"""The store: a folder a cell, in it a record a stack of trials that was trained at once.

    results/<fingerprint>/cell.json                        dataset, the first run's configuration, identity, labels
    results/<fingerprint>/claim/                           while a process trains the cell
    results/<fingerprint>/looks.jsonl                      see `notes`
    results/<fingerprint>/stacks/<name>/trials.json        a row a trial
                                        curves.parquet     a row an epoch and trial
                                        preprocessing.safetensors
                                        predictions.parquet what is predicted of the test rows
                                        weights.safetensors with `keep_weights`: the fine-tuned networks
                                        environment.json   versions and hardware

A stack appears whole or not at all. Trials are independent, so the trials of a cell may come from many stacks.
"""

import json
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from itertools import chain
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from ..data.targets import Labels, Target, target_from_plain
from ..metrics import PROBES, metrics
from .claims import Claim, claim, folder_time
from .records import (
    LARGE,
    PREDICTIONS,
    WEIGHTS,
    Arrays,
    DamagedRecordError,
    Files,
    OtherVersionError,
    Row,
    as_safetensors,
    check_contents,
    fields_of,
    fingerprint,
    read_file,
    read_json,
    read_record,
    read_sealed,
    record_folders,
    refuse_links,
    remove_unfinished,
    sealed,
    set_aside,
    table_of,
    write_record,
    write_whole,
)

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")
Damage = dict[Path, str]
"""Records that cannot be used, and why."""

DESCRIPTION = "cell.json"
CONTENTS = "trials.json"
CURVES = "curves.parquet"
PREPROCESSING = "preprocessing.safetensors"
ENVIRONMENT = "environment.json"
CURVE = ("phase", "trial", "epoch")
"""The columns that identify a record of curves."""
COUNTS = (
    "trial", "pretrain_epochs", "pretrain_steps", "pretrain_best_epoch", "finetune_epochs", "finetune_steps",
    "finetune_best_epoch", "fits", "n_train", "n_labels", "n_labelled", "n_label_classes", "n_unlabelled",
    "n_validation", "n_test", "n_features", "threads",
)  # fmt: skip
FLAGS = ("one_class", "worse_than_frequencies")
MOST_TRIALS = 10_000
DTYPES: dict[str, str] = {
    **dict.fromkeys(("pretrain_seconds", "finetune_seconds", *PROBES), "float64"),
    **dict.fromkeys(COUNTS, "Int64"),
    **dict.fromkeys(FLAGS, "boolean"),
    **dict.fromkeys(("diverged", "device", "precision"), "object"),
}
"""The type of each column in a frame, beside those of metrics, which are numbers."""
VALUES: dict[str | None, set[type]] = {
    "float64": {int, float, NoneType},
    "Int64": {int, NoneType},
    "boolean": {bool, NoneType},
    "object": {str, NoneType},
    None: {bool, int, float, str, NoneType},
}
"""The types of their values in a file, and of the values of any other column; null is a missing one."""


@dataclass(frozen=True)
class Predictions:
    """The predictions of one trial for its n test rows.

    Attributes:
        trial: its number.
        rows: row numbers in the table, from 0, ``(n,)``.
        labels: of these rows, ``(n,)``.
        values: probabilities of the classes ``(n, C)``, or predicted numbers ``(n,)``.
        target: of the table.
    """

    trial: int
    rows: NDArray[np.int64]
    labels: Labels
    values: NDArray[np.float64]
    target: Target

    @property
    def size(self) -> int:
        """Bytes that they take at most, before they are compressed."""
        # Trial and row are int32.
        return 2 * 4 * len(self.rows) + self.labels.nbytes + self.values.nbytes

    def frame(self) -> "pd.DataFrame":
        """As they are kept: ``trial, row`` and the target's columns."""
        columns = self.target.packed(self.labels, self.values)
        return columns.assign(trial=np.int32(self.trial), row=self.rows.astype(np.int32))

    @classmethod
    def of(cls, frame: "pd.DataFrame", target: Target) -> "list[Predictions]":
        """The inverse of `frame`, of the frames of several trials below each other.

        Raises:
            ValueError: labels or predictions are not of the target.
        """
        predictions = []
        for _, trial_frame in frame.groupby("trial", sort=False):
            trials, rows = (trial_frame[name].to_numpy(dtype=np.int64) for name in ("trial", "row"))
            if (rows < 0).any():
                raise ValueError("a row is out of range")
            labels, values = target.unpacked(trial_frame.drop(columns=["trial", "row"]))
            predictions.append(cls(int(trials[0]), rows, labels, values, target))
        return predictions


@dataclass(frozen=True)
class Description:
    """The fields of a cell's description that readers rely on, see `CellStore.describe`."""

    dataset: str
    dataset_id: int | None
    identity: Row
    config: Row
    options: dict[str, bool | int | float | str | None]
    columns: list[Any]
    classes: list[str]
    overrides: list[str]


@dataclass(frozen=True)
class DescribedConfig:
    """The options of a described configuration that readers rely on."""

    metric: str | None = None
    dataset: Row = field(default_factory=dict)
    split: Row = field(default_factory=dict)


@dataclass(frozen=True)
class StackRecord:
    """The trials of one stack, as the store is given them.

    Attributes:
        rows: one for each trial.
        curves: a record for each epoch and trial.
        preprocessing: arrays ``(T, M)`` by name.
        environment: versions and hardware.
        weights: parameters of f and h, ``(T, ...)`` by name, if they are to be kept.
        predictions: of the trials that did not diverge.
        faults: sentences on parts of a user's own that spoilt trials, which are not stored.
    """

    rows: Sequence[Row]
    curves: Sequence[Row]
    preprocessing: Arrays
    environment: Row
    weights: Arrays | None = None
    predictions: Sequence[Predictions] = ()
    faults: Sequence[str] = ()


@dataclass
class Stored:
    """The content of a cell's folder.

    Attributes:
        description: of the cell, see `CellStore.describe`; empty if it is not described, or cannot be read.
        rows: of its trials, by number.
        stacks: tables of contents of whole stacks.
        damaged: files and stacks that cannot be used, and why.
        written: time of the last record, as ISO 8601 writes it in UTC; empty without any.
    """

    description: Row = field(default_factory=dict)
    rows: dict[int, Row] = field(default_factory=dict)
    stacks: dict[Path, Row] = field(default_factory=dict)
    damaged: Damage = field(default_factory=dict)
    written: str = ""

    def kept(self, file: str) -> list[bool]:
        """For each stack, whether it has kept a file, such as weights."""
        return [file in table["files"] for table in self.stacks.values()]

    @property
    def in_order(self) -> list[Row]:
        """The rows, by the number of their trial."""
        return [self.rows[trial] for trial in sorted(self.rows)]

    @property
    def target(self) -> Target:
        """The target of the described cell."""
        return target_from_plain(self.description)


class Store(ABC):
    """The records of one identity: a folder with a description, and a folder in it of the records.

    Args:
        results: the folder of all results.
        identity: canonical fields of what the records belong to.
    """

    WITHIN: ClassVar[str]
    """The folder in that of all results."""
    CONTENTS: ClassVar[str]
    RECORDS: ClassVar[str]

    def __init__(self, results: Path, identity: Row) -> None:
        self.results, self.identity = results, identity
        self.fingerprint = fingerprint(identity)
        self.folder = results / self.WITHIN / self.fingerprint
        self.records = self.folder / self.RECORDS

    @contextmanager
    def claim(self, *, waits: bool = False) -> Iterator[Claim | None]:
        """The right to add records; None while another process has it, or ``waits`` until it is free."""
        refuse_links(self.records)
        with claim(self.folder, waits=waits) as held:
            # No other process writes here under this claim, so unfinished folders are waste.
            if held is not None:
                now = folder_time(self.folder)
                for folder in (self.folder, self.records):
                    remove_unfinished(folder, now)
            yield held

    @abstractmethod
    def damage(self) -> Damage:
        """Records that cannot be used, and why."""

    def mend(self) -> list[str]:
        """Set damaged records aside, under the claim; a sentence on each."""
        return [set_aside(self.results, [path], reason) for path, reason in self.damage().items()]

    def clear(self, reason: str) -> str:
        """Set all records aside, so that their trials are trained again; a sentence on what was done, if anything."""
        # The claim keeps a process away that begins to train the cell at this moment.
        with self.claim() as held:
            if held is None:
                return f"{self.folder} is being trained by another process and is left alone."
            records = record_folders(self.records)
            return set_aside(self.results, records, reason) if records else ""

    def _add(self, name: str, values: Row, files: Files, claim: Claim | None) -> None:
        """Keep one record, see `write_record`."""
        refuse_links(self.folder, self.records)
        write_record(self.records / name, self.CONTENTS, self.fingerprint, values, files, claim)


class CellStore(Store):
    """The records of one cell."""

    WITHIN, CONTENTS, RECORDS = "", CONTENTS, "stacks"

    @property
    def is_described(self) -> bool:
        """True if there is a description."""
        return (self.folder / DESCRIPTION).exists()

    def missing(self, trials: Sequence[int]) -> list[int]:
        """The trials among ``trials`` that are not finished."""
        rows = read_cell(self.folder).rows
        return [trial for trial in trials if trial not in rows]

    def damage(self) -> Damage:
        """As of `Store`, with the hashes of large files."""
        return read_cell(self.folder, hashes=True).damaged

    def describe(self, target: Target, **fields: Any) -> None:
        """Write the description of the cell, before its first stack, if there is none.

        Args:
            target: of its table.
            fields: ``dataset, dataset_id, source, columns`` of its table; ``overrides`` that ask for the cell; its
                resolved ``config``; the ``options`` that it uses, see `scarf_lightning.results.identity.columns`;
                ``reading``, see `Table.report`.
        """
        if not self.is_described:
            table = table_of({}, self.fingerprint)
            description = table | target.plain() | fields | {"identity": self.identity}
            write_whole(self.folder / DESCRIPTION, sealed(description))

    def add(self, record: StackRecord, claim: Claim | None = None) -> None:
        """Keep the trials of one stack.

        Raises:
            LostClaimError: another process has taken the ``claim`` over; nothing is kept.
        """
        import pandas as pd

        rows = [{name: _json_value(value) for name, value in row.items()} for row in record.rows]
        values = {"trials": rows, "written": datetime.now(UTC).isoformat()}
        # A cell without networks has no curves. Their file still has its columns.
        frames = {CURVES: pd.DataFrame(list(record.curves), columns=None if record.curves else list(CURVE))}
        if record.predictions:
            frames[PREDICTIONS] = pd.concat([each.frame() for each in record.predictions])
        files = {name: frame.to_parquet(compression="zstd", index=False) for name, frame in frames.items()}
        files[PREPROCESSING] = as_safetensors(record.preprocessing)
        if record.weights is not None:
            files[WEIGHTS] = as_safetensors(record.weights)
        files[ENVIRONMENT] = f"{json.dumps(dict(record.environment), indent=2)}\n".encode()
        # Several processes may train the same trials, so the name has a random end.
        name = f"{rows[0]['trial']:04d}-{rows[-1]['trial']:04d}-{uuid4().hex[:8]}"
        self._add(name, values, files, claim)


def read_cell(cell: Path, *, hashes: bool = False) -> Stored:
    """The content of a cell's folder.

    If a trial was trained twice, its rows are equal, and the first is taken. ``hashes`` checks the hashes of
    large files too, see `records`.
    """
    stored = Stored()
    try:
        stored.description = read_description(cell)
    except DamagedRecordError as error:
        stored.damaged[cell / DESCRIPTION] = str(error)
        if isinstance(error, OtherVersionError):
            return stored
    for stack in record_folders(cell / CellStore.RECORDS):
        try:
            table = read_record(stack, CONTENTS, cell.name, hashes=hashes)
            _check_rows(table)
        except DamagedRecordError as error:
            stored.damaged[stack] = str(error)
            continue
        except FileNotFoundError:
            # Another process has just set it aside.
            continue
        stored.stacks[stack] = table
        # The time is by the clock of the machine that trained it, and missing in some records.
        stored.written = max(stored.written, str(table.get("written", "")))
        for row in table["trials"]:
            stored.rows.setdefault(row["trial"], row)
    return stored


def read_description(cell: Path) -> Row:
    """The description of a cell; empty if it has none.

    Raises:
        DamagedRecordError: the description cannot be used.
    """
    try:
        description = read_sealed(cell / DESCRIPTION)
    except FileNotFoundError:
        return {}
    try:
        check_contents(description, cell.name)
    except OtherVersionError as error:
        raise OtherVersionError(f"{error}; version {_release_of(cell)} wrote it") from error
    # Seals are right in a crafted file too, so its fields are checked.
    fields_of(Description, description)
    fields_of(DescribedConfig, description["config"])
    try:
        target_from_plain(description)
    except ValueError as error:
        raise DamagedRecordError(str(error)) from error
    if fingerprint(description["identity"]) != cell.name:
        raise DamagedRecordError("its identity is another cell's")
    return description


def _release_of(cell: Path) -> str:
    """The version of the package that trained a cell, by any of its stacks, in whichever layout they are."""
    for file in sorted(cell.glob(f"*/*/{ENVIRONMENT}")):
        with suppress(DamagedRecordError, OSError, LookupError, TypeError):
            return str(read_json(file)["packages"]["scarf-lightning"])[:20]
    return "unknown"


def stack_files(stored: Stored, name: str, parse: Callable[[bytes], T]) -> list[T]:
    """The file of this name, parsed, of each whole stack that has one; those that cannot be used become its damage."""
    files: list[T] = []
    for stack, table in stored.stacks.items():
        if name in table["files"] or name not in LARGE:
            try:
                files.append(read_file(stack, table, name, parse))
            except DamagedRecordError as error:
                stored.damaged[stack] = str(error)
    return files


@cache
def source_commit() -> str | None:
    """The commit of the package's source, as git describes it: ``-dirty`` if files differ from it.

    None if the source is no checkout, or there is no git.
    """
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--exclude=*"]
    with suppress(OSError, subprocess.SubprocessError):
        return subprocess.run(command, capture_output=True, text=True, timeout=5, check=True).stdout.strip()
    return None


def dtypes_of_columns() -> dict[str, str]:
    """The type of each column that is known."""
    return dict.fromkeys([metric.name for metric in metrics()], "float64") | DTYPES


def _check_rows(table: Row) -> None:
    """Refuse a stack without rows, and rows with values of other types than `load` gives its columns."""
    rows, dtypes = table.get("trials"), dtypes_of_columns()
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise DamagedRecordError("it has no trials")
    for name, value in chain.from_iterable(row.items() for row in rows):
        if type(value) not in VALUES[dtypes.get(name)]:
            raise DamagedRecordError(f"it has no {name}")
    trials = {row.get("trial") for row in rows} - {None}
    # `load` would make a table of as many rows as the largest number.
    if not trials or len(trials) < len(rows) or min(trials) < 0 or max(trials) >= MOST_TRIALS:
        raise DamagedRecordError("it has no trials, one twice or an impossible one")


def _json_value(value: Any) -> Any:
    """A plain Python value; JSON has no NaN, so it is written as null."""
    plain = value.item() if isinstance(value, np.generic) else value
    # NaN alone is not equal to itself.
    return plain if plain == plain else None
