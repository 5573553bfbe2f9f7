"""Tables as nobody wants them: each is read and trains with finite numbers, or is refused in a sentence."""

import json
import warnings
from collections.abc import Callable
from datetime import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.data.reading import Reader
from scarf_lightning.data.sources import FileSource
from scarf_lightning.data.table import Table
from scarf_lightning.data.targets import Classes
from scarf_lightning.errors import UsageError
from tests.composing import config_of
from tests.short_training import trained

WORDS = ["", " ", "?", "a", "a ", "ü", "🙂", "\u202e", "=1+1", "[/red]", "a,b", 'q"q', "l\nf", "None"]
NAMES = ["a", "c d", "ü", "", "id", "Unnamed: 0", "x.y", "date", "=x", "[red]"]

Make = Callable[[np.random.Generator, int], Any]

COLUMNS: list[Make] = [
    lambda random, n: random.normal(size=n) * 10.0 ** random.integers(-300, 30),
    lambda random, n: random.integers(-(2**62), 2**62, n),
    lambda random, n: [f"{value}0000000" for value in random.integers(0, 10**18, n)],
    lambda random, n: random.choice(WORDS, n),
    lambda random, n: pd.to_datetime(random.integers(0, 2**31, n), unit="s"),
    lambda random, n: [f"{m:02d}/{d:02d}/2020" for m, d in random.integers(1, 32, (n, 2))],
    lambda random, n: [None] * n,
    lambda random, n: [["x", "1", "2.5", None, "True"][i] for i in random.integers(0, 5, n)],
    lambda random, n: random.choice([np.inf, -np.inf, 1.0, np.nan], n),
    lambda random, n: random.random(n) < 0.5,
    lambda random, n: [f"{value:,.2f} €" for value in random.normal(size=n) * 1e5],
    lambda random, n: [f"{value:.1f}%" if value > -1 else "n/a" for value in random.normal(size=n)],
    lambda random, n: [" ".join(random.choice(["the", "cat", "ü"], k)) for k in random.integers(0, 9, n)],
    lambda random, n: [f"{h:02d}:{m:02d}" for h, m in random.integers(0, [26, 60], (n, 2))],
    lambda random, n: pd.array(random.choice([1, 2, 3], n), dtype="Int64"),
    lambda random, n: pd.Categorical(random.choice(["b", "a"], n)),
    lambda random, n: [f"{value:03d}" for value in random.integers(0, 9, n)],
    lambda random, n: [f"{value:.3f}".replace(".", ",") for value in random.normal(size=n)],
    lambda random, n: np.full(n, random.choice([0.0, np.nan, 1e30])),
    lambda random, n: ["9" * k for k in random.integers(1, 400, n)],
    lambda random, n: [f"1e{k}" for k in random.integers(-400, 30, n)],
    lambda random, n: [f"{y:04d}-{m:02d}-{d:02d}" for y, m, d in random.integers(1, [9999, 13, 29], (n, 3))],
    lambda random, n: random.choice(["2024-01-31", "9999-12-31", "0001-01-01", "1900-01-00"], n),
    lambda random, n: pd.Series(random.integers(-(10**11), 10**11, n)).astype("datetime64[s]"),
    lambda random, n: pd.to_timedelta(random.integers(0, 10**6, n), unit="s"),
    lambda random, n: [time(h, m) for h, m in random.integers(0, [24, 60], (n, 2))],
    lambda random, n: [Decimal(int(value)) / 100 for value in random.integers(0, 10**6, n)],
    lambda random, n: [[1, 2] if is_known else None for is_known in random.random(n) < 0.5],
    lambda random, n: random.choice(np.array([b"\xff\x00", b"a"], dtype=object), n),
    lambda random, n: random.choice(["2024-01-01T00:00:00Z", "2024-06-01T12:00:00+02:00", "", "NaT"], n),
]


def ugly(seed: int, folder: Path) -> Path:
    """A file of a few such columns, with a target ``y`` that may be one of them, in one of the formats."""
    random = np.random.default_rng(seed)
    n, n_columns = int(random.integers(0, 200)), int(random.integers(1, 8))

    def column() -> Any:
        return COLUMNS[random.integers(len(COLUMNS))](random, n)

    names = [f"{random.choice(NAMES)}{i if random.random() < 0.95 else ''}" for i in range(n_columns)]
    table = pd.DataFrame({i: pd.Series(column()) for i in range(n_columns)}).set_axis(names, axis=1)
    target = pd.Series(column() if random.random() < 0.2 else random.choice(["p", "q", "r"], n)).astype(object)
    table["y"] = target.where(random.random(n) < random.choice([0.5, 1.0])).to_numpy()
    if random.random() < 0.25 and len(set(names)) == n_columns and len(set(map(type, target))) <= 1:
        table.to_parquet(folder / f"{seed}.parquet")
        return folder / f"{seed}.parquet"
    encoding = "utf-16" if random.random() < 0.1 else "utf-8"
    table.to_csv(
        folder / f"{seed}.csv",
        index=bool(random.random() < 0.2),
        sep=random.choice([",", ";", "\t"]),
        encoding=encoding,
    )
    return folder / f"{seed}.csv"


def read(path: Path) -> Table | None:
    """The table, or None where it is refused in one sentence."""
    try:
        return FileSource(path, "y").load()
    except UsageError as error:
        sentence = str(error)
        assert sentence.endswith(".")
        assert "\n" not in sentence
        return None


def check(table: Table) -> None:
    assert not np.isinf(table.values).any()
    if isinstance(table.target, Classes):
        assert table.labels.max() == table.target.n_outputs - 1
    assert np.isfinite(table.labels[table.is_labelled]).all()
    assert len(table.hash) == 64
    assert all(str(note).endswith(".") for note in table.notes)


def read_again(table: Table, path: Path) -> None:
    """The rows of the table come out of its reader, after a turn through JSON, as they went in."""
    kept = Reader.with_rules(json.loads(json.dumps(table.rows_reader.plain_rules)), table.rows_reader.columns)
    source = FileSource(path, "y")
    frame, *_ = source._frame(source._open())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # words among numbers, which the table has too
        np.testing.assert_array_equal(kept.values(frame), table.values, err_msg=path.name)


def test_they_are_read_or_refused_and_read_again_as_they_were(tmp_path: Path) -> None:
    paths = [ugly(seed, tmp_path) for seed in range(10)]
    tables = [read(path) for path in paths]
    for path, table in zip(paths, tables, strict=True):
        if table is not None:
            check(table)
            read_again(table, path)
    assert any(tables), "some of them can be used"
    assert not all(tables), "and some cannot"


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 400, 50))
def test_what_is_read_trains_to_finite_numbers(start: int, tmp_path: Path) -> None:
    for seed in range(start, start + 50):
        path = ugly(seed, tmp_path)
        table = read(path)
        if table is None:
            continue
        check(table)
        read_again(table, path)
        (row,) = trained(config_of("corruption.rate=1"), table, trials=[0]).rows
        if isinstance(table.target, Classes):
            assert np.isfinite(row["log_loss"]), seed
            assert 0 <= row["accuracy"] <= 1
        else:
            assert np.isfinite(row["rmse"]), seed
