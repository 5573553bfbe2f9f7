"""The store: a folder a cell, in it a record a stack of trials that was trained at once.

    results/<fingerprint>/cell.json                        dataset, the first run's configuration, identity, labels
    results/<fingerprint>/claim/                           while a process trains the cell
    results/<fingerprint>/stacks/<name>/trials.json        a row a trial
                                        curves.parquet     a row an epoch and trial
                                        preprocessing.safetensors
                                        predictions.parquet what is predicted of the test rows
                                        weights.safetensors with `keep_weights`: the fine-tuned networks
                                        environment.json   versions and hardware

A stack appears whole or not at all. Trials are independent, so the trials of a cell may come from many stacks.
"""

import json
import math
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from itertools import chain
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..data.targets import Labels, Target, target_from_plain
from ..metrics import PROBES, metrics
from .claims import Claim, claim, folder_time
from .files import (
    DamagedRecordError,
    OtherVersionError,
    UnreadableRecordError,
    read_bytes,
    remove_unfinished,
    set_aside,
    write_whole,
)
from .identity import fingerprint
from .records import (
    MOST_JSON,
    NUMBER,
    PREDICTIONS,
    WEIGHTS,
    Row,
    fields_of,
    new_record,
    read_file,
    read_record,
    record_folders,
    sealed,
    table_of,
)

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")

DESCRIPTION = "cell.json"
CONTENTS = "trials.json"
CURVES = "curves.parquet"
PREPROCESSING = "preprocessing.safetensors"
ENVIRONMENT = "environment.json"
OPTIONAL = (PREDICTIONS, WEIGHTS)
"""Files that a stack need not have."""
COUNTS = (
    "trial", "pretrain_epochs", "pretrain_steps", "pretrain_best_epoch", "finetune_epochs", "finetune_steps",
    "finetune_best_epoch", "fits", "n_train", "n_labels", "n_labelled", "n_label_classes", "n_unlabelled",
    "n_validation", "n_test", "n_features", "threads",
)  # fmt: skip
TEXTS = ("diverged", "device", "precision")
FLAGS = ("one_class", "worse_than_frequencies")
SECONDS = ("pretrain_seconds", "finetune_seconds")
MOST_TRIALS = 10_000
COUNT: set[type] = {int, NoneType}
FLAG: set[type] = {bool, NoneType}
TEXT: set[type] = {str, NoneType}
ANYTHING: set[type] = {bool, int, float, str, NoneType}
"""Types of the values in a row of results."""


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
        return 2 * 4 * len(self.rows) + self.target.packed_size(self.values)

    def frame(self) -> "pd.DataFrame":
        """As they are kept: ``trial, row`` and the target's columns."""
        packed = self.target.packed(self.labels, self.values)
        return packed.assign(trial=np.int32(self.trial), row=self.rows.astype(np.int32))

    @classmethod
    def of(cls, frame: "pd.DataFrame", target: Target) -> "list[Predictions]":
        """The inverse of `frame`, of the frames of several trials below each other.

        Raises:
            ValueError: labels or predictions are not of the target.
        """
        trials = frame["trial"].to_numpy(dtype=np.int64)
        rows = frame["row"].to_numpy(dtype=np.int64)
        if not (rows >= 0).all():
            raise ValueError("a row is out of range")
        labels, values = target.unpacked(frame.drop(columns=["trial", "row"]))
        predictions = []
        for trial in dict.fromkeys(trials.tolist()):
            is_own = trials == trial
            # In the order in memory that its target reads them in: sums over classes round by it.
            order: Literal["C", "F"] = "C" if values.flags.c_contiguous else "F"
            own_values = np.array(values[is_own], order=order)
            predictions.append(cls(trial, rows[is_own], labels[is_own], own_values, target))
        return predictions


@dataclass(frozen=True)
class DescribedColumn:
    """A feature of a table, with its categories; a numeric one has none."""

    name: str
    categories: list[str] | None
    tells_gaps: bool = False


@dataclass(frozen=True)
class Description:
    """The fields of a cell's description that readers rely on, see `CellStore.describe`."""

    dataset: str
    dataset_id: int | None
    identity: dict[str, Any]
    config: dict[str, Any]
    options: dict[str, bool | int | float | str | None]
    labels: dict[str, str]
    columns: list[DescribedColumn]
    classes: list[str]
    overrides: list[str]


@dataclass(frozen=True)
class DescribedConfig:
    """The option of a described configuration that a report relies on."""

    metric: str | None = None


@dataclass(frozen=True)
class StackContents:
    """The fields of a stack's table of contents: a row a trial, and sentences for the user."""

    trials: list[dict[str, Any]]
    notes: list[str] = field(default_factory=list)


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
        notes: sentences that a user should know.
        faults: sentences on parts of a user's own that spoilt trials; the store keeps them among the notes.
    """

    rows: Sequence[Row]
    curves: Sequence[Row]
    preprocessing: Mapping[str, NDArray[np.float64]]
    environment: Mapping[str, Any]
    weights: Mapping[str, NDArray[Any]] | None = None
    predictions: Sequence[Predictions] = ()
    notes: Sequence[str] = ()
    faults: Sequence[str] = ()


@dataclass
class Stored:
    """The content of a cell's folder.

    Attributes:
        description: of the cell, see `CellStore.describe`; None if it is not described, or cannot be read.
        rows: of its trials, by number.
        stacks: tables of contents of whole stacks.
        damaged: files and stacks that cannot be used, and why.
        unreadable: those among them that may be whole, but that this user may not read.
        written: time of the last record, in seconds since the epoch; 0 without any.
        release: the version of the package that wrote the cell in another layout, which is not read.
    """

    description: Row | None = None
    rows: dict[int, Row] = field(default_factory=dict)
    stacks: dict[Path, Row] = field(default_factory=dict)
    damaged: dict[Path, str] = field(default_factory=dict)
    unreadable: set[Path] = field(default_factory=set)
    written: float = 0.0
    release: str = ""

    def leave_out(self, path: Path, error: DamagedRecordError) -> None:
        """Note what cannot be used."""
        self.damaged[path] = str(error)
        if isinstance(error, UnreadableRecordError):
            self.unreadable.add(path)

    @property
    def target(self) -> Target:
        """The target of the described cell."""
        assert self.description is not None
        return target_from_plain(self.description)


class CellStore:
    """The records of one cell.

    Args:
        results: the folder of all results.
        identity: the cell's canonical fields.
    """

    def __init__(self, results: Path, identity: dict[str, Any]) -> None:
        self.identity = identity
        self.fingerprint = fingerprint(identity)
        self.results = results
        self.folder = results / self.fingerprint

    @property
    def is_described(self) -> bool:
        """True if the cell is described, so that `load_cell` finds it."""
        return (self.folder / DESCRIPTION).exists()

    def rows(self) -> list[Row]:
        """Rows of the finished trials, in their order."""
        rows = read_cell(self.folder).rows
        return [rows[trial] for trial in sorted(rows)]

    def missing(self, trials: Sequence[int]) -> list[int]:
        """The trials among ``trials`` that are not finished."""
        finished = read_cell(self.folder).rows
        return [trial for trial in trials if trial not in finished]

    @contextmanager
    def claim(self) -> Iterator[Claim | None]:
        """The right to train the cell, or None while another process has it."""
        with claim(self.folder) as held:
            # Who holds the claim is alone here: what others left unfinished is waste.
            if held is not None:
                now = folder_time(self.folder)
                for folder in (self.folder, self.folder / "stacks"):
                    remove_unfinished(folder, now)
            yield held

    def mend(self) -> list[str]:
        """Set damaged records aside, under the cell's claim; a sentence on each.

        Those that this user may not read stay where they are: they may be whole.
        """
        stored = read_cell(self.folder, weights=True)
        sentences = []
        for path, reason in stored.damaged.items():
            if path in stored.unreadable:
                sentences.append(f"{path} is left out: {reason}; its trials are trained again.")
            else:
                sentences.append(set_aside(self.results, [path], reason))
        return sentences

    def clear(self, reason: str) -> str:
        """Set all records aside, under the cell's claim, so that its trials are trained again."""
        return set_aside(self.results, record_folders(self.folder / "stacks"), reason)

    def describe(
        self,
        *,
        dataset: str,
        dataset_id: int | None,
        source: str,
        columns: Sequence[tuple[str, Sequence[str] | None]],
        target: Target,
        overrides: Sequence[str],
        config: Mapping[str, Any],
        options: Mapping[str, Any],
        labels: Mapping[str, str],
        reading: Mapping[str, Any] | None = None,
        gaps: Sequence[bool] = (),
    ) -> None:
        """Write the description of the cell, before its first stack.

        Args:
            dataset, dataset_id, source: of its table.
            columns: each feature with its categories, None for a numeric one.
            target: of its table.
            overrides: that ask for the cell on the command line.
            config: its resolved configuration.
            options: the part of it that the cell uses, see `scarf_lightning.results.identity.columns`.
            labels: names of its parts for people, by axis.
            reading: how a user's file was read, see `Table.report`.
            gaps: whether each column shows networks its missing values.
        """
        if self.is_described:
            return
        described = []
        for number, (name, categories) in enumerate(columns):
            column: dict[str, Any] = {"name": name, "categories": categories}
            if number < len(gaps) and gaps[number]:
                column["tells_gaps"] = True
            described.append(column)
        cell = (
            table_of([], self.fingerprint)
            | target.plain()
            | {
                "dataset": dataset,
                "dataset_id": dataset_id,
                "source": source,
                "columns": described,
                "overrides": list(overrides),
                "config": dict(config),
                "reading": dict(reading or {}),
                "options": dict(options),
                "labels": dict(labels),
                "identity": self.identity,
            }
        )
        write_whole(self.folder / DESCRIPTION, sealed(cell))

    def add(self, record: StackRecord, claim: Claim | None = None) -> None:
        """Keep the trials of one stack.

        Raises:
            LostClaimError: another process has taken the ``claim`` over; nothing is kept.
        """
        import pandas as pd
        from safetensors.numpy import save

        trials = [row["trial"] for row in record.rows]
        # Several processes may train the same trials, so the name has a random end.
        suffix = np.random.default_rng().integers(16**8)
        place = self.folder / "stacks" / f"{trials[0]:04d}-{trials[-1]:04d}-{suffix:08x}"
        rows = []
        for row in record.rows:
            rows.append({name: _json_value(value) for name, value in row.items()})
        values: Row = {"trials": rows, "written": datetime.now(UTC).isoformat()}
        if record.notes or record.faults:
            values["notes"] = [*record.notes, *record.faults]
        # A cell without networks has no curves, whose file has its columns all the same.
        columns = None if record.curves else ["phase", "trial", "epoch"]
        frames = {CURVES: pd.DataFrame(list(record.curves), columns=columns)}
        if record.predictions:
            frames[PREDICTIONS] = pd.concat([each.frame() for each in record.predictions])
        arrays = {PREPROCESSING: record.preprocessing}
        if record.weights is not None:
            arrays[WEIGHTS] = record.weights
        environment = json.dumps(dict(record.environment), indent=2) + "\n"
        with new_record(place, CONTENTS, self.fingerprint, values, claim) as folder:
            for file, frame in frames.items():
                # Libraries read some names of folders otherwise than we do.
                (folder / file).write_bytes(frame.to_parquet(compression="zstd", index=False))
            for file, by_name in arrays.items():
                content = save({name: np.ascontiguousarray(array) for name, array in by_name.items()})
                # `save_file` would hide it from everybody but its owner.
                (folder / file).write_bytes(content)
            (folder / ENVIRONMENT).write_text(environment, encoding="utf-8")


def read_cell(cell: Path, *, weights: bool = False) -> Stored:
    """The content of a cell's folder.

    If a trial was trained twice, its rows are equal, and the first is taken. ``weights`` checks the hashes of weights
    and predictions too, see `records`.
    """
    stored = Stored()
    try:
        stored.description = read_description(cell)
    except DamagedRecordError as error:
        stored.leave_out(cell / DESCRIPTION, error)
        if isinstance(error, OtherVersionError):
            stored.release = _release_of(cell)
    stacks: list[Path] = []
    try:
        stacks = record_folders(cell / "stacks")
    except OSError as error:
        stored.leave_out(cell / "stacks", UnreadableRecordError(f"it cannot be read: {error.strerror}"))
    for stack in stacks:
        try:
            table = read_record(stack, CONTENTS, cell.name, weights=weights)
            _check_rows(table)
        except DamagedRecordError as error:
            stored.leave_out(stack, error)
            continue
        except FileNotFoundError:
            # Another process has just set it aside.
            continue
        stored.stacks[stack] = table
        stored.written = max(stored.written, _written(table))
        for row in table["trials"]:
            stored.rows.setdefault(row["trial"], row)
    return stored


def _written(table: Row) -> float:
    """The time at which a stack was written, by the clock of the machine that trained it; 0 if it says none."""
    try:
        return datetime.fromisoformat(table["written"]).timestamp()
    except (KeyError, TypeError, ValueError, OverflowError, OSError):
        return 0.0


def _release_of(cell: Path) -> str:
    """The version of the package that trained a cell, by any of its stacks, in whichever layout they are."""
    for file in sorted((cell / "stacks").glob(f"*/{ENVIRONMENT}")):
        with suppress(DamagedRecordError, OSError, ValueError, LookupError, TypeError):
            return str(json.loads(read_bytes(file, MOST_JSON))["packages"]["scarf-lightning"])[:20]
    return "unknown"


def packages_of(stored: Stored) -> dict[str, str]:
    """The versions of packages that a cell was trained with; none where that is not known."""

    def parse(content: bytes) -> dict[str, str]:
        packages = json.loads(content)["packages"]
        return {str(name): str(version) for name, version in packages.items()}

    # All stacks of a cell are mostly of one version, so the first one speaks for the cell.
    versions, _ = stack_files(stored, ENVIRONMENT, parse)
    return versions[0] if versions else {}


def stack_files(stored: Stored, name: str, parse: Callable[[bytes], T]) -> tuple[list[T], dict[Path, str]]:
    """The file of this name, parsed, of each whole stack that has one, and the stacks where it cannot be used."""
    files: list[T] = []
    damaged: dict[Path, str] = {}
    for stack, table in stored.stacks.items():
        if name in OPTIONAL and name not in table["files"]:
            continue
        try:
            files.append(read_file(stack, table, name, parse))
        except DamagedRecordError as error:
            damaged[stack] = str(error)
    return files, damaged


@cache
def source_commit() -> str | None:
    """The commit of the package's source, as git describes it: ``-dirty`` if files differ from it.

    None if the source is no checkout, or there is no git.
    """
    source = str(Path(__file__).parent)
    command = ["git", "-C", source, "describe", "--always", "--dirty", "--exclude=*"]
    try:
        git = subprocess.run(command, capture_output=True, text=True, timeout=5)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if git.returncode != 0:
        return None
    return git.stdout.strip()


def read_description(cell: Path) -> Row | None:
    """The description of a cell; None if it has none.

    Raises:
        DamagedRecordError: the description cannot be used.
    """
    try:
        (cell / DESCRIPTION).lstat()
        description = read_record(cell, DESCRIPTION, cell.name)
    except FileNotFoundError:
        # Also where another process has just set it aside.
        return None
    except OSError as error:
        raise UnreadableRecordError(f"it cannot be read: {error.strerror}") from error
    # Seals are right in a crafted file too, so its fields are checked.
    fields_of(Description, description)
    fields_of(DescribedConfig, description["config"], "config")
    try:
        target_from_plain(description)
    except ValueError as error:
        raise DamagedRecordError(str(error)) from error
    options = description["options"]
    # An axis of version 0.2, whose one choice that is left is what every model does.
    if options.get("features") == "all":
        del options["features"]
    if fingerprint(description["identity"]) != cell.name:
        raise DamagedRecordError("its identity is another cell's")
    return description


def _check_rows(table: Row) -> None:
    """Check the rows of a stack: the types that `load` gives its columns, and how large numbers are."""
    rows = fields_of(StackContents, table).trials
    if not rows:
        raise DamagedRecordError("it has no trials")
    kinds = kinds_of_columns()
    for name in {"trial", *chain.from_iterable(rows)}:
        values = [row.get(name) for row in rows]
        if not kinds.get(name, ANYTHING).issuperset(map(type, values)):
            raise DamagedRecordError(f"it has no {name}")
    trials = [row["trial"] for row in rows]
    for trial in trials:
        # `load` would make a table of as many rows.
        if not 0 <= trial < MOST_TRIALS:
            raise DamagedRecordError(f"it has a trial {trial}")
    if len(set(trials)) < len(rows):
        raise DamagedRecordError("it has a trial twice")


def kinds_of_columns() -> dict[str, set[type]]:
    """The types of values by column; of other columns `ANYTHING`."""
    measured = [metric.name for metric in metrics()]
    kinds: dict[str, set[type]] = {}
    kinds |= dict.fromkeys((*SECONDS, *measured, *PROBES), NUMBER)
    kinds |= dict.fromkeys(COUNTS, COUNT)
    kinds |= dict.fromkeys(TEXTS, TEXT)
    kinds |= dict.fromkeys(FLAGS, FLAG)
    # The one column that no row lacks.
    kinds["trial"] = {int}
    return kinds


def _json_value(value: Any) -> Any:
    """A plain Python value; JSON has no NaN, so it is written as null."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and math.isnan(value):
        return None
    return value
