"""Probing: a simple classifier on the embeddings of an encoder that is left as it is."""

import time
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ..data.datamodule import EVALUATION_ROWS
from ..engine.encoder import Encoder
from ..engine.setup import FitSetup
from ..engine.stack import Stack
from ..limits import Limit
from .base import Method, MethodResult, SupervisedPhase


@dataclass
class Probe(Method):
    """Logistic regression (of strength 1 / ``C``) or the ``k`` nearest neighbours, on the embeddings of the labelled
    training rows, standardised; validation rows are not used. Without pre-training f is at its initial weights."""

    name: ClassVar[str] = "probe"
    limits: ClassVar[dict[str, Limit]] = {"classifier": ("logistic", "knn"), "C": "(0, inf)", "k": "[1, inf)"}
    uses: ClassVar[tuple[str, ...]] = ("network", "finetune.metric")
    has_encoder: ClassVar[bool] = False
    search_space: ClassVar[dict[str, Any]] = {"C": ("log", 1e-4, 1e4), "k": ("int", 1, 25)}
    classifier: str = "logistic"
    C: float = 1.0
    k: int = 5

    def run(self, stack: Stack, phase: SupervisedPhase) -> MethodResult:
        n_trials = len(stack.trials)
        encoder = FitSetup(stack, phase.settings, pretrained=phase.pretrained).encoder()
        train, test = (embed(stack, encoder, rows) for rows in (stack.data.labelled, stack.data.test))
        started = [time.perf_counter()]
        probabilities = np.zeros((*stack.data.test.shape, stack.table.n_classes))
        for position in range(n_trials):
            labels = stack.data.labels[position]
            present = np.unique(labels)
            if len(present) == 1:
                probabilities[position, :, present[0]] = 1
            else:
                fitted = self._classifier(len(labels)).fit(train[position], labels)
                probabilities[position][:, present] = fitted.predict_proba(test[position])
            started.append(time.perf_counter())
        once, never = np.ones(n_trials, dtype=np.int64), np.zeros(n_trials, dtype=bool)
        return MethodResult(probabilities, None, once, np.diff(started), never)

    def _classifier(self, n_rows: int) -> Any:
        from sklearn.linear_model import LogisticRegression
        from sklearn.neighbors import KNeighborsClassifier
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        if self.classifier == "knn":
            return make_pipeline(StandardScaler(), KNeighborsClassifier(min(self.k, n_rows)))
        return make_pipeline(StandardScaler(), LogisticRegression(C=self.C, max_iter=10_000))


@torch.no_grad()
def embed(stack: Stack, encoder: Encoder, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Embeddings of ``rows`` ``(T, n)``, float64 ``(T, n, E)``."""
    encoder = encoder.to(stack.hardware.device, stack.hardware.dtype).eval()
    chunks = [encoder(chunk) for chunk in torch.split(stack.raw(rows), EVALUATION_ROWS, dim=1)]
    embedded: NDArray[np.float64] = torch.cat(chunks, dim=1).double().cpu().numpy()
    return embedded
