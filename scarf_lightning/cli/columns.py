"""`scarf columns FILE TARGET`, `scarf_lightning.columns`: which columns matter, and to pre-training?"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..options import label
from ..options.settings import SECONDS, TIME
from ..screen import screen
from ..sweeping.cell import Cell, distinct
from ..sweeping.composer import Composer
from ..sweeping.expand import answer_of_file, expand
from ..sweeping.folders import SWEEPS
from ..sweeping.hydra import hydra_started, master_of, named_plugins
from .api import kept_frame

if TYPE_CHECKING:
    import pandas as pd

    from ..data.table import Table
    from ..importance.competing import Competitor
    from ..importance.judging import Importance

SWEEP = "columns"
TIME_LIMIT = "10min"
REPORTS = Path("reports")
Groups = Sequence[Sequence[str]] | str | None
ALIKE = "alike"
REPEATS = 5
OWN = ("repeats", "time_limit", "out")
"""Options of the command that are none of its cells."""


@dataclass(frozen=True)
class FoundColumns:
    """The answers on a table's columns, and their page.

    Attributes:
        importance: the verdicts: print it, or take its ``frame``.
        advice: what to do with the columns, in sentences.
        index: the page.
    """

    importance: "Importance"
    advice: Sequence[str]
    index: Path

    def __str__(self) -> str:
        place = f"The report is {self.index.absolute()}"
        return "\n".join([*self.importance.sentences, *self.advice, place])


def columns(
    table: "str | Path | pd.DataFrame | None" = None,
    target: str | None = None,
    *overrides: str,
    groups: Groups = ALIKE,
    repeats: int = REPEATS,
    time_limit: str = TIME_LIMIT,
    out: str | Path | None = None,
    verbose: bool = True,
) -> FoundColumns:
    """Find out which columns of a table matter, to networks with and without pre-training and to a random forest.

    ``columns("customers.csv", "plan")``, ``columns(frame, "plan", time_limit="5min")``. The competitors are the cells
    of ``sweeps=columns``; overrides change them, such as ``regime=few``, ``regime.labels=100`` or ``trials=20``. They
    are trained in this process, and their results are kept in the page alone.

    Args:
        table: a file, a frame, or None for the bundled table or that of ``dataset=NAME``.
        target: the column to predict.
        overrides: of the cells.
        groups: columns that are also tried together, as lists of names; ``alike`` finds those that say nearly the same,
            None tries no groups.
        repeats: permutations of each column in each trial.
        time_limit: after which no training begins, such as ``90s``, ``10min`` or ``2h``.
        out: folder of the page.
        verbose: show progress.

    Raises:
        UsageError: the table cannot be read or learned, an override or a group is wrong, or cells differ in their data.
    """
    import pandas as pd

    from ..importance.asking import advice, ask
    from ..importance.page import write_columns

    started = time.monotonic()
    seconds = _seconds(time_limit)
    if isinstance(table, pd.DataFrame):
        table = kept_frame(table, overrides)
    of_file = answer_of_file(None if table is None else str(table), target)
    asked = [f"sweeps={SWEEP}", *(each for each in of_file if not each.startswith("sweeps=")), *overrides]
    with hydra_started(named_plugins(asked)) as hydra:
        request = expand(asked, Composer(hydra.config_loader, master_of(hydra)), SWEEPS)
    console = screen(stderr=True)

    def say(sentence: str) -> None:
        if verbose:
            console.say(f"{time.monotonic() - started:.0f} s. {sentence}")

    competitors = _competitors(distinct(request.cells))
    places = _groups(competitors[0].table, groups)
    found = ask(competitors, places, repeats=repeats, seconds=seconds, say=say)
    folder = Path(out) if out is not None else REPORTS / f"columns-{competitors[0].table.name}"
    index = write_columns(found, competitors, folder)
    return FoundColumns(found.importance, advice(found), index)


def of_arguments(arguments: Sequence[str]) -> FoundColumns:
    """`columns` of the arguments of a command line, ``FILE TARGET OPTION=VALUE ...``.

    Raises:
        UsageError: there is one name, or more than two; or ``repeats`` is no number.
    """
    names = [each for each in arguments if "=" not in each]
    if len(names) not in (0, 2):
        raise UsageError("Name a file and its column to predict: scarf columns FILE TARGET; or neither of them.")
    given = dict(each.split("=", 1) for each in arguments if each.partition("=")[0] in OWN)
    overrides = [each for each in arguments if "=" in each and each.partition("=")[0] not in OWN]
    repeats = given.get("repeats", str(REPEATS))
    if not repeats.isdecimal() or int(repeats) < 1:
        raise UsageError(f"repeats must be a whole number from 1, not {repeats}.")
    file, target = names or (None, None)
    return columns(
        file,
        target,
        *overrides,
        repeats=int(repeats),
        time_limit=given.get("time_limit", TIME_LIMIT),
        out=given.get("out"),
    )


def _seconds(time_limit: str) -> float:
    found = TIME.fullmatch(time_limit)
    if found is None:
        raise UsageError(f"time_limit must be a time such as 90s, 10min or 2h, not {time_limit}.")
    return float(found[1]) * SECONDS[found[2]]


def _competitors(cells: Sequence[Cell]) -> "list[Competitor]":
    """The cells as competitors on one table, a network without pre-training first."""
    from ..data.targets import leading_metric
    from ..engine.hardware import choose_hardware, prepare_process
    from ..importance.competing import Competitor
    from ..metrics import metric_named

    keys = {cell.source.key for cell in cells}
    if len(keys) > 1:
        raise UsageError("Columns are asked of one table at a time; name one dataset.")
    table = cells[0].source.read().table
    found = []
    for cell in cells:
        config = cell.config
        if config.tune:
            raise UsageError("Columns are asked of cells without tune; leave it out.")
        prepare_process(config.trainer.threads)
        metric = metric_named(config.metric or leading_metric([table.target]))
        found.append(Competitor(_name(cell), config, table, metric, choose_hardware(config.trainer)))
    return sorted(found, key=lambda each: each.is_pretrained)


def _name(cell: Cell) -> str:
    """A cell in words: its pre-training, or its method where that is none."""
    config = cell.config
    method = str(config.method["name"])
    if config.pretrain.name != "none":
        return label("pretrain", config.pretrain.name)
    if method == "control":
        return "no pre-training"
    return label("method", method)


def _groups(table: "Table", groups: Groups) -> list[list[int]]:
    from ..importance.groups import groups_of, named_groups

    if groups is None:
        return []
    if isinstance(groups, str):
        if groups != ALIKE:
            raise UsageError(f"groups must be lists of columns, {ALIKE} or None, not {groups!r}.")
        return groups_of(table)
    return named_groups(table, groups)
