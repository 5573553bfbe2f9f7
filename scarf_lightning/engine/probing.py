"""Measures of how embeddings lie in space, and of those of a frozen f while it pre-trains and at its end."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from ..data.targets import Labels, Target
from ..data.trials import EVALUATION_ROWS, TrialData
from ..losses.loss import squared_distance
from ..losses.loss import uniformity as spread
from ..randomness import StackedGenerator
from .lifting import as_it_is
from .watching import Watcher

if TYPE_CHECKING:
    # These modules import Lightning.
    from ..data.datamodule import DeviceTable
    from .stack_modules import Pretraining

NEIGHBOURS = 5
MOST_ITERATIONS = 1000
"""Of the logistic regression."""


def alignment(first: NDArray[Any], second: NDArray[Any]) -> float:
    """Mean over rows of the squared distance between the directions of two views: 0 (the same) to 4 (opposite).

    Wang and Isola 2020, https://arxiv.org/abs/2005.10242, with alpha = 2. **Shape.** ``(n, E)`` twice.
    """
    return float(squared_distance(_unit(first), _unit(second)))


def uniformity(embeddings: NDArray[Any], t: float = 2.0) -> float:
    """log of the mean over pairs of exp(-t d^2), d the distance of their directions: 0 for one point, less if spread.

    Wang and Isola 2020. **Shape.** ``(n, E)``.
    """
    return float(spread(_unit(embeddings), t))


def effective_rank(embeddings: NDArray[Any]) -> float:
    """exp of the entropy of the normalised singular values: how many dimensions the rows fill, 1 to min(n, E).

    Roy and Vetterli 2007, "The effective rank"; for embeddings Garrido et al. 2023, https://arxiv.org/abs/2210.02885.
    The rows are not centred. Rows of zeros have rank 0. **Shape.** ``(n, E)``.
    """
    matrix = np.asarray(embeddings, dtype=np.float64)
    singular = np.linalg.svd(matrix, compute_uv=False)
    # Rows of zeros have no direction.
    if not singular.any():
        return 0.0
    share = singular[singular > 0] / singular.sum()
    entropy = -(share * np.log(share)).sum()
    return float(np.exp(entropy))


def _unit(embeddings: NDArray[Any]) -> Tensor:
    """Directions, float64 ``(1, n, E)``; an embedding of zeros has none and stays."""
    matrix = np.asarray(embeddings, dtype=np.float64)
    directions = F.normalize(torch.from_numpy(matrix), dim=-1)
    return directions[None]


@dataclass(frozen=True)
class Embedded:
    """The embeddings of one trial.

    Attributes:
        train, labels: of the labelled training rows, ``(n, E)`` and ``(n,)``.
        held, held_labels: of the held-out rows.
        views: of two views of the first of these, ``(N, E)`` each; None for a pretext that makes no two.
        has_classes: labels are classes, and not numbers.
    """

    train: NDArray[np.floating]
    labels: NDArray[Any]
    held: NDArray[np.floating]
    held_labels: NDArray[Any]
    views: tuple[NDArray[np.floating], NDArray[np.floating]] | None
    has_classes: bool

    def measured(self, neighbours: int) -> dict[str, float]:
        """The measures by their names, see `Probing`."""
        # Scikit-learn takes a second to import, and few cells need it.
        from sklearn.linear_model import LogisticRegression, Ridge
        from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        k = min(neighbours, len(self.train))
        if self.has_classes:
            linear, nearest = LogisticRegression(max_iter=MOST_ITERATIONS), KNeighborsClassifier(k)
        else:
            linear, nearest = Ridge(), KNeighborsRegressor(k)
        measures = {"effective_rank": effective_rank(self.held)}
        for name, model in (("linear", make_pipeline(StandardScaler(), linear)), ("knn", nearest)):
            # A logistic regression needs two classes.
            if self.has_classes and len(np.unique(self.labels)) == 1:
                measures[name] = float(np.mean(self.held_labels == self.labels[0]))
            else:
                model.fit(self.train, self.labels)
                measures[name] = float(model.score(self.held, self.held_labels))
        if self.views is not None:
            measures["alignment"] = alignment(*self.views)
            measures["uniformity"] = uniformity(np.concatenate(self.views))
        return measures


class Probing:
    """Measures the embeddings of the trials that a pre-training still trains.

    - ``linear``: accuracy of a logistic regression on standardised embeddings of the labelled training rows (Alain and
      Bengio, 2017, https://arxiv.org/abs/1610.01644); R² of a ridge regression if the target is a number.
    - ``knn``: the same of the nearest neighbours, which count alike (Wu et al., 2018, https://arxiv.org/abs/1805.01978,
      weighs them).
    - ``effective_rank``: of the held-out rows, see `effective_rank`.
    - ``alignment``, ``uniformity``: of two views of these rows, if the pretext makes two; see `alignment` and
      `uniformity`.

    The training draws the same random numbers with and without it.

    Args:
        module: the networks, as they are.
        data: rows and labels of all trials.
        target: of the table.
        labels: of all rows of the table.
        table: the rows as the pre-training sees them.
        random: makes a stream of all trials that views are drawn from.
        neighbours: number of neighbours.
    """

    def __init__(
        self,
        module: "Pretraining",
        data: TrialData,
        target: Target,
        labels: Labels,
        table: "DeviceTable",
        random: Callable[[], StackedGenerator],
        neighbours: int = NEIGHBOURS,
    ) -> None:
        self._module = module
        self._data = data
        self._target = target
        self._labels = labels
        self._table = table
        self._random = random
        self._neighbours = neighbours

    def validation_measures(self) -> dict[str, NDArray[np.float64]]:
        """The measures by their names, ``(A,)`` each for the A trials still here, on the validation rows."""
        return self._measure(self._data.validation, self._data.validation_labels)

    def test_measures(self) -> dict[str, NDArray[np.float64]]:
        """The same on the test rows."""
        return self._measure(self._data.test, self._labels[self._data.test])

    @torch.no_grad()
    def _measure(self, rows: NDArray[np.int64], labels: Labels) -> dict[str, NDArray[np.float64]]:
        with as_it_is(self._module):
            self._module.eval()
            train, held = self._embed(self._data.labelled), self._embed(rows)
            views = self._views(rows[:, :EVALUATION_ROWS])
        has_classes = self._target.has_classes
        measures: dict[str, list[float]] = {}
        for place, trial in enumerate(self._module.roster.positions):
            pair = None if views is None else (views[0][place], views[1][place])
            embeddings = Embedded(train[place], self._data.labels[trial], held[place], labels[trial], pair, has_classes)
            for name, value in embeddings.measured(self._neighbours).items():
                measures.setdefault(name, []).append(value)
        return {name: np.array(values) for name, values in measures.items()}

    def _raw(self, rows: NDArray[np.int64]) -> Tensor:
        """Rows of the trials still here, ``(A, n, M)``."""
        roster = self._module.roster
        return self._table.rows(torch.from_numpy(rows[roster.positions]).to(self._table.device), roster)

    def _embed(self, rows: NDArray[np.int64]) -> NDArray[np.floating]:
        chunks = [self._module.encoder(chunk) for chunk in torch.split(self._raw(rows), EVALUATION_ROWS, dim=1)]
        return _host_tensor(torch.cat(chunks, dim=1))

    def _views(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.floating], NDArray[np.floating]] | None:
        inputs = self._module.views_of(self._raw(rows), self._random())
        if len(inputs) != 2:
            return None
        first, second = (_host_tensor(self._module.encoder.body(view)) for view in inputs)
        return first, second


class EpochProbe(Watcher):
    """Adds the measures of the validation rows to the curves of a pre-training.

    Args:
        probing: measures.
        module: its networks.
        every: epochs between two measurements.
    """

    def __init__(self, probing: Probing, module: "Pretraining", every: int) -> None:
        self._probing = probing
        self._module = module
        self._every = every
        self._n_epochs = 0

    def after_steps(self) -> None:
        self._n_epochs += 1
        if self._n_epochs % self._every:
            return
        for name, values in self._probing.validation_measures().items():
            device_values = torch.from_numpy(values).to(self._module.roster.index.device)
            self._module.tally(f"probe_{name}", device_values, 1)


def _host_tensor(embeddings: Tensor) -> NDArray[np.floating]:
    # NumPy has no bfloat16.
    wide = embeddings.float() if embeddings.dtype == torch.bfloat16 else embeddings
    host: NDArray[np.floating] = wide.cpu().numpy()
    return host
