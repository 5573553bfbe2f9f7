"""Gradient-boosted trees (paper, appendix, "Absolute performance").

The paper gives depth, number of trees and learning rate. The rest is what agrees with its accuracies: categories as
codes in the order of the ARFF header, and what XGBoost did before version 1: exact trees and a base score of 0.5.
"""

import time
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..data.encoding import ORDERS, Ordinal, codes_in
from ..engine.stack import Stack
from ..errors import UsageError
from ..randomness import Purpose
from ..settings import one_of
from .base import Method, Outcome, Supervision

TREE_METHODS = ("exact", "approx", "hist")
ENCODINGS = ("ordinal", "onehot")


@dataclass
class XGBoost(Method):
    """XGBClassifier on the labelled training rows; validation rows are not used.

    Args:
        max_depth, n_estimators, learning_rate, tree_method, base_score: XGBoost's own; a base score of None is
            estimated from the labels.
        encoding: of categorical columns: ``ordinal`` or ``onehot``, whatever networks are given.
        order: of ordinal codes, see `Ordinal`.
    """

    name: ClassVar[str] = "xgboost"
    pretrainable: ClassVar[bool] = False
    uses: ClassVar[tuple[str, ...]] = ("finetune.class_weight", "finetune.metric")
    search_space: ClassVar[dict[str, Any]] = {
        "max_depth": ("int", 2, 8),
        "n_estimators": ("log_int", 50, 1000),
        "learning_rate": ("log", 0.01, 0.5),
    }
    has_encoder: ClassVar[bool] = False
    trains_each_alone: ClassVar[bool] = True
    max_depth: int = 3
    n_estimators: int = 100
    learning_rate: float = 0.1
    tree_method: str = "exact"
    base_score: float | None = 0.5
    encoding: str = "ordinal"
    order: str = "declared"

    def __post_init__(self) -> None:
        for option in ("max_depth", "n_estimators"):
            if getattr(self, option) < 1:
                raise ValueError(f"{option} must be at least 1, not {getattr(self, option)}")
        if not 0 < self.learning_rate <= 1:
            raise ValueError(f"learning_rate must lie in (0, 1], not {self.learning_rate}")
        if self.base_score is not None and not 0 < self.base_score < 1:
            raise ValueError(f"base_score must lie between 0 and 1, not {self.base_score}")
        for option, allowed in (("tree_method", TREE_METHODS), ("encoding", ENCODINGS), ("order", ORDERS)):
            one_of(self, option, allowed)
        try:
            import xgboost  # noqa: F401
        except ModuleNotFoundError as error:
            raise UsageError(
                "method=xgboost needs the package xgboost: install it with `pip install -e .[xgboost]`."
            ) from error

    def run(self, stack: Stack, supervision: Supervision) -> Outcome:
        n_trials, weights = len(stack.data.trials), stack.row_weights(supervision.settings)
        started = [time.perf_counter()]
        probabilities = []
        for position in range(n_trials):
            probabilities.append(self._predict(stack.of(position), None if weights is None else weights[position]))
            started.append(time.perf_counter())
        once, never = np.ones(n_trials, dtype=np.int64), np.zeros(n_trials, dtype=bool)
        return Outcome(np.stack(probabilities), None, once, np.diff(started), never)

    def _predict(self, stack: Stack, weights: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """Class probabilities of the test rows of a stack of one, ``(n_test, C)``; 0 for a class without a label."""
        from xgboost import XGBClassifier

        present, labels = np.unique(stack.data.labels[0], return_inverse=True)
        probabilities = np.zeros((stack.data.test.shape[1], stack.table.n_classes))
        if len(present) == 1:
            probabilities[:, present[0]] = 1
            return probabilities
        seed = stack.streams.seed_of(stack.data.trials[0], Purpose.TREES) % 2**31
        options: dict[str, Any] = {
            name: value for name, value in vars(self).items() if name not in ("encoding", "order")
        }
        classifier = XGBClassifier(**options, n_jobs=1, random_state=seed)
        classifier.fit(self._features(stack, stack.data.labelled), labels, sample_weight=weights)
        probabilities[:, present] = classifier.predict_proba(self._features(stack, stack.data.test))
        return np.asarray(probabilities / probabilities.sum(axis=1, keepdims=True))

    def _features(self, stack: Stack, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """``rows`` ``(1, n)`` of a stack of one, imputed, scaled and encoded."""
        if self.encoding == "onehot":
            return np.asarray(stack.encoded(rows)[0])
        features: NDArray[np.float64] = stack.raw(rows)[0].double().cpu().numpy()
        encoding = Ordinal(self.order)
        for m, column in enumerate(stack.table.columns):
            if column.is_categorical:
                codes = codes_in(column, encoding.column(column).categories or ())
                features[:, m] = codes[features[:, m].astype(np.int64)]
        return features
