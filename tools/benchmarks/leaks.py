"""How often a column that is filled for one class is named, and how often one that is not.

A simulated table has 3,000 rows, 300 of them with a label, of which 30 are of a rare class. One column is filled in a
share of the rare rows and in no other, as what is known only once a customer has left. The others are filled at random,
or more often in the rare class: they say something of it, and are no leak. Real tables are those of OpenML's cache with
gaps, each with the columns that have some: a column that is named there is a false alarm, or a leak of the table.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from scarf_lightning.data.columns import Bools
from scarf_lightning.data.filled import filled_for_one_class
from scarf_lightning.data.table import Table

from .calibration_page import Named

ROWS, LABELS, RARE = 3000, 300, 0.1
Random = np.random.Generator


def simulated(random: Random, draws: int, share: float, elsewhere: float = 0.0) -> Named:
    """Columns that are filled in a share of the rare rows, and in a share of the others."""
    line = Named(f"simulated, filled in {100 * share:.0f} % of the rare rows and {100 * elsewhere:.1f} % of the others")
    for _ in range(draws):
        is_rare, labels = _labels(random)
        line.columns += 1
        line.named += bool(_named(_filled(random, is_rare, share, elsewhere), labels))
    return line


def _labels(random: Random) -> tuple[Bools, "pd.Series[str]"]:
    """Which rows are rare, and labels of 300 rows, 30 of them rare."""
    is_rare = np.zeros(ROWS, dtype=bool)
    is_rare[random.choice(ROWS, round(RARE * ROWS), replace=False)] = True
    known = np.zeros(ROWS, dtype=bool)
    for of_class in (is_rare, ~is_rare):
        places = np.flatnonzero(of_class)
        known[random.choice(places, len(places) * LABELS // ROWS, replace=False)] = True
    labels = pd.Series(np.where(is_rare, "yes", "no"), name="target", dtype=object)
    return is_rare, labels.where(known)


def _filled(random: Random, is_rare: Bools, share: float, other: float) -> pd.DataFrame:
    is_filled = random.random(ROWS) < np.where(is_rare, share, other)
    return pd.DataFrame({"column": np.where(is_filled, random.normal(size=ROWS), np.nan)})


def _named(frame: pd.DataFrame, labels: "pd.Series[str]") -> list[str]:
    numeric = [False] * frame.shape[1]
    table = Table.from_frame(frame, labels, categorical=numeric, name="table", source="a benchmark")
    return [str(advice) for advice in filled_for_one_class(table, frame, ())]


def real(folder: Path, random: Random, draws: int) -> list[Named]:
    """The columns with gaps of the tables in OpenML's cache: with all labels, and with 300 drawn ones."""
    tables = list(_with_gaps(folder))
    every = Named(f"{len(tables)} real tables with gaps, all labels")
    few = Named(f"{len(tables)} real tables with gaps, {LABELS} labels")
    for frame, target in tables:
        every.columns += frame.shape[1]
        every.named += len(_named(frame, target))
        for _ in range(draws):
            # Rows without a label are not looked at.
            rows = random.choice(len(target), LABELS, replace=False)
            few.columns += frame.shape[1]
            few.named += len(_named(frame.iloc[rows], target.iloc[rows]))
    return [every, few]


def _with_gaps(folder: Path) -> Iterator[tuple[pd.DataFrame, "pd.Series[str]"]]:
    """The tables of classes that have columns with gaps: whether each value is there, as a number."""
    for file in sorted(folder.rglob("dataset_*.pq")):
        frame = pd.read_parquet(file)
        target = frame.pop(_target(file))
        gaps = frame.loc[:, frame.isna().any()]
        if gaps.empty or target.isna().any() or not 2 <= target.nunique() <= 20 or len(target) < 2 * LABELS:
            continue
        yield gaps.notna().astype(float).replace(0.0, np.nan), target.astype(str)


def _target(file: Path) -> str:
    text = (file.parent / "description.xml").read_text(encoding="utf-8")
    return text.partition("<oml:default_target_attribute>")[2].partition("<")[0]


def simulated_lines(random: Random, draws: int) -> Iterator[Named]:
    """The lines of simulated tables: columns that give the target away, and columns that do not."""
    for share in (1.0, 0.97, 0.9, 0.8):
        yield simulated(random, draws, share)
    yield simulated(random, draws, 0.97, 0.002)
    for share, elsewhere in ((0.3, 0.0), (0.6, 0.05), (0.5, 0.5)):
        yield simulated(random, draws, share, elsewhere)
