"""The loop over cells: train the trials that each one lacks, keep them in the store, and show them in the loggers."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import replace

from ..data.sources import Source
from ..data.table import Table, reading_report
from ..engine.hardware import choose_hardware, own_torch, prepare_process
from ..results import (
    LostClaimError,
    forget_failure,
    give_back,
    keep_failure,
    note_data,
    read_failure,
)
from ..screen import Screen, screen
from ..sweeping.cell import Cell
from .cell_training import CellTraining, Tell


class CellLoop:
    """Trains cells one after the other in this process. It prints each sentence once.

    Args:
        output: prints, on standard error by default.
    """

    def __init__(self, output: Screen | None = None) -> None:
        self._screen = output or screen(stderr=True)
        self._printed = set[str]()
        self._hashes = dict[Source, str]()

    def train(self, cells: Sequence[Cell], trials: Sequence[int] | None = None) -> None:
        """Train cells, all trials or these. One that fails leaves its traceback in the store; the others go on."""
        # The display of a run surveys its cells meanwhile, and a survey forgets the place of a table that has changed.
        for cell in map(copy, cells):
            is_ended = True
            try:
                # A notebook or a user's program may have changed torch's defaults.
                with own_torch():
                    is_ended = self.train_cell(cell, trials)
            except LostClaimError as error:
                # Another process has taken the cell over, so it has not failed.
                is_ended = False
                self._screen.say(str(error))
            except Exception as error:
                keep_failure(cell.results, cell.key, cell.label, error)
            # A cell of which some trials are trained has not ended.
            if is_ended and trials is None:
                show_cell(cell, self._screen)

    def train_cell(self, cell: Cell, trials: Sequence[int] | None = None) -> bool:
        """Train the trials that a cell lacks, of these or of all; False if another process is training it."""
        prepare_process(cell.config.trainer.threads)
        hardware = choose_hardware(cell.config.trainer)
        reading = cell.source.read()
        table = reading.table
        self._report(cell.source, table)
        # A sweep shows its own progress.
        console = self._screen if cell.is_alone and trials is None else None
        cell.learn(table)
        store = cell.store
        assert store is not None
        assert cell.data is not None
        # A later run then looks for the cell without loading its data.
        note_data(cell.results, cell.source, cell.data, reading.stamps)
        training = CellTraining.prepare(
            cell.config, table, hardware, store=store, pretrained=cell.pretraining, console=console
        )
        for sentence in (*training.notes, training.warning):
            self._say_once(sentence)
        with store.claim() as claim:
            if claim is None:
                # The sweeper waits for the other process.
                return False
            # A run has done this for all workers that train trials of the cell.
            if claim.is_own:
                # The cell is trained again, whichever process failed at it.
                forget_failure(cell.results, cell.key)
                if training.pretrained is not None:
                    # If all its trials are there, no process claims it again.
                    give_back(training.pretrained.folder)
                for sentence in store.mend():
                    self._screen.say(sentence)
            training.describe(cell.overrides)
            # Another process may have trained some trials before this one had the claim, so look only now. The other
            # cells of the job may have more trials than this one.
            missing = store.missing([trial for trial in range(cell.config.trials) if trials is None or trial in trials])
            with _live_view(cell, store.fingerprint, table.name) as tell:
                training = replace(training, tell=tell)
                for trials_to_keep, block in training.stacks(missing):
                    record = training.run(trials_to_keep, block).record(trials_to_keep)
                    # Stack by stack, so that a process that is killed loses one at most.
                    store.add(record, claim)
                    for sentence in record.faults:
                        self._say_once(sentence)
        return True

    def _say_once(self, sentence: str | None) -> None:
        if sentence is not None and sentence not in self._printed:
            self._printed.add(sentence)
            self._screen.say(sentence)

    def _report(self, source: Source, table: Table) -> None:
        """Print how a table was read: once, and again whenever the table differs from that of the cell before."""
        previous_hash = self._hashes.get(source)
        if previous_hash == table.hash:
            return
        if previous_hash is not None:
            self._screen.say(
                f"{source.label} changed while the sweep trained: this cell and those after it are trained on what is "
                "in it now, and so are the earlier ones before the sweep ends."
            )
        self._hashes[source] = table.hash
        for line in reading_report(table):
            self._screen.print(line, soft_wrap=isinstance(line, str))


def _live_view(cell: Cell, fingerprint: str, dataset: str) -> AbstractContextManager[Tell | None]:
    """Sends each epoch's curves to a logger while the cell trains, if a logger is chosen."""
    if not cell.config.logger.views:
        return nullcontext()
    from ..loggers import live_curves, run_name

    return live_curves(
        cell.config.logger,
        cell.results,
        fingerprint,
        run_name(dataset, cell.overrides, cell.name or None),
        cell.group,
    )


def show_cell(cell: Cell, output: Screen) -> None:
    """Write the views of a cell that has ended, and name those that cannot be written."""
    settings, store = cell.config.logger, cell.store
    # A cell that failed before its data were read has nothing to show.
    if not settings.views or store is None or not store.is_described:
        return
    from ..loggers import cell_view, write_views

    failure = read_failure(cell.results, cell.key)
    why = None if failure is None else failure.error
    # A view is a copy of the store: one that fails does not make the cell fail.
    try:
        view = cell_view(store.fingerprint, cell.results, failure=why, name=cell.name or None, group=cell.group)
        problems = write_views(view, cell.results, settings)
    except Exception as error:
        problems = [f"{cell.label} cannot be shown: {error}."]
    for problem in problems:
        output.say(f"{problem} Nothing is lost: {cell.results} has all that it shows.")
