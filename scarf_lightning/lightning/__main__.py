"""Lightning's own command line, ``python -m scarf_lightning.lightning fit --model=PretrainModule ...``.

LightningCLI makes it from the arguments of the modules, the data modules, the Trainer and all callbacks.
"""

import sys
from collections.abc import Sequence
from typing import Any

from ..errors import UsageError
from ..importing import require
from . import TableDataModule
from .modules import PlainModule

COMMAND = "python -m scarf_lightning.lightning"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a subcommand: fit, validate, test or predict.

    Args:
        arguments: of the command line; None takes the program's.
    """
    try:
        require("jsonargparse", COMMAND)
        _run(arguments)
    except UsageError as error:
        sys.exit(f"Error: {error}")


def _run(arguments: Sequence[str] | None) -> None:
    # It imports jsonargparse, which only some installations have.
    from pytorch_lightning.cli import LightningArgumentParser, LightningCLI

    class CLI(LightningCLI):
        def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
            for kind in (PlainModule, TableDataModule):
                parser.add_instantiator(_made, kind)

        def _parse_ckpt_path(self) -> None:
            # A checkpoint says no class. Its options stand in the config.yaml beside it, which is given by -c.
            return

    CLI(
        PlainModule,
        TableDataModule,
        subclass_mode_model=True,
        subclass_mode_data=True,
        # An optimiser cannot be made before the networks are; options such as pretrain.optimizer choose it.
        auto_configure_optimizers=False,
        parser_kwargs={"prog": COMMAND},
        args=None if arguments is None else list(arguments),
    )


def _made(kind: type[Any], **arguments: Any) -> Any:
    """A module or a data module. A refusal ends the program, for the parser would put it into an error of its own."""
    try:
        return kind(**arguments)
    except UsageError as error:
        sys.exit(f"Error: {error}")


if __name__ == "__main__":
    main()
