"""The title and the result table of a run: of one cell its metrics, of several a line a cell."""

import math
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

from rich import box
from rich.table import Table

from ..intervals import FIXED_SPLITS, SIZES, Interval, level_interval, median_sizes
from ..metrics import METRICS, Metric, metrics
from ..options.axes import COLUMNS
from ..reporting.levels import levels_of
from ..reporting.names import override, setting_name, text_of
from ..results import values_of, with_reading
from ..screen import screen

Row = dict[str, Any]
ShownCells = Sequence[tuple[Row, Sequence[Row]]]
"""For each cell its columns and the rows of its trials. A cell that did not finish has no rows."""

CHOSEN = METRICS[0]
"""The metric of tables with a line for each cell, if none is named."""
LEADING = ("dataset", "pretrain", "method")
"""The axes that every title names."""
MOST_OPTIONS = 5
"""Options that have a column each; more share one column."""
INTERVAL = "95 % interval"
UNKNOWN = "–"
NARROW = 100
"""Characters below which a terminal is narrow."""
NOT_SHOWN = ("fingerprint", "data", "dataset_id")
"""Columns of records that name a cell or its data for the store."""
PHASES = ("pretrain", "finetune")


def title(cells: Sequence[Row], names: Iterable[str]) -> str:
    """The values that all cells share, of the axes in every title and of the options that the user has set."""
    differing = differing_options(with_reading(cells))
    # A cell that does not use an option shares it with those that do.
    shared = {name: value for cell in cells for name, value in cell.items() if value is not None}
    shown = [name for name in dict.fromkeys((*LEADING, *names)) if name in shared and name not in differing]
    return ", ".join(override(name, shared[name]) for name in shown)


def cell_table(axes: Row, rows: Sequence[Row], chosen: Metric = CHOSEN) -> Table:
    """Each metric of a cell over its trials, the chosen one first, then epochs and seconds."""
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("", "mean", INTERVAL, "trials"):
        table.add_column(heading, justify="right" if heading else "left")
    levels = _levels(axes, rows)
    # The sort is stable: behind the chosen metric, the others keep their usual order.
    for metric in sorted(metrics(), key=lambda metric: metric != chosen):
        if metric.name in levels:
            table.add_row(metric.label, *_in_words(levels[metric.name], metric), str(len(_known(rows, metric.name))))
    # Means are those of the other trials, so a reader must see how many are missing from them.
    if n_diverged := len(_known(rows, "diverged")):
        table.add_row("diverged, without metrics", "", "", str(n_diverged))
    table.add_section()
    for phase in PHASES:
        if epochs := _known(rows, f"{phase}_epochs"):
            n, seconds = str(len(epochs)), sum(_known(rows, f"{phase}_seconds"))
            table.add_row(f"{phase} epochs (median)", f"{median(epochs):g}", "", n)
            table.add_row(f"{phase} seconds (all trials)", f"{seconds:.1f}", "", n)
    return table


def sweep_table(cells: ShownCells, chosen: Metric = CHOSEN) -> Table:
    """A line for each cell: the options in which the cells differ, then the results.

    `title` and `shared_trials` give what all cells have in common. Columns without a value are left out, as the epochs
    of other libraries' models.
    """
    options = _option_columns(with_reading([axes for axes, _ in cells]))
    results = [_results(axes, rows, chosen) for axes, rows in cells]
    # The sentence above the table says how many trials each cell has.
    headings = [name for name in results[0] if name != "trials" or shared_trials(cells) is None]
    filled = [name for name in headings if {line[name] for line in results} - {"", UNKNOWN}]
    # Two blanks between columns in place of three, so that the table of an ablation fits 80 characters.
    padding = 0, 1, 0, 0 if screen().width < NARROW else 1
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=padding)
    for name in options[0]:
        table.add_column(name, overflow="fold")
    for name in filled:
        table.add_column(name, justify="right", overflow="fold", no_wrap=name == INTERVAL)
    for option, result in zip(options, results, strict=True):
        table.add_row(*option.values(), *(result[name] for name in filled))
    return table


def _results(axes: Row, rows: Sequence[Row], chosen: Metric) -> dict[str, str]:
    """The results of a cell by their headings."""
    # A cell of which all trials diverged has no metric.
    level = _levels(axes, rows).get(chosen.name)
    mean, interval = _in_words(level, chosen) if level else ("" if rows else "not finished", "")
    n_diverged = len(_known(rows, "diverged"))
    shown = {"trials": f"{len(rows)}{f', {n_diverged} diverged' if n_diverged else ''}"}
    shown |= {chosen.label: mean, INTERVAL: interval}
    for phase in PHASES:
        epochs = _known(rows, f"{phase}_epochs")
        shown[f"{phase} epochs"] = f"{median(epochs):g}" if epochs else ""
    seconds = sum(sum(_known(rows, f"{phase}_seconds")) for phase in PHASES)
    return shown | {"seconds": f"{seconds:.1f}" if rows else ""}


def shared_trials(cells: ShownCells) -> int | None:
    """The number of trials, if all cells have the same number and none diverged."""
    numbers = {len(rows) for _, rows in cells}
    # Where no cell has a trial, the table says so of each.
    if len(numbers) > 1 or not any(numbers) or any(_known(rows, "diverged") for _, rows in cells):
        return None
    return numbers.pop()


def differing_options(cells: Sequence[Row]) -> list[str]:
    """The options in which cells that use them differ; axes come first, in a fixed order."""
    values: dict[str, set[str]] = {name: set() for name in COLUMNS}
    for cell in cells:
        for name, value in cell.items():
            # As text, which the table shows: values that look alike would make a column of equal texts.
            values.setdefault(name, set()).update([] if value is None else [str(value)])
    return [name for name, used in values.items() if len(used) > 1 and name not in NOT_SHOWN]


def why_no_interval(cells: Sequence[Row]) -> list[str]:
    """A sentence for each fixed split of these cells, which have no predictions that were read."""
    fixed = {str(cell.get("split")) for cell in cells} & set(FIXED_SPLITS)
    return [
        f"With split={split} all trials share their test rows, so their spread gives no interval; it comes from "
        "three or more trials whose predictions were kept."
        for split in sorted(fixed)
    ]


def _option_columns(cells: Sequence[Row]) -> list[dict[str, str]]:
    """The options in which cells differ, for each cell by the headings of the table."""
    varying = differing_options(cells)
    if len(varying) > MOST_OPTIONS:
        # A column each would be a letter wide.
        return [{"options": setting_name(cell, varying)} for cell in cells]
    return [{name: "" if cell.get(name) is None else text_of(cell[name]) for name in varying} for cell in cells]


def _levels(axes: Row, rows: Sequence[Row]) -> dict[str, Interval]:
    """The mean and the interval of every metric that a trial has: from predictions, if they were read, and else from
    the trials alone."""
    sizes = median_sizes({name: values_of(rows, name) for name in SIZES})
    levels: dict[str, Interval] = {}
    for metric in metrics():
        if known := _known(rows, metric.name):
            levels[metric.name] = level_interval(known, sizes, axes.get("split"), metric.bounds)
    return levels | dict(levels_of(rows))


def _in_words(level: Interval, metric: Metric) -> tuple[str, str]:
    """The mean of a metric, and its interval."""
    mean, low, high = level
    # Too few trials, or a fixed split without predictions, give a mean alone.
    return metric.plain(mean), UNKNOWN if math.isnan(low) else f"{metric.plain(low)} to {metric.plain(high)}"


def _known(rows: Sequence[Row], name: str) -> list[Any]:
    """The values of a column, without those of rows that have none. A trial has no metric if it diverged, if the metric
    is undefined, or if its row is older than the metric."""
    return [value for value in values_of(rows, name) if value is not None]
