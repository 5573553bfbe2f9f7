"""The paper's network, and the same on embeddings of the numeric features (Gorishniy et al. 2022).

Source of the embeddings: https://arxiv.org/abs/2203.05556; defaults are those of the authors' `rtdl_num_embeddings`.
"""

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from ..options.option import option
from . import Columns, Network, Rates, ReLUNetwork, SomeColumns


@dataclass
class MLP(Network):
    """f of the paper: ``depth`` linear layers of ``width``, each followed by a ReLU (section 4)."""

    name: ClassVar[str] = "mlp"
    label: ClassVar[str] = "MLP"
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"
    starts_as_built: ClassVar[bool] = False
    width: int = option(256, "units of a layer", "[1, 100000]")
    depth: int = option(4, "number of layers", "[1, 1000]")

    def build(self, columns: Columns, dropout: float | None) -> nn.Module:
        widths = [columns.n_encoded, *[self.width] * self.depth]
        return ReLUNetwork(widths, is_encoder=True, dropout=dropout)


class LinearReLUPerFeature(nn.Module):
    """A linear layer and a ReLU of its own for each feature ("LR" in the paper), trained at a multiple ``rate`` of the
    learning rate.

    **Shape.** Input ``(..., N, F, n_in)``, output ``(..., N, F, n_out)``.
    """

    def __init__(self, n_features: int, n_in: int, n_out: int, rate: float = 1.0) -> None:
        super().__init__()
        self.rates = dict.fromkeys(("weight", "bias"), Rates(rate))
        # The authors' initial weights, which are those of a linear layer of torch.
        bound = 1 / math.sqrt(n_in)
        weight = torch.empty(n_features, n_in, n_out)
        bias = torch.empty(n_features, n_out)
        self.weight = nn.Parameter(weight.uniform_(-bound, bound))
        self.bias = nn.Parameter(bias.uniform_(-bound, bound))

    def forward(self, x: Tensor) -> Tensor:
        # Features come first, as each has a product of its own.
        products = x.transpose(-3, -2) @ self.weight
        return (products.transpose(-3, -2) + self.bias).relu()


class WithNumericEmbeddings(nn.Module):
    """A network on the embeddings of the F numeric features, side by side, followed by the one-hot columns.

    **Shape.** ``embedding`` maps numbers ``(..., N, F)`` to ``(..., N, F, E)``. Encoded rows ``(..., N, D)`` give the
    output of ``network`` for ``(..., N, F * E + D - F)``.
    """

    def __init__(self, columns: Columns, embedding: nn.Module, network: nn.Module) -> None:
        super().__init__()
        # The gaps of numbers are among the others: 0 or 1, like the columns of a category.
        numeric = set(columns.numeric)
        other_columns = []
        for column in range(columns.n_encoded):
            if column not in numeric:
                other_columns.append(column)
        self.numeric = SomeColumns(columns.numeric)
        self.others = SomeColumns(other_columns)
        self.embedding = embedding
        self.network = network

    def forward(self, x: Tensor) -> Tensor:
        parts = []
        if self.numeric:
            embeddings = self.embedding(self.numeric(x))
            parts.append(embeddings.flatten(-2))
        if self.others:
            parts.append(self.others(x))
        out: Tensor = self.network(torch.cat(parts, dim=-1))
        return out


@dataclass
class MLPOnEmbeddings(MLP):
    """The paper's network on ``embedding`` columns for each number; categories stay one-hot columns.

    ``embedding_rate`` is the learning rate of the embeddings' linear layers, relative to that of other weights.
    """

    embedding_rate: ClassVar[float] = 1.0
    embedding: int = option(24, "width of the embedding of a numeric feature", "[2, 100000]")

    @abstractmethod
    def encoding(self, n_features: int) -> tuple[nn.Module, int]:
        """The step before linear layer and ReLU: a module from ``(..., N, F)`` to ``(..., N, F, K)``, and K."""

    def build(self, columns: Columns, dropout: float | None) -> nn.Module:
        n_numeric = len(columns.numeric)
        encoding, n_components = self.encoding(n_numeric)
        linear = LinearReLUPerFeature(n_numeric, n_components, self.embedding, self.embedding_rate)
        embedding = nn.Sequential(encoding, linear)
        # Each number becomes `embedding` columns in place of one.
        n_inputs = columns.n_encoded + n_numeric * (self.embedding - 1)
        widths = [n_inputs, *[self.width] * self.depth]
        network = ReLUNetwork(widths, is_encoder=True, dropout=dropout)
        return WithNumericEmbeddings(columns, embedding, network)


class Periodic(nn.Module):
    """concat(cos(v), sin(v)) of v = 2 pi c x, with learned frequencies c that start as N(0, ``scale`` squared).

    Initial frequencies are cut at three standard deviations, as in `rtdl_num_embeddings`. Source: section 3.3. They are
    small numbers, so a step of Adam moves them ten times as far as other weights, and their decay is as theirs.

    **Shape.** Input ``(..., N, F)``, output ``(..., N, F, 2 * frequencies)``.
    """

    rates: ClassVar[Mapping[str, Rates]] = {"frequency": Rates(10.0, 0.1)}

    def __init__(self, n_features: int, frequencies: int, scale: float) -> None:
        super().__init__()
        self.frequency = nn.Parameter(torch.empty(n_features, frequencies))
        nn.init.trunc_normal_(self.frequency, std=scale, a=-3 * scale, b=3 * scale)

    def forward(self, x: Tensor) -> Tensor:
        turns = 2 * math.pi * self.frequency
        angle = turns * x.unsqueeze(-1)
        return torch.cat([angle.cos(), angle.sin()], dim=-1)


@dataclass
class MLPPLR(MLPOnEmbeddings):
    """An MLP on PLR embeddings of the numeric features: periodic, linear, ReLU.

    Differs from the paper: frequencies start ten times as large as in the authors' package, and learn ten times as
    fast. Its 0.01 is meant to be tuned, and then trained for thousands of steps. Embeddings of 0.01 hardly depend on
    their number: with 20 labels a network that early stopping on the loss ends after some hundred steps stays at
    chance, 12 % on mfeat-karhunen and 10 % on pendigits. With these numbers it has 50 and 30, the plain MLP 52 and 46.
    After 300 steps without early stopping there is no such difference: with 100 labels ours has 79.1 ± 1.0 % on
    phoneme, 79.5 ± 0.5 on kc1 and 76.0 ± 0.7 on mfeat-karhunen, the package in a plain loop 78.2 ± 1.0, 79.9 ± 0.7 and
    79.0 ± 3.1; with all labels ours has 87.0 ± 0.5, 84.9 ± 0.9 and 96.0 ± 0.1, the package 86.6 ± 0.2, 85.2 ± 0.8 and
    96.4 ± 0.6 (``tools.benchmarks.embeddings``; standard errors over five trials, three on mfeat-karhunen).
    """

    name: ClassVar[str] = "mlp_plr"
    label: ClassVar[str] = "MLP-PLR"
    paper: ClassVar[str] = "Gorishniy et al., 2022, arXiv:2203.05556"
    typical_cost: ClassVar[float] = 3.0
    frequencies: int = option(48, "frequencies of a numeric feature", "[1, 10000]")
    frequency_scale: float = option(0.1, "standard deviation of the initial frequencies", "(0, inf)")

    def encoding(self, n_features: int) -> tuple[nn.Module, int]:
        periodic = Periodic(n_features, self.frequencies, self.frequency_scale)
        # A cosine and a sine of each frequency.
        return periodic, 2 * self.frequencies


class PiecewiseLinear(nn.Module):
    """Piecewise linear encoding: each number's position in each bin of its feature, 0 before a bin and 1 after it
    (section 3.2, equation 1).

    The first bin continues below 0 and the last above 1, for numbers beyond the edges. Edges are quantiles of the
    training rows without repetition (section 3.2.1); a feature with fewer bins is filled up with zeros. The bins are
    buffers, so they are saved with the weights. Before `fit` each feature has one bin, from 0 to 1.

    **Shape.** Input ``(..., N, F)``, output ``(..., N, F, bins)``.
    """

    start: Tensor
    size: Tensor
    lowest: Tensor
    highest: Tensor

    def __init__(self, n_features: int, bins: int) -> None:
        super().__init__()
        for name in ("start", "size", "lowest", "highest"):
            self.register_buffer(name, torch.empty(n_features, bins))
        self._set([torch.tensor([0.0, 1.0])] * n_features)

    @torch.no_grad()
    def fit(self, x: Tensor) -> None:
        """Set the bins to quantiles of numbers ``(n, F)``."""
        # Positions between rows are integers until the end: a rounding error would make a bin of almost no width.
        bins = self.start.shape[1]
        place = torch.arange(bins + 1, device=x.device) * (len(x) - 1)
        below = place // bins
        above = (below + 1).clamp_max(len(x) - 1)
        sorted_numbers = x.to(self.start).sort(dim=0).values
        remainder = (place % bins).to(sorted_numbers)
        share = (remainder / bins).unsqueeze(-1)
        edges = torch.lerp(sorted_numbers[below], sorted_numbers[above], share)
        # Equal quantiles, as of a feature that is mostly 0, would enclose bins of no width.
        self._set([torch.unique(feature) for feature in edges.T])

    def _set(self, edges: Sequence[Tensor]) -> None:
        """Set the bins of each feature between its edges, ``(bins + 1,)``."""
        self.start.zero_()
        # A number divided by the infinite size of a bin that a feature lacks is 0.
        self.size.fill_(math.inf)
        self.lowest.zero_()
        self.highest.fill_(1)
        for feature, feature_edges in enumerate(edges):
            bins = len(feature_edges) - 1
            # A constant feature has one edge, and carries no information.
            if bins == 0:
                continue
            self.start[feature, :bins] = feature_edges[:-1]
            self.size[feature, :bins] = feature_edges.diff()
            # Only these two bins go on beyond their edges; the others stay at 0 and 1.
            self.lowest[feature, 0] = -math.inf
            self.highest[feature, bins - 1] = math.inf

    def forward(self, x: Tensor) -> Tensor:
        progress = (x.unsqueeze(-1) - self.start) / self.size
        return progress.maximum(self.lowest).minimum(self.highest)


@dataclass
class MLPPLE(MLPOnEmbeddings):
    """An MLP on Q-LR embeddings of the numeric features: piecewise linear by quantiles, linear, ReLU.

    Differs from the paper: the linear layer of an embedding learns ten times as fast as other weights. Each of its
    inputs is constant for most rows, so its gradient is small. With 20 labels and early stopping on the loss it has
    24 % on pendigits, which has ten classes; at the usual rate it has 12 %, next to chance. After 300 steps without
    early stopping, with 100 labels, ours has 78.3 ± 1.0 % on phoneme, 80.1 ± 0.1 on kc1 and 76.7 ± 3.3 on
    mfeat-karhunen, the authors' package in a plain loop 78.4 ± 1.1, 81.2 ± 0.5 and 76.5 ± 1.2; with all labels ours has
    87.2 ± 0.8, 83.9 ± 1.0 and 96.5 ± 0.1, the package 88.2 ± 0.5, 83.7 ± 1.2 and 96.3 ± 0.4
    (``tools.benchmarks.embeddings``; standard errors over five trials, three on mfeat-karhunen).
    """

    name: ClassVar[str] = "mlp_ple"
    label: ClassVar[str] = "MLP-PLE"
    paper: ClassVar[str] = "Gorishniy et al., 2022, arXiv:2203.05556"
    typical_cost: ClassVar[float] = 2.0
    embedding_rate: ClassVar[float] = 10.0
    bins: int = option(48, "largest number of bins of a numeric feature", "[2, 10000]")

    def encoding(self, n_features: int) -> tuple[nn.Module, int]:
        return PiecewiseLinear(n_features, self.bins), self.bins

    def prepare(self, module: nn.Module, rows: Tensor) -> None:
        assert isinstance(module, WithNumericEmbeddings)
        encoding, _ = module.embedding.children()
        assert isinstance(encoding, PiecewiseLinear)
        encoding.fit(module.numeric(rows))
