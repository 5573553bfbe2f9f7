"""The interface of all models, with a description of the table that they were trained on: by it they read rows and name
answers."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..data.reading import Reader
from ..data.reading.frames import frame_of
from ..data.table import Column
from ..data.targets import Classes, Target, target_from_plain
from ..errors import UsageError
from ..notebook import facts, heading
from ..options.settings import DatasetSettings
from .saving import place, save

OF_A_FILE = ("separator", "decimal", "encoding")
SHOWN_CLASSES = 5
"""Classes that a notebook shows by their names."""
Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class TableDescription:
    """The table that a model was trained on, in plain values: as it is kept in a file.

    Attributes:
        name: of the data.
        rules: how rows are read, as `Reader.plain_rules` gives it.
        columns: the features that the rules make.
        classes: in the order of the probabilities' columns; empty for numbers and for encoders alone.
        is_shared: whether preprocessing was fitted on the whole table, see `Preprocessing`.
        file: how to read a text file of rows, see `read_rows`.
        target: what is predicted, besides the classes, as a record keeps it; empty for encoders alone.
        inputs: the columns of the table that `fit` was given, in their order; empty if they are not known.
        is_named: the columns had names then, and rows are read by name. Columns of an array have the names x0, x1, ...

    Raises:
        ValueError: a value is not possible.
    """

    name: str
    rules: tuple[dict[str, Any], ...]
    columns: tuple[Column, ...]
    classes: tuple[str, ...]
    is_shared: bool
    file: dict[str, str | None]
    target: dict[str, Any] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()
    is_named: bool = True

    def __post_init__(self) -> None:
        classes = set(self.classes)
        # One class is always certain, and two columns of one name cannot be distinguished.
        if len(classes) == 1 or len(classes) < len(self.classes):
            raise ValueError("classes must be two different ones at least, or none")
        target = self.predicts
        # Two texts may spell one number.
        if isinstance(target, Classes) and len(np.unique(target.answers)) < len(classes):
            raise ValueError("classes must be different labels")
        for column in self.columns:
            n_categories = len(column.categories or ())
            if not 0 <= column.n_indicators <= n_categories:
                name = column.name[:40]
                raise ValueError(f"columns: {name!r} cannot have {column.n_indicators} indicators")
        if unknown := set(self.file) - set(OF_A_FILE):
            raise ValueError(f"file: {min(unknown)[:40]!r} is unknown")
        DatasetSettings(**self.file)  # type: ignore[arg-type]  # checks the separator and the encoding

    @cached_property
    def predicts(self) -> Target | None:
        """The target; None for encoders alone."""
        if not self.classes and not self.target:
            return None
        return target_from_plain({"classes": self.classes, "target": self.target})

    @cached_property
    def reader(self) -> Reader:
        """Reads new rows as the table was read."""
        return Reader.with_rules(self.rules, self.columns)


class Predictor(ABC):
    """A model that predicts rows.

    Rows are a table of any library, such as a frame of pandas or polars or an Arrow table, or an array with the columns
    of `fit`. `Reader` says how they are read, and what happens to gaps, unseen categories and missing columns.

    Methods raise a UsageError for rows that `Reader` refuses, and if the model lacks what they need.

    Attributes:
        description: what the model is.
    """

    description: TableDescription

    @abstractmethod
    def predicted(self, rows: Any) -> Floats:
        """Probabilities ``(n, C)`` in the order of the description's classes, or numbers ``(n,)``."""

    @abstractmethod
    def predict_values(self, values: Floats) -> Floats:
        """The same for values ``(n, M)``, see `values`."""

    @abstractmethod
    def files(self) -> dict[str, bytes]:
        """Its files by name."""

    @abstractmethod
    def check(self) -> None:
        """Make sure that it is what it describes. Raises DamagedRecordError otherwise."""

    def _repr_html_(self) -> str:
        """The model in a notebook."""
        description = self.description
        predicts = "embeddings alone"
        if description.classes:
            predicts = f"one of {len(description.classes)} classes: {', '.join(description.classes[:SHOWN_CLASSES])}"
            predicts += ", ..." if len(description.classes) > SHOWN_CLASSES else ""
        elif description.target:
            predicts = "a number"
        found = {"data": description.name, "features": f"{len(description.columns):,}", "predicts": predicts}
        return heading(self.kind) + facts(found)

    @property
    def kind(self) -> str:
        """The sort of the model, in words."""
        return type(self).__name__

    def predict(self, rows: Any) -> NDArray[Any]:
        """The most probable class of n rows in the type of its label, the first one of a tie, or their number;
        ``(n,)``."""
        predictions = self.predicted(rows)
        if isinstance(self.target, Classes):
            return np.asarray(self.classes_[self.chosen(predictions)])
        return self.target.decided(predictions)

    def predict_proba(self, rows: Any) -> Floats:
        """Probabilities of the classes in the order of ``classes_``, float64 ``(n, C)``."""
        if not self.description.classes:
            raise UsageError("This model has no classes, and so no probabilities; use predict or transform.")
        # Networks have the classes in the order of their outputs, and scikit-learn has them sorted.
        return self.predicted(rows)[:, self.order]

    def chosen(self, predictions: Floats) -> NDArray[np.int64]:
        """The place in ``classes_`` of the most probable class, by the probabilities ``(n, C)`` of `predicted`."""
        return np.asarray(predictions[:, self.order].argmax(axis=1))

    def values(self, rows: Any) -> Floats:
        """Rows as numbers ``(n, M)``: codes of categories, NaN where missing.

        Args:
            rows: a table of any library, read by the names of its columns; or, if `fit` is known to have had as many
                columns, an array ``(n, n_columns)``. Rows of `load_rows` are read already.

        Raises:
            UsageError: see `Reader`, or the rows have another number of columns.
        """
        reader = self.description.reader
        inputs = self.description.inputs
        frame = frame_of(rows)
        if frame is None:
            return reader.values(self.frame_of_array(rows))
        # The table that was trained on is read by its rules; one that has the features already is taken as it is.
        names = set(frame.columns)
        if names.issuperset(reader.names):
            return reader.values(frame)
        features = [column.name for column in reader.columns]
        if names.issuperset(features):
            return Reader.plain(reader.columns).values(frame)
        # Names mean nothing to a model that was trained on an array.
        if not self.description.is_named and len(inputs) == frame.shape[1]:
            frame = frame.set_axis(list(inputs), axis=1)
        return reader.values(frame)

    def frame_of_array(self, rows: Any) -> pd.DataFrame:
        """An array ``(n, n_columns)`` as a frame with the columns of `fit`."""
        # NumPy would make one object of a sparse matrix, and a message about its shape would mislead.
        if hasattr(rows, "toarray"):
            raise UsageError("The rows are a sparse matrix; pass rows.toarray().")
        array = np.asarray(rows)
        inputs = self.description.inputs
        if array.ndim != 2:
            what = type(rows).__name__
            raise UsageError(f"The rows must be a table, or an array (n, columns), not {what}.")
        # A cell of a file knows its columns by name alone.
        if not inputs:
            raise UsageError("The model reads columns by their names, and an array has none; pass a table with names.")
        width = array.shape[1]
        if width != len(inputs):
            raise UsageError(f"The rows have {width} columns, and the model was trained on {len(inputs)}.")
        return pd.DataFrame(array, columns=list(inputs))

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the model into a folder of its own: arrays as safetensors, all else as JSON.

        `load_model` opens the folder anywhere, without the training data. A model that is there is replaced, whole or
        not at all.

        Raises:
            UsageError: the folder is a link, holds a file that is not part of a model, or cannot be written.
        """
        save(self, place(folder))

    @property
    def target(self) -> Target:
        """The target. Encoders alone predict nothing and raise a UsageError."""
        if self.description.predicts is None:
            raise UsageError("This model has encoders alone, which predict nothing; use transform.")
        return self.description.predicts

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes in the type of the labels that they were learned from, sorted: the order of the probabilities'
        columns, ``(C,)``; empty if there are none."""
        return self._sorted[0]

    @property
    def classes(self) -> list[str]:
        """The classes as text, in the order of ``classes_``."""
        return [self.description.classes[place] for place in self.order]

    @property
    def order(self) -> list[int]:
        """For each class in the order of ``classes_`` its place among the description's classes."""
        return self._sorted[1]

    @cached_property
    def _sorted(self) -> tuple[NDArray[Any], list[int]]:
        """The classes in their order, and their places among the description's classes."""
        target = self.description.predicts
        if not isinstance(target, Classes):
            return np.empty(0), []
        # Sorted by their values in their own type: as texts, 10 would come before 9.
        classes, order = np.unique(target.answers, return_index=True)
        return classes, order.tolist()
