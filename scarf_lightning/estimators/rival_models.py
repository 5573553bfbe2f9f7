"""Models of other libraries as arrays: linear models and trees, which are saved and read without the libraries.

A saved rival holds numbers only. Reading one runs no code of the folder, and neither scikit-learn nor XGBoost predicts.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from ..data.device_table import DeviceTable
from ..data.preprocessing import VECTORS, Ordinal, Preprocessing
from ..data.table import Table
from ..data.targets import Classes, Number
from ..methods.rivals import with_codes
from ..networks import Columns, OneHot
from ..randomness import Roster
from ..results import DamagedRecordError
from ..results.records import WEIGHTS
from .predictor import Arrays, Floats, Predictor, TableDescription
from .saving import PREPROCESSING

ROWS_AT_ONCE = 1024
PATHS_AT_ONCE = 4_000_000
"""Rows times trees that are followed at once."""
LINEAR = ("coefficients", "offset")
TREES = ("roots", "left", "right", "feature", "threshold", "missing_left", "value", "offset")
LEAF = -1
"""Stands for the children of a leaf."""
FLOATS = ("coefficients", "offset", "threshold", "value")


@dataclass(frozen=True, kw_only=True)
class RivalDescription(TableDescription):
    """Description of a rival in plain values, as a file keeps it beside the rival's arrays.

    Attributes:
        method: its name on the axis ``method``.
        label: what people call it.
        learner: the form of the arrays, see `RivalModel`.
        link: from K scores to predictions: ``identity``; ``logistic``, the probability of the second of two classes;
            or ``softmax``.
        encoding: of categories: a column for each, or the number of each.
        order: of the numbers, see `scarf_lightning.data.preprocessing.Ordinal`.
    """

    method: str
    label: str
    learner: Literal["linear", "trees"]
    link: Literal["identity", "logistic", "softmax"]
    encoding: Literal["onehot", "ordinal"]
    order: Literal["declared", "sorted"] = "declared"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.predicts is None:
            raise ValueError("target must be there: a rival predicts it")
        if self.link == "logistic" and len(self.classes) != 2:
            raise ValueError("link: logistic is for two classes")
        if self.link == "softmax" and not self.classes:
            raise ValueError("link: softmax is for classes")


@dataclass(eq=False)
class RivalModel(Predictor):
    """A linear model, or trees whose leaves are summed, on imputed, scaled and encoded rows.

    Attributes:
        description: what it is.
        preprocessing: of one trial.
        learnt: arrays by name, of K scores for each row of D encoded features. Linear: ``coefficients`` ``(D, K)`` and
            ``offset`` ``(K,)``. Trees: ``roots`` of B trees among N nodes, and of each node ``left``, ``right``, its
            ``feature``, the ``threshold`` up to which a row goes left, ``missing_left`` where a missing value does, and
            ``value`` ``(N, K)``, which counts in leaves.
    """

    description: RivalDescription
    preprocessing: Preprocessing
    learnt: Arrays

    @property
    def kind(self) -> str:
        """The name of the model."""
        return self.description.label

    def predicted(self, rows: Any) -> Floats:
        """Probabilities ``(n, C)`` in the order of the description's classes, or numbers ``(n,)``."""
        return self.of_values(self.values(rows))

    def of_values(self, values: Floats) -> Floats:
        """The predictions for values ``(n, M)``, see `Predictor.values`."""
        n_trees = len(self.learnt.get("roots", ()))
        # The paths of all rows through all trees are in the memory at once.
        at_once = max(1, min(ROWS_AT_ONCE, PATHS_AT_ONCE // max(n_trees, 1)))
        parts = []
        for start in range(0, len(values), at_once):
            features = self.features(values[start : start + at_once])
            parts.append(self._linked(self._scores(features)))
        if parts:
            return np.concatenate(parts)
        n_classes = len(self.description.classes)
        return np.empty((0, n_classes) if n_classes else 0)

    def features(self, values: Floats) -> Floats:
        """Values ``(n, M)`` imputed, scaled and encoded, ``(n, D)``, as the library was given them."""
        columns = self.description.columns
        # A table has labels; these are not looked at.
        labels = np.zeros(len(values))
        table = Table(
            name="rows",
            dataset_id=None,
            source="a DataFrame",
            columns=columns,
            values=values,
            labels=labels,
            target=Number(),
        )
        device_table = DeviceTable(table, self.preprocessing, device="cpu", dtype=torch.float32)
        raw = device_table.rows(torch.arange(len(values))[None], Roster(1))
        # The library learnt from what the networks' own encoding gives, rounded to 32 bits.
        if self.description.encoding == "onehot":
            encoded: Floats = self._one_hot(raw)[0].double().numpy()
            return encoded
        return with_codes(raw[0].double().numpy(), columns, Ordinal(self.description.order))

    @cached_property
    def _one_hot(self) -> OneHot:
        columns = Columns.of(self.description.columns)
        return OneHot(columns.n_categories, columns.gaps)

    @property
    def n_features(self) -> int:
        """D."""
        columns = Columns.of(self.description.columns)
        if self.description.encoding == "ordinal":
            return columns.n_features
        return columns.n_encoded

    def _scores(self, features: Floats) -> Floats:
        """The scores of rows with features ``(n, D)``, ``(n, K)``."""
        if self.description.learner == "linear":
            return np.asarray(features @ self.learnt["coefficients"] + self.learnt["offset"])
        # Trees split between numbers of 32 bits, so a longer one could fall on the other side of a threshold.
        return self._of_trees(features.astype(np.float32))

    def _of_trees(self, features: NDArray[np.float32]) -> Floats:
        """The scores of trees, which all rows follow at once, a level at a time."""
        left, right = self.learnt["left"], self.learnt["right"]
        rows = np.arange(len(features))[:, None]
        # The node that each row has reached in each tree, (n, B).
        nodes = np.tile(self.learnt["roots"].astype(np.int64), (len(features), 1))
        while True:
            is_inner = left[nodes] != LEAF
            if not is_inner.any():
                break
            seen = features[rows, self.learnt["feature"][nodes]]
            is_below = seen <= self.learnt["threshold"][nodes]
            goes_left = np.where(np.isnan(seen), self.learnt["missing_left"][nodes], is_below)
            children = np.where(goes_left, left[nodes], right[nodes])
            # A row that has reached a leaf stays there until all others have reached one.
            nodes = np.where(is_inner, children, nodes)
        return np.asarray(self.learnt["value"][nodes].sum(axis=1) + self.learnt["offset"])

    def _linked(self, scores: Floats) -> Floats:
        """Predictions from scores ``(n, K)``."""
        if not self.description.classes:
            return scores[:, 0]
        if self.description.link == "identity":
            return scores
        if self.description.link == "logistic":
            # Scores of the first class are zero.
            scores = np.concatenate([np.zeros_like(scores), scores], axis=1)
        # Softmax does not change with a constant, and the exponential of a large score would overflow.
        raised = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))

    def arrays(self) -> dict[str, Arrays]:
        """Its arrays by the name of the file that keeps them."""
        return {WEIGHTS: dict(self.learnt), PREPROCESSING: self.preprocessing.arrays()}

    def check(self) -> None:
        """Make sure that the arrays are those that it describes, and that every row ends in a leaf.

        Raises:
            DamagedRecordError: an array is missing, not expected, of another shape, or holds what cannot be.
        """
        # A saved folder may come from anyone, so nothing is computed with before all of it fits.
        expected = set(LINEAR if self.description.learner == "linear" else TREES)
        if set(self.learnt) != expected:
            raise DamagedRecordError(f"its arrays must be {', '.join(sorted(expected))}")
        for name, array in self.learnt.items():
            wanted = "f" if name in FLOATS else "iub"
            if array.dtype.kind not in wanted or (name in FLOATS and not np.isfinite(array).all()):
                raise DamagedRecordError(f"{name} holds what cannot be")
        target = self.description.predicts
        n_scores = 1
        if isinstance(target, Classes) and self.description.link != "logistic":
            n_scores = target.n_outputs
        if self.learnt["offset"].shape != (n_scores,):
            raise DamagedRecordError(f"offset is not an array of {n_scores} numbers")
        if self.description.learner == "trees":
            self._check_trees(n_scores)
        elif self.learnt["coefficients"].shape != (self.n_features, n_scores):
            raise DamagedRecordError(f"coefficients is not an array of {self.n_features} x {n_scores} numbers")
        self._check_preprocessing()

    def _check_trees(self, n_scores: int) -> None:
        """Raise a DamagedRecordError if a row could leave the trees, or never reach a leaf."""
        left, right, roots = (self.learnt["left"], self.learnt["right"], self.learnt["roots"])
        n_nodes = len(left)
        shapes = {"value": (n_nodes, n_scores), "roots": roots.shape, "offset": (n_scores,)}
        for name in TREES:
            if self.learnt[name].shape != shapes.get(name, (n_nodes,)) or roots.ndim != 1:
                raise DamagedRecordError(f"{name} is not of {n_nodes} nodes")
        if roots.size and not (roots.min() >= 0 and roots.max() < n_nodes):
            raise DamagedRecordError("roots lead out of the trees")
        is_leaf = left == LEAF
        inner = np.flatnonzero(~is_leaf)
        # With one child, a row that goes to the other side would be looked up at the place -1.
        if (is_leaf != (right == LEAF)).any():
            raise DamagedRecordError("a node has one child")
        # Children follow their parents, so that no path goes in a circle.
        for children in (left[inner], right[inner]):
            if (children <= inner).any() or (children >= n_nodes).any():
                raise DamagedRecordError("a path of the trees does not end in a leaf")
        # A number out of range would read another column, or fail at a prediction and not when it is opened.
        features = self.learnt["feature"][inner]
        if inner.size and not (features.min() >= 0 and features.max() < self.n_features):
            raise DamagedRecordError("a node asks for a feature that is not there")

    def _check_preprocessing(self) -> None:
        """Raise a DamagedRecordError if the preprocessing is not of the columns that are described."""
        n_columns = len(self.description.columns)
        shape = (1, n_columns)
        vectors = self.preprocessing.arrays()
        for name in (*VECTORS, "clip"):
            # Only some scalings clip.
            if name == "clip" and name not in vectors:
                continue
            if vectors[name].shape != shape:
                raise DamagedRecordError(f"the preprocessing of {name} is not of {n_columns} columns")
        if "curve" in vectors and (vectors["curve"].ndim != 4 or vectors["curve"].shape[:3] != (*shape, 2)):
            raise DamagedRecordError(f"the preprocessing of curve is not of {n_columns} columns")
        for name, vector in vectors.items():
            # A number whose gaps the model sees is not imputed.
            if np.isinf(vector).any() or (name != "fill" and np.isnan(vector).any()):
                raise DamagedRecordError("the preprocessing holds an infinite value")
