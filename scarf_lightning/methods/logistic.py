"""Logistic regression."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ..settings import at_least, positive
from .rival import Floats, Lesson, Rival


@dataclass
class Logistic(Rival):
    """Scikit-learn's multinomial LogisticRegression with an l2 penalty of strength 1 / ``C``, on encoded rows."""

    name: ClassVar[str] = "logistic"
    search_space: ClassVar[dict[str, Any]] = {"C": ("log", 1e-4, 1e4)}
    C: float = 1.0
    max_iter: int = 10_000

    def __post_init__(self) -> None:
        positive(self, "C")
        at_least(self, "max_iter", 1)

    def predict(self, lesson: Lesson) -> Floats:
        from sklearn.linear_model import LogisticRegression

        stack = lesson.stack
        classifier = LogisticRegression(C=self.C, max_iter=self.max_iter)
        classifier.fit(stack.encoded(stack.data.labelled)[0], lesson.labels, sample_weight=lesson.weights)
        probabilities: Floats = classifier.predict_proba(stack.encoded(stack.data.test)[0])
        return probabilities
