"""Boosted oblivious trees that know categories (Prokhorenkova et al. 2018, https://arxiv.org/abs/1706.09516)."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..engine.stack import Stack
from ..limits import Limit
from .rival import Floats, Lesson, Rival, need


@dataclass
class CatBoost(Rival):
    """CatBoostClassifier; categorical columns are given as such. What is None is left to CatBoost, which chooses its
    learning rate by rows and iterations as long as ``l2_leaf_reg`` is left to it too. Validation rows are not used."""

    name: ClassVar[str] = "catboost"
    limits: ClassVar[dict[str, Limit]] = {
        "iterations": "[1, inf)",
        "depth": "[1, 16]",
        "learning_rate": "(0, 1]",
        "l2_leaf_reg": "[0, inf)",
    }
    search_space: ClassVar[dict[str, Any]] = {
        "depth": ("int", 3, 8),
        "learning_rate": ("log", 0.01, 0.3),
        "l2_leaf_reg": ("log", 1.0, 30.0),
        "iterations": ("log_int", 100, 1000),
    }
    iterations: int = 1000
    depth: int = 6
    learning_rate: float | None = None
    l2_leaf_reg: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        need("catboost", self.name)

    def predict(self, lesson: Lesson) -> Floats:
        from catboost import CatBoostClassifier

        stack = lesson.stack
        train, test = (typed_columns(stack, rows) for rows in (stack.data.labelled, stack.data.test))
        if (train.nunique() < 2).all():  # CatBoost refuses to learn from constants: nothing tells the classes apart
            shares = np.bincount(lesson.labels, lesson.weights)
            return np.tile(shares / shares.sum(), (len(test), 1))
        options = {option: value for option, value in vars(self).items() if value is not None}
        classifier = CatBoostClassifier(
            **options,
            cat_features=np.flatnonzero(stack.table.is_categorical).tolist(),
            random_seed=lesson.seed,
            thread_count=1,
            allow_writing_files=False,
            logging_level="Silent",
        )
        classifier.fit(train, lesson.labels, sample_weight=lesson.weights)
        probabilities: Floats = classifier.predict_proba(test)
        return probabilities


def typed_columns(stack: Stack, rows: NDArray[np.int64]) -> pd.DataFrame:
    """``rows`` ``(1, n)`` of a stack of one, imputed and scaled; codes of categories are whole numbers."""
    frame = pd.DataFrame(stack.raw(rows)[0].double().cpu().numpy())
    return frame.astype({int(column): "int64" for column in np.flatnonzero(stack.table.is_categorical)})
