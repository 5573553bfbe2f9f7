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

from .claims import Claim, LostClaimError, claim, claim_when_free, folder_time
from .files import DamagedRecordError, UnreadableRecordError, remove_unfinished, set_aside, temporary, write_whole
from .identity import fingerprint
from .records import (
    WEIGHTS,
    check_contents,
    fields_of,
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
GIGABYTE = 1e9
Shapes = Mapping[str, tuple[tuple[int, ...], str]]
"""The shape and the type of each array, by its name."""


@dataclass(frozen=True)
class PretrainedTrial:
    """The pre-training of one trial.

    Attributes:
        trial: its number.
        weights: of f and g, by name, without the trial axis.
        epochs, best_epoch, seconds: of its training.
        curve: a record for each epoch.
    """

    trial: int
    weights: Mapping[str, NDArray[Any]]
    epochs: int
    best_epoch: int
    seconds: float
    curve: Sequence[dict[str, Any]]


@dataclass(frozen=True)
class Training:
    """What a table of contents says of the pre-training of a trial, see `PretrainedTrial`."""

    trial: int
    epochs: int
    best_epoch: int
    seconds: float
    curve: list[dict[str, int | float | None]]


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
        self.identity = identity
        self.fingerprint = fingerprint(identity)
        self.results = results
        self.max_gb = max_gb
        self._expected = expected
        self.folder = results / FOLDER / self.fingerprint

    def expecting(self, shapes: Callable[[], Shapes]) -> "PretrainingStore":
        """The same trials, of networks with such weights."""
        return PretrainingStore(self.results, self.identity, self.max_gb, shapes)

    def missing(self, trials: Sequence[int]) -> list[int]:
        """The trials among ``trials`` that are not there, or are damaged."""
        # One look at the folder in place of one at each trial.
        if not (self.folder / "trials").exists():
            return list(trials)
        missing = []
        for trial in trials:
            try:
                self._contents(trial)
            except (FileNotFoundError, DamagedRecordError):
                missing.append(trial)
        return missing

    @contextmanager
    def claim(self) -> Iterator[Claim]:
        """The right to train trials of this pre-training; waits while another process has it.

        Damaged trials are set aside; a warning names them.
        """
        with claim_when_free(self.folder) as held:
            self._tidy()
            yield held

    @contextmanager
    def claim_if_free(self) -> Iterator[Claim | None]:
        """The right to train trials of this pre-training, or None while another process has it."""
        with claim(self.folder) as held:
            if held is not None:
                self._tidy()
            yield held

    def _tidy(self) -> None:
        """Remove what a process that was killed left unfinished, and set damaged trials aside, under the claim."""
        now = folder_time(self.folder)
        for folder in (self.folder, self.folder / "trials"):
            remove_unfinished(folder, now)
        for path, reason in self._damaged():
            warnings.warn(set_aside(self.results, [path], reason), stacklevel=4)

    def clear(self, reason: str) -> None:
        """Set all trials aside, so that they are trained again."""
        trials = record_folders(self.folder / "trials")
        if trials:
            set_aside(self.results, trials, reason)

    def load(self, trials: Sequence[int]) -> dict[int, PretrainedTrial]:
        """The trials among ``trials`` that are there; damaged ones are left out, with a warning that names them."""
        loaded = {}
        for trial in trials:
            place = self._place(trial)
            try:
                loaded[trial] = self._load(trial)
                # The trials that were used last are evicted last.
                os.utime(place)
            except FileNotFoundError:
                continue
            except DamagedRecordError as error:
                # Another process may have evicted it while it was read.
                if place.exists():
                    warnings.warn(f"{place} is left out: {error}.", stacklevel=2)
        return loaded

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
        """Keep one trial."""
        from safetensors.numpy import save

        place = self._place(each.trial)
        values = {
            "trial": each.trial,
            "epochs": each.epochs,
            "best_epoch": each.best_epoch,
            "seconds": each.seconds,
            "curve": list(each.curve),
        }
        arrays = {name: np.ascontiguousarray(weight) for name, weight in each.weights.items()}
        try:
            with new_record(place, CONTENTS, self.fingerprint, values, claim) as folder:
                (folder / WEIGHTS).write_bytes(save(arrays))
        except OSError:
            # A process that took the claim over may have kept the same trial.
            if not place.exists():
                raise

    def _place(self, trial: int) -> Path:
        """The folder of a trial."""
        return self.folder / "trials" / f"{trial:04d}"

    def _load(self, trial: int) -> PretrainedTrial:
        """One trial.

        Raises:
            DamagedRecordError: it is damaged, or of other networks.
            FileNotFoundError: it is not there.
        """
        from safetensors.numpy import load

        place = self._place(trial)
        contents, training = self._contents(trial)
        weights = read_file(place, contents, WEIGHTS, load)
        if self._expected is not None:
            _check_weights(weights, self._expected())
        return PretrainedTrial(trial, weights, training.epochs, training.best_epoch, training.seconds, training.curve)

    def _contents(self, trial: int) -> tuple[dict[str, Any], Training]:
        """The table of contents of a trial, and the checked fields of its training."""
        contents = read_record(self._place(trial), CONTENTS, self.fingerprint)
        training = fields_of(Training, contents)
        for record in training.curve:
            if record.get("trial") != trial or not isinstance(record.get("epoch"), int):
                raise DamagedRecordError("it has no curve")
        return contents, training

    def _damaged(self) -> Iterator[tuple[Path, str]]:
        """The damaged files and folders, and why they cannot be used."""
        description = self.folder / DESCRIPTION
        trials = (self.folder / "trials").glob("[0-9]*")
        for path in (*trials, description):
            try:
                if path == description:
                    check_contents(read_sealed(path), self.fingerprint)
                else:
                    self._load(int(path.name))
            except (FileNotFoundError, UnreadableRecordError):
                # Not there yet, just evicted, or another user's.
                continue
            except DamagedRecordError as error:
                if path.exists():
                    yield path, str(error)


def _check_weights(weights: Mapping[str, NDArray[Any]], expected: Shapes) -> None:
    """Refuse weights that are not finite, or of other shapes and types than the networks that take them."""
    shapes = {name: (array.shape, str(array.dtype)) for name, array in weights.items()}
    # The first by name, so that the message is the same each time.
    for name in sorted({*shapes, *expected}):
        if shapes.get(name) != expected.get(name):
            raise DamagedRecordError(f"{WEIGHTS} is of another network: {name[:80]!r} does not fit")
    for array in weights.values():
        if not np.isfinite(array).all():
            raise DamagedRecordError(f"{WEIGHTS} holds a number that is not finite")


def evict(results: Path, max_gb: float) -> int:
    """Remove the least recently used trials until the others fit, and return how many were removed."""
    uses = []
    total = 0
    for trial in (results / FOLDER).glob("*/trials/[0-9]*"):
        # Another process may have evicted it.
        with suppress(FileNotFoundError):
            last_use = trial.stat().st_mtime
            size = (trial / WEIGHTS).stat().st_size
            uses.append((last_use, size, trial))
            total += size
    n_removed = 0
    for _, size, trial in sorted(uses):
        if total <= max_gb * GIGABYTE:
            break
        # It gets another name first, so that nobody reads half of it.
        with temporary(trial) as gone, suppress(FileNotFoundError):
            trial.rename(gone)
        total -= size
        n_removed += 1
    return n_removed
