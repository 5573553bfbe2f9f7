"""A figure or table of the paper beside the published one, by one command: it trains, and writes the page.

python -m paper.beside sweeps=absolute_accuracy dataset=cc18-balance-scale regime=full trials=5

The options are those of ``train.py``. Cells that are finished are not trained again. The page is that of
``report.py sweeps=NAME sections=[paper.report]``: the sweep's drawings, and the section "Beside the paper".
"""

import sys
from collections.abc import Sequence

import scarf_lightning
from scarf_lightning.errors import UnfinishedError, UsageError


def main(arguments: Sequence[str]) -> int:
    """Train a sweep of the paper, and say where its page is; the exit status is as of ``train.py``."""
    asked = list(arguments)
    try:
        if not any(argument.startswith("sweeps=") for argument in asked):
            raise UsageError("Name a sweep of the paper, such as sweeps=absolute_accuracy or sweeps=training_epochs.")
        scarf_lightning.run(asked)
        written = scarf_lightning.report(asked, sections=["paper.report"])
    except (UsageError, UnfinishedError) as error:
        sys.stderr.write(f"{error}\n")
        return error.status
    sys.stdout.write(f"{written}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
