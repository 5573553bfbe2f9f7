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
        # The usual number of trials is in the caption, so only cells with fewer show theirs.
        most = int(means["trials"].max())
        cells: dict[Any, dict[Any, Any]] = means.set_index(["dataset", "competitor"]).to_dict("index")
        competitors = [*found.names, *found.empty]
        rows = []
        for dataset in sorted(set(found.scores["dataset"])):
            dataset_cells = [cells.get((dataset, competitor), {"trials": 0}) for competitor in competitors]
            # Means that are equal as they are shown are equally bold.
            bold = _best_text(dataset_cells, metric) if best else None
            entries = [_entry(cell, most, metric, bold) for cell in dataset_cells]
            rows.append((Entry(str(dataset), str(dataset)), *entries))
        missing = [f"{dataset} {competitor}" for (dataset, competitor), cell in cells.items() if not cell["trials"]]

        caption = (
            f"Mean {metric.heading}, ± standard error, of {counted(most, 'trial')}; where there are fewer, their "
            "number in brackets"
        )
        means[["mean", "standard_error"]] *= metric.scale
        blocks: list[Block] = [Table(name, caption, ("dataset", *competitors), tuple(rows), means)]
        return blocks + warning(f"{counted(len(missing), 'cell')} without {metric.label}", missing)


@dataclass(frozen=True, kw_only=True)
class EpochsTable(MetricTable):
    """Mean number of fine-tuning epochs with its standard error."""

    name = "epochs_table"

    def blocks(self, results: CellResults, options: ReportOptions, name: str) -> list[Block]:
        return self.table(results, EPOCHS, name, best=False)


def _best_text(cells: list[dict[str, Any]], metric: Metric) -> str | None:
    """The best mean of a dataset as it is shown; None if no cell has a trial."""
    means = [metric.shown(cell["mean"]) for cell in cells if cell["trials"]]
    if not means:
        return None
    return max(means, key=float) if metric.higher_is_better else min(means, key=float)


def _entry(cell: dict[str, Any], most: int, metric: Metric, bold: str | None) -> Entry:
    """A mean with its standard error, and the number of trials if others have more."""
    n_trials = cell["trials"]
    if not n_trials:
        return Entry(NOTHING, None)
    mean = metric.shown(cell["mean"])
    text = mean
    # One trial has no standard error.
    if not pd.isna(cell["standard_error"]):
        text += f" ± {metric.shown(cell['standard_error'])}"
    if n_trials != most:
        text += f" ({n_trials})"
    return Entry(text, metric.scale * float(cell["mean"]), best=mean == bold)
