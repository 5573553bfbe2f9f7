"""Random forests (Breiman 2001, DOI 10.1023/A:1010933404324)."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ..limits import Limit
from .rival import Floats, Lesson, Rival

MAX_FEATURES: dict[str, Any] = {"sqrt": "sqrt", "log2": "log2", "half": 0.5, "all": 1.0}
"""Names of how many columns a split looks at, as scikit-learn takes them."""


@dataclass
class RandomForest(Rival):
    """Scikit-learn's RandomForestClassifier on encoded rows."""

    name: ClassVar[str] = "random_forest"
    limits: ClassVar[dict[str, Limit]] = {
        "n_estimators": "[1, inf)",
        "max_features": ("sqrt", "log2", "half", "all"),
        "min_samples_leaf": "[1, inf)",
        "max_depth": "[1, inf)",
    }
    search_space: ClassVar[dict[str, Any]] = {
        "max_features": ("one_of", "sqrt", "log2", "half", "all"),
        "min_samples_leaf": ("log_int", 1, 20),
        "max_depth": ("one_of", None, 4, 8, 16),
    }
    n_estimators: int = 500
    max_features: str = "sqrt"
    min_samples_leaf: int = 1
    max_depth: int | None = None

    def predict(self, lesson: Lesson) -> Floats:
        from sklearn.ensemble import RandomForestClassifier

        stack = lesson.stack
        options = vars(self) | {"max_features": MAX_FEATURES[self.max_features]}
        classifier = RandomForestClassifier(**options, n_jobs=1, random_state=lesson.seed)
        classifier.fit(stack.encoded(stack.data.labelled)[0], lesson.labels, sample_weight=lesson.weights)
        probabilities: Floats = classifier.predict_proba(stack.encoded(stack.data.test)[0])
        return probabilities
