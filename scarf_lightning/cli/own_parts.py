"""What is checked before anything trains: the reference, a user's own parts, and what a sweep file names."""

from collections.abc import Sequence
from importlib.util import find_spec

from ..screen import screen
from ..sweeping.cell import Cell
from ..sweeping.folders import SweepFile


def refuse_untaken(plugins: Sequence[str]) -> None:
    """Refuse a class of a user's modules that is meant as a part, and that no command could name.

    Raises:
        UsageError: a module cannot be imported, or the sentence on such a class.
    """
    if plugins:
        # It imports torch, which the parts need anyway.
        from .. import trying

        trying.refuse_untaken(plugins)


def check_before_training(cells: Sequence[Cell], sweep: SweepFile | None = None) -> None:
    """Check the reference of a run, try the parts of a user's own that cells use, and their sweep file if it is one, in
    silence if there is nothing to say.

    Raises:
        UsageError: one of them is wrong.
    """
    # A wrong reference is refused before hours of training, not by the report behind them.
    if cells[0].config.reference is not None:
        # Imports pandas.
        from ..reporting.run_results import check_reference

        check_reference(cells)
    if sweep is not None and sweep.is_of_user:
        check_sweep_file(sweep)
    if not any(cell.config.plugins for cell in cells):
        return
    from ..trying import check_used

    for note in check_used([cell.config for cell in cells]):
        screen().say(note)


def check_sweep_file(sweep: SweepFile) -> None:
    """Check the drawings that a sweep file of the user's names.

    Raises:
        UsageError: one of them is wrong.
    """
    # Without it there are no drawings, and the report says so.
    if not sweep.report or find_spec("matplotlib") is None:
        return
    # It imports matplotlib.
    from ..reporting.drawings import read_drawings

    read_drawings(sweep.report, str(sweep.file))
