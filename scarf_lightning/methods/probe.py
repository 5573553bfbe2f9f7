"""Probing: a simple classifier on the embeddings of a fixed encoder."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from ..options.option import option
from .method import Method, MethodResult, SupervisedPhase
from .rivals import Floats, trial_by_trial

if TYPE_CHECKING:
    from ..engine.stack import Stack


@dataclass
class Probe(Method):
    """Logistic regression or nearest neighbours on the standardised embeddings of the labelled training rows.

    Validation rows are not used. Without pre-training f has its initial weights.
    """

    name: ClassVar[str] = "probe"
    paper: ClassVar[str] = "Alain and Bengio, 2017, arXiv:1610.01644"
    uses: ClassVar[tuple[str, ...]] = ("network", "finetune.metric")
    has_encoder: ClassVar[bool] = False
    search_space: ClassVar[dict[str, Any]] = {"C": ("log", 1e-4, 1e4), "k": ("int", 1, 25)}
    classifier: Literal["logistic", "knn"] = option("logistic", "classifier on the embeddings")
    C: float = option(1.0, "inverse strength of the logistic regression's penalty", "(0, inf)")
    k: int = option(5, "number of neighbours", "[1, inf)")

    def run(self, stack: "Stack", phase: SupervisedPhase) -> MethodResult:
        train, predicted = (stack.embed(r, phase.pretrained) for r in (stack.data.labelled, stack.data.predicted))

        def probabilities(position: int) -> Floats:
            labels = stack.data.labels[position]
            present = np.unique(labels)
            found = np.zeros((predicted.shape[1], stack.table.n_classes))
            if len(present) == 1:
                found[:, present] = 1
            else:
                fitted = self._classifier(len(labels)).fit(train[position], labels)
                found[:, present] = fitted.predict_proba(predicted[position])
            return found

        return trial_by_trial(len(stack.trials), probabilities)

    def _classifier(self, n_rows: int) -> Any:
        from sklearn.linear_model import LogisticRegression
        from sklearn.neighbors import KNeighborsClassifier
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        if self.classifier == "knn":
            return make_pipeline(StandardScaler(), KNeighborsClassifier(min(self.k, n_rows)))
        return make_pipeline(StandardScaler(), LogisticRegression(C=self.C, max_iter=10_000))
