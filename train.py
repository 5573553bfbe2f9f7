"""Train the cells of an ablation: `python train.py -m corruption=mean,marginal scaling=zscore,minmax`."""

import os
import signal
import sys
import threading
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import hydra
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf

from scarf_lightning.config import named_plugins, offer
from scarf_lightning.config.typed import explain
from scarf_lightning.errors import UsageError
from scarf_lightning.escaping import escaped

if TYPE_CHECKING:
    from rich.console import Console

    from scarf_lightning.data.sources import LastTable
    from scarf_lightning.loggers import CellView
    from scarf_lightning.sweeping.cell import Cell


@hydra.main(config_path="conf", config_name="train", version_base="1.3")
def main(job: DictConfig) -> None:
    """One Hydra job: a chunk of the cells that the sweeper found unfinished. One that fails stops no other."""
    from scarf_lightning.console.screen import screen
    from scarf_lightning.data.sources import LastTable
    from scarf_lightning.results import LostClaimError, keep_failure
    from scarf_lightning.sweeping.chunks import read_chunk

    end_on_sigterm()
    console, last = screen(stderr=True), LastTable()
    for cell in read_chunk(job.chunk.file):
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


def train_cell(cell: "Cell", last: "LastTable", console: "Console") -> bool:
    """Train the trials that a cell lacks, stack by stack; False where another process does.

    Heavy packages are imported here, where they are needed.
    """
    from scarf_lightning.config import build_parts
    from scarf_lightning.config.combinations import check_labels, on_data, on_empty_selections
    from scarf_lightning.console.reading import reading_report
    from scarf_lightning.engine.hardware import Hardware, choose_device, prepare_process
    from scarf_lightning.results import (
        CellStore,
        KnownData,
        PretrainingStore,
        forget_failure,
        identity,
        note_data,
        pretraining_identity,
    )
    from scarf_lightning.training import train_stack

    config, results = cell.config, cell.results
    prepare_process(config.trainer.threads)
    hardware = Hardware(choose_device(config.trainer.accelerator), config.trainer.precision)

    is_first = last.source != cell.source
    table = last.load(cell.source)
    if is_first:
        for line in reading_report(table):
            console.print(line, soft_wrap=isinstance(line, str))
    check_labels(config, table.n_unlabelled)
    config = on_data(config, len(table.columns), table.n_encoded)
    parts, on_selections = build_parts(config), on_empty_selections(cell.config, config)
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
        for sentence in store.mend():
            console.print(sentence, soft_wrap=True, markup=False)
        store.describe(
            dataset=table.name,
            dataset_id=table.dataset_id,
            source=table.source,
            columns=[(column.name, column.categories) for column in table.columns],
            classes=table.classes,
            overrides=cell.overrides,
            config=OmegaConf.to_yaml(OmegaConf.create(asdict(config))),
            reading=table.report(on_selections),
        )
        missing = store.missing(range(config.trials))
        together = 1 if parts.splitting.is_ragged else config.trainer.trials_per_stack
        for company in hardware.stacks(missing, together):
            stack = [trial for trial in company if trial in missing]
            shown = console if cell.is_alone else None
            record = train_stack(config, parts, table, stack, pretrained, hardware, shown, company=company)
            store.add(record, claim)
        if config.keep_weights:
            from scarf_lightning.estimators import save_model

            save_model(config, store.folder)
    return True


def show_cell(cell: "Cell", console: "Console") -> None:
    """Write the views of a cell that has ended. What cannot be written is named; its results are in the store."""
    settings = cell.config.logger
    if settings.name == "none":
        return
    from scarf_lightning.loggers import write_views

    try:
        problems = write_views(view_of(cell), cell.results, settings)
    except Exception as error:
        problems = [f"{cell.label} cannot be shown: {error}."]
    for problem in problems:
        again = f"sweeps={cell.config.sweeps}" if cell.config.sweeps else f"results={cell.results}"
        sentence = f"{problem} Nothing is lost: `python report.py {again} upload=wandb` makes it."
        console.print(sentence, soft_wrap=True, markup=False)


def view_of(cell: "Cell") -> "CellView":
    """What the views of a cell show, whether it is finished or has failed."""
    from scarf_lightning.loggers import cell_view, unstored_view
    from scarf_lightning.results import read_failure

    failure, store = read_failure(cell.results, cell.key), cell.store()
    group = Path(cell.config.sweeps).stem if cell.config.sweeps else "cells"
    why = None if failure is None else failure.error
    if store is not None and store.is_described:
        return cell_view(store.fingerprint, cell.results, group=group, failure=why)
    dataset = str(cell.axes()["dataset"])
    return unstored_view(cell.key, dataset, cell.overrides, asdict(cell.config), group=group, failure=why or "")


def end_on_sigterm() -> None:
    """A scheduler that wants the machine back sends SIGTERM: claims are given back, and finished stacks stay."""

    def end(*_: object) -> NoReturn:
        sys.exit(128 + signal.SIGTERM)

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, end)


def run() -> int:
    """Run `main`, and answer bad input in a sentence instead of a traceback."""
    if {"-h", "--help"} & set(sys.argv[1:]):
        from scarf_lightning.console.help import help_page
        from scarf_lightning.console.screen import screen

        screen().print(help_page(Path(__file__).parent / "conf"))
        return 0
    wants_traceback = os.environ.get("HYDRA_FULL_ERROR") == "1"
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra's own handler would swallow the exception and print its frames
    end_on_sigterm()
    try:
        offer(named_plugins(sys.argv[1:]))
        main()
    except (UsageError, HydraException) as error:
        if wants_traceback:
            raise
        sys.stderr.write(f"{escaped(str(error) if isinstance(error, UsageError) else explain(error))}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted; the same command goes on where it ended.\n")
        return 128 + signal.SIGINT
    return 0


if __name__ == "__main__":
    sys.exit(run())
