"""Tables of absolute values: a row a dataset."""

import math
from dataclasses import dataclass

from ...metrics import Metric
from ...verdicts import cell_means
from ..blocks import NOTHING, Block, Entry, Table
from ..cell_results import CellResults
from ..competitors import competing
from ..report_options import ReportOptions
from .drawing import Drawing


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
        """The table by a metric, or a number that is shown like one; ``best`` makes the best of each dataset bold."""
        found = competing(results, self.cells(results), self.columns, metric)
        means = cell_means(found.scores, "value", by=("dataset", "competitor"))
        # Scores of losses are negative, so that higher is better; a table shows the losses themselves.
        means["mean"] *= metric.sign
        known = means[means["trials"] > 0].set_index(["dataset", "competitor"])[["mean", "standard_error"]]
        competitors = [*found.names, *found.empty]
        rows = []
        for dataset in sorted(set(found.scores["dataset"])):
            entries = []
            for mean, error in known.reindex([(dataset, name) for name in competitors]).to_numpy():
                text = metric.shown(mean)
                # One trial has no standard error. An entry sorts, and is best, as it is shown.
                shown = text if math.isnan(error) else f"{text} ± {metric.shown(error)}"
                is_there = not math.isnan(mean)
                entries.append(Entry(shown, float(text.replace("−", "-"))) if is_there else Entry(NOTHING, None))
            top = max((metric.sign * each.sort for each in entries if isinstance(each.sort, float)), default=math.nan)
            marked = [each._replace(best=best and each.sort == metric.sign * top) for each in entries]
            rows.append((Entry(dataset, dataset), *marked))
        means[["mean", "standard_error"]] *= metric.scale
        caption = f"Mean {metric.heading}, ± standard error"
        return [Table(name, caption, ("dataset", *competitors), tuple(rows), means)]


@dataclass(frozen=True, kw_only=True)
class EpochsTable(MetricTable):
    """Mean number of fine-tuning epochs with its standard error."""

    name = "epochs_table"

    def blocks(self, results: CellResults, options: ReportOptions, name: str) -> list[Block]:
        return self.table(results, EPOCHS, name, best=False)
