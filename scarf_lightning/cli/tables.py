"""Result tables: one of a cell, one of a sweep."""

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from rich import box
from rich.measure import Measurement
from rich.table import Table

from ..intervals import (
    FEWEST,
    FIXED_SPLITS,
    SIZES,
    Interval,
    level_interval,
    level_intervals,
    median_sizes,
)
from ..metrics import METRICS, Metric, metrics
from ..options.axes import COLUMNS
from ..report.levels import levels_of
from ..report.names import value_in_words
from ..results import is_of_reading, values_of, with_reading
from ..screen import Screen, spreadsheet

Row = dict[str, Any]
ShownCells = Sequence[tuple[Row, Sequence[Row]]]
"""For each cell its columns and the rows of its trials. A cell that did not finish has no rows."""

CHOSEN = METRICS[0]
"""The metric of tables with a line for each cell, if none is named."""
LEAST_NEEDED = (
    "seconds",
    "finetune epochs",
    "pretrain epochs",
    "trials",
    "95 % interval",
)
"""The columns that a narrow screen drops, the first one first."""
OF_LABELS = ("regime", "regime.labels")
"""The columns that `label_table` lays out as columns of its own."""
UNBOUNDED = 10_000
UNKNOWN = "–"
NOT_SHOWN = ("fingerprint", "data", "dataset_id")


def cell_table(axes: Row, rows: Sequence[Row], chosen: Metric = CHOSEN) -> Table:
    """Each metric of a cell over its trials, the chosen one first, then epochs and seconds."""
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("", "mean", "95 % interval", "trials"):
        table.add_column(heading, justify="left" if heading == "" else "right")
    for metric in sorted(metrics(), key=lambda metric: metric != chosen):
        values = _known(rows, metric.name)
        if values:
            table.add_row(
                metric.label, *_in_words(axes, rows, metric), str(len(values))
            )
    if n_diverged(rows):
        table.add_row("diverged, without metrics", "", "", str(n_diverged(rows)))
    if constant := of_one_class(rows):
        table.add_row("one class for every test row", "", "", constant)
    table.add_section()
    for phase in ("pretrain", "finetune"):
        epochs = _known(rows, f"{phase}_epochs")
        if epochs:
            seconds = sum(values_of(rows, f"{phase}_seconds"))
            table.add_row(
                f"{phase} epochs (median)",
                f"{np.median(epochs):g}",
                "",
                str(len(epochs)),
            )
            table.add_row(
                f"{phase} seconds (all trials)", f"{seconds:.1f}", "", str(len(epochs))
            )
    for kind in ("labelled", "unlabelled"):
        sizes = [
            size
            for size, n in zip(
                values_of(rows, f"n_{kind}"),
                values_of(rows, "n_unlabelled"),
                strict=True,
            )
            if n
        ]
        if sizes:
            table.add_row(
                f"{kind} training rows (median)",
                f"{np.median(sizes):,g}",
                "",
                str(len(sizes)),
            )
    return table


def result_in_words(axes: Row, rows: Sequence[Row], chosen: Metric = CHOSEN) -> str:
    """The result of a cell, such as ``accuracy 0.9614 (0.9388 to 0.9840)``."""
    if not _known(rows, chosen.name):
        return "all trials diverged"
    mean, interval = _in_words(axes, rows, chosen)
    return f"{chosen.label} {mean}" + (f" ({interval})" if interval != UNKNOWN else "")


def n_diverged(rows: Sequence[Row]) -> int:
    """The number of trials that diverged."""
    return len(_known(rows, "diverged"))


def describe(
    axes: Row, settings: Iterable[str] = (), recipes: Iterable[str] = ()
) -> str:
    """A cell in words: its choice on each axis that it uses, these options, and its recipe if all ``recipes`` of what
    is shown are one."""
    named = [
        f"{name}={axes[name]}"
        for name in (*COLUMNS, *settings)
        if axes.get(name) is not None
    ]
    different = set(recipes)
    return ", ".join(
        named if len(different) != 1 else [*named, f"recipe={different.pop()}"]
    )


def sweep_table(
    cells: ShownCells, width: int = UNBOUNDED, chosen: Metric = CHOSEN
) -> Table:
    """A line for each cell: the options in which the cells differ, then the results.

    `shared_axes` and `shared_trials` give what all cells have in common. On a screen of few characters ``width`` the
    last columns are dropped, but never the metric or an option that varies.
    """
    cells = _with_reading(cells)
    varying = {}
    for column in _shown([axes for axes, _ in cells]):
        varying[column] = [_choice(axes, column) for axes, _ in cells]
    outcomes = [_outcome(axes, rows, chosen) for axes, rows in cells]
    columns = {
        heading: [outcome[heading] for outcome in outcomes] for heading in outcomes[0]
    }
    kept = [
        heading
        for heading in columns
        if any(value not in ("", UNKNOWN) for value in columns[heading])
    ]
    if shared_trials(cells) is not None:
        kept.remove("trials")
    table, unbounded = (
        _laid_out(varying, {heading: columns[heading] for heading in kept}),
        Screen(width=UNBOUNDED),
    )
    for heading in LEAST_NEEDED:
        if (
            heading in kept
            and Measurement.get(unbounded, unbounded.options, table).maximum > width
        ):
            kept.remove(heading)
            table = _laid_out(varying, {heading: columns[heading] for heading in kept})
    return table


def label_table(cells: ShownCells, chosen: Metric = CHOSEN) -> Table:
    """A line for each competitor and a column for each number of labels, with the metric and its interval."""
    varying, competitors = _by_setting(cells, OF_LABELS)
    lines = [
        {_n_labels(axes): _with_interval(axes, rows, chosen) for axes, rows in its}
        for its in competitors
    ]
    outcomes = {
        f"{labels:g} labels" if math.isfinite(labels) else "all labels": [
            line.get(labels, "") for line in lines
        ]
        for labels in sorted({_n_labels(axes) for axes, _ in cells})
    }
    table = _laid_out(varying, outcomes)
    table.title, table.title_justify = (
        f"{chosen.label} ± half of its 95 % interval",
        "left",
    )
    return table


def summary_table(cells: ShownCells, chosen: Metric = CHOSEN) -> Table:
    """A line for each setting with the mean of the datasets' means, for sweeps of very many cells."""
    varying, settings = _by_setting(cells, ("dataset",))
    means = [
        [np.mean(values) for _, rows in its if (values := _known(rows, chosen.name))]
        for its in settings
    ]
    outcomes = {
        "datasets finished": [str(len(each)) for each in means],
        "of": [str(len(its)) for its in settings],
        f"mean {chosen.label}": [
            chosen.plain(float(np.mean(each))) if each else "" for each in means
        ],
    }
    return _laid_out(varying, outcomes)


def _with_reading(cells: ShownCells) -> ShownCells:
    """The cells with null for an option of reading that other cells set."""
    columns = with_reading([axes for axes, _ in cells])
    return list(zip(columns, (rows for _, rows in cells), strict=True))


def _by_setting(
    cells: ShownCells, left_out: Sequence[str]
) -> tuple[dict[str, list[str]], list[ShownCells]]:
    """The columns of a table with a line for each setting of the options in which cells differ, but for some options;
    and the cells of each line."""
    cells = _with_reading(cells)
    shown = [
        column
        for column in _shown([axes for axes, _ in cells])
        if column not in left_out
    ]
    found: dict[tuple[str, ...], list[tuple[Row, Sequence[Row]]]] = {}
    for axes, rows in cells:
        found.setdefault(tuple(_choice(axes, column) for column in shown), []).append(
            (axes, rows)
        )
    return {
        column: [setting[place] for setting in found]
        for place, column in enumerate(shown)
    }, [*found.values()]


def _choice(axes: Row, column: str) -> str:
    """An option of a cell, as its line shows it: as the command line has it, or how a table was read in words."""
    value = axes.get(column)
    if value is None:
        return ""
    return value_in_words(column, value, {}) if is_of_reading(column) else str(value)


def _n_labels(axes: Row) -> float:
    return (
        math.inf if axes.get("regime.labels") is None else float(axes["regime.labels"])
    )


def _with_interval(axes: Row, rows: Sequence[Row], chosen: Metric) -> str:
    if not _known(rows, chosen.name):
        return "diverged" if rows else "not finished"
    mean, low, high = _interval(axes, rows, chosen)
    # An interval that is cut at a bound of the metric is shorter on that side.
    half = "" if math.isnan(low) else f" ± {chosen.plain(max(high - mean, mean - low))}"
    constant = of_one_class(rows)
    return f"{chosen.plain(mean)}{half}" + (
        f", {constant} one class" if constant else ""
    )


def _laid_out(
    varying: Mapping[str, Sequence[str]], outcomes: Mapping[str, Sequence[str]]
) -> Table:
    """A table whose options fold if they are too wide, and whose results do not."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for heading in varying:
        table.add_column(heading, overflow="fold")
    for heading in outcomes:
        table.add_column(heading, justify="right", no_wrap=True)
    for line in zip(*varying.values(), *outcomes.values(), strict=True):
        table.add_row(*line)
    return table


def shared_trials(cells: ShownCells) -> int | None:
    """The number of trials, if all cells have the same number and none diverged."""
    numbers = {len(rows) for _, rows in cells}
    diverged = any(n_diverged(rows) for _, rows in cells)
    return None if diverged or len(numbers) > 1 or not any(numbers) else numbers.pop()


def why_no_interval(cells: Sequence[Row]) -> list[str]:
    """A sentence for each fixed split of these cells, which have no predictions that were read."""
    fixed = sorted(
        {str(cell["split"]) for cell in cells if cell.get("split") in FIXED_SPLITS}
    )
    return [
        f"With split={split} all trials share their test rows, so their spread gives no interval; it comes from three "
        "or more trials whose predictions were kept."
        for split in fixed
    ]


def on_wide_intervals(cells: ShownCells) -> list[str]:
    """A sentence if intervals of levels are from trials alone, because predictions are missing or were not read."""
    for axes, rows in cells:
        if (
            len(rows) >= FEWEST
            and not levels_of(rows)
            and axes.get("split") not in FIXED_SPLITS
        ):
            return [
                "Intervals of cells without kept predictions are those of the resampled t-test, and wider than they "
                "need be."
            ]
    return []


def full_table(cells: ShownCells) -> str:
    """All columns of the cells as CSV: options, every metric with its interval, epochs and seconds; see
    `scarf_lightning.report.schema`."""
    cells = _with_reading(cells)
    axes = list(
        dict.fromkeys(
            column
            for of_cell, _ in cells
            for column in of_cell
            if column not in NOT_SHOWN
        )
    )
    measured = [
        name
        for metric in metrics()
        for name in (metric.name, f"{metric.name}_low", f"{metric.name}_high")
    ]
    of_phases = [
        f"{phase}_{quantity}"
        for phase in ("pretrain", "finetune")
        for quantity in ("epochs", "seconds")
    ]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        map(spreadsheet, (*axes, "trials", "diverged", *measured, *of_phases))
    )
    for of_cell, rows in cells:
        line = [*map(of_cell.get, axes), len(rows), n_diverged(rows)]
        line += [end for interval in _intervals(of_cell, rows) for end in interval]
        for name in of_phases:
            known = _known(rows, name)
            of_trials = np.median if name.endswith("_epochs") else np.sum
            line.append(of_trials(known) if known else None)
        writer.writerow(map(spreadsheet, line))
    return text.getvalue()


def _intervals(axes: Row, rows: Sequence[Row]) -> list[Sequence[float | None]]:
    """The mean and the ends of the interval of every metric; None for one that no trial has."""
    found = dict[str, Sequence[float | None]]()
    of_size: dict[int, list[tuple[Metric, list[float]]]] = {}
    for metric in metrics():
        known = _known(rows, metric.name)
        of_size.setdefault(len(known), []).append((metric, known))
    sizes = _sizes(rows)
    for size, together in of_size.items():
        block, bounds = (
            np.array([known for _, known in together]),
            [metric.bounds for metric, _ in together],
        )
        intervals = (
            level_intervals(block, bounds, sizes, axes.get("split")) if size else []
        )
        for place, (metric, _) in enumerate(together):
            found[metric.name] = intervals[place] if size else (None, None, None)
    # Those from predictions take the place of those from trials.
    found |= levels_of(rows)
    return [found[metric.name] for metric in metrics()]


def shared_axes(cells: Sequence[Row]) -> Row:
    """The options that are the same in all cells that use them."""
    cells = with_reading(cells)
    shown = _shown(cells)
    return {
        axis: value
        for cell in cells
        for axis, value in cell.items()
        if value is not None and axis not in shown
    }


def _shown(cells: Sequence[Row]) -> list[str]:
    """The options in which cells that use them differ; axes come first."""
    columns = [
        column
        for column in dict.fromkeys(key for cell in cells for key in cell)
        if column not in NOT_SHOWN
    ]
    ordered = [
        *(axis for axis in COLUMNS if axis in columns),
        *(column for column in columns if column not in COLUMNS),
    ]
    used = {
        column: {str(cell[column]) for cell in cells if cell.get(column) is not None}
        for column in ordered
    }
    return [column for column in ordered if len(used[column]) > 1]


def _outcome(axes: Row, rows: Sequence[Row], chosen: Metric) -> dict[str, str]:
    headings = (
        "trials",
        chosen.label,
        "95 % interval",
        "one class",
        "pretrain epochs",
        "finetune epochs",
        "seconds",
    )
    if not rows:
        return dict.fromkeys(headings, "") | {
            "trials": "0",
            chosen.label: "not finished",
        }
    gone = n_diverged(rows)
    epochs = []
    for phase in ("pretrain", "finetune"):
        values = _known(rows, f"{phase}_epochs")
        epochs.append(f"{np.median(values):g}" if values else "")
    phases = (values_of(rows, f"{phase}_seconds") for phase in ("pretrain", "finetune"))
    seconds = sum(
        (pretrain or 0.0) + finetune for pretrain, finetune in zip(*phases, strict=True)
    )
    trials = f"{len(rows)}, {gone} diverged" if gone else str(len(rows))
    mean, interval = (
        _in_words(axes, rows, chosen) if _known(rows, chosen.name) else ("", "")
    )
    constant = of_one_class(rows)
    return dict(
        zip(
            headings,
            (trials, mean, interval, constant, *epochs, f"{seconds:.1f}"),
            strict=True,
        )
    )


def of_one_class(rows: Sequence[Row]) -> str:
    """The trials that predict one class for every test row, such as ``2 of 5``; empty if none does."""
    found = _known(rows, "one_class")
    return f"{sum(found)} of {len(found)}" if any(found) else ""


def _known(rows: Sequence[Row], name: str) -> list[Any]:
    """The values of a column, without those of rows that have none. A trial has no metric if it diverged, if the metric
    is undefined, or if its row is older than the metric."""
    return [value for value in values_of(rows, name) if value is not None]


def _sizes(rows: Sequence[Row]) -> tuple[float, float, float | None]:
    return median_sizes({name: values_of(rows, name) for name in SIZES})


def _interval(axes: Row, rows: Sequence[Row], metric: Metric) -> Interval:
    """The level of a metric: from predictions, if they were read, and else from the trials alone."""
    levels = levels_of(rows)
    if metric.name in levels:
        return levels[metric.name]
    return level_interval(
        _known(rows, metric.name), _sizes(rows), axes.get("split"), metric.bounds
    )


def _in_words(axes: Row, rows: Sequence[Row], metric: Metric) -> tuple[str, str]:
    """The mean of a metric, and its interval."""
    mean, low, high = _interval(axes, rows, metric)
    return metric.plain(mean), UNKNOWN if math.isnan(
        low
    ) else f"{metric.plain(low)} to {metric.plain(high)}"
