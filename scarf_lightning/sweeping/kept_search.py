"""The study of a search, as Optuna keeps it, and the tries that this process has in hand.

A process that trains a try holds a claim on its number, as on a cell. Optuna knows no such thing: a try whose process
was killed is RUNNING for ever. Here another process takes it over, and its cell goes on from its last finished stack.

    optuna/<study>/claim          held while a try is suggested, so that each number is suggested once
    optuna/<study>/<try>/claim    held by the process that trains the try
"""

import json
import logging
import re
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ..errors import RecordWarning, UsageError
from ..importing import installing
from ..results import claim, claim_when_free
from .search import Search

if TYPE_CHECKING:
    from optuna import Study
    from optuna.samplers import BaseSampler
    from optuna.storages import JournalStorage
    from optuna.trial import FrozenTrial

FOLDER = "optuna"
"""The folder of the studies, in the folder of the results."""
OF_JOURNAL = ".log"
PASSWORD = re.compile(r"(://[^:/@]*:)[^@]*(@)")
"""In the address of a database: ``postgresql://user:password@host/name``."""
OLDEST = 4
"""The first version of Optuna with everything that is used here."""
OVERRIDES, DESCRIPTION, LAST_CELL = "overrides", "search", "last_cell"
"""Attributes of a try, and of the study: what is searched; and the number of a try with the fingerprint of its cell."""


@dataclass(frozen=True)
class Try:
    """A try: its number in the study, the overrides of its cell, and its value if it has one."""

    number: int
    overrides: tuple[str, ...]
    value: float | None = None


@dataclass(frozen=True)
class TakenTries:
    """The tries that a process may train, and the number of those that other processes train."""

    tries: Sequence[Try]
    n_elsewhere: int


class KeptSearch:
    """The study of a search, opened or begun.

    Raises:
        UsageError: the storage cannot be opened, or the study is of another search.
    """

    def __init__(self, search: Search, results: Path, *, is_better_higher: bool) -> None:
        import optuna

        # Otherwise it prints a line for each try.
        optuna.logging.set_verbosity(logging.WARNING)
        self._search = search
        description = search.description
        text = json.dumps(description, sort_keys=True)
        short = sha256(text.encode()).hexdigest()[:8]
        self.name = search.options.study_name or f"search-{short}"
        # The name of a study may hold any character.
        self._folder = results / FOLDER / quote(self.name, safe="")
        storage = search.options.storage
        if storage is None:
            storage = str(results / FOLDER / f"{quote(self.name, safe='')}{OF_JOURNAL}")
            Path(storage).parent.mkdir(parents=True, exist_ok=True)
        self.place = _without_password(storage)
        if "://" not in storage:
            self.place = str(Path(storage).absolute())
        try:
            with claim_when_free(self._folder):
                self._study = self._opened(storage, is_better_higher=is_better_higher)
                self._check(description)
        finally:
            # Nothing is left behind by a search that is refused.
            for folder in (self._folder, self._folder.parent, results):
                _remove_empty(folder)

    def _check(self, description: dict[str, Any]) -> None:
        """Describe a new study, and refuse that of another search by a `UsageError`."""
        kept = self._study.user_attrs.get(DESCRIPTION)
        if kept is None and not self._study.get_trials(deepcopy=False):
            self._study.set_user_attr(DESCRIPTION, description)
        elif kept != description:
            raise UsageError(
                f"The study {self.name} in {self.place} is of another search; choose another hydra.sweeper.study_name."
            )

    def _opened(self, storage: str, *, is_better_higher: bool) -> "Study":
        import optuna

        direction = "maximize" if is_better_higher else "minimize"
        is_journal = "://" not in storage

        def opened() -> "Study":
            kept: str | JournalStorage = _journal(storage) if is_journal else storage
            return optuna.create_study(storage=kept, study_name=self.name, direction=direction, load_if_exists=True)

        try:
            try:
                return opened()
            except (OSError, UsageError):
                raise
            # Whatever Optuna cannot read in a journal: its cells have all that is in it.
            except Exception as error:
                if not is_journal:
                    raise
                warnings.warn(_set_aside(Path(storage), error), RecordWarning, stacklevel=1)
                return opened()
        except UsageError:
            raise
        # Databases and their drivers have errors of their own, which Optuna passes on.
        except Exception as error:
            reason = (str(error) or type(error).__name__).splitlines()[0]
            raise UsageError(
                f"hydra.sweeper.storage={_without_password(storage)} cannot be opened: {reason.removesuffix('.')}."
            ) from error

    @property
    def finished(self) -> list[Try]:
        """The tries with a value, in the order of their numbers."""
        from optuna.trial import TrialState

        finished = []
        for kept in self._study.get_trials(deepcopy=False):
            if kept.state is TrialState.COMPLETE:
                finished.append(self._try(kept))
        return finished

    @property
    def last_cell(self) -> tuple[int, str] | None:
        """The number of the try that finished last, and the fingerprint of its cell."""
        last = self._study.user_attrs.get(LAST_CELL)
        if last is None:
            return None
        try:
            number, fingerprint = last
        except (TypeError, ValueError) as error:
            raise self._damaged(f"its {LAST_CELL} is no number with a fingerprint") from error
        return int(number), str(fingerprint)

    @contextmanager
    def taken(self, n_tries: int) -> Iterator[TakenTries]:
        """Tries for this process, which are its own while the block runs: first those that another process left, then
        new ones, until ``n_tries`` in the study have a value or are in training."""
        from optuna.trial import TrialState

        with ExitStack() as claims:
            taken, n_counted, n_elsewhere, failed = list[Try](), 0, 0, list[int]()
            with claim_when_free(self._folder):
                for kept in self._study.get_trials(deepcopy=False):
                    if kept.state is TrialState.COMPLETE:
                        n_counted += 1
                    if kept.state is not TrialState.RUNNING:
                        continue
                    # Further tries that were left wait for their turn.
                    if len(taken) == self._search.options.n_jobs:
                        n_counted += 1
                        continue
                    held = claims.enter_context(claim(self._place_of(kept.number)))
                    if held is None:
                        n_counted += 1
                        n_elsewhere += 1
                    # A process was killed before the try had its options.
                    elif OVERRIDES not in kept.user_attrs:
                        self._study.tell(kept.number, state=TrialState.FAIL)
                        failed.append(kept.number)
                    else:
                        n_counted += 1
                        taken.append(self._try(kept))
                while len(taken) < self._search.options.n_jobs and n_counted < n_tries:
                    taken.append(self._suggested(claims))
                    n_counted += 1
            yield TakenTries(taken, n_elsewhere)
        for number in [*failed, *(each.number for each in taken)]:
            _remove_empty(self._place_of(number))
        _remove_empty(self._folder)
        # With a database of the user's it holds no study.
        _remove_empty(self._folder.parent)

    def _suggested(self, claims: ExitStack) -> Try:
        """A new try, which this process claims. The study is claimed."""
        n_tries = len(self._study.get_trials(deepcopy=False))
        # A search that goes on would suggest the same again, if its numbers began anew.
        self._study.sampler = _sampler(self._search, n_tries)
        trial = self._study.ask()
        held = claims.enter_context(claim(self._place_of(trial.number)))
        assert held is not None
        overrides = list(self._search.fixed)
        for axis in self._search.axes:
            overrides.append(axis.suggested(trial))
        trial.set_user_attr(OVERRIDES, overrides)
        return Try(trial.number, tuple(overrides))

    def tell(self, number: int, value: float, fingerprint: str) -> None:
        """Keep the value of a try and the fingerprint of its cell."""
        self._study.tell(number, value, skip_if_finished=True)
        self._study.set_user_attr(LAST_CELL, [number, fingerprint])

    def tell_failure(self, number: int) -> None:
        """Note that a try failed."""
        from optuna.trial import TrialState

        self._study.tell(number, state=TrialState.FAIL, skip_if_finished=True)

    def _place_of(self, number: int) -> Path:
        return self._folder / str(number)

    def _try(self, kept: "FrozenTrial") -> Try:
        overrides = kept.user_attrs.get(OVERRIDES)
        if not isinstance(overrides, list) or not all(isinstance(each, str) for each in overrides):
            raise self._damaged(f"the overrides of try {kept.number} are no list of texts")
        return Try(kept.number, self._search.resumed(overrides, self.place), kept.value)

    def _damaged(self, problem: str) -> UsageError:
        return UsageError(
            f"The study {self.name} in {self.place} cannot be used: {problem}. hydra.sweeper.study_name=NAME begins "
            "another study, which takes over the cells that are finished."
        )


def _without_password(storage: str) -> str:
    """The address of a database as it may be shown, and kept in logs."""
    return PASSWORD.sub(r"\1***\2", storage)


def _remove_empty(folder: Path) -> None:
    # Another process may have a claim in it.
    with suppress(OSError):
        folder.rmdir()


def _sampler(search: Search, number: int) -> "BaseSampler":
    """The sampler of a try: its random numbers depend on the seed and on the number of the try alone."""
    from optuna.samplers import RandomSampler, TPESampler

    chosen = search.options.sampler
    text = f"{chosen.seed} {number}"
    seed = int.from_bytes(sha256(text.encode()).digest()[:4])
    return RandomSampler(seed) if chosen.name == "random" else TPESampler(seed=seed)


def _journal(file: str) -> "JournalStorage":
    """A file that any number of processes append to, on a network's drive too. Torn lines at its end are cut off."""
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend, JournalFileSymlinkLock

    if not file.endswith(OF_JOURNAL):
        raise UsageError(
            f"hydra.sweeper.storage={file} is neither a database, such as sqlite:///study.db, nor a file that ends in "
            f"{OF_JOURNAL}."
        )
    lock = JournalFileSymlinkLock(file)
    if Path(file).is_file():
        # No process appends meanwhile.
        lock.acquire()
        try:
            _cut_torn_lines(Path(file))
        finally:
            lock.release()
    return JournalStorage(JournalFileBackend(file, lock))


def _cut_torn_lines(journal: Path) -> None:
    """Leave out lines at the end that a process, or a copy, has not written to their ends.

    Optuna would append to them, and never read the file again.
    """
    content = journal.read_bytes()
    whole = len(content)
    while whole and not _is_entry(content[content.rfind(b"\n", 0, whole - 1) + 1 : whole]):
        whole = content.rfind(b"\n", 0, whole - 1) + 1
    if whole < len(content):
        with journal.open("r+b") as file:
            file.truncate(whole)


def _is_entry(line: bytes) -> bool:
    """True if a line of a journal is a whole one."""
    try:
        return line.endswith(b"\n") and isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _set_aside(journal: Path, error: Exception) -> str:
    """Rename a journal that cannot be read; a sentence on it."""
    reason = (str(error) or type(error).__name__).splitlines()[0].removesuffix(".")
    aside = journal.with_name(f"{journal.name}.damaged-{time.strftime('%Y-%m-%d-%H-%M-%S')}")
    journal.replace(aside)
    return f"{journal} cannot be read ({reason}): it is {aside} now, and is made again from its finished cells."


def require_optuna() -> None:
    """Refuse a missing or an old Optuna by a `UsageError`."""
    need = "hydra/sweeper=optuna needs the package optuna, version 4 or 5"
    command = installing("optuna")
    if find_spec("optuna") is None:
        raise UsageError(f"{need}: {command}.")
    import optuna

    if int(optuna.__version__.partition(".")[0]) < OLDEST:
        raise UsageError(f"{need}, and {optuna.__version__} is installed: {command}.")
