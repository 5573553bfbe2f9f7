"""A column of a table that a split goes by, as numbers."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

NAMES = {
    "train": 0, "training": 0,
    "validation": 1, "valid": 1, "val": 1, "dev": 1,
    "test": 2, "testing": 2, "holdout": 2,
}  # fmt: skip
"""What a column may say of a row, in lower case, as positions in `splits.PARTS`."""


@dataclass(frozen=True)
class SplitBy:
    """What a source must know of a split: its kind, and the column that it goes by or the files that it is in."""

    kind: str
    column: str | None = None
    validation: Path | None = None
    test: Path | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        """Of validation and test rows."""
        return tuple(file for file in (self.validation, self.test) if file)


def split_values(split: SplitBy, column: "pd.Series[Any]", source: str) -> NDArray[np.float64]:
    """For each row the number of its group, its time or its part, ``(n,)``; NaN where there is none.

    Raises:
        UsageError: the column does not hold what the split goes by.
    """
    import pandas as pd

    if split.kind == "group":
        codes = pd.factorize(column, use_na_sentinel=True)[0]
        return np.where(codes < 0, np.nan, codes.astype(np.float64))
    if split.kind == "column":
        parts = column.astype("object").map(lambda value: NAMES.get(str(value).strip().lower(), -1), na_action="ignore")
        unknown = column[parts == -1]
        if len(unknown):
            raise UsageError(
                f"column {column.name!r} of {source} says {unknown.iloc[0]!r} of a row, and split=column knows train, "
                "validation and test; write one of these there."
            )
        return parts.to_numpy(dtype=np.float64, na_value=np.nan)
    return _times(column, source)


def _times(column: "pd.Series[Any]", source: str) -> NDArray[np.float64]:
    import pandas as pd

    from .reading.dates import as_dates
    from .reading.rules import as_text, is_numeric

    if is_numeric(column):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    if not pd.api.types.is_datetime64_any_dtype(column):
        found = as_dates(as_text(column)[0])
        if found is None:
            raise UsageError(
                f"column {column.name!r} of {source}, which split=time sorts by, holds neither numbers nor dates in "
                "one format; write dates as 2024-12-31."
            )
        column = found[0]
    if column.dt.tz is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    return np.asarray((column - pd.Timestamp(0)) / pd.Timedelta(seconds=1), dtype=np.float64)
