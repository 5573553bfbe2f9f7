"""Result tables: one of a cell, one of a sweep."""

import csv
import io
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
from rich import box
from rich.measure import Measurement, measure_renderables
from rich.table import Table

from ..intervals import FEWEST, FIXED_SPLITS, SIZES, Interval, level_interval, level_intervals, median_sizes
from ..metrics import METRICS, PROBES, Metric, metrics
from ..options.axes import COLUMNS
from ..reporting.levels import levels_of
from ..reporting.names import column_in_words, value_in_words
from ..results import is_of_reading, values_of, with_reading
from ..screen import Screen, spreadsheet

if TYPE_CHECKING:
    from ..reporting.by_axis import MeansGrid, Product
    from ..reporting.cell_results import CellResults

Row = dict[str, Any]
ShownCells = Sequence[tuple[Row, Sequence[Row]]]
"""For each cell its columns and the rows of its trials. A cell that did not finish has no rows."""
Columns = Mapping[str, Sequence[str]]
"""The lines of each column of a table, by its heading."""

CHOSEN = METRICS[0]
"""The metric of tables with a line for each cell, if none is named."""
LEAST_NEEDED = ("seconds", "finetune epochs", "pretrain epochs", "trials", "95 % interval")
"""The columns that a narrow screen drops, the first one first."""
APART = ("dataset", "regime", "pretrain", "method")
"""The options that keep a column of their own where many options vary."""
LEGIBLE = 8
"""The letters below which a column of longer texts cannot be read."""
BETWEEN = 3
"""The letters between two columns."""
UNBOUNDED = 10_000
UNKNOWN = "–"
NOT_SHOWN = ("fingerprint", "data", "dataset_id")
"""Columns of records that name a cell or its data for the store."""
PHASES = ("pretrain", "finetune")
FLAGS_IN_WORDS = {
    "one_class": "one class for every test row",
    "worse_than_frequencies": "probabilities worse than class frequencies",
}
"""Meanings of the flags of a trial."""
FLAG_HEADINGS = {"one_class": "one class", "worse_than_frequencies": "worse than frequencies"}
"""The same above a column."""


def cell_table(axes: Row, rows: Sequence[Row], chosen: Metric = CHOSEN) -> Table:
    """Each metric of a cell over its trials, the chosen one first, then epochs and seconds."""
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("", "mean", "95 % interval", "trials"):
        table.add_column(heading, justify="left" if heading == "" else "right")
    # The sort is stable: behind the chosen metric, the others keep their usual order.
    for metric in sorted(metrics(), key=lambda metric: metric != chosen):
        values = _known(rows, metric.name)
        if values:
            table.add_row(metric.label, *_mean_and_interval(axes, rows, metric), str(len(values)))
    # Means are those of the other trials, so a reader must see how many are missing from them.
    if n_diverged(rows):
        table.add_row("diverged, without metrics", "", "", str(n_diverged(rows)))
    for flag, meaning in FLAGS_IN_WORDS.items():
        if flagged := n_flagged(rows, flag):
            table.add_row(meaning, "", "", flagged)
    table.add_section()
    for phase in ("pretrain", "finetune"):
        epochs = _known(rows, f"{phase}_epochs")
        if epochs:
            # A phase with epochs has seconds in every row.
            seconds = sum(values_of(rows, f"{phase}_seconds"))
            table.add_row(f"{phase} epochs (median)", f"{np.median(epochs):g}", "", str(len(epochs)))
            table.add_row(f"{phase} seconds (all trials)", f"{seconds:.1f}", "", str(len(epochs)))
    # Sizes are of interest where labels are few: a trial without unlabelled rows shows none.
    n_unlabelled = values_of(rows, "n_unlabelled")
    for kind in ("labelled", "unlabelled"):
        sizes = []
        for size, n in zip(values_of(rows, f"n_{kind}"), n_unlabelled, strict=True):
            if n:
                sizes.append(size)
        if sizes:
            table.add_row(f"{kind} training rows (median)", f"{np.median(sizes):,g}", "", str(len(sizes)))
    return table


def result_in_words(rows: Sequence[Row], chosen: Metric = CHOSEN) -> str:
    """The result of a cell while others train, such as ``accuracy 0.9614``: its interval takes its predictions, which
    are read at the end."""
    known = _known(rows, chosen.name)
    return f"{chosen.label} {chosen.plain(float(np.mean(known)))}" if known else "all trials diverged"


def n_diverged(rows: Sequence[Row]) -> int:
    """The number of trials that diverged."""
    return len(_known(rows, "diverged"))


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


def sweep_table(cells: ShownCells, width: int = UNBOUNDED, chosen: Metric = CHOSEN) -> Table:
    """A line for each cell: the options in which the cells differ, then the results.

    `shared_axes` and `shared_trials` give what all cells have in common. On a screen of few characters ``width`` the
    last columns are dropped, but never the metric or an option that varies.
    """
    cells = _with_reading(cells)
    varying = {}
    for column in differing_options([axes for axes, _ in cells]):
        varying[column] = [_choice(axes, column) for axes, _ in cells]
    columns: dict[str, list[str]] = {}
    for axes, rows in cells:
        for heading, value in _outcome(axes, rows, chosen).items():
            columns.setdefault(heading, []).append(value)
    # A column in which no cell has a value, as the epochs of other libraries' models, is left out.
    kept = {}
    for heading, values in columns.items():
        if not set(values) <= {"", UNKNOWN}:
            kept[heading] = values
    # The sentence above the table says how many trials each cell has.
    if shared_trials(cells) is not None:
        del kept["trials"]
    return _fitted(varying, kept, width)


def summary_table(cells: ShownCells, width: int = UNBOUNDED, chosen: Metric = CHOSEN) -> Table:
    """A line for each setting with the mean of the datasets' means, for sweeps of very many cells."""
    varying, settings = _setting_table(cells)
    finished, wanted, overall = list[str](), list[str](), list[str]()
    for setting in settings:
        # Each dataset counts once, however many of its trials are finished.
        means = []
        for _, rows in setting:
            values = _known(rows, chosen.name)
            if values:
                means.append(np.mean(values))
        finished.append(str(len(means)))
        wanted.append(str(len(setting)))
        overall.append(chosen.plain(float(np.mean(means))) if means else "")
    outcomes = {"datasets finished": finished, "of": wanted, f"mean {chosen.label}": overall}
    return _fitted(varying, outcomes, width)


def means_by_axis(product: "Product", results: "CellResults", chosen: Metric, width: int = UNBOUNDED) -> Table:
    """The metric of each setting of a product, one axis across and the others down, and the means over an axis."""
    # Imports pandas and SciPy.
    from ..reporting.by_axis import means_grid

    grid = means_grid(product, results, chosen)
    table = _means_table(grid, chosen, "{} ({} to {})")
    # On a narrow screen an interval stands below its mean.
    wide = Screen(width=UNBOUNDED)
    if Measurement.get(wide, wide.options, table).maximum > width:
        table = _means_table(grid, chosen, "{}\n{} to {}")
    axes = [column_in_words(axis) for axis in product.axes]
    table.title = f"{chosen.label} by {' and '.join(axes)}, {axes[-1]} across"
    table.title_justify = "left"
    return table


def _means_table(grid: "MeansGrid", chosen: Metric, level: str) -> Table:
    """The table of a grid, whose levels have this form for their mean and the ends of their interval."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    n_named = len(grid.headings) - len(grid.rows[0][1])
    for place, heading in enumerate(grid.headings):
        is_name = place < n_named
        table.add_column(heading, justify="left" if is_name else "right", no_wrap=not is_name)
    for names, levels in grid.rows:
        shown = []
        for mean, low, high in levels:
            form = "{}" if math.isnan(low) else level
            shown.append(form.format(*map(chosen.plain, (mean, low, high))))
        table.add_row(*names, *shown)
    return table


def _with_reading(cells: ShownCells) -> ShownCells:
    """The cells with null for an option of reading that other cells set."""
    columns = with_reading([axes for axes, _ in cells])
    return list(zip(columns, (rows for _, rows in cells), strict=True))


def _setting_table(cells: ShownCells) -> tuple[dict[str, list[str]], list[ShownCells]]:
    """The columns of a table with a line for each setting of the options in which cells differ, but for the dataset;
    and the cells of each line."""
    cells = _with_reading(cells)
    differing = differing_options([axes for axes, _ in cells])
    shown = [column for column in differing if column != "dataset"]
    lines: dict[tuple[str, ...], list[tuple[Row, Sequence[Row]]]] = {}
    for axes, rows in cells:
        setting = tuple(_choice(axes, column) for column in shown)
        lines.setdefault(setting, []).append((axes, rows))
    varying = {}
    for place, column in enumerate(shown):
        varying[column] = [setting[place] for setting in lines]
    return varying, [*lines.values()]


def _choice(axes: Row, column: str) -> str:
    """An option of a cell, as its line shows it: as the command line has it, or how a table was read in words."""
    value = axes.get(column)
    # The cell does not use the option.
    if value is None:
        return ""
    return value_in_words(column, value, {}) if is_of_reading(column) else str(value)


def _fitted(varying: Columns, outcomes: Columns, width: int) -> Table:
    """A table of options, which fold where they are too wide, and of results, which stay whole.

    Of a table that is wider than the screen the columns of `LEAST_NEEDED` go first. If its options would be too narrow
    to be read, those beside `APART` share a column of what is unusual about each line. A line below says both.
    """
    wide = Screen(width=UNBOUNDED)
    widths = {}
    for heading, lines in {**varying, **outcomes}.items():
        widths[heading] = measure_renderables(wide, wide.options, [heading, *lines]).maximum
    dropped = []
    for heading in LEAST_NEEDED:
        if heading in outcomes and _together(widths) > width:
            del widths[heading]
            dropped.append(heading)
    outcomes = {heading: lines for heading, lines in outcomes.items() if heading in widths}
    notes = []
    others = {name: lines for name, lines in varying.items() if name not in APART}
    folded = {heading: min(LEGIBLE, size) if heading in varying else size for heading, size in widths.items()}
    if _together(folded) > width and len(others) > 1:
        usual = {}
        for name, lines in others.items():
            # A line that does not use an option says nothing of what is usual.
            ((usual[name], _),) = Counter(filter(None, lines)).most_common(1)
        varying = {name: lines for name, lines in varying.items() if name in APART}
        varying["options"] = _unusual(others, usual)
        folded = {name: size for name, size in folded.items() if name not in others} | {"options": LEGIBLE}
        notes.append(f"As usual: {', '.join('='.join(each) for each in usual.items())}")
    if dropped:
        notes.append(f"Not shown at this width: {', '.join(dropped)}")
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.caption = ". ".join(notes) or None
    table.caption_justify = "left"
    for heading in varying:
        table.add_column(heading, overflow="fold", min_width=folded[heading])
    # There may be no room for whole results, either.
    is_wide_enough = _together(folded) <= width
    for heading in outcomes:
        table.add_column(heading, justify="right", no_wrap=is_wide_enough)
    for line in zip(*varying.values(), *outcomes.values(), strict=True):
        table.add_row(*line)
    return table


def _together(widths: Mapping[str, int]) -> int:
    """The letters that a line of columns takes."""
    return sum(widths.values()) + BETWEEN * (len(widths) - 1)


def _unusual(options: Columns, usual: Mapping[str, str]) -> list[str]:
    """The options of each line that have another value than the usual one."""
    lines = []
    for line in zip(*options.values(), strict=True):
        overrides = []
        for name, value in zip(options, line, strict=True):
            if value not in ("", usual[name]):
                overrides.append(f"{name}={value}")
        lines.append(", ".join(overrides) or "as usual")
    return lines


def shared_trials(cells: ShownCells) -> int | None:
    """The number of trials, if all cells have the same number and none diverged."""
    numbers = {len(rows) for _, rows in cells}
    diverged = any(n_diverged(rows) for _, rows in cells)
    # Where no cell has a trial, the table says so of each.
    if diverged or len(numbers) > 1 or not any(numbers):
        return None
    return numbers.pop()


def why_no_interval(cells: Sequence[Row]) -> list[str]:
    """A sentence for each fixed split of these cells, which have no predictions that were read."""
    fixed = set()
    for cell in cells:
        if cell.get("split") in FIXED_SPLITS:
            fixed.add(str(cell["split"]))
    sentences = []
    for split in sorted(fixed):
        sentences.append(
            f"With split={split} all trials share their test rows, so their spread gives no interval; it comes from "
            "three or more trials whose predictions were kept."
        )
    return sentences


def wide_interval_note(cells: ShownCells) -> list[str]:
    """A sentence if intervals of levels are from trials alone, because predictions are missing or were not read."""
    for axes, rows in cells:
        # With a fixed split there is no interval at all, see `why_no_interval`.
        is_drawn = axes.get("split") not in FIXED_SPLITS
        if len(rows) >= FEWEST and is_drawn and not levels_of(rows):
            return [
                "Intervals of cells without kept predictions are those of the resampled t-test, and wider than they "
                "need be."
            ]
    return []


def full_table(cells: ShownCells) -> str:
    """All columns of the cells as CSV: options, every metric with its interval, epochs and seconds; see
    `scarf_lightning.reporting.schema`."""
    cells = _with_reading(cells)
    axes = _columns_of([cell_axes for cell_axes, _ in cells])
    measured = []
    for metric in metrics():
        measured += [metric.name, f"{metric.name}_low", f"{metric.name}_high"]
    phase_columns = []
    for phase in ("pretrain", "finetune"):
        phase_columns += [f"{phase}_epochs", f"{phase}_seconds"]
    probes = [name for name in PROBES if any(_known(rows, name) for _, rows in cells)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    headings = (*axes, "trials", "diverged", *measured, *probes, *phase_columns)
    # A text that begins like a formula must not be one in a spreadsheet.
    writer.writerow(map(spreadsheet, headings))
    for cell_axes, rows in cells:
        line = [*map(cell_axes.get, axes), len(rows), n_diverged(rows)]
        for interval in _intervals(cell_axes, rows):
            line += interval
        for name in probes:
            known = _known(rows, name)
            line.append(np.mean(known) if known else None)
        for name in phase_columns:
            known = _known(rows, name)
            # Epochs are those of a typical trial, seconds those of all together.
            aggregate = median if name.endswith("_epochs") else np.sum
            line.append(float(aggregate(known)) if known else None)
        writer.writerow(map(spreadsheet, line))
    return text.getvalue()


def _intervals(axes: Row, rows: Sequence[Row]) -> list[Sequence[float | None]]:
    """The mean and the ends of the interval of every metric; None for one that no trial has."""
    # Metrics that the same number of trials has are computed at once: a sweep has thousands of cells.
    metrics_by_size: dict[int, list[tuple[Metric, list[float]]]] = {}
    for metric in metrics():
        known = _known(rows, metric.name)
        metrics_by_size.setdefault(len(known), []).append((metric, known))
    levels = dict[str, Sequence[float | None]]()
    for metric, _ in metrics_by_size.pop(0, []):
        levels[metric.name] = (None, None, None)
    sizes = _sizes(rows)
    for together in metrics_by_size.values():
        block = np.array([known for _, known in together])
        bounds = [metric.bounds for metric, _ in together]
        intervals = level_intervals(block, bounds, sizes, axes.get("split"))
        for (metric, _), interval in zip(together, intervals, strict=True):
            levels[metric.name] = interval
    # Those from predictions take the place of those from trials.
    levels |= levels_of(rows)
    return [levels[metric.name] for metric in metrics()]


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


def differing_options(cells: Sequence[Row]) -> list[str]:
    """The options in which cells that use them differ; axes come first."""
    columns = _columns_of(cells)
    # Axes are few and in a fixed order; options follow in the order in which cells have them.
    ordered = [axis for axis in COLUMNS if axis in columns]
    ordered += [column for column in columns if column not in COLUMNS]
    differing = []
    for column in ordered:
        used = [cell[column] for cell in cells if cell.get(column) is not None]
        # As text, which the table shows: values that look alike would make a column of equal texts.
        if any(value is not used[0] and str(value) != str(used[0]) for value in used):
            differing.append(column)
    return differing


def _columns_of(cells: Sequence[Row]) -> list[str]:
    """The columns that any of the cells has and tables show, in the order of the first cell that has each."""
    columns = dict[str, None]()
    for cell in cells:
        columns |= dict.fromkeys(cell)
    return [column for column in columns if column not in NOT_SHOWN]


def _outcome(axes: Row, rows: Sequence[Row], chosen: Metric) -> dict[str, str]:
    """The results of a cell by the heading of their column."""
    metric_headings, phase_headings = (chosen.label, "95 % interval"), ("pretrain epochs", "finetune epochs", "seconds")
    outcome = dict.fromkeys(("trials", *metric_headings, *FLAG_HEADINGS.values(), *phase_headings), "")
    if not rows:
        return outcome | {"trials": "0", chosen.label: "not finished"}
    diverged = n_diverged(rows)
    outcome["trials"] = str(len(rows))
    if diverged:
        outcome["trials"] += f", {diverged} diverged"
    # A cell of which all trials diverged has no metric.
    if _known(rows, chosen.name):
        mean, interval = _mean_and_interval(axes, rows, chosen)
        outcome[chosen.label], outcome["95 % interval"] = mean, interval
    for flag, heading in FLAG_HEADINGS.items():
        outcome[heading] = n_flagged(rows, flag)
    seconds = 0.0
    for phase in ("pretrain", "finetune"):
        epochs = _known(rows, f"{phase}_epochs")
        if epochs:
            outcome[f"{phase} epochs"] = f"{np.median(epochs):g}"
    before, after = (values_of(rows, f"{phase}_seconds") for phase in PHASES)
    for pretrain, finetune in zip(before, after, strict=True):
        # A cell without pre-training has no seconds of it.
        seconds += (pretrain or 0.0) + finetune
    outcome["seconds"] = f"{seconds:.1f}"
    return outcome


def n_flagged(rows: Sequence[Row], flag: str) -> str:
    """The trials that have a flag, such as ``2 of 5``; empty if none does."""
    flags = _known(rows, flag)
    if not any(flags):
        return ""
    return f"{sum(flags)} of {len(flags)}"


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
    return level_interval(_known(rows, metric.name), _sizes(rows), axes.get("split"), metric.bounds)


def _mean_and_interval(axes: Row, rows: Sequence[Row], metric: Metric) -> tuple[str, str]:
    """The mean of a metric, and its interval."""
    mean, low, high = _interval(axes, rows, metric)
    # Too few trials, or a fixed split without predictions, give a mean alone.
    if math.isnan(low):
        return metric.plain(mean), UNKNOWN
    return metric.plain(mean), f"{metric.plain(low)} to {metric.plain(high)}"
