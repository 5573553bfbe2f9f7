"""The store: a folder a cell, in it a record a stack of trials that was trained at once.

    results/<fingerprint>/cell.json                        identity, and which dataset it is of
    results/<fingerprint>/config.yaml                      the resolved configuration of the first run
    results/<fingerprint>/claim/                           while a process trains the cell
    results/<fingerprint>/stacks/<name>/trials.json        a row a trial
                                        curves.parquet     a row an epoch and trial
                                        preprocessing.safetensors
                                        predictions.parquet probabilities of the classes on the test rows
                                        tries.parquet      with `tune`: a row a try of a trial
                                        weights.safetensors with `keep_weights`: the fine-tuned networks
                                        environment.json   versions and hardware

A stack appears whole or not at all. Trials are independent, so the trials of a cell may come from many stacks.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .claims import Claim, claim, folder_time
from .files import remove_unfinished, write_whole
from .identity import fingerprint
from .records import (
    PREDICTIONS,
    WEIGHTS,
    DamagedRecordError,
    Fields,
    check_fields,
    new_record,
    read_file,
    read_record,
    record_folders,
    sealed,
    table_of,
)
from .set_aside import set_aside
from .stack_record import Row, StackRecord

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")

DESCRIPTION = "cell.json"
CONFIG = "config.yaml"
CONTENTS = "trials.json"
CURVES = "curves.parquet"
TRIES = "tries.parquet"
PREPROCESSING = "preprocessing.safetensors"
ENVIRONMENT = "environment.json"
DESCRIBED: Fields = {
    "dataset": str, "dataset_id": int | None, "identity": dict, "columns": list, "classes": list, "overrides": list,
}  # fmt: skip
"""Fields of a description that readers rely on."""


@dataclass
class Stored:
    """What a cell's folder holds: what it says it is, rows by trial, the tables of contents of whole stacks, and what
    cannot be used of it and why."""

    description: Row | None = None
    rows: dict[int, Row] = field(default_factory=dict)
    stacks: dict[Path, Row] = field(default_factory=dict)
    damaged: dict[Path, str] = field(default_factory=dict)


class CellStore:
    """The records of one cell.

    Args:
        results: the folder of all results.
        identity: the cell's canonical fields.
    """

    def __init__(self, results: Path, identity: dict[str, Any]) -> None:
        self.identity = identity
        self.fingerprint = fingerprint(identity)
        self.results, self.folder = results, results / self.fingerprint

    @property
    def is_described(self) -> bool:
        """Whether the store knows what the cell is, so that `load_cell` finds it."""
        return (self.folder / DESCRIPTION).exists()

    def rows(self, trials: Sequence[int] | None = None) -> list[Row]:
        """Rows of the finished trials, or of those among ``trials``, in their order."""
        wanted = None if trials is None else set(trials)
        found = read_cell(self.folder).rows
        return [found[trial] for trial in sorted(found) if wanted is None or trial in wanted]

    def missing(self, trials: Sequence[int]) -> list[int]:
        """Those of ``trials`` that are not finished."""
        finished = read_cell(self.folder).rows
        return [trial for trial in trials if trial not in finished]

    @contextmanager
    def claim(self) -> Iterator[Claim | None]:
        """The right to train the cell, or None while another process has it."""
        with claim(self.folder) as held:
            if held is not None:
                now = folder_time(self.folder)
                for folder in (self.folder, self.folder / "stacks"):
                    remove_unfinished(folder, now)
            yield held

    def mend(self) -> list[str]:
        """Set aside what is damaged, under the cell's claim; a sentence on each."""
        said = []
        for path, reason in read_cell(self.folder, weights=True).damaged.items():
            config = self.folder / CONFIG  # written before the description and moved before it, so never left behind
            both = path.name == DESCRIPTION and config.exists()
            said.append(self._set_aside([config, path] if both else [path], reason))
        return said

    def clear(self, reason: str) -> str:
        """Set all records aside, under the cell's claim, so that its trials are trained again."""
        return self._set_aside(record_folders(self.folder / "stacks"), reason)

    def describe(
        self,
        *,
        dataset: str,
        dataset_id: int | None,
        source: str,
        columns: Sequence[tuple[str, Sequence[str] | None]],
        classes: Sequence[str],
        overrides: Sequence[str],
        config: str,
        reading: Mapping[str, Any] | None = None,
    ) -> None:
        """Write what the cell is, before its first stack.

        Args:
            dataset: its name.
            dataset_id: OpenML's, where it has one.
            source: where it came from.
            columns: its features in their order, each with its categories; None for a numeric one.
            classes: of its target.
            overrides: what asks for the cell on the command line.
            config: the resolved configuration, as YAML.
            reading: how a user's file was read, and what should be known of it.
        """
        if self.is_described:
            return
        write_whole(self.folder / CONFIG, config)
        cell = table_of([self.folder / CONFIG], self.fingerprint) | {
            "dataset": dataset,
            "dataset_id": dataset_id,
            "source": source,
            "columns": [{"name": name, "categories": categories} for name, categories in columns],
            "classes": list(classes),
            "overrides": list(overrides),
            "reading": dict(reading or {}),
            "identity": self.identity,
        }
        write_whole(self.folder / DESCRIPTION, sealed(cell))

    def add(self, record: StackRecord, claim: Claim | None = None) -> None:
        """Keep the trials of one stack.

        Raises:
            LostClaimError: another process has taken the ``claim`` over; nothing is kept.
        """
        import pandas as pd
        from safetensors.numpy import save

        trials = [row["trial"] for row in record.rows]
        name = f"{trials[0]:04d}-{trials[-1]:04d}-{np.random.default_rng().integers(16**8):08x}"
        rows = [{key: _json_value(value) for key, value in row.items()} for row in record.rows]
        place = self.folder / "stacks" / name
        values = {"trials": rows} | ({"notes": list(record.notes)} if record.notes else {})
        with new_record(place, CONTENTS, self.fingerprint, values, claim) as folder:
            columns = None if record.curves else ["phase", "trial", "epoch"]  # no network, no curve
            pd.DataFrame(list(record.curves), columns=columns).to_parquet(
                folder / CURVES, compression="zstd", index=False
            )
            if record.tries:
                pd.DataFrame(list(record.tries)).to_parquet(folder / TRIES, compression="zstd", index=False)
            if record.predictions:
                pd.concat([each.frame() for each in record.predictions]).to_parquet(
                    folder / PREDICTIONS, compression="zstd", index=False
                )
            for file, arrays in ((PREPROCESSING, record.preprocessing), (WEIGHTS, record.weights)):
                if arrays is not None:
                    content = save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
                    (folder / file).write_bytes(content)  # `save_file` hides it from all but its owner
            (folder / ENVIRONMENT).write_text(json.dumps(dict(record.environment), indent=2) + "\n", encoding="utf-8")

    def _set_aside(self, paths: Sequence[Path], reason: str) -> str:
        return set_aside(self.results, paths, reason)


def read_cell(cell: Path, *, weights: bool = False) -> Stored:
    """What a cell's folder holds. Where a trial was trained twice, the rows are equal; the first is taken.

    Args:
        cell: the folder.
        weights: whether the hashes of fine-tuned weights are checked, too; see `records`.
    """
    stored = Stored()
    try:
        stored.description = _description(cell)
    except DamagedRecordError as error:
        stored.damaged[cell / DESCRIPTION] = str(error)
    for stack in record_folders(cell / "stacks"):
        try:
            table = read_record(stack, CONTENTS, cell.name, weights=weights)
            check_fields(table, {"trials": list})
            for row in table["trials"]:
                check_fields(row, {"trial": int})
        except DamagedRecordError as error:
            stored.damaged[stack] = str(error)
            continue
        except FileNotFoundError:
            continue  # set aside by another process meanwhile
        stored.stacks[stack] = table
        for row in table["trials"]:
            stored.rows.setdefault(row["trial"], row)
    return stored


def of_stacks(stored: Stored, read: Callable[[Path, Row], T], damaged: dict[Path, str]) -> Iterator[T]:
    """What this reads of each whole stack; one that turns out to be damaged is noted."""
    for stack, table in stored.stacks.items():
        try:
            yield read(stack, table)
        except DamagedRecordError as error:
            damaged[stack] = str(error)


def stack_curves(stack: Path, table: Row) -> "pd.DataFrame":
    """A row an epoch and trial of a stack.

    Raises:
        DamagedRecordError: see `read_file`.
    """
    import pandas as pd

    return read_file(stack, table, CURVES, lambda content: pd.read_parquet(BytesIO(content)))


def stack_tries(stack: Path, table: Row) -> "pd.DataFrame":
    """A row a try of each trial of a stack; none where it was not tuned.

    Raises:
        DamagedRecordError: see `read_file`.
    """
    import pandas as pd

    if TRIES not in table["files"]:
        return pd.DataFrame()
    return read_file(stack, table, TRIES, lambda content: pd.read_parquet(BytesIO(content)))


def stack_environment(stack: Path, table: Row) -> Row:
    """Versions and hardware that a stack was trained with.

    Raises:
        DamagedRecordError: see `read_file`.
    """
    return read_file(stack, table, ENVIRONMENT, lambda content: dict(json.loads(content)))


def _description(cell: Path) -> Row | None:
    """What a cell is, if it says so.

    Raises:
        DamagedRecordError: its description or its configuration is damaged, of another schema, or another cell's.
    """
    if not (cell / DESCRIPTION).exists():
        return None
    description = read_record(cell, DESCRIPTION, cell.name)
    check_fields(description, DESCRIBED)
    for column in description["columns"]:
        check_fields(column, {"name": str, "categories": list | None})
    if fingerprint(description["identity"]) != cell.name:
        raise DamagedRecordError("its identity is another cell's")
    return description


def _json_value(value: Any) -> Any:
    """A plain Python value; JSON has no NaN, so it is written as null."""
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and math.isnan(value) else value
