"""Measures of frozen embeddings, taken while an encoder pre-trains."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytorch_lightning as pl
from numpy.typing import NDArray
from scipy.spatial.distance import pdist
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ..errors import UsageError
from .modules import PretrainModule

Array = NDArray[np.floating]

MOST_ITERATIONS = 1000
"""Of the logistic regression."""


@dataclass(frozen=True)
class Embedded:
    """The embeddings of one trial.

    Attributes:
        train, labels: of the labelled training rows, ``(n, E)`` and ``(n,)``.
        validation, validation_labels: of the validation rows.
        views: of two views of the first validation rows, ``(N, E)`` each; None for a pretext that makes no two.
        has_classes: labels are classes, and not numbers.
    """

    train: Array
    labels: NDArray[Any]
    validation: Array
    validation_labels: NDArray[Any]
    views: tuple[Array, Array] | None
    has_classes: bool


class Probe(pl.Callback):
    """Logs measures of the frozen embeddings of a `PretrainModule`, as means over its trials and for each trial.

    - ``probe_linear``: accuracy on the validation rows of a logistic regression on standardised embeddings of the
      labelled training rows (Alain and Bengio, 2017, https://arxiv.org/abs/1610.01644); R² of a ridge regression if the
      target is a number.
    - ``probe_knn``: the same of the nearest neighbours, which count alike (Wu et al., 2018,
      https://arxiv.org/abs/1805.01978, weighs them).
    - ``probe_effective_rank``: of the validation rows, see `effective_rank`.
    - ``probe_alignment``, ``probe_uniformity``: of two views of these rows, if the pretext makes two; see `alignment`
      and `uniformity`.

    The training draws the same random numbers with and without it. It looks at validation labels: who chooses by it has
    spent them.

    Args:
        every: epochs between two measurements.
        neighbours: number of neighbours.

    Raises:
        UsageError: a number is below 1, the module is no `PretrainModule`, or its data hold no validation labels.
    """

    def __init__(self, every: int = 1, neighbours: int = 5) -> None:
        if every < 1 or neighbours < 1:
            raise UsageError(f"Probe takes numbers from 1, and not every={every} and neighbours={neighbours}.")
        self.every = every
        self.neighbours = neighbours

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if not isinstance(pl_module, PretrainModule):
            raise UsageError(f"Probe measures a PretrainModule, and not {type(pl_module).__name__}.")

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if (trainer.current_epoch + 1) % self.every:
            return
        assert isinstance(pl_module, PretrainModule)
        measured = [self.measured(each) for each in trainer.datamodule.embedded(pl_module)]  # type: ignore[attr-defined]
        means = {f"probe_{name}": np.array([of_trial[name] for of_trial in measured]) for name in measured[0]}
        pl_module.log_means(means)

    def measured(self, embedded: Embedded) -> dict[str, float]:
        """The measures of one trial by their names."""
        k = min(self.neighbours, len(embedded.train))
        if embedded.has_classes:
            linear, nearest = LogisticRegression(max_iter=MOST_ITERATIONS), KNeighborsClassifier(k)
        else:
            linear, nearest = Ridge(), KNeighborsRegressor(k)
        measures = {"effective_rank": effective_rank(embedded.validation)}
        for name, model in (("linear", make_pipeline(StandardScaler(), linear)), ("knn", nearest)):
            # A logistic regression wants two classes.
            if embedded.has_classes and len(np.unique(embedded.labels)) == 1:
                measures[name] = float(np.mean(embedded.validation_labels == embedded.labels[0]))
            else:
                model.fit(embedded.train, embedded.labels)
                measures[name] = float(model.score(embedded.validation, embedded.validation_labels))
        if embedded.views is not None:
            measures["alignment"] = alignment(*embedded.views)
            measures["uniformity"] = uniformity(np.concatenate(embedded.views))
        return measures


def effective_rank(embeddings: Array) -> float:
    """exp of the entropy of the singular values of embeddings ``(n, E)``, as shares of their sum.

    From 1, all on a line, to E. It is RankMe of Garrido et al. (2023, https://arxiv.org/abs/2210.02885) after Roy and
    Vetterli (2007).
    """
    values = np.linalg.svd(embeddings.astype(np.float64), compute_uv=False)
    shares = values[values > 0] / values.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))


def alignment(first: Array, second: Array) -> float:
    """The mean squared distance of two views' embeddings ``(N, E)`` on the unit sphere: 0, alike, to 4.

    Wang and Isola (2020, https://arxiv.org/abs/2005.10242).
    """
    return float(np.mean(np.sum((on_sphere(first) - on_sphere(second)) ** 2, axis=1)))


def uniformity(embeddings: Array) -> float:
    """The logarithm of the mean of exp(-2 d²) over pairs of embeddings ``(N, E)`` on the unit sphere: 0 if all are
    alike, lower if they spread.

    Wang and Isola (2020, https://arxiv.org/abs/2005.10242).
    """
    squares = pdist(on_sphere(embeddings), "sqeuclidean")
    return float(np.log(np.mean(np.exp(-2 * squares))))


def on_sphere(embeddings: Array) -> Array:
    """Embeddings of length 1; zeros stay."""
    wide = embeddings.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    return wide / np.where(lengths > 0, lengths, 1)
