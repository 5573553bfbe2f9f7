"""The table of means of a product of axes."""

import itertools
import math

import pandas as pd

from ..errors import capitalised
from ..metrics import Metric
from .blocks import Entry, Table
from .by_axis import Product, means_grid, setting_level
from .cell_results import CellResults


def means_table(product: Product, results: CellResults, metric: Metric) -> Table:
    """The metric of each setting, as a page shows it."""
    grid = means_grid(product, results, metric)
    rows = []
    for names, levels in grid.rows:
        entries = [Entry(name, name) for name in names]
        for mean, low, high in levels:
            ends = "" if math.isnan(low) else f" ({metric.shown(low)} to {metric.shown(high)})"
            entries.append(Entry(f"{metric.shown(mean)}{ends}", mean))
        rows.append(tuple(entries))
    *_, across = product.axes
    heading = capitalised(metric.heading)
    caption = f"{heading}, with 95 % intervals, of each setting, {across} across; at the edges means over settings"
    return Table("means", caption, tuple(grid.headings), tuple(rows), _means_data(product, results, metric))


def _means_data(product: Product, results: CellResults, metric: Metric) -> pd.DataFrame:
    """A row a setting."""
    data = []
    for context, tables in product.cells.items():
        for setting in itertools.product(*product.axes.values()):
            mean, low, high = setting_level(tables, setting, results, metric)
            measures = {"mean": mean, "mean_low": low, "mean_high": high, "datasets": len(tables)}
            data.append({"context": context, **dict(zip(product.axes, setting, strict=True)), **measures})
    return pd.DataFrame(data)
