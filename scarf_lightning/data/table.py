"""A dataset after loading: typed columns, labels, class names, and where it came from."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import UsageError

if TYPE_CHECKING:
    from .reading.reader import Reader

FEWEST_ROWS = 10
"""With fewer labelled rows a 70/10/20 split leaves validation or test without a row."""

UNLABELLED = -1
"""The label of a row that has none."""


@dataclass(frozen=True)
class Column:
    """One feature.

    Attributes:
        categories: None for a numeric column, else the strings that its codes stand for.
        declared: these in the order in which the source declares them, as the header of an ARFF file does; None where
            it declares none. It is no part of what the data are.
        indicators: how many columns of zeros and ones a network makes of the first codes; None is one a category, 0
            takes the codes as numbers. See `scarf_lightning.data.encoding`.
    """

    name: str
    categories: tuple[str, ...] | None = None
    declared: tuple[str, ...] | None = field(default=None, compare=False)
    indicators: int | None = None

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Column":
        """Out of a record, which has its name, its categories and, where they are not one each, its indicators."""
        categories = plain["categories"]
        return cls(plain["name"], categories and tuple(categories), indicators=plain.get("indicators"))

    @property
    def is_categorical(self) -> bool:
        return self.categories is not None

    @property
    def n_indicators(self) -> int:
        return len(self.categories or ()) if self.indicators is None else self.indicators


@dataclass(frozen=True)
class ColumnReading:
    """How a column of a user's file was read: what it holds, how many values are missing, how many are different, and
    what is done with it."""

    column: str
    kind: str
    missing: int
    distinct: int
    done: str


@dataclass(frozen=True)
class Table:
    """A classification dataset in canonical form.

    **Shape.** ``values`` is float64 ``(n, M)``: numbers of numeric columns, category codes of categorical ones, NaN
    where missing. ``labels`` is int64 ``(n,)``, indices into ``classes``, and -1 in rows without a label. Categories
    and classes are the ones that occur, in natural order (numbers by size, other strings alphabetically), so the same
    data give the same table whatever file format they came in. Columns that are always missing are left out (paper,
    section 4).

    ``split_by`` is float64 ``(n,)``, what a split of the user's goes by: a group, a time, or a part; of an OpenML task
    ``(n, splits)``, the part in each of its splits; None without one.
    ``reading`` and ``notes`` say how a user's file was read, and what its user should know of it; by ``reader`` rows
    that come later are read in the same way.
    """

    name: str
    dataset_id: int | None
    source: str
    columns: tuple[Column, ...]
    values: NDArray[np.float64]
    labels: NDArray[np.int64]
    classes: tuple[str, ...]
    split_by: NDArray[np.float64] | None = None
    reading: tuple[ColumnReading, ...] = ()
    notes: tuple[str, ...] = ()
    reader: "Reader | None" = None

    @classmethod
    def from_frame(
        cls,
        features: pd.DataFrame,
        target: "pd.Series[Any]",
        *,
        categorical: Sequence[bool],
        name: str,
        source: str,
        dataset_id: int | None = None,
        split_by: NDArray[np.float64] | None = None,
    ) -> "Table":
        """Build the canonical table from a frame and its target.

        Args:
            features: one column a feature, ``n`` rows.
            target: ``n`` labels of any type, missing where a row has none.
            categorical: for each feature, whether to read it as categorical. Columns that are not numeric are
                categorical whatever it says.
            name: shown in tables and charts.
            source: where the data came from, such as ``openml:1510``.
            dataset_id: the OpenML id, where there is one.
            split_by: see `Table`.

        Raises:
            ValueError: the arguments' lengths differ.
            UsageError: fewer than two classes occur, there are fewer than 10 rows with a label, or no column holds a
                value.
        """
        if not (features.shape[0] == len(target) and features.shape[1] == len(categorical)):
            raise ValueError("features, target and categorical do not belong together: their lengths differ")
        n_labelled = int(target.notna().sum())
        if n_labelled < FEWEST_ROWS:
            rows = "rows" if n_labelled == len(target) else f"rows with a label in {target.name!r}"
            raise UsageError(f"{source} has {n_labelled} {rows}; a 70/10/20 split needs at least {FEWEST_ROWS}.")
        labels, classes = _codes(target)
        if len(classes) < 2:
            raise UsageError(f"target {target.name!r} of {source} has the one class {classes[0]!r}; two are needed.")

        columns, values = [], []
        for position, is_categorical in enumerate(categorical):
            series = features.iloc[:, position]
            if series.isna().all():
                continue
            if is_categorical or not pd.api.types.is_numeric_dtype(series) or pd.api.types.is_bool_dtype(series):
                codes, categories = _codes(series)
                columns.append(Column(str(series.name), categories, _declared(series, categories)))
                values.append(np.where(codes < 0, np.nan, codes.astype(np.float64)))
            else:
                columns.append(Column(str(series.name)))
                values.append(series.to_numpy(dtype=np.float64, na_value=np.nan))
        if not columns:
            raise UsageError(f"{source} has no column with a value in it.")
        matrix = np.stack(values, axis=1)
        if np.isinf(matrix).any():
            infinite = [column.name for column, v in zip(columns, matrix.T, strict=True) if np.isinf(v).any()]
            raise UsageError(f"column {infinite[0]!r} of {source} holds an infinite value; mark it as missing.")
        return cls(name, dataset_id, source, tuple(columns), matrix, labels.astype(np.int64), classes, split_by)

    def report(self, notes: Sequence[str] = ()) -> dict[str, Any]:
        """How it was read, for a record: rows with and without a label, ``columns`` and ``notes`` of a user's file,
        other notes on what was made of it, and the ``rules`` by which later rows are read."""
        rules = {} if self.reader is None else {"rules": self.reader.as_plain()["rules"]}
        return rules | {
            "n_labelled": self.n_rows - self.n_unlabelled,
            "n_unlabelled": self.n_unlabelled,
            "columns": [asdict(reading) for reading in self.reading],
            "notes": [*self.notes, *notes],
        }

    @property
    def n_rows(self) -> int:
        return len(self.labels)

    @property
    def n_unlabelled(self) -> int:
        """Rows without a label."""
        return int((self.labels == UNLABELLED).sum())

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def n_categories(self) -> list[int]:
        """For each column how many categories have an indicator, 0 where a column is one number."""
        return [column.n_indicators for column in self.columns]

    @property
    def n_encoded(self) -> int:
        """Columns after the encoding."""
        return sum(n or 1 for n in self.n_categories)

    @cached_property
    def is_categorical(self) -> NDArray[np.bool_]:
        """Which columns are categorical, ``(M,)``."""
        return np.array([column.is_categorical for column in self.columns])

    @cached_property
    def hash(self) -> str:
        """SHA-256 over the canonical content: column names and order, values, category strings, labels, class names,
        and what a split goes by, where there is such a thing."""
        digest = hashlib.sha256()
        header = {"columns": [[c.name, c.categories] for c in self.columns], "classes": self.classes}
        digest.update(json.dumps(header, ensure_ascii=True).encode())
        canonical = np.where(np.isnan(self.values), np.nan, self.values + 0.0)  # one NaN, and no negative zero
        digest.update(np.ascontiguousarray(canonical, dtype="<f8").tobytes())
        digest.update(np.ascontiguousarray(self.labels, dtype="<i8").tobytes())
        if self.split_by is not None:
            digest.update(b"split" + np.ascontiguousarray(self.split_by, dtype="<f8").tobytes())
        return digest.hexdigest()


def _codes(series: "pd.Series[Any]") -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Codes (-1 where missing) and the strings they stand for, in natural order."""
    codes, distinct = pd.factorize(series, use_na_sentinel=True)
    spelled = [spell(value) for value in distinct]
    order = sorted(set(spelled), key=_natural_key(spelled))
    rank = {text: position for position, text in enumerate(order)}
    recode = np.array([rank[text] for text in spelled] + [-1])  # the last entry serves the sentinel -1
    return recode[codes], tuple(order)


def _declared(series: "pd.Series[Any]", categories: tuple[str, ...]) -> tuple[str, ...] | None:
    """The categories that occur in the order in which their type has them, if it has one."""
    if not isinstance(series.dtype, pd.CategoricalDtype):
        return None
    spelled = dict.fromkeys(spell(value) for value in series.dtype.categories)
    return tuple(category for category in spelled if category in set(categories))


def spell(value: Any) -> str:
    """A category as OpenML writes it: whole numbers without a point, Booleans in lower case."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _natural_key(texts: Sequence[str]) -> Any:
    """Sort by number where every text is one, else alphabetically."""
    try:
        numbers = {text: float(text) for text in texts}
    except ValueError:
        return str
    if any(np.isnan(number) for number in numbers.values()):
        return str
    return lambda text: (numbers[text], text)
