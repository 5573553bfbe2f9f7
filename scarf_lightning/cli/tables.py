"""Result tables: one of a cell, one of a sweep, and all columns as CSV."""

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
from rich import box
from rich.table import Table

from ..intervals import FEWEST, FIXED_SPLITS, SIZES, Interval, level_interval, median_sizes
from ..metrics import METRICS, PROBES, Metric, metrics
from ..options.axes import COLUMNS
from ..reporting.levels import levels_of
from ..reporting.names import column_in_words, value_in_words
from ..results import is_of_reading, values_of, with_reading
from ..screen import spreadsheet

if TYPE_CHECKING:
    from ..reporting.by_axis import Product
    from ..reporting.cell_results import CellResults

Row = dict[str, Any]
ShownCells = Sequence[tuple[Row, Sequence[Row]]]
"""For each cell its columns and the rows of its trials. A cell that did not finish has no rows."""

CHOSEN = METRICS[0]
"""The metric of tables with a line for each cell, if none is named."""
MOST_OPTIONS = 5
"""Options that have a column each; of more, those of parts share a column of what differs from the first cell."""
UNKNOWN = "–"
NOT_SHOWN = ("fingerprint", "data", "dataset_id")
"""Columns of records that name a cell or its data for the store."""
PHASES = ("pretrain", "finetune")
FLAGS_IN_WORDS = {
    "one_class": "one class for every test row",
    "worse_than_frequencies": "probabilities worse than class frequencies",
}
"""Meanings of the flags of a trial."""


def cell_table(axes: Row, rows: Sequence[Row], chosen: Metric = CHOSEN) -> Table:
    """Each metric of a cell over its trials, the chosen one first, then epochs and seconds."""
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("", "mean", "95 % interval", "trials"):
        table.add_column(heading, justify="left" if heading == "" else "right")
    levels = _levels(axes, rows)
    # The sort is stable: behind the chosen metric, the others keep their usual order.
    for metric in sorted(metrics(), key=lambda metric: metric != chosen):
        if metric.name in levels:
            table.add_row(metric.label, *_in_words(levels[metric.name], metric), str(len(_known(rows, metric.name))))
    # Means are those of the other trials, so a reader must see how many are missing from them.
    if n_diverged(rows):
        table.add_row("diverged, without metrics", "", "", str(n_diverged(rows)))
    for flag, meaning in FLAGS_IN_WORDS.items():
        if flagged := n_flagged(rows, flag):
            table.add_row(meaning, "", "", flagged)
    table.add_section()
    for phase in PHASES:
        if epochs := _known(rows, f"{phase}_epochs"):
            table.add_row(f"{phase} epochs (median)", f"{median(epochs):g}", "", str(len(epochs)))
            table.add_row(f"{phase} seconds (all trials)", f"{_seconds(rows, phase):.1f}", "", str(len(epochs)))
    return table


def sweep_table(cells: ShownCells, chosen: Metric = CHOSEN) -> Table:
    """A line for each cell: the options in which the cells differ, then the results.

    `shared_axes` and `shared_trials` give what all cells have in common.
    """
    lines = []
    for axes, rows in cells:
        trials = f"{len(rows)}, {n_diverged(rows)} diverged" if n_diverged(rows) else str(len(rows))
        # The sentence above the table says how many trials each cell has.
        line = {} if shared_trials(cells) is not None else {"trials": trials}
        line[chosen.label] = "" if rows else "not finished"
        # A cell of which all trials diverged has no metric.
        if level := _levels(axes, rows).get(chosen.name):
            line[chosen.label], line["95 % interval"] = _in_words(level, chosen)
        for flag, meaning in FLAGS_IN_WORDS.items():
            line[meaning] = n_flagged(rows, flag)
        for phase in PHASES:
            if epochs := _known(rows, f"{phase}_epochs"):
                line[f"{phase} epochs"] = f"{median(epochs):g}"
        if rows:
            line["seconds"] = f"{sum(_seconds(rows, phase) for phase in PHASES):.1f}"
        lines.append(line)
    order = ("trials", chosen.label, "95 % interval", *FLAGS_IN_WORDS.values(), "pretrain epochs", "finetune epochs")
    return _table([axes for axes, _ in cells], lines, (*order, "seconds"))


def summary_table(cells: ShownCells, chosen: Metric = CHOSEN) -> Table:
    """A line for each setting with the mean of the datasets' means, for sweeps of very many cells."""
    differing = [name for name in differing_options([axes for axes, _ in cells]) if name != "dataset"]
    settings: dict[tuple[str, ...], list[tuple[Row, Sequence[Row]]]] = {}
    for axes, rows in cells:
        settings.setdefault(tuple(str(axes.get(name)) for name in differing), []).append((axes, rows))
    lines = []
    for setting in settings.values():
        # Each dataset counts once, however many of its trials are finished.
        means = [np.mean(known) for _, rows in setting if (known := _known(rows, chosen.name))]
        mean = chosen.plain(float(np.mean(means))) if means else ""
        lines.append({"datasets": f"{len(means)} of {len(setting)}", f"mean {chosen.label}": mean})
    firsts = [{name: setting[0][0].get(name) for name in differing} for setting in settings.values()]
    return _table(firsts, lines, ("datasets", f"mean {chosen.label}"))


def means_by_axis(product: "Product", results: "CellResults", chosen: Metric) -> Table:
    """The metric of each setting of a product, one axis across and the others down, and the means over an axis."""
    # Imports pandas and SciPy.
    from ..reporting.by_axis import means_grid

    grid = means_grid(product, results, chosen)
    axes = [column_in_words(axis) for axis in product.axes]
    title = f"{chosen.label} by {' and '.join(axes)}, {axes[-1]} across"
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, title=title, title_justify="left")
    n_named = len(grid.headings) - len(grid.rows[0][1])
    for place, heading in enumerate(grid.headings):
        table.add_column(heading, justify="left" if place < n_named else "right", overflow="fold")
    for names, levels in grid.rows:
        shown = []
        for level in levels:
            mean, interval = _in_words(level, chosen)
            shown.append(mean if interval == UNKNOWN else f"{mean} ({interval})")
        table.add_row(*names, *shown)
    return table


def full_table(cells: ShownCells) -> str:
    """All columns of the cells as CSV: options, every metric with its interval, epochs and seconds; see
    `scarf_lightning.reporting.schema`."""
    import pandas as pd

    options, results = [], []
    probes = [name for name in PROBES if any(_known(rows, name) for _, rows in cells)]
    for axes, rows in cells:
        options.append({name: value for name, value in axes.items() if name not in NOT_SHOWN})
        line: Row = {"trials": len(rows), "diverged": n_diverged(rows)}
        levels = _levels(axes, rows)
        for metric in metrics():
            names = metric.name, f"{metric.name}_low", f"{metric.name}_high"
            line |= zip(names, levels.get(metric.name, (None,) * 3), strict=True)
        for name in probes:
            known = _known(rows, name)
            line[name] = np.mean(known) if known else None
        for phase in PHASES:
            epochs = _known(rows, f"{phase}_epochs")
            # Epochs are those of a typical trial, seconds those of all together.
            line[f"{phase}_epochs"] = float(median(epochs)) if epochs else None
            line[f"{phase}_seconds"] = _seconds(rows, phase) if _known(rows, f"{phase}_seconds") else None
        results.append(line)
    frame = pd.concat([pd.DataFrame(each, dtype=object) for each in (with_reading(options), results)], axis=1)
    # A text that begins like a formula must not be one in a spreadsheet.
    written = frame.map(spreadsheet).rename(columns=spreadsheet)
    return str(written.to_csv(index=False, lineterminator="\n"))


def describe(axes: Row, settings: Iterable[str] = (), recipes: Iterable[str] = ()) -> str:
    """A cell in words: its choice on each axis that it uses, these options, and its recipe if all ``recipes`` of what
    is shown are one."""
    options = []
    for name in (*COLUMNS, *settings):
        if axes.get(name) is not None:
            options.append(f"{name}={axes[name]}")
    different = set(recipes)
    if len(different) == 1:
        options.append(f"recipe={different.pop()}")
    return ", ".join(options)


def result_in_words(rows: Sequence[Row], chosen: Metric = CHOSEN) -> str:
    """The result of a cell while others train, such as ``accuracy 0.9614``: its interval takes its predictions, which
    are read at the end."""
    known = _known(rows, chosen.name)
    return f"{chosen.label} {chosen.plain(float(np.mean(known)))}" if known else "all trials diverged"


def n_diverged(rows: Sequence[Row]) -> int:
    """The number of trials that diverged."""
    return len(_known(rows, "diverged"))


def n_flagged(rows: Sequence[Row], flag: str) -> str:
    """The trials that have a flag, such as ``2 of 5``; empty if none does."""
    flags = _known(rows, flag)
    return f"{sum(flags)} of {len(flags)}" if any(flags) else ""


def shared_axes(cells: Sequence[Row]) -> Row:
    """The options that are the same in all cells that use them."""
    cells = with_reading(cells)
    shown = differing_options(cells)
    shared = {}
    for cell in cells:
        for axis, value in cell.items():
            if value is not None and axis not in shown:
                shared[axis] = value
    return shared


def shared_trials(cells: ShownCells) -> int | None:
    """The number of trials, if all cells have the same number and none diverged."""
    numbers = {len(rows) for _, rows in cells}
    # Where no cell has a trial, the table says so of each.
    if len(numbers) > 1 or not any(numbers) or any(n_diverged(rows) for _, rows in cells):
        return None
    return numbers.pop()


def differing_options(cells: Sequence[Row]) -> list[str]:
    """The options in which cells that use them differ; axes come first, in a fixed order."""
    names = dict.fromkeys(COLUMNS) | dict.fromkeys(name for cell in cells for name in cell)
    differing = []
    for name in names:
        # As text, which the table shows: values that look alike would make a column of equal texts.
        used = {str(cell[name]) for cell in cells if cell.get(name) is not None}
        if len(used) > 1 and name not in NOT_SHOWN:
            differing.append(name)
    return differing


def why_no_interval(cells: Sequence[Row]) -> list[str]:
    """A sentence for each fixed split of these cells, which have no predictions that were read."""
    fixed = {str(cell.get("split")) for cell in cells} & set(FIXED_SPLITS)
    return [
        f"With split={split} all trials share their test rows, so their spread gives no interval; it comes from "
        "three or more trials whose predictions were kept."
        for split in sorted(fixed)
    ]


def wide_interval_note(cells: ShownCells) -> list[str]:
    """A sentence if intervals of levels are from trials alone, because predictions are missing or were not read."""
    for axes, rows in cells:
        # With a fixed split there is no interval at all, see `why_no_interval`.
        if len(rows) >= FEWEST and axes.get("split") not in FIXED_SPLITS and not levels_of(rows):
            return [
                "Intervals of cells without kept predictions are those of the resampled t-test, and wider than they "
                "need be."
            ]
    return []


def _table(cells: Sequence[Row], outcomes: Sequence[Mapping[str, str]], order: Iterable[str]) -> Table:
    """A table with the options in which cells differ, and what came out of each. Columns without a value are left out,
    as the epochs of other libraries' models."""
    cells = with_reading(cells)
    first, varying = cells[0], differing_options(cells)
    # A column each would be a letter wide.
    together = [name for name in varying if name not in COLUMNS] if len(varying) > MOST_OPTIONS else []
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    columns = [name for name in varying if name not in together]
    for name in (*columns, "options") if together else columns:
        table.add_column(name, overflow="fold")
    headings = []
    for heading in order:
        if {outcome.get(heading, "") for outcome in outcomes} - {"", UNKNOWN}:
            headings.append(heading)
            table.add_column(heading, justify="right", overflow="fold")
    for axes, outcome in zip(cells, outcomes, strict=True):
        shown = [_choice(axes, name) for name in columns]
        if together:
            others = [f"{name}={_choice(axes, name)}" for name in together if axes.get(name) != first.get(name)]
            shown.append(", ".join(others))
        table.add_row(*shown, *(outcome.get(heading, "") for heading in headings))
    return table


def _choice(axes: Row, name: str) -> str:
    """An option of a cell as the command line has it, or how its table was read in words; empty if it has none."""
    value = axes.get(name)
    if value is None:
        return ""
    return value_in_words(name, value, {}) if is_of_reading(name) else str(value)


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


def _seconds(rows: Sequence[Row], phase: str) -> float:
    """The seconds of a phase over all trials."""
    return float(sum(_known(rows, f"{phase}_seconds")))


def _known(rows: Sequence[Row], name: str) -> list[Any]:
    """The values of a column, without those of rows that have none. A trial has no metric if it diverged, if the metric
    is undefined, or if its row is older than the metric."""
    return [value for value in values_of(rows, name) if value is not None]
