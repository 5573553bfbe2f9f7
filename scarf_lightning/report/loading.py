"""The cells of a report, and what the store holds of them."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from ..data.targets import Classes, Target, leading_metric
from ..errors import UsageError, did_you_mean
from ..intervals import SIZES
from ..metrics import metrics
from ..options.settings import SHORTHANDS
from ..results import (
    described_cells,
    measured_rows,
    newest_versions,
    no_results,
    read_cell,
    read_curves,
    read_environments,
    reading_columns,
    values_of,
)
from ..results.identity import NULL, is_of_reading, with_reading
from ..results.records import Row
from .names import Labels, asked_for, is_context, telling

NOT_AXES = ("dataset_id", "fingerprint", "wanted", "finished", "failure", "overrides", "data", "science")
ORDERED = ("regime", "pretrain", "method")
PAPERS_ORDER = (
    "full", "noise30", "semi25",
    "none", "scarf", "scarf_ae", "add_noise_ae", "no_noise_ae", "scarf_disc",
)  # fmt: skip
BESIDE = ("recipe", *SHORTHANDS)
"""Options that set several others, and are no column of a cell. They are one of a report whose cells differ in them."""
CURVE = ("cell", "phase", "trial", "epoch", "train_loss", "validation_loss")
SECONDS = ("pretrain_seconds", "finetune_seconds")


@dataclass(frozen=True)
class ReportedCell:
    """A cell that a report is of.

    Args:
        axes: ``dataset``, and a column for each axis and option that the cell uses.
        dataset_id: OpenML's, if it has one.
        folder: its place in the store; None while its data, and so its fingerprint, are not known.
        trials: how many are wanted.
        overrides: what asks for it on the command line.
        labels: what people call its parts, by axis.
        metric: the one that its run asks for.
        failure: why it failed when it was last tried.
        rows: of its finished trials, if they have been read.
        target: what it predicts, if ``rows`` are given.
    """

    axes: Row
    dataset_id: int | None
    folder: Path | None
    trials: int
    overrides: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    metric: str | None = None
    failure: str | None = None
    rows: Sequence[Row] = ()
    target: Target | None = None


@dataclass(frozen=True)
class CellResults:
    """Results of cells, from which a report is made.

    Attributes:
        cells: a row a cell, in the order of the sweep: ``dataset, dataset_id``; a column an axis and option, None if
            the cell does not use it; ``fingerprint``; ``wanted`` and ``finished`` trials; ``failure``; ``overrides``.
        trials: a row a finished trial: ``cell``, a label of ``cells``; ``trial``; whether it ``diverged``; each metric,
            NaN if it did or if the row is older than the metric and has no predictions; ``finetune_epochs``;
            ``n_train, n_test, n_labelled``, rows of the split; ``n_labels``, with those that validate; ``one_class``, 1
            if all test rows were predicted as one class; ``pretrain_seconds, finetune_seconds``, NaN without such a
            phase.
        folders: of the cells in the store, by label.
        damaged: records that cannot be used, and why.
        usual: the axis columns of a cell without overrides; names leave out what is usual.
        labels: by axis, what people call its parts.
        targets: what the cells predict, by label, as far as that is known.
        metric: the one that they ask for, or else the one that their targets lead with.
        rows_of_trials: the values of test rows that verdicts have computed so far, by cell and metric.
    """

    cells: pd.DataFrame
    trials: pd.DataFrame
    folders: dict[int, Path] = field(default_factory=dict)
    damaged: dict[Path, str] = field(default_factory=dict)
    usual: Row = field(default_factory=dict)
    labels: Labels = field(default_factory=dict)
    targets: dict[int, Target] = field(default_factory=dict)
    metric: str = Classes.usual_metric
    rows_of_trials: dict[tuple[int, str], Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def axes(self) -> list[str]:
        """The columns that say what a cell is."""
        return [column for column in self.cells.columns if column not in NOT_AXES]

    @cached_property
    def rows(self) -> dict[int, Row]:
        """The cells as plain rows, by label."""
        return dict(zip(map(int, self.cells.index), rows_of(self.cells), strict=True))

    @cached_property
    def different(self) -> list[str]:
        """The columns in which cells of one dataset differ, as `telling` finds them."""
        asked = {column for overrides in self.cells["overrides"] for column in asked_for(overrides)}
        return telling(list(self.rows.values()), self.axes, list(asked))

    @property
    def contexts(self) -> list[str]:
        """Those of the different columns across which nothing is compared."""
        return [column for column in self.different if is_context(column)]

    @property
    def compared(self) -> list[str]:
        """Those of the different columns that make cells competitors."""
        return [column for column in self.different if not is_context(column)]

    @property
    def unfinished(self) -> pd.DataFrame:
        """The cells that lack trials."""
        return self.cells[self.cells["finished"] < self.cells["wanted"]]


def rows_of(frame: pd.DataFrame) -> list[Row]:
    """The rows of a frame, whose columns keep their values as they are."""
    columns = list(map(str, frame.columns))
    return [dict(zip(columns, values, strict=True)) for values in frame.itertuples(index=False, name=None)]


def read_results(
    wanted: Sequence[ReportedCell], damaged: Mapping[Path, str] | None = None, usual: Row | None = None
) -> CellResults:
    """The results of these cells, from the store if the cells do not bring them. Damaged records are left out and
    named, beside those that are known already; ``usual`` is as in `CellResults`."""
    damaged = dict(damaged or {})
    found: list[Sequence[Row]] = []
    targets: dict[int, Target] = {}
    for label, cell in enumerate(wanted):
        rows, target = cell.rows, cell.target
        if not rows and cell.folder is not None:
            stored = read_cell(cell.folder)
            measured = measured_rows(stored)
            rows = [measured[trial] for trial in range(cell.trials) if trial in measured]
            target = None if stored.description is None else stored.target
            damaged |= stored.damaged
        found.append(rows)
        targets |= {} if target is None else {label: target}
    cells = [
        cell.axes
        | {
            "dataset_id": cell.dataset_id,
            "fingerprint": None if cell.folder is None else cell.folder.name,
            "wanted": cell.trials,
            "finished": len(rows),
            "failure": cell.failure,
            "overrides": cell.overrides,
        }
        for cell, rows in zip(wanted, found, strict=True)
    ]
    for row, several in zip(cells, _several_at_once(wanted), strict=True):
        row.update(several)
    cells = with_reading(cells)
    columns = dict.fromkeys(key for cell in cells for key in cell)
    unset = {column: NULL for column in columns if is_of_reading(column)}
    kinds = {"wanted": "int64", "finished": "int64"}  # axes keep their own values, and None where they are not used
    frame = {c: pd.Series([cell.get(c) for cell in cells], dtype=kinds.get(c, "object")) for c in columns}

    def column(name: str) -> list[Any]:
        return [value for rows in found for value in values_of(rows, name)]

    trials = {
        "cell": pd.Series([label for label, rows in enumerate(found) for _ in rows], dtype="int64"),
        "trial": pd.Series(column("trial"), dtype="int64"),
        "diverged": pd.Series([value is not None for value in column("diverged")], dtype="bool"),
    }
    for name in (*(metric.name for metric in metrics()), "finetune_epochs", *SIZES, "n_labels", "one_class", *SECONDS):
        trials[name] = pd.Series(column(name), dtype="float64")
    labels: dict[str, dict[str, str]] = {}
    for cell in wanted:
        for axis, name in cell.labels.items():
            labels.setdefault(axis, {})[str(cell.axes.get(axis))] = name
    folders = {label: cell.folder for label, cell in enumerate(wanted) if cell.folder is not None}
    asked = {cell.metric for cell in wanted} - {None}
    metric = str(asked.pop()) if len(asked) == 1 else leading_metric(targets.values())
    return CellResults(
        pd.DataFrame(frame), pd.DataFrame(trials), folders, damaged, unset | (usual or {}), labels, targets, metric
    )


def _several_at_once(wanted: Sequence[ReportedCell]) -> list[Row]:
    """For each cell the options in which all cells differ that set several others, such as a recipe."""
    found: list[Row] = [{} for _ in wanted]
    for name in BESIDE:
        given = [_last_value(cell.overrides, name) for cell in wanted]
        # A cell that does not name it may have any value, for instance of a file.
        if None not in given and len(set(given)) > 1:
            for row, text in zip(found, given, strict=True):
                row[name] = _number_or_text(str(text))
    return found


def _last_value(overrides: Sequence[str], name: str) -> str | None:
    """The value that overrides give an option; None if they do not."""
    values = [override.partition("=")[2] for override in overrides if override.startswith(f"{name}=")]
    return values[-1] if values else None


def _number_or_text(text: str) -> float | str:
    try:
        return int(text) if text.isdigit() else float(text)
    except ValueError:
        return text


def cells_of_folder(results: Path) -> tuple[list[ReportedCell], dict[Path, str], list[str]]:
    """The cells in a folder, each with the trials that it was asked for or has; descriptions that cannot be read; and
    sentences on cells of other versions, which are left out, see `newest_versions`.

    One file that was read in two ways is one dataset. Datasets of one name that were read alike and are no versions of
    each other are told apart by the hash of their content.

    Raises:
        UsageError: no such folder, or no cells in it that can be read.
    """
    found = list(described_cells(results))
    damaged = {path: why for _, stored in found if stored.description is None for path, why in stored.damaged.items()}
    cells, sentences = newest_versions([(place, stored) for place, stored in found if stored.description is not None])
    if not cells:
        raise no_results(results, damaged)
    described = [(place, stored, stored.description) for place, stored in cells if stored.description is not None]
    readings = _readings([cell for _, _, cell in described])
    contents = {(cell["dataset"], readings[_table_of(cell)], cell["identity"]["data"]) for _, _, cell in described}
    counts = Counter((name, reading) for name, reading, _ in contents)
    wanted = []
    for folder, stored, cell in sorted(described, key=lambda each: _place(each[2])):
        name, data = _table_of(cell)
        reading = readings[name, data]
        several = counts[name, reading] > 1
        others = {column: value for column, value in cell["options"].items() if not is_of_reading(column)}
        trials = max([*(trial + 1 for trial in stored.rows), _asked_for(cell["overrides"])])
        wanted.append(
            ReportedCell(
                {"dataset": f"{name} ({data[:6]})" if several else name} | others | dict(reading),
                cell["dataset_id"],
                folder,
                trials,
                tuple(cell["overrides"]),
                cell["labels"],
                cell["config"].get("metric"),
            )
        )
    return wanted, damaged, sentences


Reading = tuple[tuple[str, str], ...]
"""Options of reading with their values."""


def _readings(cells: Sequence[Row]) -> dict[tuple[str, str], Reading]:
    """Readings of the tables, by dataset and hash.

    Two ways of asking for one table, such as a numeric column that is called numeric, are one: the shorter.
    """
    found: dict[tuple[str, str], Reading] = {}
    for cell in cells:
        # Results that do not describe their reading have it in their configuration.
        dataset = cell["config"].get("dataset")
        options = reading_columns(dataset) if isinstance(dataset, Mapping) else {}
        options |= {column: value for column, value in cell["options"].items() if is_of_reading(column)}
        reading = tuple(sorted((column, str(value)) for column, value in options.items()))
        table = _table_of(cell)
        found[table] = min(found.get(table, reading), reading, key=lambda each: (len(each), each))
    return found


def _table_of(cell: Row) -> tuple[str, str]:
    """The dataset of a cell and the hash of its data."""
    return cell["dataset"], cell["identity"]["data"]


def narrowed(
    cells: Sequence[ReportedCell], conditions: Sequence[str], options: Sequence[str] = ()
) -> list[ReportedCell]:
    """The cells that have these options: ``dataset=iris``, ``pretrain=none,scarf``.

    An unknown name is answered with the nearest one, which may also be one of the ``options`` of a report.

    Raises:
        UsageError: a condition has no ``=``, names a column that no cell uses, or leaves no cell.
    """
    known = list(dict.fromkeys(column for cell in cells for column in cell.axes))
    for condition in conditions:
        column, sign, values = condition.partition("=")
        if not sign or column not in known:
            near = did_you_mean(column, (*options, *known))
            raise UsageError(
                f"{condition} is not an option of a report, nor a column of its results; --help names the "
                f"options.{near}"
            )
        there = [str(cell.axes.get(column, "null")) for cell in cells]
        wanted = re.split(r",(?![^\[]*\])", values)  # a comma within [a,b] is one of the value
        for value in wanted:
            if value not in there:
                raise UsageError(f"No cell has {column}={value}; {column} has: {', '.join(dict.fromkeys(there))}.")
        cells = [cell for cell, its in zip(cells, there, strict=True) if its in wanted]
    return list(cells)


def curves_of(results: CellResults, cells: Iterable[int]) -> pd.DataFrame:
    """The curves of some cells' wanted trials with the columns `CURVE`, NaN for a loss that a phase does not have."""
    frames = []
    for cell in cells:
        trials = results.trials.loc[results.trials["cell"] == cell, "trial"]
        if len(trials):
            curves, damaged = read_curves(read_cell(results.folders[cell]))
            results.damaged.update(damaged)
            frames.append(curves.assign(cell=cell)[curves["trial"].isin(trials)])
    filled = [frame for frame in frames if len(frame)] or [pd.DataFrame()]
    return pd.concat(filled).reindex(columns=list(CURVE))


def environments(results: CellResults) -> list[dict[str, str]]:
    """The versions and hardware that each of the cells' stacks was trained with."""
    found = []
    for folder in results.folders.values():
        read, damaged = read_environments(read_cell(folder))
        results.damaged.update(damaged)
        for values in read:
            versions = values.pop("packages", {})
            found.append({str(name): str(value) for name, value in {**values, **versions}.items()})
    return found


def _asked_for(overrides: Sequence[str]) -> int:
    """The number of trials that a command line asks for; 0 if it does not say."""
    given = _last_value(overrides, "trials") or ""
    return int(given) if given.isdigit() else 0


def _place(cell: Row) -> list[tuple[bool, float, str]]:
    """A sort key: the paper's order of regimes and pre-trainings, numbers by size, else names."""
    options = cell["options"]
    values = [options.get(name) for name in dict.fromkeys((*ORDERED, *sorted(options)))]
    return [_sort_key(value) for value in (*values[:3], cell["dataset"], cell["identity"]["data"], *values[3:])]


def _sort_key(value: Any) -> tuple[bool, float, str]:
    if isinstance(value, int | float):
        return True, float(value), ""
    known = PAPERS_ORDER.index(value) if value in PAPERS_ORDER else len(PAPERS_ORDER)
    return value is not None, known, str(value)
