"""Models of scikit-learn and XGBoost that predict rows of a table, kept by skops.

A file of skops holds no code. It is opened only if all of its types are those of the model that it should hold.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch

from ..data.device_table import DeviceTable
from ..data.preprocessing import VECTORS, Ordinal, Preprocessing
from ..data.table import Table
from ..data.targets import Classes, Number
from ..importing import require
from ..methods.rivals import with_codes
from ..networks import Columns, OneHot
from ..randomness import Roster
from ..results import DamagedRecordError
from .predictor import Floats, Predictor, TableDescription
from .saving import PREPROCESSING, as_tensors

FITTED = "model.skops"
KEPT = {
    "logistic": ("sklearn.linear_model._logistic.LogisticRegression",),
    "ridge": ("sklearn.linear_model._ridge.Ridge",),
    "random_forest": (
        "sklearn.ensemble._forest.RandomForestClassifier",
        "sklearn.ensemble._forest.RandomForestRegressor",
        "sklearn.tree._tree.Tree",
    ),
    "xgboost": ("xgboost.sklearn.XGBClassifier", "xgboost.sklearn.XGBRegressor", "xgboost.core.Booster"),
}
"""The methods whose models are kept, with the types that skops may build besides those that it trusts itself."""


@dataclass(frozen=True, kw_only=True)
class RivalDescription(TableDescription):
    """Description of a rival in plain values, as a file keeps it beside the fitted model.

    Attributes:
        method: its name on the axis ``method``.
        label: what people call it.
        encoding: of categories: a column for each, or the number of each.
        order: of the numbers, see `scarf_lightning.data.preprocessing.Ordinal`.
    """

    method: Literal["logistic", "ridge", "random_forest", "xgboost"]
    label: str
    encoding: Literal["onehot", "ordinal"]
    order: Literal["declared", "sorted"] = "declared"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.predicts is None:
            raise ValueError("target must be there: a rival predicts it")


@dataclass(eq=False)
class RivalModel(Predictor):
    """A fitted model of another library, on imputed, scaled and encoded rows.

    Attributes:
        description: what it is.
        preprocessing: of one trial.
        fitted: the library's own model.
    """

    description: RivalDescription
    preprocessing: Preprocessing
    fitted: Any

    @property
    def kind(self) -> str:
        """The name of the model."""
        return self.description.label

    def predicted(self, rows: Any) -> Floats:
        """Probabilities ``(n, C)`` in the order of the description's classes, or numbers ``(n,)``."""
        return self.predict_values(self.values(rows))

    def predict_values(self, values: Floats) -> Floats:
        """The predictions for values ``(n, M)``, see `Predictor.values`."""
        n_classes = len(self.description.classes)
        if not len(values):
            return np.empty((0, n_classes) if n_classes else 0)
        predictions = self.target.predicted_by(self.fitted, self.features(values)).astype(np.float64)
        # XGBoost rounds to 32 bits, in which the probabilities of a row add up to 1 within a millionth.
        return predictions / predictions.sum(axis=1, keepdims=True) if n_classes else predictions

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

    def files(self) -> dict[str, bytes]:
        """Its files by name."""
        require_libraries(self.description.method, f"Keeping a {self.description.label}")
        import skops.io

        return {FITTED: skops.io.dumps(self.fitted), PREPROCESSING: as_tensors(self.preprocessing.arrays())}

    def check(self) -> None:
        """Make sure that it predicts rows of the columns and the target that it describes.

        Raises:
            DamagedRecordError: the preprocessing or the fitted model is of another shape or kind.
        """
        self._check_preprocessing()
        name = f"{type(self.fitted).__module__}.{type(self.fitted).__qualname__}"
        if name not in KEPT[self.description.method]:
            raise DamagedRecordError(f"{FITTED} holds no {self.description.label}")
        try:
            if self.description.method == "random_forest":
                _check_forest(self.fitted)
            shape = self.predict_values(np.zeros((1, len(self.description.columns)))).shape
        # A model whose parts do not fit together fails somewhere in its library, in any way.
        except Exception as error:
            raise DamagedRecordError(f"the {self.description.label} in {FITTED} does not predict: {error}") from error
        target = self.target
        if shape != ((1, target.n_outputs) if isinstance(target, Classes) else (1,)):
            raise DamagedRecordError(f"the {self.description.label} in {FITTED} predicts something else")

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


def require_libraries(method: str, what: str) -> None:
    """Raise a UsageError if skops, or the library of a method's model, is not installed."""
    require("skops", what)
    if method == "xgboost":
        require("xgboost", what)


def loaded(content: bytes, method: str) -> Any:
    """The fitted model of a method in a file of skops.

    Raises:
        DamagedRecordError: it is no file of skops, or holds a type that is not the model's.
    """
    import skops.io

    try:
        return skops.io.loads(content, trusted=list(KEPT[method]))
    # A crafted file fails anywhere in skops; an untrusted type is one of these errors, and its message names it.
    except Exception as error:
        raise DamagedRecordError(f"{FITTED} cannot be opened: {error}") from error


def _check_forest(forest: Any) -> None:
    """Raise a ValueError if a row could leave a tree: scikit-learn follows the numbers of children unchecked."""
    for each in forest.estimators_:
        tree = each.tree_
        left, right = tree.children_left, tree.children_right
        inner = np.flatnonzero((left != -1) | (right != -1))
        # Children follow their parents, so that no path goes in a circle.
        for children in (left[inner], right[inner]):
            if (children <= inner).any() or (children >= tree.node_count).any():
                raise ValueError("a path of a tree does not end in a leaf")
        features = tree.feature[inner]
        if ((features < 0) | (features >= forest.n_features_in_)).any() or tree.n_features != forest.n_features_in_:
            raise ValueError("a tree asks for a feature that is not there")
