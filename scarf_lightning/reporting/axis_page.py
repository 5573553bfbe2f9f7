"""The first screen of a product of axes: an answer for each axis, one figure, one table of means; then cell by cell."""

import itertools
import math
from collections.abc import Sequence

import pandas as pd

from ..errors import capitalised
from ..metrics import Metric
from .axis_sentences import HOLD_TOGETHER
from .blocks import Block, Entry, Paragraph, Table, table
from .by_axis import AnswersByAxis, Effect, Product, means_grid
from .cell_results import CellResults
from .effects import effects_picture
from .levels import level_over
from .names import column_in_words
from .report_options import ReportOptions
from .schema import arrange_columns, evidence_columns
from .sentences import shown_answer


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
    caption = (
        f"{heading}, with 95 % intervals, of each setting: {column_in_words(across)} across. At the edges the means "
        "over the settings of an axis, which the answers compare trial by trial"
    )
    return Table("means", caption, tuple(grid.headings), tuple(rows), _means_data(product, results, metric))


def _means_data(product: Product, results: CellResults, metric: Metric) -> pd.DataFrame:
    """A row a setting."""
    data = []
    for context, by_dataset in product.cells.items():
        for setting in itertools.product(*product.axes.values()):
            cells = [settings[setting] for settings in by_dataset.values()]
            mean, low, high = level_over(results, cells, metric)
            measures = {"mean": mean, "mean_low": low, "mean_high": high, "datasets": len(cells)}
            data.append({"context": context, **dict(zip(product.axes, setting, strict=True)), **measures})
    return pd.DataFrame(data)


def effects_frame(effects: Sequence[Effect]) -> pd.DataFrame:
    """A row an effect or interaction, as CSV and JSON have it."""
    data = []
    for each in effects:
        named = {
            "effect": " × ".join(each.axes),
            "value": " × ".join(each.values),
            "reference": " × ".join(each.references),
            "over": each.over,
            "context": each.context,
        }
        data.append(named | evidence_columns(each))
    return arrange_columns("effects", pd.DataFrame(data))


def axis_blocks(answers: AnswersByAxis, results: CellResults, options: ReportOptions) -> list[Block]:
    """The figure of the answers, and the table of means."""
    every = [*answers.effects, *answers.interactions]
    return [effects_picture(every, options), means_table(answers.product, results, options.measure)]


def axis_details(by_axis: AnswersByAxis) -> list[Block]:
    """What stands behind the answers by axis: how they hold together, and all effects."""
    every = effects_frame([*by_axis.effects, *by_axis.interactions])
    lines = []
    for each in (*by_axis.effects, *by_axis.interactions):
        lines.append((each.label, each.reference, each.over, shown_answer(each), each.verdict.trials))
    frame = pd.DataFrame(lines, columns=["effect", "beside", "over", "answer", "trials"])
    blocks: list[Block] = [Paragraph(HOLD_TOGETHER)]
    blocks += [Paragraph(sentence) for sentence in by_axis.product.left_out]
    blocks.append(table("effects", "Effects of the axes, and their interactions", frame, data=every))
    return blocks
