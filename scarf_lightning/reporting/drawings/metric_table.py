"""Tables of absolute values: a row a dataset."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from ...errors import counted
from ...metrics import Metric
from ...verdicts import cell_means
from ..blocks import NOTHING, Block, Entry, Table
from ..cell_results import CellResults
from ..competitors import competing
from ..report_options import ReportOptions
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
        """The table by a metric, and a warning of the cells that have no trial.

        Args:
            results: what there is.
            metric: or a number that is shown like one.
            name: of the table.
            best: whether the best of each dataset is bold.
        """
        found = competing(results, self.cells(results), self.columns, metric)
        means = cell_means(found.scores, "value", by=("dataset", "competitor"))
        # Scores of losses are negative, so that higher is better; a table shows the losses themselves.
        means["mean"] *= metric.sign
        cells: dict[Any, dict[Any, Any]] = means.set_index(["dataset", "competitor"]).to_dict("index")
        competitors = [*found.names, *found.empty]
        rows = []
        for dataset in sorted(set(found.scores["dataset"])):
            entries = [_entry(cells.get((dataset, competitor)), metric) for competitor in competitors]
            known = [metric.sign * each.sort for each in entries if isinstance(each.sort, float)]
            if best and known:
                entries = [each._replace(best=each.sort == metric.sign * max(known)) for each in entries]
            rows.append((Entry(str(dataset), str(dataset)), *entries))
        missing = [f"{dataset} {competitor}" for (dataset, competitor), cell in cells.items() if not cell["trials"]]

        means[["mean", "standard_error"]] *= metric.scale
        caption = f"Mean {metric.heading}, ± standard error"
        blocks: list[Block] = [Table(name, caption, ("dataset", *competitors), tuple(rows), means)]
        return blocks + warning(f"{counted(len(missing), 'cell')} without {metric.label}", missing)


@dataclass(frozen=True, kw_only=True)
class EpochsTable(MetricTable):
    """Mean number of fine-tuning epochs with its standard error."""

    name = "epochs_table"

    def blocks(self, results: CellResults, options: ReportOptions, name: str) -> list[Block]:
        return self.table(results, EPOCHS, name, best=False)


def _entry(cell: dict[str, Any] | None, metric: Metric) -> Entry:
    """A mean with its standard error; it sorts, and is best, as it is shown."""
    if cell is None or not cell["trials"]:
        return Entry(NOTHING, None)
    mean = metric.shown(cell["mean"])
    # One trial has no standard error.
    error = "" if pd.isna(cell["standard_error"]) else f" ± {metric.shown(cell['standard_error'])}"
    return Entry(f"{mean}{error}", float(mean.replace("−", "-")))
