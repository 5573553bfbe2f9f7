"""A table of the user's own, in a CSV or Parquet file."""

import hashlib
import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ...errors import UsageError
from .base import Source

if TYPE_CHECKING:
    import pandas as pd

    from ..table import Table

ENDING = re.compile(r"\.((csv|tsv)(\.(gz|bz2|xz|zip))?|parquet|pq)$", re.IGNORECASE)

UNNAMED = re.compile(r"(Unnamed: \d+)?")
"""No name, or the one that pandas gives such a column, which stays when the frame is written again."""

MOST_NAMES = 30
"""So many columns are named in a refusal."""

MOST_FRACTIONS = 20
"""A target with fractions and more values than this, or than half of the rows, is a quantity."""


@dataclass
class FileSource(Source):
    """A file with a header and one row an example: comma-separated, tab-separated (``.tsv``), or Parquet.

    **Kinds.** Numbers are numeric, whole ones too; strings, Booleans and pandas' categories are categorical. Name
    columns in ``categorical`` or ``numeric`` to have them read otherwise; as numbers, false and true are 0 and 1.
    Parquet's times, lists and records are refused.

    **Missing values.** In CSV, empty fields and what pandas takes for missing: NA, N/A, NaN, nan, None, null and the
    like; a class or category of that name needs another one. In Parquet, nulls and NaN alone.

    **Row numbers.** A column without a name that counts the rows, as ``DataFrame.to_csv`` writes it, is left out: rows
    are often sorted by class, and their numbers would give it away. The index that pandas keeps in a Parquet file is
    no column either.

    Args:
        path: where the file is.
        target: the column that holds the classes.
        categorical: columns to read as categories whatever they hold.
        numeric: columns to read as numbers.
        dataset_name: shown in tables and charts; None takes the file's name without its ending.
    """

    name: ClassVar[str] = "csv"

    path: Path
    target: str
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    dataset_name: str | None = None

    @property
    def key(self) -> str:
        read_as = [str(self.path.resolve()), self.target, sorted(self.categorical), sorted(self.numeric)]
        digest = hashlib.sha256(json.dumps(read_as).encode()).hexdigest()[:12]
        stem = re.sub(r"[^A-Za-z0-9.-]+", "-", self.label)[:64]
        return f"csv-{stem}-{digest}"

    @property
    def label(self) -> str:
        return ENDING.sub("", self.path.name)

    def files(self) -> tuple[Path, ...]:
        return (self.path,) if self.path.is_file() else ()

    def check(self) -> None:
        from .file_formats import read_names

        if not self.path.is_file():
            raise UsageError(
                f"there is no file {self.path}; set dataset.path to a CSV or Parquet file, relative to the folder that "
                "the command runs in."
            )
        if not ENDING.search(self.path.name):
            raise UsageError(
                f"{self.path} is of no known format; dataset.path takes .csv and .tsv (also with .gz, .bz2, .xz or "
                ".zip), .parquet and .pq."
            )
        names = read_names(self.path)
        twice = [name for name, count in Counter(names).items() if name and count > 1]
        if twice:
            raise UsageError(f"{self.path} has more than one column {twice[0]!r}; rename all but one.")
        self._check_options(names)

    def load(self) -> "Table":
        """Read the table.

        Raises:
            UsageError: the file cannot be read, or its table cannot be used for classification, or what the options
                say of its columns does not hold.
        """
        from ..table import Table
        from .file_formats import read_frame

        self.check()
        frame = self._without_row_numbers(read_frame(self.path))
        target, features = frame[self.target], frame.drop(columns=self.target)
        self._refuse_quantity(target)
        for name in self.numeric:
            features[name] = self._as_numbers(features[name])
        return Table.from_frame(
            features,
            target,
            categorical=[name in self.categorical for name in features.columns],
            name=self.dataset_name or self.label,
            source=str(self.path),
        )

    def _check_options(self, names: list[str]) -> None:
        """Refuse options that name what is no column, or no feature, or contradict each other."""
        options = {"target": (self.target,), "categorical": self.categorical, "numeric": self.numeric}
        for option, columns in options.items():
            for column in columns:
                if column not in names:
                    raise UsageError(
                        f"dataset.{option} names {column!r}, which is not a column of {self.path}; "
                        f"its columns are: {_listed([name for name in names if name])}."
                    )
                if option != "target" and column == self.target:
                    raise UsageError(
                        f"dataset.{option} names the target {column!r}, which is no feature; leave it out."
                    )
        both = [column for column in self.categorical if column in self.numeric]
        if both:
            raise UsageError(f"column {both[0]!r} is in dataset.categorical and dataset.numeric; leave it out of one.")

    def _without_row_numbers(self, frame: "pd.DataFrame") -> "pd.DataFrame":
        """Leave out columns without a name: they count the rows, or hold nothing, as after a comma too many."""
        asked_for = {self.target, *self.categorical, *self.numeric}
        kept = []
        for position, name in enumerate(frame.columns):
            column = frame.iloc[:, position]
            if name in asked_for or not UNNAMED.fullmatch(name):
                kept.append(position)
            elif not (column.isna().all() or _counts(column)):
                raise UsageError(
                    f"column {position + 1} of {self.path} has no name, and more in it than row numbers; name it, or "
                    "drop it."
                )
        return frame.iloc[:, kept]

    def _refuse_quantity(self, target: "pd.Series[Any]") -> None:
        import pandas as pd

        if not pd.api.types.is_float_dtype(target) or not (target.dropna() % 1).any():
            return
        distinct = target.nunique()
        if distinct > min(MOST_FRACTIONS, len(target) / 2):
            raise UsageError(
                f"target {self.target!r} of {self.path} has {distinct} different values with fractions, which looks "
                "like a quantity and not like classes; group the values into classes first."
            )

    def _as_numbers(self, column: "pd.Series[Any]") -> "pd.Series[Any]":
        import pandas as pd

        numbers = pd.to_numeric(column.astype(object), errors="coerce").astype("float64")
        other = column[numbers.isna() & column.notna()]
        if len(other):
            raise UsageError(
                f"dataset.numeric names {column.name!r}, which holds {other.iloc[0]!r} in {self.path}; correct that "
                "value, or leave the column out of dataset.numeric."
            )
        return numbers


def _counts(column: "pd.Series[Any]") -> bool:
    """Whether each value is the whole number after the one before it."""
    import pandas as pd

    return pd.api.types.is_integer_dtype(column) and bool(column.diff().iloc[1:].eq(1).all())


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:MOST_NAMES])
    left_out = len(names) - MOST_NAMES
    return f"{shown} and {left_out} more" if left_out > 0 else shown
