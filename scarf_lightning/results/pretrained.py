"""The cache of pre-trainings: weights and curve of each, for every method and regime that starts from it.

    results/pretrained/<fingerprint>/pretraining.json                 identity
    results/pretrained/<fingerprint>/claim/                           while a process trains some of its trials
    results/pretrained/<fingerprint>/trials/<trial>/weights.safetensors
                                                    curve.json        a record an epoch; epochs, seconds; hashes

It may be deleted as a whole or in part at any time: what is missing is trained again where it is needed.
"""

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .claims import Claim, LostClaimError, claim_when_free, folder_time
from .files import remove_unfinished, temporary, write_whole
from .identity import fingerprint
from .records import (
    WEIGHTS,
    DamagedRecordError,
    Fields,
    check_contents,
    check_fields,
    new_record,
    read_file,
    read_record,
    read_sealed,
    record_folders,
    sealed,
    table_of,
)
from .set_aside import set_aside

FOLDER = "pretrained"
DESCRIPTION = "pretraining.json"
CONTENTS = "curve.json"
FIELDS: Fields = {"epochs": int, "best_epoch": int, "seconds": int | float, "curve": list}
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
        return [trial for trial in trials if not self._is_whole(trial)]

    @contextmanager
    def claim(self) -> Iterator[Claim]:
        """The right to train trials of this pre-training, waited for while another process has it.

        What is damaged is set aside; a warning names it.
        """
        with claim_when_free(self.folder) as held:
            now = folder_time(self.folder)
            for folder in (self.folder, self.folder / "trials"):
                remove_unfinished(folder, now)
            for path, reason in self._damaged():
                warnings.warn(set_aside(self.results, [path], reason), stacklevel=3)
            yield held

    def clear(self, reason: str) -> None:
        """Set all its trials aside, so that they are trained again."""
        if trials := record_folders(self.folder / "trials"):
            set_aside(self.results, trials, reason)

    def load(self, trials: Sequence[int]) -> dict[int, PretrainedTrial]:
        """Those of ``trials`` that are there; what is damaged is left out, with a warning that names it."""
        found = {}
        for trial in trials:
            place = self._place(trial)
            try:
                found[trial] = self._load(trial)
                os.utime(place)  # what was used last is evicted last
            except FileNotFoundError:
                continue
            except DamagedRecordError as error:
                if place.exists():  # not evicted meanwhile
                    warnings.warn(f"{place} is left out: {error}.", stacklevel=2)
        return found

    def add(self, trained: Sequence[PretrainedTrial], claim: Claim | None = None) -> None:
        """Keep these trials, and evict those of any pre-training that were not used for longest.

        Where the ``claim`` was lost meanwhile, none are kept: the process that took it over trains the same.
        """
        with suppress(LostClaimError):
            if not (self.folder / DESCRIPTION).exists():
                described = table_of([], self.fingerprint) | {"identity": self.identity}
                write_whole(self.folder / DESCRIPTION, sealed(described))
            for each in trained:
                self._add(each, claim)
        evict(self.results, self.max_gb)

    def _add(self, each: PretrainedTrial, claim: Claim | None) -> None:
        from safetensors.numpy import save

        place = self._place(each.trial)
        values = {"trial": each.trial} | {name: getattr(each, name) for name in FIELDS} | {"curve": list(each.curve)}
        arrays = {name: np.ascontiguousarray(weight) for name, weight in each.weights.items()}
        try:
            with new_record(place, CONTENTS, self.fingerprint, values, claim) as folder:
                (folder / WEIGHTS).write_bytes(save(arrays))
        except OSError:
            if not place.exists():  # else a process that had the claim meanwhile has kept the same
                raise

    def _place(self, trial: int) -> Path:
        return self.folder / "trials" / f"{trial:04d}"

    def _load(self, trial: int) -> PretrainedTrial:
        from safetensors.numpy import load

        place = self._place(trial)
        contents = self._contents(trial)
        weights = read_file(place, contents, WEIGHTS, load)
        return PretrainedTrial(trial, weights, **{name: contents[name] for name in FIELDS})

    def _contents(self, trial: int) -> dict[str, Any]:
        contents = read_record(self._place(trial), CONTENTS, self.fingerprint)
        check_fields(contents, {"trial": int, **FIELDS})
        return contents

    def _is_whole(self, trial: int) -> bool:
        try:
            self._contents(trial)
        except (FileNotFoundError, DamagedRecordError):
            return False
        return True

    def _damaged(self) -> Iterator[tuple[Path, str]]:
        """What cannot be used, and why."""
        checks: dict[Path, Callable[[], object]] = {
            place: partial(self._load, int(place.name)) for place in (self.folder / "trials").glob("[0-9]*")
        }
        description = self.folder / DESCRIPTION
        checks[description] = lambda: check_contents(read_sealed(description), self.fingerprint)
        for path, check in checks.items():
            try:
                check()
            except FileNotFoundError:
                continue  # not there yet, or evicted meanwhile
            except DamagedRecordError as error:
                if path.exists():
                    yield path, str(error)


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
        with temporary(trial) as gone, suppress(FileNotFoundError):
            trial.rename(gone)  # first, so that nobody reads half of it
        total, removed = total - size, removed + 1
    return removed
