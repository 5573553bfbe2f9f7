"""Tables of absolute values: a row a dataset."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from ...errors import counted
from ...metrics import Metric
from ..blocks import NOTHING, Block, Entry, Table
from ..competitors import competing
from ..loading import CellResults
from ..report_options import ReportOptions
from ..statistics import cell_means
from .drawing import Drawing, warning


class Epochs(Metric):
    """The number of epochs of fine-tuning, in a table like a metric, though it measures no predictions."""

    def plain(self, value: float) -> str:
        return f"{value:.2f}"


EPOCHS = Epochs("finetune_epochs", "epochs of fine-tuning", False, (0.0, float("inf")), lambda _, __: float("nan"))


@dataclass(frozen=True, kw_only=True)
class MetricTable(Drawing):
    """The metric's mean over trials with its standard error; the best of each dataset is bold.

    Args:
        columns: columns of the results whose values are the table's columns.
    """

    name = "metric_table"
    columns: list[str]

    def blocks(self, results: CellResults, options: ReportOptions, name: str) -> list[Block]:
        return self.table(results, options.measure, name, best=True)

    def table(self, results: CellResults, metric: Metric, name: str, *, best: bool) -> list[Block]:
        found = competing(results, self.cells(results), self.columns, metric)
        means = cell_means(found.scores, "value", by=("dataset", "competitor"))
        means["mean"] *= metric.sign
        most = int(means["trials"].max())
        places: dict[Any, dict[Any, Any]] = means.set_index(["dataset", "competitor"]).to_dict("index")
        competitors = [*found.names, *found.empty]
        datasets = sorted(set(found.scores["dataset"]))
        choose = max if metric.higher_is_better else min
        rows = []
        for dataset in datasets:
            cells = [places.get((dataset, competitor), {"trials": 0}) for competitor in competitors]
            known = [metric.shown(cell["mean"]) for cell in cells if cell["trials"]]
            bold = choose(known, key=float) if known and best else None
            entries = [_entry(cell, most, metric, bold) for cell in cells]
            rows.append((Entry(str(dataset), str(dataset)), *entries))
        caption = (
            f"Mean {metric.heading}, ± standard error, of {counted(most, 'trial')}; where there are fewer, their "
            "number in brackets"
        )
        means[["mean", "standard_error"]] *= metric.scale
        blocks: list[Block] = [Table(name, caption, ("dataset", *competitors), tuple(rows), means)]
        missing = [f"{dataset} {competitor}" for (dataset, competitor), cell in places.items() if not cell["trials"]]
        return blocks + warning(f"{counted(len(missing), 'cell')} without a trial", missing)


@dataclass(frozen=True, kw_only=True)
class EpochsTable(MetricTable):
    """Mean number of fine-tuning epochs with its standard error."""

    name = "epochs_table"

    def blocks(self, results: CellResults, options: ReportOptions, name: str) -> list[Block]:
        return self.table(results, EPOCHS, name, best=False)


def _entry(cell: dict[str, Any], most: int, metric: Metric, bold: str | None) -> Entry:
    if not cell["trials"]:
        return Entry(NOTHING, None)
    mean = metric.shown(cell["mean"])
    error = "" if pd.isna(cell["standard_error"]) else f" ± {metric.shown(cell['standard_error'])}"
    fewer = "" if cell["trials"] == most else f" ({cell['trials']})"
    return Entry(f"{mean}{error}{fewer}", metric.scale * float(cell["mean"]), best=mean == bold)
