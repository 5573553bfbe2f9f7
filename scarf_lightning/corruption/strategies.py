"""The corruption strategies (paper, Algorithm 1 and section 4.5), and the interface that all share.

Leading axes are ``...``: rows and features are the last two axes of ``x (..., N, M)``, and a draw of ``random`` has the
same leading axes.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

import torch
from torch import Tensor

from ..options.option import Options, option
from ..randomness import StackedGenerator
from .selection import Selection

Space = Literal["raw", "encoded"]


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


@dataclass
class Corruption(Options, ABC):
    """A way to make a view of a row.

    ``space`` says what it works on: the ``raw`` columns before the one-hot encoding, or the ``encoded`` ones.
    ``learns_missing_values`` says whether the encoder needs a learnable value for each encoded column.
    """

    name: ClassVar[str]
    space: ClassVar[Space] = "encoded"
    learns_missing_values: ClassVar[bool] = False

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

    search_space: ClassVar[dict[str, Any]] = {"rate": ("float", 0.1, 0.9)}
    rate: float = option(0.6, "share of the features to replace", "(0, 1]")

    def __call__(
        self, x: Tensor, source: TrainingSource, random: StackedGenerator, selection: Selection
    ) -> tuple[Tensor, Tensor]:
        n_rows, n_features = x.shape[-2:]
        mask = selection.mask(self.rate, n_rows, n_features, random)
        return torch.where(mask, self.replacement(x, source, random), x), mask

    @abstractmethod
    def replacement(self, x: Tensor, source: TrainingSource, random: StackedGenerator) -> Tensor:
        """The values that replace the selected features; broadcasts to ``x`` ``(..., N, M)``."""


@dataclass
class Marginal(SelectiveCorruption):
    """A selected feature takes the value of a training row drawn uniformly, for every row and feature (Algorithm 1)."""

    name: ClassVar[str] = "marginal"
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"
    space: ClassVar[Space] = "raw"

    def replacement(self, x: Tensor, source: TrainingSource, random: StackedGenerator) -> Tensor:
        return source.cells(random.integers(source.n_rows, *x.shape[-2:]))


@dataclass
class SingleRow(SelectiveCorruption):
    """The selected features of all rows take their values from one training row, drawn for every mini-batch."""

    name: ClassVar[str] = "single_row"
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"
    space: ClassVar[Space] = "raw"

    def replacement(self, x: Tensor, source: TrainingSource, random: StackedGenerator) -> Tensor:
        return source.rows(random.integers(source.n_rows, 1))


@dataclass
class Joint(SelectiveCorruption):
    """The selected encoded columns of a row take their values from one training row, drawn for every row."""

    name: ClassVar[str] = "joint"
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"

    def replacement(self, x: Tensor, source: TrainingSource, random: StackedGenerator) -> Tensor:
        return source.encoded_rows(random.integers(source.n_rows, x.shape[-2]))


@dataclass
class Mean(SelectiveCorruption):
    """A selected encoded column takes its mean over the training rows."""

    name: ClassVar[str] = "mean"
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"

    def replacement(self, x: Tensor, source: TrainingSource, random: StackedGenerator) -> Tensor:
        return source.mean()


@dataclass
class Zero(SelectiveCorruption):
    """A selected encoded column becomes 0 (the paper's "feature dropout")."""

    name: ClassVar[str] = "zero"
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"

    def replacement(self, x: Tensor, source: TrainingSource, random: StackedGenerator) -> Tensor:
        return x.new_zeros(())


@dataclass
class Missing(SelectiveCorruption):
    """A selected encoded column takes a value that is learned with the network, one a column, and kept with f."""

    name: ClassVar[str] = "missing"
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"
    learns_missing_values: ClassVar[bool] = True

    def replacement(self, x: Tensor, source: TrainingSource, random: StackedGenerator) -> Tensor:
        return source.missing_values()


@dataclass
class Gaussian(Corruption):
    """Adds i.i.d. N(0, sigma^2) to every encoded column; all features count as selected."""

    name: ClassVar[str] = "gaussian"
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"
    sigma: float = option(0.5, "standard deviation of the noise", "(0, inf)")

    def __call__(
        self, x: Tensor, source: TrainingSource, random: StackedGenerator, selection: Selection
    ) -> tuple[Tensor, Tensor]:
        noise = random.normal(*x.shape[-2:]).to(x.dtype)
        return x + self.sigma * noise, torch.ones_like(x, dtype=torch.bool)


@dataclass
class NoCorruption(Corruption):
    """The view is the row itself; no feature is selected."""

    name: ClassVar[str] = "none"
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"

    def __call__(
        self, x: Tensor, source: TrainingSource, random: StackedGenerator, selection: Selection
    ) -> tuple[Tensor, Tensor]:
        return x, torch.zeros_like(x, dtype=torch.bool)
