"""Logistic regression."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ..limits import Limit
from .rival import Floats, Lesson, Rival


@dataclass
class Logistic(Rival):
    """Scikit-learn's multinomial LogisticRegression with an l2 penalty of strength 1 / ``C``, on encoded rows."""

    name: ClassVar[str] = "logistic"
    limits: ClassVar[dict[str, Limit]] = {"C": "(0, inf)", "max_iter": "[1, inf)"}
    search_space: ClassVar[dict[str, Any]] = {"C": ("log", 1e-4, 1e4)}
    C: float = 1.0
    max_iter: int = 10_000

    def predict(self, lesson: Lesson) -> Floats:
        from sklearn.linear_model import LogisticRegression

        stack = lesson.stack
        classifier = LogisticRegression(C=self.C, max_iter=self.max_iter)
        classifier.fit(stack.encoded(stack.data.labelled)[0], lesson.labels, sample_weight=lesson.weights)
        probabilities: Floats = classifier.predict_proba(stack.encoded(stack.data.test)[0])
        return probabilities
