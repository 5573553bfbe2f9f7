"""The table of means of a product of axes."""

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from ..errors import capitalised
from ..intervals import Interval
from ..metrics import Metric
from .blocks import Entry, Table
from .by_axis import Product
from .cell_results import CellResults
from .levels import level_over

OVER_ALL = "average"
"""The heading of means over the settings of an axis: a corruption is called mean."""


def means_table(product: Product, results: CellResults, metric: Metric) -> Table:
    """The metric of each setting, with the last axis across and all others down; its data have a row a setting."""
    *down, across = product.axes
    # A context that all share says nothing.
    context_heading = ["with"] if len(product.cells) > 1 else []
    rows, data = [], []
    for context, tables in product.cells.items():
        first = [context] if context_heading else []
        grid = []
        for setting in itertools.product(*(product.axes[axis] for axis in down)):
            levels = []
            for value in product.axes[across]:
                cells = [placed[*setting, value].key for placed in tables.values()]
                mean, low, high = level = level_over(results, cells, metric)
                levels.append(level)
                named = {"context": context, **dict(zip(product.axes, (*setting, value), strict=True))}
                data.append(named | {"mean": mean, "mean_low": low, "mean_high": high, "datasets": len(cells)})
            grid.append([*levels, _mean_of(levels)])
            rows.append(_row([*first, *setting], grid[-1], metric))
        edge = [_mean_of(column) for column in zip(*grid, strict=True)]
        rows.append(_row([*first, OVER_ALL, *[""] * (len(down) - 1)], edge, metric))
    heading = capitalised(metric.heading)
    caption = f"{heading}, with 95 % intervals, of each setting, {across} across; at the edges means over settings"
    headings = (*context_heading, *down, *product.axes[across], OVER_ALL)
    return Table("means", caption, headings, tuple(rows), pd.DataFrame(data))


def _mean_of(levels: Sequence[Interval]) -> Interval:
    """The mean of several levels, without an interval."""
    return Interval(float(np.mean([level.mean for level in levels])), math.nan, math.nan)


def _row(names: Sequence[str], levels: Sequence[Interval], metric: Metric) -> tuple[Entry, ...]:
    """A line of the table."""
    entries = [Entry(name, name) for name in names]
    for mean, low, high in levels:
        ends = "" if math.isnan(low) else f" ({metric.shown(low)} to {metric.shown(high)})"
        entries.append(Entry(f"{metric.shown(mean)}{ends}", mean))
    return tuple(entries)
