"""Gradient-boosted trees (paper, appendix, "Absolute performance").

The paper gives depth, number of trees and learning rate. The rest is what agrees with its accuracies: categories as
codes in the order of the ARFF header, and what XGBoost did before version 1: exact trees and a base score of 0.5.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..data.encoding import Ordinal, codes_in
from ..engine.stack import Stack
from ..limits import Limit
from .rival import Floats, Lesson, Rival, need


@dataclass
class XGBoost(Rival):
    """XGBClassifier on the labelled training rows; validation rows are not used.

    Args:
        max_depth, n_estimators, learning_rate, tree_method, base_score: XGBoost's own; a base score of None is
            estimated from the labels.
        encoding: of categorical columns: ``ordinal`` or ``onehot``, whatever networks are given.
        order: of ordinal codes, see `Ordinal`.
    """

    name: ClassVar[str] = "xgboost"
    limits: ClassVar[dict[str, Limit]] = {
        "max_depth": "[1, inf)",
        "n_estimators": "[1, inf)",
        "learning_rate": "(0, 1]",
        "tree_method": ("exact", "approx", "hist"),
        "base_score": "(0, 1)",
        "encoding": ("ordinal", "onehot"),
        "order": ("declared", "sorted"),
    }
    search_space: ClassVar[dict[str, Any]] = {
        "max_depth": ("int", 2, 8),
        "n_estimators": ("log_int", 50, 1000),
        "learning_rate": ("log", 0.01, 0.5),
    }
    stream: ClassVar[str] = "boosted trees"
    max_depth: int = 3
    n_estimators: int = 100
    learning_rate: float = 0.1
    tree_method: str = "exact"
    base_score: float | None = 0.5
    encoding: str = "ordinal"
    order: str = "declared"

    def __post_init__(self) -> None:
        super().__post_init__()
        need("xgboost", self.name)

    def predict(self, lesson: Lesson) -> Floats:
        from xgboost import XGBClassifier

        data = lesson.stack.data
        options = {option: value for option, value in vars(self).items() if option not in ("encoding", "order")}
        classifier = XGBClassifier(**options, n_jobs=1, random_state=lesson.seed)
        classifier.fit(self._features(lesson.stack, data.labelled), lesson.labels, sample_weight=lesson.weights)
        probabilities: Floats = classifier.predict_proba(self._features(lesson.stack, data.test)).astype(np.float64)
        return np.asarray(probabilities / probabilities.sum(axis=1, keepdims=True))

    def _features(self, stack: Stack, rows: NDArray[np.int64]) -> Floats:
        """``rows`` ``(1, n)`` of a stack of one, imputed, scaled and encoded."""
        if self.encoding == "onehot":
            return np.asarray(stack.encoded(rows)[0])
        features: Floats = stack.raw(rows)[0].double().cpu().numpy()
        encoding = Ordinal(self.order)
        for m, column in enumerate(stack.table.columns):
            if column.is_categorical:
                codes = codes_in(column, encoding.column(column).categories or ())
                features[:, m] = codes[features[:, m].astype(np.int64)]
        return features
