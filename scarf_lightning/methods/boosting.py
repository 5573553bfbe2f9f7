"""Gradient boosting with native categories: scikit-learn's histograms, and LightGBM."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from ..options.option import option
from .rivals import Floats, Ints, Lesson, Rival, typed

if TYPE_CHECKING:
    import pandas as pd

    from ..engine.stack import Stack

USUAL_LEAF = 20
"""The smallest leaf of both libraries. With fewer labels than twice as many, no tree of theirs has a split."""
USUAL_GROUP = 100
"""Rows that LightGBM needs for a split by categories."""
SHARE_OF_A_LEAF = 10
"""With few labels a leaf may hold a tenth of them."""


def smallest(usual: int, n_labels: int) -> int:
    """The usual number of rows, or a tenth of the labels if that is less, at least one."""
    return max(1, min(usual, n_labels // SHARE_OF_A_LEAF))


@dataclass
class HistGradientBoosting(Rival):
    """Scikit-learn's HistGradientBoostingClassifier or Regressor on typed columns. It stops early by a tenth of the
    labels that it gets, if these are more than 10,000 or ``early_stopping`` is on.

    Differs from the library: with few labels a leaf may hold a tenth of them. Columns with more categories than bins
    are numbered.
    """

    name: ClassVar[str] = "hist_gradient_boosting"
    models = ("sklearn.ensemble.HistGradientBoostingClassifier", "sklearn.ensemble.HistGradientBoostingRegressor")
    typical_seconds: ClassVar[tuple[float, float]] = (0.2, 0.3)
    label: ClassVar[str] = "HistGradientBoosting"
    paper: ClassVar[str] = "Ke et al., 2017 (NeurIPS); as in scikit-learn"
    max_iter: int = option(100, "number of trees", "[1, 1000000]")
    learning_rate: float = option(0.1, "shrinkage of a tree", "(0, 1]")
    max_leaf_nodes: int = option(31, "leaves of a tree", "[2, 100000]")
    min_samples_leaf: int | None = option(
        None, "smallest number of rows in a leaf; null is 20, or a tenth of fewer than 200 labels", "[1, inf)"
    )
    l2_regularization: float = option(0.0, "L2 penalty of leaf values", "[0, inf)")
    max_bins: int = option(255, "bins of a column", "[2, 255]")
    early_stopping: Literal["auto", "on", "off"] = option("auto", "auto stops early with more than 10,000 labels")

    def arguments(self, lesson: Lesson) -> dict[str, Any]:
        n_categories = np.array(lesson.stack.table.n_categories)
        return vars(self) | {
            "early_stopping": {"auto": "auto", "on": True, "off": False}[self.early_stopping],
            # With few labels, twenty rows in a leaf would leave a tree one leaf.
            "min_samples_leaf": self.min_samples_leaf or smallest(USUAL_LEAF, len(lesson.labels)),
            # The library refuses a column of categories with more of them than bins.
            "categorical_features": (n_categories > 0) & (n_categories <= self.max_bins),
        }

    def features(self, stack: "Stack", rows: Ints) -> Floats:
        features: Floats = stack.raw(rows)[0].double().cpu().numpy()
        return features


@dataclass
class LightGBM(Rival):
    """LGBMClassifier or LGBMRegressor on typed columns. It does not validate.

    Differs from the library: with few labels a leaf, and the rows of a split by categories, may be a tenth of them.
    """

    name: ClassVar[str] = "lightgbm"
    models = ("lightgbm.LGBMClassifier", "lightgbm.LGBMRegressor")
    typical_seconds: ClassVar[tuple[float, float]] = (0.1, 0.3)
    package: ClassVar[str] = "lightgbm"
    label: ClassVar[str] = "LightGBM"
    paper: ClassVar[str] = "Ke et al., 2017 (NeurIPS)"
    n_estimators: int = option(100, "number of trees", "[1, 1000000]")
    learning_rate: float = option(0.1, "shrinkage of a tree", "(0, 1e12]")
    num_leaves: int = option(31, "leaves of a tree", "[2, 131072]")
    min_child_samples: int | None = option(
        None, "smallest number of rows in a leaf; null is 20, or a tenth of fewer than 200 labels", "[0, inf)"
    )
    reg_lambda: float = option(0.0, "L2 penalty of leaf values", "[0, inf)")
    colsample_bytree: float = option(1.0, "share of the columns that a tree sees", "(0, 1]")

    def arguments(self, lesson: Lesson) -> dict[str, Any]:
        n_labels, leaf = len(lesson.labels), self.min_child_samples
        return vars(self) | {
            # 0 is a choice of the user's, too.
            "min_child_samples": smallest(USUAL_LEAF, n_labels) if leaf is None else leaf,
            "min_data_per_group": smallest(USUAL_GROUP, n_labels),
            "deterministic": True,
            # Else the library times both ways, and the faster one rounds differently.
            "force_col_wise": True,
            "verbosity": -1,
        }

    def features(self, stack: "Stack", rows: Ints) -> "pd.DataFrame":
        return typed(stack, rows)
