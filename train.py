"""Train the cells of an ablation: `python train.py -m corruption=mean,marginal scaling=zscore,minmax`."""

import os
import sys
from pathlib import Path

import hydra
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf

from scarf_lightning.config.typed import explain
from scarf_lightning.errors import UsageError


@hydra.main(config_path="conf", config_name="train", version_base="1.3")
def main(composed: DictConfig) -> None:
    """One Hydra job: one cell. Heavy packages are imported here, so that --help and finished cells need none."""
    from scarf_lightning.config import build_parts, read
    from scarf_lightning.console.screen import screen
    from scarf_lightning.console.tables import cell_table, describe
    from scarf_lightning.data.sources import open_source
    from scarf_lightning.modules.hardware import Hardware, choose_device, prepare_process
    from scarf_lightning.randomness import Streams
    from scarf_lightning.results import CellStore, axis_columns, identity, remember_hash
    from scarf_lightning.trial_stack import train_stack

    config = read(composed)
    parts = build_parts(config)
    prepare_process(config.trainer.threads)
    hardware = Hardware(choose_device(config.trainer.accelerator), config.trainer.precision)

    results = Path(config.paths.results)
    source = open_source(**vars(config.dataset), openml_cache=config.paths.openml)
    table = source.load()
    remember_hash(results, source, table.hash)

    cell = CellStore(results, identity(config, table.hash))
    cell.describe(
        dataset=table.name,
        dataset_id=table.dataset_id,
        source=table.source,
        config=OmegaConf.to_yaml(composed, resolve=True),
    )
    trials, console = range(config.trials), screen()
    missing = cell.missing(trials)
    size = hardware.stack_size(config.trainer.trials_per_stack)
    for start in range(0, len(missing), size):
        stack = missing[start : start + size]
        streams = Streams(config.seed, table.hash)
        cell.add(train_stack(config, parts, table, stack, streams, hardware, console))
    axes = {"dataset": table.name} | axis_columns(cell.identity)
    console.print(f"{describe(axes)} ({cell.fingerprint})")
    console.print(cell_table(cell.rows(trials)))


def run() -> int:
    """Run `main`, and answer bad input in a sentence instead of a traceback."""
    if {"-h", "--help"} & set(sys.argv[1:]):
        from scarf_lightning.console.help import help_page
        from scarf_lightning.console.screen import screen

        screen().print(help_page(Path(__file__).parent / "conf"))
        return 0
    wants_traceback = os.environ.get("HYDRA_FULL_ERROR") == "1"
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra's own handler would swallow the exception and print its frames
    try:
        main()
    except (UsageError, HydraException) as error:
        if wants_traceback:
            raise
        sys.stderr.write(f"{error if isinstance(error, UsageError) else explain(error)}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(run())
