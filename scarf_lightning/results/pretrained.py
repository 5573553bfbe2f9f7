"""The cache of pre-trainings: weights and curves, for every method and regime that starts from them.

    results/pretrained/<fingerprint>/claim/                           while a process trains some of its trials
    results/pretrained/<fingerprint>/trials/<trial>/weights.safetensors
                                                    curve.json        a record an epoch; epochs, seconds; hashes

It may be deleted as a whole or in part at any time: what is missing is trained again when it is needed.
"""

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import UsageError
from .claims import Claim, LostClaimError
from .records import (
    WEIGHTS,
    DamagedRecordError,
    Row,
    as_safetensors,
    fields_of,
    read_file,
    read_record,
    refuse_links,
    temporary,
)
from .store import Damage, Store

GIGABYTE = 1e9
TRIAL = "[0-9][0-9][0-9][0-9]"
"""The name of a trial's folder."""


@dataclass(frozen=True)
class PretrainedTrial:
    """The pre-training of one trial.

    Attributes:
        trial: its number.
        epochs, best_epoch, seconds: of its training.
        curve: a record for each epoch.
        weights: of f and g, by name, without the trial axis. They have a file of their own.
    """

    trial: int
    epochs: int
    best_epoch: int
    seconds: float
    curve: list[dict[str, int | float | None]]
    weights: dict[str, Any] = field(default_factory=dict)


class PretrainingStore(Store):
    """The trials of one pre-training.

    Args:
        results: the folder of all results.
        identity: the pre-training's fields, see `pretraining_options`.
        max_gb: of weights that the cache keeps in all.
    """

    WITHIN, CONTENTS, RECORDS = "pretrained", "curve.json", "trials"

    def __init__(self, results: Path, identity: Row, max_gb: float) -> None:
        super().__init__(results, identity)
        self.max_gb = max_gb

    @contextmanager
    def claim(self, *, waits: bool = False) -> Iterator[Claim | None]:
        """As of `Store`. Damaged trials are set aside; a warning names them."""
        with super().claim(waits=waits) as held:
            for sentence in self.mend() if held and held.is_own else ():
                warnings.warn(sentence, stacklevel=4)
            yield held

    def missing(self, trials: Sequence[int]) -> list[int]:
        """The trials among ``trials`` that are not there, or are damaged."""
        # One look at the folder in place of one at each trial.
        return [trial for trial in trials if not self._has(trial)] if self.records.exists() else list(trials)

    def load(self, trials: Sequence[int]) -> dict[int, PretrainedTrial]:
        """The trials among ``trials`` that are there; damaged ones are left out, with a warning that names them."""
        from safetensors.numpy import load

        refuse_links(self.folder, self.records)
        loaded_trials = {}
        for trial in trials:
            place = self._place(trial)
            try:
                contents, record = self._contents(trial)
                loaded_trials[trial] = replace(record, weights=read_file(place, contents, WEIGHTS, load))
                # The trials that were used last are evicted last.
                os.utime(place, follow_symlinks=False)
            except FileNotFoundError:
                continue
            except DamagedRecordError as error:
                warnings.warn(f"{place} is left out: {error}.", stacklevel=2)
        return loaded_trials

    def add(self, trials: Sequence[PretrainedTrial], claim: Claim | None = None) -> None:
        """Keep these trials, and evict the least recently used trials of any pre-training until all fit.

        If the ``claim`` was lost, none are kept: the process that took it over trains the same trials.
        """
        with suppress(LostClaimError):
            for each in trials:
                place, values = self._place(each.trial), dict(vars(each))
                files = {WEIGHTS: as_safetensors(values.pop("weights"))}
                try:
                    self._add(place.name, values, files, claim)
                except OSError:
                    # A process that took the claim over may have kept the same trial.
                    if not place.exists():
                        raise
        evict(self.results, self.max_gb)

    def damage(self) -> Damage:
        """As of `Store`."""
        damage = {}
        for path in self.records.glob(TRIAL):
            # Another process may just have evicted it.
            with suppress(FileNotFoundError):
                try:
                    self._contents(int(path.name), hashes=True)
                except DamagedRecordError as error:
                    damage[path] = str(error)
        return damage

    def _place(self, trial: int) -> Path:
        """The folder of a trial."""
        return self.records / f"{trial:04d}"

    def _has(self, trial: int) -> bool:
        with suppress(FileNotFoundError, DamagedRecordError):
            return bool(self._contents(trial))
        return False

    def _contents(self, trial: int, *, hashes: bool = False) -> tuple[Row, PretrainedTrial]:
        """The table of contents of a trial, and its checked fields, without weights; ``hashes`` is as of `read_record`.

        Raises:
            DamagedRecordError: it is damaged.
            FileNotFoundError: it is not there.
        """
        contents = read_record(self._place(trial), self.CONTENTS, self.fingerprint, hashes=hashes)
        return contents, fields_of(PretrainedTrial, contents)


def evict(results: Path, max_gb: float) -> None:
    """Remove the least recently used trials until the others fit."""
    uses = []
    for trial in (results / PretrainingStore.WITHIN).glob(f"*/{PretrainingStore.RECORDS}/{TRIAL}"):
        # Another process may have evicted it, and what a link leads to is no part of the cache.
        with suppress(FileNotFoundError, UsageError):
            refuse_links(trial, trial.parent, trial.parent.parent)
            uses.append((trial.stat().st_mtime, (trial / WEIGHTS).stat().st_size, trial))
    total = sum(size for _, size, _ in uses)
    for _, size, trial in sorted(uses):
        if total <= max_gb * GIGABYTE:
            break
        # It gets another name first, so that no process reads half of it.
        with temporary(trial) as waste, suppress(FileNotFoundError):
            trial.rename(waste)
        total -= size
