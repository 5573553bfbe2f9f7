"""The store: a folder a cell, in it a record a stack of trials that was trained at once.

    results/<fingerprint>/cell.json                        identity, and which dataset it is of
    results/<fingerprint>/config.yaml                      the resolved configuration of the first run
    results/<fingerprint>/claim/                           while a process trains the cell
    results/<fingerprint>/stacks/<name>/trials.json        a row a trial
                                        curves.parquet     a row an epoch and trial
                                        preprocessing.safetensors
                                        weights.safetensors with `keep_weights`: the fine-tuned networks
                                        environment.json   versions and hardware

A stack appears whole or not at all. Trials are independent, so the trials of a cell may come from many stacks.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .claims import Claim, claim, folder_time
from .files import remove_unfinished, write_whole
from .identity import fingerprint
from .records import SCHEMA_VERSION, DamagedRecordError, check_contents, new_record, read_record, record_folders
from .set_aside import set_aside

Row = dict[str, Any]

CONTENTS = "trials.json"
PREPROCESSING = "preprocessing.safetensors"
WEIGHTS = "weights.safetensors"
ENVIRONMENT = "environment.json"


@dataclass(frozen=True)
class StackRecord:
    """What is kept of the trials of one stack.

    ``rows`` are a row a trial, ``curves`` a record an epoch and trial, ``preprocessing`` arrays ``(T, M)`` by name,
    ``environment`` versions and hardware, ``weights`` the parameters ``(T, ...)`` of f and h by name, where asked for.
    """

    rows: Sequence[Row]
    curves: Sequence[Row]
    preprocessing: Mapping[str, NDArray[np.float64]]
    environment: Mapping[str, Any]
    weights: Mapping[str, NDArray[Any]] | None = None


@dataclass
class Stored:
    """What a cell's folder holds: rows by trial, what cannot be used of it and why, and whether it says what it is."""

    described: bool = False
    rows: dict[int, Row] = field(default_factory=dict)
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
        return (self.folder / "cell.json").exists()

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
        return [self._set_aside([path], reason) for path, reason in read_cell(self.folder).damaged.items()]

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
        """
        if self.is_described:
            return
        cell = {
            "schema": SCHEMA_VERSION,
            "fingerprint": self.fingerprint,
            "dataset": dataset,
            "dataset_id": dataset_id,
            "source": source,
            "columns": [{"name": name, "categories": categories} for name, categories in columns],
            "classes": list(classes),
            "overrides": list(overrides),
            "identity": self.identity,
        }
        write_whole(self.folder / "config.yaml", config)
        write_whole(self.folder / "cell.json", json.dumps(cell, indent=2) + "\n")

    def add(self, record: StackRecord) -> None:
        """Keep the trials of one stack."""
        import pandas as pd
        from safetensors.numpy import save_file

        trials = [row["trial"] for row in record.rows]
        name = f"{trials[0]:04d}-{trials[-1]:04d}-{np.random.default_rng().integers(16**8):08x}"
        rows = [{key: _json_value(value) for key, value in row.items()} for row in record.rows]
        with new_record(self.folder / "stacks" / name, CONTENTS, self.fingerprint, {"trials": rows}) as folder:
            columns = None if record.curves else ["phase", "trial", "epoch"]  # no network, no curve
            pd.DataFrame(list(record.curves), columns=columns).to_parquet(
                folder / "curves.parquet", compression="zstd", index=False
            )
            for file, arrays in ((PREPROCESSING, record.preprocessing), (WEIGHTS, record.weights)):
                if arrays is not None:
                    save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, folder / file)
            (folder / ENVIRONMENT).write_text(json.dumps(dict(record.environment), indent=2) + "\n", encoding="utf-8")

    def _set_aside(self, paths: Sequence[Path], reason: str) -> str:
        return set_aside(self.results, paths, reason)


def read_cell(cell: Path) -> Stored:
    """What a cell's folder holds. Where a trial was trained twice, the rows are equal; the first is taken."""
    stored = Stored()
    try:
        read_description(cell)
        stored.described = True
    except DamagedRecordError as error:
        stored.damaged[cell / "cell.json"] = str(error)
    except FileNotFoundError:
        pass  # not described yet
    for stack in record_folders(cell / "stacks"):
        try:
            rows = read_record(stack, CONTENTS, cell.name)["trials"]
        except DamagedRecordError as error:
            stored.damaged[stack] = str(error)
            continue
        except FileNotFoundError:
            continue  # set aside by another process meanwhile
        for row in rows:
            stored.rows.setdefault(row["trial"], row)
    return stored


def read_description(cell: Path) -> Row:
    """What a cell is.

    Raises:
        DamagedRecordError: its description is torn, of another schema, or another cell's.
        FileNotFoundError: it has none.
    """
    try:
        description = json.loads((cell / "cell.json").read_text(encoding="utf-8"))
    except ValueError as error:
        raise DamagedRecordError("cell.json is torn") from error
    check_contents(description, cell.name)
    if fingerprint(description["identity"]) != cell.name:
        raise DamagedRecordError("its identity is another cell's")
    return dict(description)


def _json_value(value: Any) -> Any:
    """A plain Python value; JSON has no NaN, so it is written as null."""
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and math.isnan(value) else value
