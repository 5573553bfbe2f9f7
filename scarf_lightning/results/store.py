"""The store: a folder a cell, in it a folder a stack of trials that was trained at once.

    results/<fingerprint>/cell.json                        identity, and which dataset it is of
    results/<fingerprint>/config.yaml                      the resolved configuration of the first run
    results/<fingerprint>/stacks/<name>/trials.json        a row a trial
                                        curves.parquet     a row an epoch and trial
                                        preprocessing.safetensors
                                        environment.json   versions and hardware

A stack appears whole or not at all. Trials are independent, so the trials of a cell may come from many stacks.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .files import UNFINISHED, whole_folder, write_whole
from .identity import fingerprint

Row = dict[str, Any]

SCHEMA_VERSION = 1
"""Of the files' layout."""


@dataclass(frozen=True)
class StackRecord:
    """What is kept of the trials of one stack.

    ``rows`` are a row a trial, ``curves`` a record an epoch and trial, ``preprocessing`` arrays ``(T, M)`` by name,
    ``environment`` versions and hardware.
    """

    rows: Sequence[Row]
    curves: Sequence[Row]
    preprocessing: Mapping[str, NDArray[np.float64]]
    environment: Mapping[str, Any]


class CellStore:
    """The records of one cell.

    Args:
        results: the folder of all results.
        identity: the cell's canonical fields.
    """

    def __init__(self, results: Path, identity: dict[str, Any]) -> None:
        self.identity = identity
        self.fingerprint = fingerprint(identity)
        self.folder = results / self.fingerprint

    def rows(self, trials: Sequence[int] | None = None) -> list[Row]:
        """Rows of the finished trials, or of those among ``trials``, in their order."""
        wanted = None if trials is None else set(trials)
        found = stored_rows(self.folder)
        return [found[trial] for trial in sorted(found) if wanted is None or trial in wanted]

    def missing(self, trials: Sequence[int]) -> list[int]:
        """Those of ``trials`` that are not finished."""
        finished = stored_rows(self.folder)
        return [trial for trial in trials if trial not in finished]

    def describe(self, *, dataset: str, dataset_id: int | None, source: str, config: str) -> None:
        """Write what the cell is, before its first stack; ``config`` is YAML."""
        if (self.folder / "cell.json").exists():
            return
        cell = {
            "schema": SCHEMA_VERSION,
            "fingerprint": self.fingerprint,
            "dataset": dataset,
            "dataset_id": dataset_id,
            "source": source,
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
        with whole_folder(self.folder / "stacks" / name) as folder:
            rows = [{key: _json_value(value) for key, value in row.items()} for row in record.rows]
            (folder / "trials.json").write_text(json.dumps(rows, indent=1, allow_nan=False) + "\n", encoding="utf-8")
            columns = None if record.curves else ["phase", "trial", "epoch"]  # no network, no curve
            pd.DataFrame(list(record.curves), columns=columns).to_parquet(
                folder / "curves.parquet", compression="zstd", index=False
            )
            save_file(
                {k: np.ascontiguousarray(v) for k, v in record.preprocessing.items()},
                folder / "preprocessing.safetensors",
            )
            (folder / "environment.json").write_text(
                json.dumps(dict(record.environment), indent=2) + "\n", encoding="utf-8"
            )


def stored_rows(cell: Path) -> dict[int, Row]:
    """The rows in a cell's folder by trial. Where a trial was trained twice, the rows are equal; the first is taken."""
    rows: dict[int, Row] = {}
    for stack in stack_folders(cell):
        for row in json.loads((stack / "trials.json").read_text(encoding="utf-8")):
            rows.setdefault(row["trial"], row)
    return rows


def stack_folders(cell: Path) -> list[Path]:
    """The finished stacks of a cell, by name."""
    stacks = cell / "stacks"
    if not stacks.exists():
        return []
    return sorted(path for path in stacks.iterdir() if path.is_dir() and not path.name.startswith(UNFINISHED))


def _json_value(value: Any) -> Any:
    """A plain Python value; JSON has no NaN, so it is written as null."""
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and math.isnan(value) else value
