"""The cache of pre-trainings: weights and curve of each, for every method and regime that starts from it.

    results/pretrained/<fingerprint>/pretraining.json                 identity
    results/pretrained/<fingerprint>/claim/                           while a process trains some of its trials
    results/pretrained/<fingerprint>/trials/<trial>/weights.safetensors
                                                    curve.json        a record an epoch; epochs, seconds

It may be deleted as a whole or in part at any time: what is missing is trained again where it is needed.
"""

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .claims import claim_when_free, folder_time
from .files import beside, remove_unfinished, write_whole
from .identity import fingerprint
from .records import SCHEMA_VERSION, DamagedRecordError, new_record, read_record, record_folders
from .set_aside import set_aside

FOLDER = "pretrained"
CONTENTS = "curve.json"
WEIGHTS = "weights.safetensors"
GIGABYTE = 1e9


@dataclass(frozen=True)
class PretrainedTrial:
    """What came of pre-training one trial.

    ``weights`` of f and g by name, as the module names them, without the trial axis; ``curve`` a record an epoch.
    """

    trial: int
    weights: Mapping[str, NDArray[Any]]
    epochs: int
    best_epoch: int
    seconds: float
    curve: Sequence[dict[str, Any]]


class PretrainingStore:
    """The trials of one pre-training.

    Args:
        results: the folder of all results.
        identity: the pre-training's canonical fields, see `pretraining_identity`.
        max_gb: of weights kept in all; 0 keeps none.
    """

    def __init__(self, results: Path, identity: dict[str, Any], max_gb: float) -> None:
        self.identity = identity
        self.fingerprint = fingerprint(identity)
        self.results, self.max_gb = results, max_gb
        self.folder = results / FOLDER / self.fingerprint

    @property
    def keeps(self) -> bool:
        return self.max_gb > 0

    def missing(self, trials: Sequence[int]) -> list[int]:
        """Those of ``trials`` that are not there, or are damaged."""
        return [trial for trial in trials if self._contents(trial) is None]

    @contextmanager
    def claim(self) -> Iterator[None]:
        """The right to train trials of this pre-training, waited for while another process has it."""
        with claim_when_free(self.folder):
            now = folder_time(self.folder)
            for folder in (self.folder, self.folder / "trials"):
                remove_unfinished(folder, now)
            for trial in record_folders(self.folder / "trials"):
                try:
                    read_record(trial, CONTENTS, self.fingerprint)
                except DamagedRecordError as error:
                    set_aside(self.results, [trial], str(error))
            yield

    def clear(self, reason: str) -> None:
        """Set all its trials aside, so that they are trained again."""
        if trials := record_folders(self.folder / "trials"):
            set_aside(self.results, trials, reason)

    def load(self, trials: Sequence[int]) -> dict[int, PretrainedTrial]:
        """Those of ``trials`` that are there."""
        from safetensors.numpy import load_file

        found = {}
        for trial in trials:
            contents = self._contents(trial)
            if contents is None:
                continue
            with suppress(FileNotFoundError):  # evicted meanwhile
                weights = load_file(self._place(trial) / WEIGHTS)
                os.utime(self._place(trial))  # what was used last is evicted last
                found[trial] = PretrainedTrial(
                    trial,
                    weights,
                    contents["epochs"],
                    contents["best_epoch"],
                    contents["seconds"],
                    contents["curve"],
                )
        return found

    def add(self, trained: Sequence[PretrainedTrial]) -> None:
        """Keep these trials, under the claim, and evict those of any pre-training that were not used for longest."""
        from safetensors.numpy import save_file

        if not (self.folder / "pretraining.json").exists():
            described = {"schema": SCHEMA_VERSION, "fingerprint": self.fingerprint, "identity": self.identity}
            write_whole(self.folder / "pretraining.json", json.dumps(described, indent=2) + "\n")
        for each in trained:
            values = {
                "trial": each.trial,
                "epochs": each.epochs,
                "best_epoch": each.best_epoch,
                "seconds": each.seconds,
                "curve": list(each.curve),
            }
            with new_record(self._place(each.trial), CONTENTS, self.fingerprint, values) as folder:
                save_file({n: np.ascontiguousarray(weight) for n, weight in each.weights.items()}, folder / WEIGHTS)
        evict(self.results, self.max_gb)

    def _place(self, trial: int) -> Path:
        return self.folder / "trials" / f"{trial:04d}"

    def _contents(self, trial: int) -> dict[str, Any] | None:
        try:
            return read_record(self._place(trial), CONTENTS, self.fingerprint)
        except (FileNotFoundError, DamagedRecordError):  # `claim` sets a damaged one aside before it is trained again
            return None


def evict(results: Path, max_gb: float) -> int:
    """Remove the trials used longest ago until what is kept fits; how many were removed."""
    kept = []
    for trial in (results / FOLDER).glob("*/trials/[0-9]*"):
        with suppress(FileNotFoundError):  # evicted by another process
            kept.append((trial.stat().st_mtime, (trial / WEIGHTS).stat().st_size, trial))
    total, removed = sum(size for _, size, _ in kept), 0
    for _, size, trial in sorted(kept):
        if total <= max_gb * GIGABYTE:
            break
        gone = beside(trial)
        with suppress(FileNotFoundError):
            trial.rename(gone)  # first, so that nobody reads half of it
            shutil.rmtree(gone)
        total, removed = total - size, removed + 1
    return removed
