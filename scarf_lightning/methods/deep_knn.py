"""Deep k-NN for noisy labels (Bahri et al. 2020; paper, section 4)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..engine.stack import Stack
from ..limits import Limit
from .base import MethodResult, RaggedMethod, SupervisedPhase


def agrees_with_neighbours(
    features: NDArray[np.float64], labels: NDArray[np.int64], k: int, n_classes: int
) -> NDArray[np.bool_]:
    """Whether no class is more frequent among the k nearest other points than a point's own label.

    **Shape.** ``features`` ``(n, E)`` and ``labels`` ``(n,)`` give ``(n,)``; k is cut to n - 1.
    """
    from sklearn.neighbors import NearestNeighbors

    k = min(k, len(labels) - 1)
    if k < 1:
        return np.ones(len(labels), dtype=bool)
    neighbours = NearestNeighbors(n_neighbors=k).fit(features).kneighbors(return_distance=False)  # without itself
    votes = np.stack([np.bincount(labels[row], minlength=n_classes) for row in neighbours])
    return np.asarray(votes[np.arange(len(labels)), labels] == votes.max(axis=1))


@dataclass
class DeepKNN(RaggedMethod):
    """A first fit on the given labels; then one on the points whose label the majority of their k nearest neighbours,
    among the first one's logits, shares. Where that leaves fewer than two points, all of them."""

    name: ClassVar[str] = "deep_knn"
    limits: ClassVar[dict[str, Limit]] = {"k": "[1, inf)"}
    typical_fits: ClassVar[int] = 2
    k: int = 50

    def run_one(self, stack: Stack, phase: SupervisedPhase) -> MethodResult:
        rows, labels = stack.data.labelled, stack.data.labels
        first, classifier = phase.fit(stack, stack.labelled(), number=1)
        if first.diverged.all():
            return MethodResult.of_fits(stack.predict(classifier, stack.data.test), first)
        logits = stack.logits(classifier, rows)[0].cpu().numpy()
        kept = agrees_with_neighbours(logits, labels[0], self.k, stack.table.n_classes)
        if kept.sum() < 2:
            kept[:] = True
        fit, classifier = phase.fit(stack, stack.examples(rows[:, kept], labels[:, kept]))
        return MethodResult.of_fits(stack.predict(classifier, stack.data.test), fit, [first])
