"""STUNT: rows are classified by prototypes, in tasks that are made of the table's own columns."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from ..corruption import Selection
from ..corruption.strategies import Marginal, n_selected
from ..networks import without_ones
from ..options.option import option
from ..randomness import StackedGenerator
from .pretext import Pretext, Rows, Views

ITERATIONS = 20
"""Steps of k-means, as in the authors' code."""


@dataclass
class Stunt(Pretext):
    """Each of ``n_tasks`` tasks chooses random columns, and k-means on them gives the rows of the mini-batch
    ``n_clusters`` pseudo-classes. Then the chosen columns take values of training rows drawn for every row and column.
    The prototype of a class is the mean output of g for ``n_shots`` of its rows. The loss is the cross-entropy of
    classifying up to ``n_queries`` others of each class by their negative squared distances to all prototypes.

    Between ``least_share`` and ``most_share`` of the columns are chosen: their number is uniform between the floors of
    both, and at least 1. The numbers of classes, shots, queries and tasks are those of the authors' code.

    Differs from the paper: labels fine-tune f by the usual supervised phase, with a new head; the authors classify by
    the prototypes of the few labelled rows. k-means runs on the mini-batch rather than on all rows. The authors draw a
    task again until each class has rows enough; here a class without other rows than its shots is a prototype without
    queries, and a mini-batch of N rows has at most N / (``n_shots`` + 1) classes. Columns are features, so that the
    encoded columns of a category are chosen together. Early stopping watches the loss of such tasks on validation rows;
    the authors watch the accuracy on one clustering of them by all columns, unchanged. There is a g behind f.

    Rows at 0 and 3 are the shots of two classes, and rows at 1 and 2 their queries:

    >>> task = Stunt(n_clusters=2, n_tasks=1)
    >>> output = torch.tensor([[0.0], [3.0], [1.0], [2.0]])
    >>> classes, places = torch.tensor([[0], [1], [0], [1]]), torch.tensor([[0], [0], [1], [1]])
    >>> task.compute_loss((output,), (classes, places)), task.compute_error((output,), (classes, places))
    (tensor(0.0486), tensor(0., dtype=torch.float64))
    """

    name: ClassVar[str] = "stunt"
    label: ClassVar[str] = "STUNT"
    paper: ClassVar[str] = "Nam et al., 2023, arXiv:2303.00918"
    search_space: ClassVar[dict[str, Any]] = {"n_clusters": ("log_int", 2, 50)}
    n_clusters: int = option(10, "clusters of a task, its pseudo-classes", "[2, 1000]")
    n_shots: int = option(1, "rows of each pseudo-class that its prototype is the mean of", "[1, 1000]")
    n_queries: int = option(15, "most rows of each pseudo-class that are classified", "[1, 1000]")
    n_tasks: int = option(4, "tasks of a step", "[1, 100]")
    least_share: float = option(0.2, "least share of the columns that k-means runs on", "(0, 1]")
    most_share: float = option(0.5, "largest share of the columns that k-means runs on", "(0, 1]")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.least_share > self.most_share:
            raise ValueError(f"least_share must be at most most_share={self.most_share}, not {self.least_share}")

    def make_views(self, rows: Rows) -> Views:
        """A view for each task; and of each row and task its class and its place in it, int64 ``(..., N, n_tasks)``
        each. In the order of places come shots, queries and rows that are not used."""
        chosen = self._chosen(rows.columns.n_features, rows.random)
        views = []
        for features in chosen.unbind(dim=-2):
            view, _ = rows.corrupted(Marginal(), These(features))
            views.append(view)

        n_rows = rows.encoded.shape[-2]
        owners = torch.tensor(rows.columns.owners)
        owners = owners.to(chosen.device, non_blocking=True)
        is_chosen = chosen.index_select(-1, owners).unsqueeze(-2)
        # A column of zeros has no part in any distance, so all tasks have the same shape.
        clustered = torch.where(is_chosen, rows.encoded.unsqueeze(-3), 0.0)
        order = rows.random.uniform(self.n_tasks, n_rows).argsort(dim=-1)
        first = order[..., : self._n_clusters_of(n_rows)]
        classes = k_means(clustered, first)
        places = places_within(classes, rows.random.uniform(self.n_tasks, n_rows))
        # Targets have the rows in front of the tasks.
        return Views(tuple(views), (classes.mT, places.mT))

    def compute_loss(self, outputs: tuple[Any, ...], targets: tuple[Tensor, ...]) -> Tensor:
        logits, classes, is_query = self._answers(outputs, targets)
        own = classes.unsqueeze(-1)
        log_likelihoods = logits.log_softmax(dim=-1).gather(-1, own).squeeze(-1)
        return -_mean_where(is_query, log_likelihoods)

    @property
    def has_error(self) -> bool:
        return True

    def compute_error(self, outputs: tuple[Any, ...], targets: tuple[Tensor, ...]) -> Tensor:
        """The share of queries that are nearest to the prototype of another class, ``(...)``."""
        logits, classes, is_query = self._answers(outputs, targets)
        is_wrong = logits.argmax(dim=-1) != classes
        return _mean_where(is_query, is_wrong.double())

    def _chosen(self, n_features: int, random: StackedGenerator) -> Tensor:
        """The features that are chosen for each task, bool ``(..., n_tasks, n_features)``."""
        least = max(1, n_selected(self.least_share, n_features))
        most = max(1, n_selected(self.most_share, n_features))
        n_chosen = least + random.integers(most - least + 1, self.n_tasks)
        # Numbered in a random order, the first ones are a random subset.
        numbers = random.uniform(self.n_tasks, n_features).argsort(dim=-1)
        return numbers < n_chosen.unsqueeze(-1)

    def _n_clusters_of(self, n_rows: int) -> int:
        """The clusters of so many rows, few enough for a query in each; but two rows or more have two clusters.

        >>> [Stunt(n_shots=3)._n_clusters_of(n_rows) for n_rows in (100, 13, 5, 1)]
        [10, 3, 2, 1]
        """
        at_most = max(2, n_rows // (self.n_shots + 1))
        return min(self.n_clusters, at_most, n_rows)

    def _answers(self, outputs: tuple[Any, ...], targets: tuple[Tensor, ...]) -> tuple[Tensor, Tensor, Tensor]:
        """Logits of the classes ``(..., n_tasks, N, n_clusters)``, the right class of each row, and which rows are
        queries, ``(..., n_tasks, N)`` both."""
        classes, places = (target.mT for target in targets)
        is_shot = places < self.n_shots
        is_query = ~is_shot & (places < self.n_shots + self.n_queries)
        embeddings = torch.stack(outputs, dim=-3)
        # What all embeddings share is in no distance, and would take digits of the products.
        embeddings = embeddings - embeddings.mean(dim=-2, keepdim=True)
        is_shot_of = is_shot.unsqueeze(-2) & members(classes, self.n_clusters)
        prototypes, counts = means(embeddings, is_shot_of)
        logits = -distances(embeddings, prototypes)
        # A class without rows is no answer.
        logits = logits.masked_fill(counts.mT == 0, -math.inf)
        return logits, classes, is_query


@dataclass
class These(Selection):
    """Selects the same features in all rows, those that are True in ``features`` ``(..., M)``."""

    features: Tensor

    def mask(self, rate: float, n_rows: int, n_features: int, random: StackedGenerator) -> Tensor:
        mask = self.features.unsqueeze(-2)
        return mask.expand(*mask.shape[:-2], n_rows, n_features)


def k_means(x: Tensor, first: Tensor) -> Tensor:
    """The nearest centre of each row after `ITERATIONS` steps of Lloyd's algorithm, int64 ``(..., N)``.

    A centre that is nearest to no row stays where it is.

    Args:
        x: rows ``(..., N, D)``.
        first: the positions of the rows that are the first centres, int64 ``(..., K)``.

    >>> k_means(torch.tensor([[0.0], [1.0], [5.0], [6.0], [7.0]]), torch.tensor([0, 1]))
    tensor([0, 0, 1, 1, 1])
    """
    # Distances are those of any origin, and products lose least around this one.
    x = x - x.mean(dim=-2, keepdim=True)
    places = first.unsqueeze(-1).expand(*first.shape, x.shape[-1])
    centres = x.gather(-2, places)
    n_classes = first.shape[-1]
    for _ in range(ITERATIONS):
        classes = distances(x, centres).argmin(dim=-1)
        moved, counts = means(x, members(classes, n_classes))
        centres = torch.where(counts > 0, moved, centres)
    return distances(x, centres).argmin(dim=-1)


def members(classes: Tensor, n_classes: int) -> Tensor:
    """The rows of each class, bool ``(..., n_classes, N)``, from the class of each row ``(..., N)``."""
    numbers = torch.arange(n_classes, device=classes.device).unsqueeze(-1)
    return classes.unsqueeze(-2) == numbers


def means(x: Tensor, is_member: Tensor) -> tuple[Tensor, Tensor]:
    """The mean row of each class, 0 of one without rows, and its number of rows.

    **Shape.** Rows ``(..., N, D)`` and `members` ``(..., K, N)`` give ``(..., K, D)`` and ``(..., K, 1)``.

    >>> means(torch.tensor([[1.0], [3.0]]), torch.tensor([[True, True], [False, False]]))
    (tensor([[2.],
            [0.]]), tensor([[2],
            [0]]))
    """
    counts = is_member.sum(dim=-1, keepdim=True)
    sums = _product(is_member.to(x.dtype), x)
    return sums / counts.clamp(min=1), counts


def places_within(classes: Tensor, order: Tensor) -> Tensor:
    """The place of each row among those of its class, from 0, by its number in ``order``, which is below 1.

    **Shape.** ``(..., N)`` twice gives int64 ``(..., N)``.

    >>> places_within(torch.tensor([1, 0, 1, 1]), torch.tensor([0.3, 0.9, 0.1, 0.7]))
    tensor([1, 0, 0, 2])
    """
    # Sorted by class, and within a class by the order; in float64 the sum loses no digit of the order.
    rows_by_class = (classes.double() + order).argsort(dim=-1)
    places = rows_by_class.argsort(dim=-1)
    # Rows of smaller classes come before those of a class.
    sorted_classes = classes.gather(-1, rows_by_class)
    n_before = torch.searchsorted(sorted_classes, classes.contiguous())
    return places - n_before


def distances(x: Tensor, centres: Tensor) -> Tensor:
    """Squared distances of rows to centres, less the squared length of the row, which is the same for all centres.

    **Shape.** ``(..., N, D)`` and ``(..., K, D)`` give ``(..., N, K)``.

    >>> distances(torch.tensor([[1.0, 2.0]]), torch.tensor([[1.0, 2.0], [3.0, 2.0]]))
    tensor([[-5., -1.]])
    """
    # From products, because the differences of all pairs would take K times the memory of the rows.
    lengths = centres.square().sum(dim=-1).unsqueeze(-2)
    return lengths - 2 * _product(x, centres.mT)


def _product(first: Tensor, second: Tensor) -> Tensor:
    """``(..., n, k)`` and ``(..., k, m)`` give ``(..., n, m)``."""
    x, weight = without_ones(first, second)
    return (x @ weight)[..., : second.shape[-1]]


def _mean_where(mask: Tensor, values: Tensor) -> Tensor:
    """The mean over the last two axes of the values that are chosen, ``(...)``; 0 if none is."""
    total = torch.where(mask, values, 0.0).sum(dim=(-2, -1))
    n_values = mask.sum(dim=(-2, -1)).clamp(min=1)
    return total / n_values
