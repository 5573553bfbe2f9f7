"""Probing: a simple model on the embeddings of a fixed encoder."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from ..data.targets import Labels, Target
from ..errors import UsageError
from ..options.option import option
from .method import Method, MethodResult, SupervisedPhase
from .rivals import Floats, trial_by_trial

if TYPE_CHECKING:
    from ..engine.stack import Stack


@dataclass
class Probe(Method):
    """Logistic regression, ridge regression of numbers, or nearest neighbours on the standardised embeddings of the
    labelled training rows.

    Validation rows are not used. Without pre-training f has its initial weights.
    """

    name: ClassVar[str] = "probe"
    paper: ClassVar[str] = "Alain and Bengio, 2017, arXiv:1610.01644"
    uses: ClassVar[tuple[str, ...]] = ("network", "finetune.metric")
    has_encoder: ClassVar[bool] = False
    embeds: ClassVar[bool] = True
    search_space: ClassVar[dict[str, Any]] = {"C": ("log", 1e-4, 1e4), "k": ("int", 1, 25)}
    classifier: Literal["logistic", "knn"] = option(
        "logistic", "model on the embeddings: logistic (of numbers ridge) or nearest neighbours"
    )
    C: float = option(1.0, "inverse strength of the logistic or ridge regression's penalty", "(0, inf)")
    k: int = option(5, "number of neighbours", "[1, inf)")

    def run(self, stack: "Stack", phase: SupervisedPhase) -> MethodResult:
        embedded = tuple(stack.embed(rows, phase.pretrained) for rows in (stack.data.labelled, stack.data.predicted))
        target, weights = stack.table.target, stack.given_weights
        if weights is not None and self.classifier == "knn":
            raise UsageError("nearest neighbours know no weights of rows; use method.classifier=logistic.")

        def predictions(position: int) -> Floats:
            train, predicted = (rows[position].astype(np.float64) for rows in embedded)

            def learn(labels: Labels) -> Floats:
                model = self._model(target, len(labels))
                own = {}
                if weights is not None:
                    own = {f"{model.steps[-1][0]}__sample_weight": weights[position]}
                return target.predicted_by(model.fit(train, labels, **own), predicted)

            return target.taught(stack.data.labels[position], len(predicted), learn)

        return trial_by_trial(len(stack.trials), predictions)

    def _model(self, target: Target, n_rows: int) -> Any:
        from sklearn.linear_model import LogisticRegression, Ridge
        from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        linear = target.choose(classifier=LogisticRegression(C=self.C, max_iter=10_000), regressor=Ridge(1 / self.C))
        neighbours = target.choose(classifier=KNeighborsClassifier, regressor=KNeighborsRegressor)
        chosen = linear if self.classifier == "logistic" else neighbours(min(self.k, n_rows))
        return make_pipeline(StandardScaler(), chosen)
