"""Selections of the features to corrupt, and corruptions that replace them (paper, Algorithm 1 and section 4.5).

Leading axes are ``...``: rows and features are the last two axes of ``x (..., N, M)``, and a draw of ``random`` has the
same leading axes.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
import torch
from torch import Tensor

from ..errors import UsageError
from ..options.option import Options, option
from ..randomness import StackedGenerator

Space = Literal["raw", "encoded"]


def n_selected(rate: float, n_features: int) -> int:
    """q = floor(c * M) of Algorithm 1, line 3, exactly: 0.7 of 180 is 126, though 0.7 * 180 is 125.99... in floats.

    >>> n_selected(0.7, 180), int(0.7 * 180)
    (126, 125)
    """
    return math.floor(Fraction(repr(rate)) * n_features)


def largest(values: Tensor, k: int) -> Tensor:
    """Mask of the k largest values along the last axis, bool of the same shape; ties are broken as in `torch.topk`.

    >>> largest(torch.tensor([0.2, 0.9, 0.5]), 2)
    tensor([False,  True,  True])
    """
    if values.device.type != "cpu" or k == 0:
        return _largest_by_topk(values, k)
    # NumPy finds the k-th largest value in a third to a seventh of the time of torch.topk. Only ties need torch.topk.
    place = values.shape[-1] - k
    kth = np.partition(values.numpy(), place, axis=-1)[..., place, None]
    mask = values >= torch.from_numpy(kth)
    has_ties = mask.sum(dim=-1) > k
    if has_ties.any():
        mask[has_ties] = _largest_by_topk(values[has_ties], k)
    return mask


def _largest_by_topk(values: Tensor, k: int) -> Tensor:
    """The mask of `largest`, on any device."""
    indices = values.topk(k, dim=-1, sorted=False).indices
    return torch.zeros_like(values, dtype=torch.bool).scatter_(-1, indices, True)


@dataclass
class Selection(Options, ABC):
    """A way to choose the features of each row.

    ``always_selects`` is true if it selects at least one feature at any rate.
    """

    name: ClassVar[str]
    always_selects: ClassVar[bool] = False

    @abstractmethod
    def mask(self, rate: float, n_rows: int, n_features: int, random: StackedGenerator) -> Tensor:
        """Mask of the features selected in each row of a mini-batch, bool ``(..., n_rows, n_features)``."""


@dataclass
class Exact(Selection):
    """A uniformly random set of exactly q features for every row (Algorithm 1, line 5).

    >>> mask = Exact().mask(0.5, n_rows=2, n_features=5, random=StackedGenerator([0], leading=()))
    >>> mask.sum(dim=-1)
    tensor([2, 2])
    """

    name: ClassVar[str] = "exact"
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"

    def mask(self, rate: float, n_rows: int, n_features: int, random: StackedGenerator) -> Tensor:
        return largest(random.uniform(n_rows, n_features), n_selected(rate, n_features))


@dataclass
class Bernoulli(Selection):
    """Each feature with probability c; a row without any gets one, chosen uniformly (paper, appendix).

    >>> mask = Bernoulli().mask(1e-9, n_rows=2, n_features=5, random=StackedGenerator([0], leading=()))
    >>> mask.sum(dim=-1)
    tensor([1, 1])
    """

    name: ClassVar[str] = "bernoulli"
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"
    always_selects: ClassVar[bool] = True

    def mask(self, rate: float, n_rows: int, n_features: int, random: StackedGenerator) -> Tensor:
        uniform = random.uniform(n_rows, n_features)
        # The smallest number is below the rate wherever any is, so setting its feature changes empty rows only.
        smallest = uniform.argmin(dim=-1, keepdim=True)
        return (uniform < rate).scatter(-1, smallest, True)


@dataclass
class Shared(Selection):
    """One set of exactly q features for all rows of the mini-batch (paper, appendix).

    >>> mask = Shared().mask(0.5, n_rows=2, n_features=5, random=StackedGenerator([0], leading=()))
    >>> mask.sum(dim=-1), bool((mask[0] == mask[1]).all())
    (tensor([2, 2]), True)
    """

    name: ClassVar[str] = "shared"
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"

    def mask(self, rate: float, n_rows: int, n_features: int, random: StackedGenerator) -> Tensor:
        mask = Exact().mask(rate, 1, n_features, random)
        # A mask that broadcasts takes no memory, and no step writes into it.
        return mask.expand(*mask.shape[:-2], n_rows, n_features)


class TrainingSource(Protocol):
    """The training rows that a corruption draws values from. Positions count from 0 to ``n_rows`` - 1."""

    @property
    def n_rows(self) -> int: ...

    def cells(self, positions: Tensor) -> Tensor:
        """Raw values of single cells: a training row for each value, ``(..., N, M)``, gives ``(..., N, M)``."""

    def rows(self, positions: Tensor) -> Tensor:
        """Raw rows at ``positions`` ``(..., N)``: ``(..., N, M)``."""

    def encoded_rows(self, positions: Tensor) -> Tensor:
        """Encoded rows at ``positions`` ``(..., N)``: ``(..., N, D)``."""

    def mean(self) -> Tensor:
        """Mean of each encoded column over the training rows, ``(..., 1, D)``."""

    def missing_values(self) -> Tensor:
        """The encoder's learnable value of each encoded column, ``(..., 1, D)``."""


@dataclass(kw_only=True)
class Corruption(Options, ABC):
    """A way to make a view of a row. The engine gives the columns that ``keep`` names their own values back.

    ``space`` is the space that it works in: the ``raw`` columns before the one-hot encoding, or the ``encoded`` ones.
    ``learns_missing_values`` is true if the encoder needs a learnable value for each encoded column.
    """

    name: ClassVar[str]
    space: ClassVar[Space] = "encoded"
    learns_missing_values: ClassVar[bool] = False
    keep: list[str] | None = option(None, "columns whose values stay as they are; each keeps every column in turn")

    @abstractmethod
    def __call__(
        self, x: Tensor, source: TrainingSource, random: StackedGenerator, selection: Selection
    ) -> tuple[Tensor, Tensor]:
        """Corrupt the rows of a mini-batch, ``x (..., N, M)``.

        Returns:
            The view, of the shape of ``x``, and the mask of the selected features, bool of the same shape.
        """


@dataclass
class SelectiveCorruption(Corruption):
    """Replaces a share ``rate`` of the features of each row, chosen by ``selection``."""

    rate: float = option(0.6, "share of the features to replace", "(0, 1]")

    def __call__(
        self, x: Tensor, source: TrainingSource, random: StackedGenerator, selection: Selection
    ) -> tuple[Tensor, Tensor]:
        n_rows, n_features = x.shape[-2:]
        # The mask before the values: the order of the draws is part of a cell's numbers.
        mask = selection.mask(self.rate, n_rows, n_features, random)
        values = self.replacement(x, source, random)
        # One value for all features, or one for each; anything else belongs to the other space.
        if values.dim() and values.shape[-1] not in (1, n_features):
            raise UsageError(
                f"corruption={self.name}: replacement gives values of {values.shape[-1]} columns, and rows have "
                f'{n_features} {self.space} ones. space: ClassVar[str] = "raw" works on the columns of the table, '
                '"encoded" (the default) on those after categories are encoded.'
            )
        return torch.where(mask, values, x), mask

    @abstractmethod
    def replacement(self, x: Tensor, source: TrainingSource, random: StackedGenerator) -> Tensor:
        """The values that replace the selected features; broadcasts to ``x`` ``(..., N, M)``."""


@dataclass
class Marginal(SelectiveCorruption):
    """A selected feature takes the value of a training row drawn uniformly, for every row and feature (Algorithm 1).

    Each feature is drawn from another training row, so a view mixes rows:

    >>> from types import SimpleNamespace
    >>> train = torch.tensor([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    >>> source = SimpleNamespace(n_rows=3, cells=lambda positions: train.gather(0, positions))
    >>> random = StackedGenerator([0], leading=())
    >>> view, mask = Marginal(rate=1.0)(torch.zeros(3, 2), source, random, Exact())
    >>> view
    tensor([[ 2., 20.],
            [ 2., 10.],
            [ 3., 30.]])
    """

    name: ClassVar[str] = "marginal"
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"
    space: ClassVar[Space] = "raw"

    def replacement(self, x: Tensor, source: TrainingSource, random: StackedGenerator) -> Tensor:
        # A feature may be drawn from another row than its neighbour.
        return source.cells(random.integers(source.n_rows, *x.shape[-2:]))


@dataclass
class SingleRow(SelectiveCorruption):
    """The selected features of all rows take their values from one training row, drawn for every mini-batch.

    >>> from types import SimpleNamespace
    >>> train = torch.tensor([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    >>> source = SimpleNamespace(n_rows=3, rows=lambda positions: train[positions])
    >>> random = StackedGenerator([0], leading=())
    >>> view, mask = SingleRow(rate=1.0)(torch.zeros(3, 2), source, random, Exact())
    >>> view
    tensor([[ 2., 20.],
            [ 2., 20.],
            [ 2., 20.]])
    """

    name: ClassVar[str] = "single_row"
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"
    space: ClassVar[Space] = "raw"

    def replacement(self, x: Tensor, source: TrainingSource, random: StackedGenerator) -> Tensor:
        return source.rows(random.integers(source.n_rows, 1))


@dataclass
class Joint(SelectiveCorruption):
    """The selected encoded columns of a row take their values from one training row, drawn for every row.

    >>> from types import SimpleNamespace
    >>> train = torch.tensor([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    >>> source = SimpleNamespace(n_rows=3, encoded_rows=lambda positions: train[positions])
    >>> random = StackedGenerator([0], leading=())
    >>> view, mask = Joint(rate=1.0)(torch.zeros(3, 2), source, random, Exact())
    >>> view[:, 1] / view[:, 0]
    tensor([10., 10., 10.])
    """

    name: ClassVar[str] = "joint"
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"

    def replacement(self, x: Tensor, source: TrainingSource, random: StackedGenerator) -> Tensor:
        # One position for all columns of a row, so that they keep what they have in common.
        positions = random.integers(source.n_rows, x.shape[-2])
        return source.encoded_rows(positions)


@dataclass
class Mean(SelectiveCorruption):
    """A selected encoded column takes its mean over the training rows.

    >>> from types import SimpleNamespace
    >>> source = SimpleNamespace(mean=lambda: torch.tensor([[2.0, 20.0]]))
    >>> view, mask = Mean(rate=1.0)(torch.zeros(2, 2), source, StackedGenerator([0], leading=()), Exact())
    >>> view
    tensor([[ 2., 20.],
            [ 2., 20.]])
    """

    name: ClassVar[str] = "mean"
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"

    def replacement(self, x: Tensor, source: TrainingSource, random: StackedGenerator) -> Tensor:
        return source.mean()


@dataclass
class Zero(SelectiveCorruption):
    """A selected encoded column becomes 0 (the paper's "feature dropout").

    >>> view, mask = Zero(rate=0.5)(torch.ones(2, 4), None, StackedGenerator([0], leading=()), Exact())
    >>> view.sum(dim=-1)
    tensor([2., 2.])
    """

    name: ClassVar[str] = "zero"
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"

    def replacement(self, x: Tensor, source: TrainingSource, random: StackedGenerator) -> Tensor:
        return x.new_zeros(())


@dataclass
class Missing(SelectiveCorruption):
    """A selected encoded column takes a value that is learned with the network, one a column, and kept with f.

    >>> from types import SimpleNamespace
    >>> source = SimpleNamespace(missing_values=lambda: torch.tensor([[-1.0, -2.0]]))
    >>> view, mask = Missing(rate=1.0)(torch.zeros(1, 2), source, StackedGenerator([0], leading=()), Exact())
    >>> view
    tensor([[-1., -2.]])
    """

    name: ClassVar[str] = "missing"
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"
    learns_missing_values: ClassVar[bool] = True

    def replacement(self, x: Tensor, source: TrainingSource, random: StackedGenerator) -> Tensor:
        return source.missing_values()


@dataclass
class Gaussian(Corruption):
    """Adds i.i.d. N(0, sigma^2) to every encoded column; all features count as selected.

    >>> random = StackedGenerator([0], leading=())
    >>> view, mask = Gaussian(sigma=0.1)(torch.zeros(10_000, 1), None, random, Exact())
    >>> round(view.std().item(), 2), bool(mask.all())
    (0.1, True)
    """

    name: ClassVar[str] = "gaussian"
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"
    sigma: float = option(0.5, "standard deviation of the noise", "(0, inf)")

    def __call__(
        self, x: Tensor, source: TrainingSource, random: StackedGenerator, selection: Selection
    ) -> tuple[Tensor, Tensor]:
        # Draws are float32, and the rows may be of another type.
        noise = random.normal(*x.shape[-2:]).to(x.dtype)
        return x + self.sigma * noise, torch.ones_like(x, dtype=torch.bool)


@dataclass
class NoCorruption(Corruption):
    """The view is the row itself; no feature is selected.

    >>> NoCorruption()(torch.ones(1, 2), None, StackedGenerator([0], leading=()), Exact())
    (tensor([[1., 1.]]), tensor([[False, False]]))
    """

    name: ClassVar[str] = "none"
    # It changes no column.
    keep: ClassVar[None] = None  # type: ignore[misc]
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"

    def __call__(
        self, x: Tensor, source: TrainingSource, random: StackedGenerator, selection: Selection
    ) -> tuple[Tensor, Tensor]:
        return x, torch.zeros_like(x, dtype=torch.bool)


def check_kept(parts: Iterable[Any], table: Any) -> None:
    """Refuse columns that the corruption of a part keeps and a table lacks by a `UsageError`."""
    for part in parts:
        corruption = getattr(part, "corruption", None)
        if corruption is not None and corruption.keep:
            table.places(corruption.keep, "corruption.keep")
