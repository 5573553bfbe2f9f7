"""The cells of a report, what the store holds of them, and their trials as the statistics take them."""

import math
import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from ..data.targets import Classes, Target, leading_metric
from ..errors import UsageError, did_you_mean, unknown_name
from ..intervals import SIZES, Interval, median_sizes, overlap_ratio
from ..metrics import Metric, metrics
from ..options.config import SHORTHANDS
from ..results import (
    Predictions,
    Stored,
    described_cells,
    newest_versions,
    no_results,
    read_cell,
    read_curves,
    read_environments,
    read_predictions,
)
from ..results.identity import NULL, is_of_reading, with_reading
from ..results.records import Row
from ..results.store import FLAGS
from ..verdicts.rows_and_fits import FORMULAS, RowsOfTrial, rows_by_metric
from ..verdicts.trials import Trials
from .learning import EVIDENCE, not_learnt
from .names import Competition, competition, distinguishing_columns, is_context, options_in, setting_name

NOT_AXES = ("dataset_id", "fingerprint", "wanted", "finished", "failure", "overrides", "data", "science")
ORDERED = ("regime", "pretrain", "method")
BESIDE = ("recipe", *SHORTHANDS)
"""Options that set several others, and are no column of a cell. They are one of a report whose cells differ in them."""
CURVE = ("cell", "phase", "trial", "epoch", "train_loss", "validation_loss")
PHASES = ("pretrain", "finetune")
COUNTS = ("pretrain_epochs", "finetune_epochs", *SIZES, "n_labels", "n_label_classes")
SECONDS = ("pretrain_seconds", "finetune_seconds")
MANY = 200
"""Cells above which the screen shows no table, and predictions are not kept in memory."""


@dataclass(frozen=True)
class ReportedCell:
    """A cell that a report is of.

    Args:
        axes: ``dataset``, and a column for each axis and option that the cell uses.
        dataset_id: OpenML's, if it has one.
        folder: its place in the store; None while its data, and so its fingerprint, are not known.
        trials: how many are wanted.
        overrides: that request it on the command line.
        metric: the one that its run names.
        failure: why it failed when it was last tried.
        stored: its records, if they have been read.
    """

    axes: Row
    dataset_id: int | None
    folder: Path | None
    trials: int
    overrides: tuple[str, ...] = ()
    metric: str | None = None
    failure: str | None = None
    stored: Stored | None = None


@dataclass(frozen=True)
class CellResults:
    """Results of cells, from which a report is made.

    Attributes:
        cells: a row a cell, in the order of the sweep: ``dataset, dataset_id``; a column an axis and option, None if
            the cell does not use it; ``fingerprint``; ``wanted`` and ``finished`` trials; ``failure``; ``overrides``.
        trials: a row a finished trial: ``cell``, a label of ``cells``; ``trial``; whether it ``diverged``; each metric,
            NaN if it did or if the row is older than the metric; the epochs of both phases;
            ``n_train, n_test, n_labelled``, rows of the split; ``n_labels``, with those that validate;
            ``n_label_classes``, the classes among the labels; ``one_class``, 1 if all test rows were predicted as one
            class; ``worse_than_frequencies``, 1 if the log-loss is above that of the labels' class frequencies;
            ``pretrain_seconds, finetune_seconds``, NaN without such a phase.
        folders: of the cells in the store, by label.
        damaged: records that cannot be used, and why.
        usual: the axis columns of a cell without overrides; of several references the most usual one is taken.
        targets: what the cells predict, by label, as far as that is known.
        metric: the one that their runs name, or else the leading one of their targets.
        stored: the records of the cells that are in a store, by label.
    """

    cells: pd.DataFrame
    trials: pd.DataFrame
    folders: dict[int, Path] = field(default_factory=dict)
    damaged: dict[Path, str] = field(default_factory=dict)
    usual: Row = field(default_factory=dict)
    targets: dict[int, Target] = field(default_factory=dict)
    metric: str = Classes.usual_metric
    stored: dict[int, Stored] = field(default_factory=dict, compare=False, repr=False)
    _metric_trials: dict[tuple[int, str], Trials] = field(default_factory=dict, init=False, compare=False, repr=False)
    _predictions: dict[int, dict[int, Predictions]] = field(default_factory=dict, compare=False, repr=False)
    _columns: dict[str, dict[int, list[Any]]] = field(default_factory=dict, init=False, compare=False, repr=False)

    @cached_property
    def axes(self) -> list[str]:
        """The columns that say what a cell is."""
        return [column for column in self.cells.columns if column not in NOT_AXES]

    def predictions_of(self, cell: int) -> dict[int, Predictions]:
        """The predictions that a cell has kept, by trial; those of few cells are read once."""
        if cell in self._predictions:
            return self._predictions[cell]
        stored = self.stored.get(cell)
        # A damaged file costs its own trials alone, and the page lists it.
        predictions = {} if stored is None else read_predictions(stored)
        self.damaged.update({} if stored is None else stored.damaged)
        if len(self.cells) <= MANY:
            self._predictions[cell] = predictions
        return predictions

    @cached_property
    def _trials_by_cell(self) -> dict[Any, pd.DataFrame]:
        # A report asks for them thousands of times, and each search through all rows takes longer with more cells.
        return dict(iter(self.trials.groupby("cell", sort=False)))

    def trials_of(self, cell: int) -> pd.DataFrame:
        """The rows of `trials` that are of a cell."""
        return self._trials_by_cell.get(cell, self.trials.iloc[:0])

    def values_of(self, cell: int, name: str) -> list[Any]:
        """A column of a cell's trials, as plain values."""
        # A frame a cell takes longer to look at than all values together.
        if name not in self._columns:
            self._columns[name] = defaultdict(list)
            for label, value in zip(self.trials["cell"].tolist(), self.trials[name].tolist(), strict=True):
                self._columns[name][label].append(value)
        return self._columns[name].get(cell, [])

    def measured(self, cell: int, metric: Metric) -> Trials:
        """The trials of a cell that have the metric, with the test rows of those whose predictions were kept."""
        # A page asks for a cell's trials many times, as a competitor and as a reference of others.
        if (cell, metric.name) not in self._metric_trials:
            page_metrics = [metric]
            # A page and a table of few cells show other metrics too, from the same predictions.
            if cell in self.targets and len(self.cells) <= MANY:
                others = self.targets[cell].metrics()
                page_metrics += [each for each in others if each.name in FORMULAS and each.name != metric.name]
            for each, trials in zip(page_metrics, _measured_trials(self, cell, page_metrics), strict=True):
                self._metric_trials[cell, each.name] = trials
        return self._metric_trials[cell, metric.name]

    def level_of(self, cell: int, metric: Metric) -> Interval:
        """The mean of a cell's metric over trials with its interval, whose ends are NaN if the error is unknown."""
        return self.measured(cell, metric).level(metric)

    def sign_of(self, cell: int) -> str:
        """The sign that a cell has learnt nothing, see `learning.not_learnt`; empty if there is none."""
        return not_learnt(self.evidence_of(cell), self.targets.get(cell))

    def evidence_of(self, cell: int) -> list[Row]:
        """The columns of `EVIDENCE` of a cell's trials."""
        names = [name for name in EVIDENCE if name in self.trials]
        columns = zip(*(self.values_of(cell, name) for name in names), strict=True)
        return [dict(zip(names, values, strict=True)) for values in columns]

    @cached_property
    def rows(self) -> dict[int, Row]:
        """The cells as plain rows, by label."""
        return dict(zip(map(int, self.cells.index), rows_of(self.cells), strict=True))

    @cached_property
    def different(self) -> list[str]:
        """The columns in which cells of one dataset differ, as `distinguishing_columns` finds them."""
        names = [name for overrides in self.cells["overrides"] for name in options_in(overrides)]
        return distinguishing_columns(list(self.rows.values()), self.axes, names)

    @cached_property
    def names(self) -> dict[int, str]:
        """The full name of each cell: its dataset if there are several, then all in which cells differ."""
        # Cells that differ in nothing, such as a single one, still have a name.
        columns = self.different or ["pretrain", "method"]
        if len(set(self.cells["dataset"])) > 1:
            columns = ["dataset", *columns]
        return {cell: setting_name(row, columns) for cell, row in self.rows.items()}

    @property
    def contexts(self) -> list[str]:
        """Those of the different columns across which nothing is compared."""
        return [column for column in self.different if is_context(column)]

    @property
    def compared(self) -> list[str]:
        """Those of the different columns that make cells competitors."""
        return [column for column in self.different if not is_context(column)]

    @cached_property
    def competition(self) -> Competition:
        """The cells as competitors, each with its name, its context and its number of labels."""
        return competition(self.rows, self.compared, self.contexts)

    @property
    def unfinished(self) -> pd.DataFrame:
        """The cells that lack trials."""
        return self.cells[self.cells["finished"] < self.cells["wanted"]]


def _measured_trials(results: CellResults, cell: int, metrics: Sequence[Metric]) -> list[Trials]:
    """The trials of a cell for each of these metrics."""
    numbers = results.values_of(cell, "trial")
    values: dict[str, dict[Hashable, float]] = {}
    for metric in metrics:
        # A trial that diverged has no value, and is in no mean.
        pairs = zip(numbers, results.values_of(cell, metric.name), strict=True)
        values[metric.name] = {trial: value for trial, value in pairs if not math.isnan(value)}
    rows: dict[str, dict[Hashable, RowsOfTrial]] = defaultdict(dict)
    predictions = results.predictions_of(cell)
    for trial in sorted(predictions.keys() & set(numbers)):
        record = predictions[trial]
        # A table of another kind of target has no value of the metric, whose formula would not fit its predictions.
        defined_metrics = [metric for metric in metrics if trial in values[metric.name]]
        for name, test_rows in rows_by_metric(defined_metrics, record.values, record.labels, record.rows).items():
            rows[name][trial] = test_rows
    sizes = median_sizes({name: results.values_of(cell, name) for name in SIZES})
    n_test, _, n_labelled = sizes
    template = Trials(
        {},
        split=results.rows[cell].get("split"),
        n_trained=n_labelled or math.inf,
        test_to_train=overlap_ratio(*sizes),
        # Rows of an older version say their shares alone, which are below 1.
        n_test=n_test if n_test >= 1 else math.inf,
    )
    return [replace(template, values=values[each.name], rows=rows[each.name]) for each in metrics]


def rows_of(frame: pd.DataFrame) -> list[Row]:
    """The rows of a frame, whose columns keep their values as they are."""
    columns = list(map(str, frame.columns))
    return [dict(zip(columns, values, strict=True)) for values in frame.itertuples(index=False, name=None)]


def read_results(
    report_cells: Sequence[ReportedCell], damaged: Mapping[Path, str] | None = None, usual: Row | None = None
) -> CellResults:
    """The results of these cells, from the store if the cells do not bring them. Damaged records are left out and
    named, beside those that are known already; ``usual`` is as in `CellResults`."""
    damaged = dict(damaged or {})
    rows_of_cells: list[Sequence[Row]] = []
    targets: dict[int, Target] = {}
    records: dict[int, Stored] = {}
    for label, cell in enumerate(report_cells):
        rows: Sequence[Row] = ()
        # A run brings what it has just read; a report of a folder reads it.
        stored = read_cell(cell.folder) if cell.stored is None and cell.folder is not None else cell.stored
        if stored is not None:
            records[label] = stored
            # The store may hold more trials than are wanted, or lack some in between.
            rows = [stored.rows[trial] for trial in range(cell.trials) if trial in stored.rows]
            damaged |= stored.damaged
            if stored.description:
                targets[label] = stored.target
        rows_of_cells.append(rows)
    cells = _frame_of_cells(report_cells, rows_of_cells)
    # A report without a setting of its own for how tables are read compares with the reading by default.
    unset = {column: NULL for column in map(str, cells) if is_of_reading(column)}
    # Runs that name different metrics have none in common, so their targets decide.
    metrics = {cell.metric for cell in report_cells if cell.metric is not None}
    return CellResults(
        cells=cells,
        trials=_frame_of_trials(rows_of_cells),
        folders={label: cell.folder for label, cell in enumerate(report_cells) if cell.folder is not None},
        damaged=damaged,
        usual=unset | (usual or {}),
        targets=targets,
        metric=metrics.pop() if len(metrics) == 1 else leading_metric(targets.values()),
        stored=records,
    )


def _frame_of_cells(report_cells: Sequence[ReportedCell], rows_of_cells: Sequence[Sequence[Row]]) -> pd.DataFrame:
    """The frame ``cells`` of `CellResults`."""
    options = [_values_in(cell.overrides) for cell in report_cells]
    # A cell that does not name an option may have any value, for instance of a file.
    common_options = [name for name in BESIDE if all(name in each for each in options)]
    varied_options = [name for name in common_options if len({each[name] for each in options}) > 1]
    cells: list[Row] = []
    for cell, rows, cell_options in zip(report_cells, rows_of_cells, options, strict=True):
        row = {
            "dataset_id": cell.dataset_id,
            "fingerprint": None if cell.folder is None else cell.folder.name,
            "wanted": cell.trials,
            "finished": len(rows),
            "failure": cell.failure,
            "overrides": cell.overrides,
        }
        cells.append({**cell.axes, **row, **{name: yaml.safe_load(cell_options[name]) for name in varied_options}})
    # Columns of axes keep their own values, and None where a cell does not use the axis.
    frame = pd.DataFrame(with_reading(cells), dtype=object)
    counts = ["wanted", "finished"] if cells else []
    return frame.where(frame.notna(), None).astype(dict.fromkeys(counts, "int64"))


def _frame_of_trials(rows_of_cells: Sequence[Sequence[Row]]) -> pd.DataFrame:
    """The frame ``trials`` of `CellResults`."""

    def column(name: str) -> list[Any]:
        return [row.get(name) for rows in rows_of_cells for row in rows]

    labels = [label for label, rows in enumerate(rows_of_cells) for _ in range(len(rows))]
    has_diverged = [epoch is not None for epoch in column("diverged")]
    trials = pd.DataFrame({"cell": labels, "trial": column("trial"), "diverged": has_diverged})
    numbers = [*(metric.name for metric in metrics()), *COUNTS, *FLAGS, *SECONDS]
    values = pd.DataFrame({name: pd.Series(column(name), dtype="float64") for name in numbers})
    return trials.astype({"cell": "int64", "trial": "int64", "diverged": "bool"}).join(values)


def cells_of_folder(results: Path) -> tuple[list[ReportedCell], dict[Path, str], list[str]]:
    """The cells in a folder, each with the trials that it was to have or has; descriptions that cannot be read; and
    sentences on cells of other versions, which are left out, see `newest_versions`.

    One file that was read in two ways is one dataset. Datasets of one name that were read alike and are no versions of
    each other are distinguished by the hash of their content.

    Raises:
        UsageError: no such folder, or no cells in it that can be read.
    """
    readable: list[tuple[Path, Stored]] = []
    damaged: dict[Path, str] = {}
    for place, stored in described_cells(results):
        if not stored.description:
            damaged |= stored.damaged
        else:
            readable.append((place, stored))
    cells, sentences = newest_versions(readable)
    if not cells:
        raise no_results(results, damaged, sentences)

    tables: dict[tuple[str, str], set[str]] = {}
    for _, stored in cells:
        tables.setdefault(_reading(stored.description), set()).add(stored.description["identity"]["data"])
    report_cells = []
    for folder, stored in sorted(cells, key=lambda each: _place(each[1].description)):
        cell, name = stored.description, stored.description["dataset"]
        if len(tables[_reading(cell)]) > 1:
            name = f"{name} ({cell['identity']['data'][:6]})"
        n_trials = _values_in(cell["overrides"]).get("trials", "")
        report_cell = ReportedCell(
            axes={"dataset": name, **cell["options"]},
            dataset_id=cell["dataset_id"],
            folder=folder,
            # A later run may have added trials beyond those that the description was written for.
            trials=max(int(n_trials) if n_trials.isdigit() else 0, max(stored.rows, default=-1) + 1),
            overrides=tuple(cell["overrides"]),
            metric=cell["config"].get("metric"),
            stored=stored,
        )
        report_cells.append(report_cell)
    return report_cells, damaged, sentences


def _reading(cell: Row) -> tuple[str, str]:
    """The name of a cell's dataset, and the options by which it was read."""
    return cell["dataset"], str({name: value for name, value in cell["options"].items() if is_of_reading(name)})


def _values_in(overrides: Iterable[str]) -> dict[str, str]:
    """The values that overrides set, as texts."""
    return dict(override.partition("=")[::2] for override in overrides)


def narrowed(
    cells: Sequence[ReportedCell], conditions: Sequence[str], options: Sequence[str] = ()
) -> list[ReportedCell]:
    """The cells that have these options: ``dataset=iris``, ``pretrain=none,scarf``.

    An unknown name is answered with the nearest one, which may also be one of the ``options`` of a report.

    Raises:
        UsageError: a condition has no ``=``, names a column that no cell uses, or leaves no cell.
    """
    columns = list(dict.fromkeys(column for cell in cells for column in cell.axes))
    matches = list(cells)
    for condition in conditions:
        column, sign, values = condition.partition("=")
        if not sign or column not in columns:
            near = did_you_mean(column, (*options, *columns))
            hint = f"{near} scarf report --help lists the options.".strip()
            fault = f"{condition} is not an option of a report, nor a column of its results"
            raise UsageError(unknown_name(fault, column, columns, "the columns", hint=hint))
        # A cell that does not use the option is found by null, as on the command line.
        texts = [str(cell.axes.get(column, NULL)) for cell in matches]
        # A comma within brackets, as in [a,b], is part of the value.
        allowed_values = re.split(r",(?![^\[]*\])", values)
        for value in allowed_values:
            if value not in texts:
                fault = f"No cell has {column}={value}"
                raise UsageError(unknown_name(fault, value, texts, f"the values of {column}"))
        matches = [cell for cell, text in zip(matches, texts, strict=True) if text in allowed_values]
    return matches


def curves_of(results: CellResults, cells: Iterable[int]) -> pd.DataFrame:
    """The curves of some cells' wanted trials with the columns `CURVE`, NaN for a loss that a phase does not have."""
    frames = []
    for cell in cells:
        if (stored := results.stored.get(cell)) is not None:
            curves = read_curves(stored)
            results.damaged.update(stored.damaged)
            frames.append(curves[curves["trial"].isin(results.trials_of(cell)["trial"])].assign(cell=cell))
    # An empty frame would make the types of the others those of objects.
    filled = [frame for frame in frames if len(frame)]
    # Drawings look for all columns, even where no cell has a curve.
    return (pd.concat(filled) if filled else pd.DataFrame()).reindex(columns=list(CURVE))


def environments(results: CellResults) -> list[dict[str, str]]:
    """The versions and hardware that each of the cells' stacks was trained with."""
    rows = []
    for cell in results.folders:
        stored = results.stored[cell]
        stack_environments = read_environments(stored)
        results.damaged.update(stored.damaged)
        for each in stack_environments:
            # Packages are listed beside the hardware.
            versions = each.pop("packages", {})
            rows.append({name: str(value) for name, value in (each | versions).items()})
    return rows


def _place(cell: Row) -> list[tuple[bool, float, str]]:
    """A sort key: regimes, pre-trainings (none first) and methods, then datasets; numbers by size, else names."""
    options = cell["options"]
    leading = [options.get("regime"), options.get("pretrain") != "none", *map(options.get, ORDERED)]
    others = [value for name, value in sorted(options.items()) if name not in ORDERED]
    return [_sort_key(value) for value in (*leading, cell["dataset"], cell["identity"]["data"], *others)]


def _sort_key(value: Any) -> tuple[bool, float, str]:
    """A key that sorts missing values first, numbers by size, and names by the alphabet."""
    # Tuples compare a number with a number: a column may hold texts in some cells and numbers in others.
    if isinstance(value, int | float):
        return True, float(value), ""
    return value is not None, math.inf, str(value)
