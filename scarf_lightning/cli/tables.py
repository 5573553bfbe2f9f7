"""The title and the result table of a run: of one cell its metrics, of several a line a cell."""

import math
from collections.abc import Iterable

from rich import box
from rich.table import Table

from ..intervals import Interval
from ..metrics import Metric, metrics
from ..reporting.cell_results import PHASES, SECONDS, CellResults
from ..reporting.levels import level_of
from ..reporting.names import override, setting_name, text_of
from ..screen import screen

LEADING = ("dataset", "pretrain", "method")
"""The axes that every title names."""
MOST_OPTIONS = 5
"""Options that have a column each; more share one column."""
INTERVAL = "95 % interval"
UNKNOWN = "–"
NARROW = 100
"""Characters below which a terminal is narrow."""


def title(results: CellResults, names: Iterable[str]) -> str:
    """The values that all cells share, of the axes in every title and of the options that the user has set."""
    shared = []
    for name in dict.fromkeys((*LEADING, *names)):
        # A cell that does not use an option shares it with those that do.
        used = [row[name] for row in results.rows.values() if row.get(name) is not None]
        if len(set(map(text_of, used))) == 1:
            shared.append(override(name, used[0]))
    return ", ".join(shared)


def cell_table(results: CellResults, chosen: Metric) -> Table:
    """Each metric of the only cell over its trials, the chosen one first, then epochs and seconds."""
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("", "mean", INTERVAL, "trials"):
        table.add_column(heading, justify="right" if heading else "left")
    (cell,) = results.rows
    trials = results.trials
    # The sort is stable: behind the chosen metric, the others keep their usual order.
    for metric in sorted(metrics(), key=lambda metric: metric != chosen):
        if n := trials[metric.name].count():
            table.add_row(metric.label, *_in_words(level_of(results, cell, metric), metric), str(n))
    # Means are those of the other trials, so a reader must see how many are missing from them.
    if trials["diverged"].any():
        table.add_row("diverged, without metrics", "", "", str(trials["diverged"].sum()))
    table.add_section()
    for phase in PHASES:
        epochs, seconds = trials[f"{phase}_epochs"], trials[f"{phase}_seconds"]
        if n := epochs.count():
            table.add_row(f"{phase} epochs (median)", f"{epochs.median():g}", "", str(n))
            table.add_row(f"{phase} seconds (all trials)", f"{seconds.sum():.1f}", "", str(n))
    return table


def sweep_table(results: CellResults, chosen: Metric) -> Table:
    """A line for each cell: the options in which the cells differ, then what came out.

    `title` and `shared_trials` give what all cells have in common. Columns without a value are left out, as the epochs
    of other libraries' models.
    """
    columns = list(results.different)
    if results.cells["dataset"].nunique() > 1:
        columns = ["dataset", *columns]
    options, outcomes = [], []
    for cell, row in results.rows.items():
        # A column each would be a letter wide.
        if len(columns) > MOST_OPTIONS:
            options.append({"options": setting_name(row, columns)})
        else:
            options.append({name: "" if row.get(name) is None else text_of(row[name]) for name in columns})
        outcomes.append(_outcome(results, cell, chosen))
    # The sentence above the table says how many trials each cell has.
    if shared_trials(results) is not None:
        for outcome in outcomes:
            del outcome["trials"]
    filled = [name for name in outcomes[0] if {outcome[name] for outcome in outcomes} - {"", UNKNOWN}]
    # Two blanks between columns in place of three, so that the table of an ablation fits 80 characters.
    padding = 0, 1, 0, 0 if screen().width < NARROW else 1
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=padding)
    for name in options[0]:
        table.add_column(name, overflow="fold")
    for name in filled:
        table.add_column(name, justify="right", overflow="fold", no_wrap=name == INTERVAL)
    for option, outcome in zip(options, outcomes, strict=True):
        table.add_row(*option.values(), *(outcome[name] for name in filled))
    return table


def _outcome(results: CellResults, cell: int, chosen: Metric) -> dict[str, str]:
    """What came out of a cell, by the headings of its columns."""
    trials = results.trials_of(cell)
    mean, interval = _in_words(level_of(results, cell, chosen), chosen)
    n_diverged = trials["diverged"].sum()
    outcome = {
        "trials": f"{len(trials)}, {n_diverged} diverged" if n_diverged else str(len(trials)),
        chosen.label: mean if len(trials) else "not finished",
        INTERVAL: interval,
    }
    for phase in PHASES:
        epochs = trials[f"{phase}_epochs"]
        outcome[f"{phase} epochs"] = f"{epochs.median():g}" if epochs.count() else ""
    return outcome | {"seconds": f"{trials[list(SECONDS)].sum().sum():.1f}" if len(trials) else ""}


def shared_trials(results: CellResults) -> int | None:
    """The number of trials, if all cells have the same number and none diverged."""
    numbers = set(results.cells["finished"])
    # Where no cell has a trial, the table says so of each.
    if len(numbers) > 1 or numbers == {0} or results.trials["diverged"].any():
        return None
    return int(numbers.pop())


def _in_words(level: Interval, metric: Metric) -> tuple[str, str]:
    """The mean of a metric, and its interval, as far as they are known."""
    mean, low, high = level
    # All trials may have diverged; too few, or a fixed split without predictions, give a mean alone.
    interval = UNKNOWN if math.isnan(low) else f"{metric.plain(low)} to {metric.plain(high)}"
    return ("", "") if math.isnan(mean) else (metric.plain(mean), interval)
