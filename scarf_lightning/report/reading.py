"""The cells that a report is of, and what the store has of them."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from ..errors import UsageError
from ..results import DamagedRecordError, axis_columns, read_cell, stack_curves, stack_environment

Row = dict[str, Any]
T = TypeVar("T")

NOT_AXES = ("cell", "dataset_id", "fingerprint", "asked", "finished", "failure", "data", "science")
ORDERED = ("regime", "pretrain", "method")
PAPERS_ORDER = (
    "full", "noise30", "semi25",
    "none", "scarf", "scarf_ae", "add_noise_ae", "no_noise_ae", "scarf_disc",
)  # fmt: skip
CURVE = ("cell", "phase", "trial", "epoch", "train_loss", "validation_loss")
MEASURES = ("accuracy", "finetune_epochs")


@dataclass(frozen=True)
class Asked:
    """A cell that a report is of.

    Args:
        axes: ``dataset``, and a column an axis and option that the cell uses.
        dataset_id: OpenML's, where it has one.
        folder: its place in the store; None while its data, and so its fingerprint, are not known.
        trials: how many are wanted.
        failure: why it failed when it was last tried.
    """

    axes: Row
    dataset_id: int | None
    folder: Path | None
    trials: int
    failure: str | None = None


@dataclass(frozen=True)
class Material:
    """What a report is made from.

    Attributes:
        cells: a row a cell, in the order of the sweep: ``dataset, dataset_id``; a column an axis and option, None where
            the cell does not use it; ``fingerprint``; ``asked`` and ``finished`` trials; ``failure``.
        rows: a row a finished trial: ``cell``, a label of ``cells``; ``trial, accuracy, finetune_epochs``.
        folders: of the cells in the store, by label.
        damaged: records that cannot be used, and why.
    """

    cells: pd.DataFrame
    rows: pd.DataFrame
    folders: dict[int, Path]
    damaged: dict[Path, str]

    @property
    def axes(self) -> list[str]:
        """The columns that say what a cell is."""
        return [column for column in self.cells.columns if column not in NOT_AXES]

    @property
    def unfinished(self) -> pd.DataFrame:
        """The cells that lack trials."""
        return self.cells[self.cells["finished"] < self.cells["asked"]]


def read_material(asked: Sequence[Asked], damaged: Mapping[Path, str] | None = None) -> Material:
    """What the store has of these cells; records that cannot be used are named, and left out.

    Args:
        asked: the cells.
        damaged: records that are known to be, with the reason.
    """
    cells: list[Row] = []
    rows: list[Row] = []
    folders: dict[int, Path] = {}
    damaged = dict(damaged or {})
    for cell, each in enumerate(asked):
        finished = 0
        if each.folder is not None:
            stored = read_cell(each.folder)
            damaged |= stored.damaged
            wanted = [stored.rows[trial] for trial in range(each.trials) if trial in stored.rows]
            rows += [{"cell": cell, "trial": row["trial"]} | {m: row.get(m) for m in MEASURES} for row in wanted]
            finished = len(wanted)
            folders[cell] = each.folder
        cells.append(
            each.axes
            | {
                "dataset_id": each.dataset_id,
                "fingerprint": None if each.folder is None else each.folder.name,
                "asked": each.trials,
                "finished": finished,
                "failure": each.failure,
            }
        )
    numbers = dict.fromkeys(("cell", "trial"), "int64") | dict.fromkeys(MEASURES, "float64")
    frame = pd.DataFrame({name: pd.Series([row[name] for row in rows], dtype=kind) for name, kind in numbers.items()})
    return Material(_objects(cells), frame, folders, damaged)


def cells_of_folder(results: Path) -> tuple[list[Asked], dict[Path, str]]:
    """All cells in a folder, each asked for as many trials as the fullest has; and descriptions that cannot be read.

    Data of one name and different content are told apart by their hash.

    Raises:
        UsageError: no such folder, or no cells in it.
    """
    described: list[tuple[Path, Row]] = []
    damaged: dict[Path, str] = {}
    trials = 0
    for path in sorted(results.glob("*/cell.json")):
        stored = read_cell(path.parent)
        if stored.description is not None:
            described.append((path.parent, stored.description))
            trials = max(trials, *(trial + 1 for trial in stored.rows), 0)
        else:
            damaged |= stored.damaged
    if not described:
        raise UsageError(f"{results} holds no results; train a cell first, or name another folder.")
    contents = {(cell["dataset"], cell["identity"]["data"]) for _, cell in described}
    shared = {name for name, n in Counter(name for name, _ in contents).items() if n > 1}
    asked = []
    for folder, cell in sorted(described, key=_place):
        name, data = cell["dataset"], cell["identity"]["data"]
        axes = {"dataset": f"{name} ({data[:6]})" if name in shared else name} | axis_columns(cell["identity"])
        asked.append(Asked(axes, cell["dataset_id"], folder, trials))
    return asked, damaged


def read_curves(material: Material, cells: Iterable[int]) -> pd.DataFrame:
    """The curves of some cells' wanted trials: `CURVE`'s columns, NaN where a phase has no such loss."""
    frames = []
    for cell in cells:
        trials = material.rows.loc[material.rows["cell"] == cell, "trial"]
        for frame in _of_stacks(material, material.folders[cell], stack_curves) if len(trials) else ():
            frames.append(frame[frame["trial"].isin(trials)].assign(cell=cell))
    if not frames:
        return pd.DataFrame(columns=list(CURVE))
    return pd.concat(frames).reindex(columns=list(CURVE)).drop_duplicates(["cell", "phase", "trial", "epoch"])


def environments(material: Material) -> Counter[tuple[tuple[str, str], ...]]:
    """The versions and hardware that the cells' stacks were trained with, and how many stacks with each."""
    found: Counter[tuple[tuple[str, str], ...]] = Counter()
    for folder in material.folders.values():
        for values in _of_stacks(material, folder, stack_environment):
            versions = values.pop("packages", {})
            found[tuple((str(key), str(value)) for key, value in {**values, **versions}.items())] += 1
    return found


def _of_stacks(material: Material, cell: Path, read: Callable[[Path, Row], T]) -> Iterator[T]:
    """What this reads of each whole stack of a cell; one that turns out to be damaged is noted."""
    for stack, contents in read_cell(cell).stacks.items():
        try:
            yield read(stack, contents)
        except DamagedRecordError as error:
            material.damaged[stack] = str(error)


def _place(described: tuple[Path, Row]) -> list[tuple[bool, float, str]]:
    """Where a cell stands among others: the paper's order of regimes and pre-trainings, numbers by size, else names."""
    cell = described[1]
    columns = axis_columns({name: value for name, value in cell["identity"].items() if name != "data"})
    values = [columns.get(column) for column in dict.fromkeys((*ORDERED, *sorted(columns)))]
    return [_sort_key(value) for value in (*values[:3], cell["dataset"], *values[3:])]


def _sort_key(value: Any) -> tuple[bool, float, str]:
    if isinstance(value, int | float):
        return True, float(value), ""
    known = PAPERS_ORDER.index(value) if value in PAPERS_ORDER else len(PAPERS_ORDER)
    return value is not None, known, str(value)


def _objects(cells: Sequence[Row]) -> pd.DataFrame:
    """Axes keep their own values, and None where they are not used."""
    columns = dict.fromkeys(key for cell in cells for key in cell)
    counts = ("asked", "finished")
    return pd.DataFrame(
        {
            column: pd.Series([cell.get(column) for cell in cells], dtype="int64" if column in counts else object)
            for column in columns
        }
    )
