"""The cache of pre-trainings: weights and curves, for every method and regime that starts from them.

    results/pretrained/<fingerprint>/pretraining.json                 identity
    results/pretrained/<fingerprint>/claim/                           while a process trains some of its trials
    results/pretrained/<fingerprint>/trials/<trial>/weights.safetensors
                                                    curve.json        a record an epoch; epochs, seconds; hashes

It may be deleted as a whole or in part at any time: what is missing is trained again when it is needed.
"""

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .claims import Claim, LostClaimError, claim_when_free, folder_time
from .files import DamagedRecordError, UnreadableRecordError, remove_unfinished, set_aside, temporary, write_whole
from .identity import fingerprint
from .records import (
    NUMBER,
    WEIGHTS,
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

FOLDER = "pretrained"
DESCRIPTION = "pretraining.json"
CONTENTS = "curve.json"
FIELDS: Fields = {"epochs": int, "best_epoch": int, "seconds": int | float, "curve": list}
GIGABYTE = 1e9
Shapes = Mapping[str, tuple[tuple[int, ...], str]]
"""The shape and the type of each array, by its name."""


@dataclass(frozen=True)
class PretrainedTrial:
    """The pre-training of one trial.

    ``weights`` are those of f and g by name, without the trial axis; ``curve`` has a record for each epoch.
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
        identity: the pre-training's fields, see `pretraining_identity`.
        max_gb: of weights that the cache keeps in all.
        expected: gives the shape and type of each array of weights; trials with others are damaged. None takes all.
    """

    def __init__(
        self, results: Path, identity: dict[str, Any], max_gb: float, expected: Callable[[], Shapes] | None = None
    ) -> None:
        self.identity, self._expected = identity, expected
        self.fingerprint = fingerprint(identity)
        self.results, self.max_gb = results, max_gb
        self.folder = results / FOLDER / self.fingerprint

    def expecting(self, shapes: Callable[[], Shapes]) -> "PretrainingStore":
        """The same trials, of networks with such weights."""
        return PretrainingStore(self.results, self.identity, self.max_gb, shapes)

    def missing(self, trials: Sequence[int]) -> list[int]:
        """The trials among ``trials`` that are not there, or are damaged."""
        found = []
        for trial in trials:
            try:
                self._contents(trial)
            except (FileNotFoundError, DamagedRecordError):
                found.append(trial)
        return found

    @contextmanager
    def claim(self) -> Iterator[Claim]:
        """The right to train trials of this pre-training; waits while another process has it.

        Damaged trials are set aside; a warning names them.
        """
        with claim_when_free(self.folder) as held:
            now = folder_time(self.folder)
            for folder in (self.folder, self.folder / "trials"):
                remove_unfinished(folder, now)
            for path, reason in self._damaged():
                warnings.warn(set_aside(self.results, [path], reason), stacklevel=3)
            yield held

    def clear(self, reason: str) -> None:
        """Set all trials aside, so that they are trained again."""
        if trials := record_folders(self.folder / "trials"):
            set_aside(self.results, trials, reason)

    def load(self, trials: Sequence[int]) -> dict[int, PretrainedTrial]:
        """The trials among ``trials`` that are there; damaged ones are left out, with a warning that names them."""
        found = {}
        for trial in trials:
            place = self._place(trial)
            try:
                found[trial] = self._load(trial)
                os.utime(place)  # the trials that were used last are evicted last
            except FileNotFoundError:
                continue
            except DamagedRecordError as error:
                if place.exists():  # else another process has evicted it
                    warnings.warn(f"{place} is left out: {error}.", stacklevel=2)
        return found

    def add(self, trained: Sequence[PretrainedTrial], claim: Claim | None = None) -> None:
        """Keep these trials, and evict the least recently used trials of any pre-training until all fit.

        If the ``claim`` was lost, none are kept: the process that took it over trains the same trials.
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
            if not place.exists():  # else a process that took the claim over has kept the same trial
                raise

    def _place(self, trial: int) -> Path:
        return self.folder / "trials" / f"{trial:04d}"

    def _load(self, trial: int) -> PretrainedTrial:
        from safetensors.numpy import load

        place = self._place(trial)
        contents = self._contents(trial)
        weights = read_file(place, contents, WEIGHTS, load)
        if self._expected is not None:
            _check_weights(weights, self._expected())
        return PretrainedTrial(trial, weights, **{name: contents[name] for name in FIELDS})

    def _contents(self, trial: int) -> dict[str, Any]:
        contents = read_record(self._place(trial), CONTENTS, self.fingerprint)
        check_fields(contents, {"trial": int, **FIELDS})
        for record in contents["curve"]:
            check_fields(record, {"trial": int, "epoch": int})
            if record["trial"] != trial or not {type(value) for value in record.values()} <= NUMBER:
                raise DamagedRecordError("it has no curve")
        return contents

    def _damaged(self) -> Iterator[tuple[Path, str]]:
        """The damaged files and folders, and why they cannot be used."""
        description = self.folder / DESCRIPTION
        for path in (*(self.folder / "trials").glob("[0-9]*"), description):
            try:
                if path == description:
                    check_contents(read_sealed(path), self.fingerprint)
                else:
                    self._load(int(path.name))
            except (FileNotFoundError, UnreadableRecordError):
                continue  # not there yet, just evicted, or another user's
            except DamagedRecordError as error:
                if path.exists():
                    yield path, str(error)


def _check_weights(weights: Mapping[str, NDArray[Any]], expected: Shapes) -> None:
    if (found := {name: (array.shape, str(array.dtype)) for name, array in weights.items()}) != expected:
        wrong = min(name for name in {*found, *expected} if found.get(name) != expected.get(name))
        raise DamagedRecordError(f"{WEIGHTS} is of another network: {wrong[:80]!r} does not fit")
    if not all(np.isfinite(array).all() for array in weights.values()):
        raise DamagedRecordError(f"{WEIGHTS} holds a number that is not finite")


def evict(results: Path, max_gb: float) -> int:
    """Remove the least recently used trials until the others fit; how many were removed."""
    kept = []
    for trial in (results / FOLDER).glob("*/trials/[0-9]*"):
        with suppress(FileNotFoundError):  # another process has evicted it
            kept.append((trial.stat().st_mtime, (trial / WEIGHTS).stat().st_size, trial))
    total, removed = sum(size for _, size, _ in kept), 0
    for _, size, trial in sorted(kept):
        if total <= max_gb * GIGABYTE:
            break
        with temporary(trial) as gone, suppress(FileNotFoundError):
            trial.rename(gone)  # first, so that nobody reads half of it
        total, removed = total - size, removed + 1
    return removed
