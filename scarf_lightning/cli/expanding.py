"""Cells composed by a fork while this process imports torch: each takes a second or two before training begins."""

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ..errors import UsageError
from ..forks import beside, why_no_fork
from ..machine import usable_cores
from ..sweeping.cell import State, look_up
from ..sweeping.composer import Composer
from ..sweeping.expand import ExpandedSweep, expand
from ..sweeping.run import BASIC
from .running import OwnTraining
from .show import Terminal


def expanded(
    arguments: Sequence[str], composer: Composer, sweeps: Path, launcher: str, terminal: Terminal
) -> ExpandedSweep:
    """The cells of a command line, as by `scarf_lightning.sweeping.expand.expand`.

    Where workers are about to train some of them, this process imports meanwhile what training needs.

    Raises:
        UsageError: as by `expand`.
    """
    compose = partial(expand, arguments, composer, sweeps)
    if launcher == BASIC and _can_help() and _trains(arguments, composer, sweeps):
        return beside(compose, partial(_import, terminal))
    return compose()


def _import(terminal: Terminal) -> None:
    # The line is drawn by a thread, which must not run yet when the fork is made.
    with terminal.doing("Composing cells; importing torch and Lightning"):
        OwnTraining().imported()


def _can_help() -> bool:
    """True if a second core is there for a fork, and this process has imports to make."""
    return usable_cores() > 1 and "torch" not in sys.modules and why_no_fork() is None


def _trains(arguments: Sequence[str], composer: Composer, sweeps: Path) -> bool:
    """True if workers will train the first cells of a command line, as far as that is known without the others."""
    try:
        first = expand(arguments, composer, sweeps, most=1).cells
        for cell in first:
            cell.source.check()
    # `expand` says what is wrong with all cells.
    except UsageError:
        return False
    options = first[0].config
    if options.plan or options.workers == 1:
        return False
    return any(look_up(cell).state is not State.FINISHED for cell in first)
