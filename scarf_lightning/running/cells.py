"""The loop over cells: each is trained as far as it lacks trials, kept in the store, and shown where that is asked."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from typing import TYPE_CHECKING

from omegaconf import OmegaConf

from ..console.screen import screen
from ..data.sources import LastTable, Source
from ..results import LostClaimError, keep_failure
from ..sweeping.cell import Cell

if TYPE_CHECKING:
    from rich.console import Console

    from ..loggers import CellView
    from ..training.telling import Tell


_SAID: set[str] = set()
"""What this process has said of its hardware."""
_REPORTED: list[tuple[Source, str]] = []
"""Tables, by where they came from and what is in them, of which this process has said how they were read."""


def train_cells(cells: Sequence[Cell]) -> None:
    """Train cells one after the other. One that fails leaves its traceback in the store, and stops no other."""
    console, last = screen(stderr=True), LastTable()
    for cell in cells:
        ended = True
        try:
            ended = train_cell(cell, last, console)
        except LostClaimError as error:
            ended = False
            console.print(str(error), soft_wrap=True, markup=False)
        except Exception as error:
            keep_failure(cell.results, cell.key, cell.label, error)
        if ended:
            show_cell(cell, console)


def train_cell(cell: Cell, last: LastTable, console: "Console") -> bool:
    """Train the trials that a cell lacks, stack by stack; False where another process does.

    Heavy packages are imported here, where they are needed.
    """
    from ..config import build_parts
    from ..config.combinations import check_labels, on_data, on_empty_selections
    from ..console.reading import reading_report
    from ..engine.hardware import choose_hardware, prepare_process
    from ..results import (
        CellStore,
        KnownData,
        PretrainingStore,
        clear_dead,
        forget_failure,
        identity,
        note_data,
        pretraining_identity,
    )
    from ..training import train_stack

    config, results = cell.config, cell.results
    prepare_process(config.trainer.threads)
    hardware = choose_hardware(config.trainer)

    if hardware.drawback is not None and hardware.drawback not in _SAID:
        _SAID.add(hardware.drawback)
        console.print(hardware.drawback, soft_wrap=True)

    table = last.load(cell.source)
    if (cell.source, table.hash) not in _REPORTED:
        _REPORTED.append((cell.source, table.hash))
        for line in reading_report(table):
            console.print(line, soft_wrap=isinstance(line, str))
    check_labels(config, table.n_unlabelled)
    config = on_data(config, len(table.columns), table.n_encoded)
    parts, on_selections = build_parts(config), on_empty_selections(cell.config, config)
    parts.splitting.check(table, config.trials)
    for sentence in on_selections:
        console.print(sentence, soft_wrap=True)
    note_data(
        results, cell.source, KnownData(table.hash, table.n_rows, len(table.columns), table.n_classes, table.n_encoded)
    )
    store = CellStore(results, identity(config, table.hash))
    pretrained = PretrainingStore(results, pretraining_identity(config, table.hash), config.cache.max_gb)

    with store.claim() as claim:
        if claim is None:
            return False  # the sweeper waits for the other process
        forget_failure(results, cell.key)
        clear_dead(pretrained.folder)  # where its trials are all there, nobody claims it again
        for sentence in store.mend():
            console.print(sentence, soft_wrap=True, markup=False)
        store.describe(
            dataset=table.name,
            dataset_id=table.dataset_id,
            source=table.source,
            columns=[(column.name, column.categories) for column in parts.encoding.encode(table).columns],
            classes=table.classes,
            overrides=cell.overrides,
            config=OmegaConf.to_yaml(OmegaConf.create(asdict(config))),
            reading=table.report(on_selections),
        )
        missing = store.missing(range(config.trials))
        together = 1 if parts.splitting.is_ragged or config.tune else config.trainer.trials_per_stack
        with live_view(cell, store.fingerprint, table.name) as tell:
            for company in hardware.stacks(missing, together):
                stack = [trial for trial in company if trial in missing]
                shown = console if cell.is_alone else None
                record = train_stack(
                    config, parts, table, stack, pretrained, hardware, shown, company=company, tell=tell
                )
                store.add(record, claim)
        if config.keep_weights:
            from ..estimators import save_model

            save_model(config, store.folder)
    return True


def live_view(cell: Cell, fingerprint: str, dataset: str) -> "AbstractContextManager[Tell | None]":
    """Whom to tell of each epoch while the cell trains."""
    if cell.config.logger.name == "none":
        return nullcontext()
    from ..loggers import live_curves, run_name

    name = run_name(dataset, cell.overrides, cell.name or None)
    return live_curves(cell.config.logger, cell.results, fingerprint, name, cell.group)


def show_cell(cell: Cell, console: "Console") -> None:
    """Write the views of a cell that has ended. What cannot be written is named; its results are in the store."""
    settings = cell.config.logger
    if settings.name == "none":
        return
    from ..loggers import write_views

    try:
        problems = write_views(view_of(cell), cell.results, settings)
    except Exception as error:
        problems = [f"{cell.label} cannot be shown: {error}."]
    for problem in problems:
        again = f"sweeps={cell.config.sweeps}" if cell.config.sweeps else f"results={cell.results}"
        sentence = f"{problem} Nothing is lost: `python report.py {again} upload=wandb` makes it."
        console.print(sentence, soft_wrap=True, markup=False)


def view_of(cell: Cell) -> "CellView":
    """What the views of a cell show, whether it is finished or has failed."""
    from ..loggers import cell_view, unstored_view
    from ..results import read_failure

    failure, store = read_failure(cell.results, cell.key), cell.store()
    name, group = cell.name or None, cell.group
    why = None if failure is None else failure.error
    if store is not None and store.is_described:
        return cell_view(store.fingerprint, cell.results, failure=why, name=name, group=group)
    dataset = str(cell.axes()["dataset"])
    return unstored_view(
        cell.key, dataset, cell.overrides, asdict(cell.config), failure=why or "", name=name, group=group
    )
