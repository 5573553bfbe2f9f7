"""Encoders in plain `torch.nn`: what a network is, the columns that it sees, and the layers that networks share."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, zip_longest
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..options.option import Options
from ..randomness import StackedGenerator


class EncodedColumn(Protocol):
    """A column of a table, as its encoding describes it.

    Attributes:
        n_indicators: how many of its categories have a column of their own; 0 for a number.
        adds_gap_column: whether a column beside the number shows where it is missing.
    """

    @property
    def n_indicators(self) -> int: ...

    @property
    def adds_gap_column(self) -> bool: ...


@dataclass(frozen=True)
class Columns:
    """The features of a table and their encoded columns, in order.

    Attributes:
        n_categories: the number of categories of each of the M features, 0 for a numeric one.
        gaps: whether a feature, which is then a number, has a column beside it that shows where it is missing; empty if
            none has.
    """

    n_categories: tuple[int, ...]
    gaps: tuple[bool, ...] = ()

    @classmethod
    def of(cls, columns: Iterable["EncodedColumn"]) -> Self:
        """The features of encoded columns."""
        n_categories: list[int] = []
        gaps: list[bool] = []
        for column in columns:
            n_categories.append(column.n_indicators)
            gaps.append(column.adds_gap_column)
        # An empty tuple means that the table shows no gaps.
        return cls(tuple(n_categories), tuple(gaps) if any(gaps) else ())

    @property
    def n_features(self) -> int:
        """M."""
        return len(self.n_categories)

    @cached_property
    def n_encoded(self) -> int:
        """D: one column for a numeric feature, one for its gaps if it shows them, and one for each category."""
        return self._bounds[-1][1]

    @cached_property
    def numeric(self) -> list[int]:
        """The encoded columns of the numeric features."""
        columns = []
        for (start, _), n_categories in zip(self._bounds, self.n_categories, strict=True):
            if n_categories == 0:
                columns.append(start)
        return columns

    @cached_property
    def categorical(self) -> list[slice]:
        """The encoded columns of each categorical feature. The gaps of a number are a category too."""
        parts = []
        for (start, stop), n_categories in zip(self._bounds, self.n_categories, strict=True):
            if n_categories > 0:
                parts.append(slice(start, stop))
            elif stop - start > 1:
                # The first column is the number itself.
                parts.append(slice(start + 1, stop))
        return parts

    @cached_property
    def chosen(self) -> list[int]:
        """For each encoded column its place among those that a corruption selects by themselves: gaps share the place
        of their number."""
        # A number without its gap, or a gap without its number, would be no value of the feature.
        gaps = set[int]()
        for bounds, n_categories in zip(self._bounds, self.n_categories, strict=True):
            if n_categories == 0:
                gaps.update(range(bounds[0] + 1, bounds[1]))
        places, place = [], -1
        for column in range(self.n_encoded):
            if column not in gaps:
                place += 1
            places.append(place)
        return places

    @cached_property
    def owners(self) -> list[int]:
        """The feature of each encoded column."""
        features: list[int] = []
        for feature in range(self.n_features):
            features += [feature] * len(self.encoded_columns(feature))
        return features

    def encoded_columns(self, feature: int) -> range:
        """The encoded columns of one feature."""
        return range(*self._bounds[feature])

    @cached_property
    def _bounds(self) -> list[tuple[int, int]]:
        """First encoded column of each feature, and the one after its last."""
        bounds, start = [], 0
        for n_categories, has_gap in zip_longest(self.n_categories, self.gaps, fillvalue=False):
            # A numeric feature has 0 categories, and one column all the same.
            stop = start + max(n_categories, 1) + has_gap
            bounds.append((start, stop))
            start = stop
        return bounds


@dataclass
class Network(Options, ABC):
    """An encoder f: its options, and how they build a module.

    Class variables:

    - ``starts_as_built``: whether the module's constructor draws its initial weights, from the trial's stream. If not,
      ``network.weight_init`` initialises the linear layers.
    - ``typical_cost``: the time of a training step relative to ``mlp`` on 30 columns, for estimates.
    - ``costs_by_column``: true if that time is proportional to the number of columns.
    """

    name: ClassVar[str]
    starts_as_built: ClassVar[bool] = True
    typical_cost: ClassVar[float] = 1.0
    costs_by_column: ClassVar[bool] = False

    @abstractmethod
    def build(self, columns: Columns, dropout: float | None) -> nn.Module:
        """A module from encoded rows ``(..., N, D)`` to embeddings ``(..., N, E)``, of any width E.

        The engine runs it under `torch.vmap`, which hides the trial axis. A module that consists of layers on the last
        axis alone may declare ``acts_on_last_axis = True``; it is then called with the trial axis, which is faster. Its
        own parameters and buffers get that axis in front too, so they must broadcast with it: a bias is ``(1, width)``.

        A module may train its own parameters at other `Rates`.

        Args:
            columns: the D encoded columns.
            dropout: the rate of ``method=dropout``, for the network's `Dropout` layers; None keeps its own rate.
        """

    def prepare(self, module: nn.Module, rows: Tensor) -> None:
        """Set up the module with the encoded training rows ``(n, D)`` before training, for example its bins. Random
        numbers are drawn from the global generator, which holds the trial's stream."""
        return

    def head(self, widths: Sequence[int], dropout: float | None) -> nn.Module:
        """h: from embeddings to outputs, ``(..., N, widths[0])`` to ``(..., N, widths[-1])``. ``dropout`` is as in
        `build`. Linear layers are initialised by ``network.weight_init``."""
        return ReLUNetwork(widths, dropout=dropout)

    def pretrain_head(self, head: nn.Module) -> nn.Module:
        """g as the network trains it, from the one that the pretext made."""
        return head

    def prepare_head(self, head: nn.Module, embeddings: Tensor, targets: Tensor) -> None:
        """Set up h with the embeddings ``(n, E)`` of the training rows, and with the labels that training sees as
        `Target.encode` gives them, as `prepare` does f."""
        return


class Rates(NamedTuple):
    """Factors on the learning rate and on the weight decay with which a phase trains one parameter.

    A module gives those of its own parameters by name, in an attribute ``rates``; others are trained at full rates.
    """

    learning: float = 1.0
    decay: float = 1.0


def rates_of(module: nn.Module, name: str) -> Rates:
    """The factors of a module's own parameter."""
    rates: Mapping[str, Rates] = getattr(module, "rates", {})
    return rates.get(name, Rates())


def is_weight(module: nn.Module, name: str) -> bool:
    """True if a module's own parameter is a weight that ``decayed=weights`` shrinks: no bias, no learned value of a
    missing number, no scale of a normalisation."""
    is_normalisation = isinstance(module, (BatchNorm, nn.LayerNorm))
    return not (is_normalisation or name.endswith("bias") or name == "missing")


class OneHot(nn.Module):
    """The input layer: a categorical column becomes one column for each of its ``n_categories``; numeric columns, which
    have 0 categories, pass. A number of a column with ``gaps`` is followed by 1 if it is NaN, else by 0; NaN becomes 0.

    **Shape.** Input ``(..., M)`` with codes in the categorical columns, output ``(..., D)``.

    >>> OneHot([0, 2], gaps=[True, False])(torch.tensor([[float("nan"), 1.0]]))
    tensor([[0., 1., 0., 1.]])
    """

    source: Tensor
    code: Tensor
    is_categorical: Tensor
    is_gap: Tensor

    def __init__(self, n_categories: Sequence[int], gaps: Sequence[bool] = ()) -> None:
        super().__init__()
        # For each encoded column the feature that it is made of, and its code among the columns of that feature.
        sources: list[int] = []
        codes: list[int] = []
        features = zip_longest(n_categories, gaps, fillvalue=False)
        for feature, (n_codes, gap) in enumerate(features):
            width = max(n_codes, 1) + gap
            sources += [feature] * width
            codes += range(width)
        source = torch.tensor(sources)
        code = torch.tensor(codes)
        is_categorical = torch.tensor(n_categories)[source] > 0
        # The second column of a number is that of its gaps; the second of a category is its code 1.
        is_gap = ~is_categorical & (code == 1)
        # The table decides all of them, so the weights that are kept do not hold them. They are no buffers either: an
        # average over training takes all buffers, and is not defined for indices and masks.
        self.source, self.code, self.is_categorical, self.is_gap = source, code, is_categorical, is_gap
        self._has_gaps = any(gaps)
        self._is_identity = not any(n_categories) and not self._has_gaps

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "OneHot":
        """Move to a device with the other layers."""
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        for name in ("source", "code", "is_categorical", "is_gap"):
            setattr(self, name, fn(getattr(self, name)))
        return self

    def forward(self, x: Tensor) -> Tensor:
        if self._is_identity:
            return x
        spread = x.index_select(-1, self.source)
        indicators = (spread == self.code).to(x.dtype)
        encoded = torch.where(self.is_categorical, indicators, spread)
        if not self._has_gaps:
            return encoded
        is_missing = spread.isnan()
        gaps = is_missing.to(x.dtype)
        filled = encoded.masked_fill(is_missing, 0.0)
        return torch.where(self.is_gap, gaps, filled)


class SomeColumns:
    """Picks n columns of the last axis: ``(..., D)`` to ``(..., n)``.

    The index stays on the device where it was used. A list would be copied there at every step, and the host would wait
    for each copy.
    """

    def __init__(self, columns: Sequence[int]) -> None:
        self._index = torch.tensor(columns, dtype=torch.int64, device="cpu")

    def __len__(self) -> int:
        return len(self._index)

    def __call__(self, x: Tensor) -> Tensor:
        if self._index.device != x.device:
            self._index = self._index.to(x.device, non_blocking=True)
        return x.index_select(-1, self._index)


def without_ones(x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """The factors of a product with zeros beside widths of one, ``(..., n_in)`` and ``(..., n_in, n_out)``.

    A product with a dimension of one takes another path, on which the size of the stack shows in the last bit. If n_out
    is one, the product has a second column, of zeros.
    """
    if weight.shape[-2] == 1:
        x = F.pad(x, (0, 1))
        weight = F.pad(weight, (0, 0, 0, 1))
    if weight.shape[-1] == 1:
        weight = F.pad(weight, (0, 1))
    return x, weight


class Dropout(nn.Module):
    """Zeroes a share ``rate`` of the units in training and scales up the others (Srivastava et al. 2014).

    In a stack, ``random`` holds the stream of each trial, so a trial's masks do not depend on the trials beside it.
    Without it this is `torch.nn.Dropout`. ``share`` is the share of the rate that a schedule leaves; a tensor in steps
    that are captured.
    """

    acts_on_last_axis = True

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate
        self.share: float | Tensor = 1.0
        self.random: StackedGenerator | None = None

    def forward(self, x: Tensor) -> Tensor:
        rate = self.rate * self.share
        # A tensor's value is not read here, because the host would wait for it.
        is_off = self.rate == 0 if isinstance(rate, Tensor) else rate == 0
        if not self.training or is_off:
            return x
        if self.random is None:
            return F.dropout(x, float(rate))
        mask = _KeepMask.apply(x, rate, self.random)  # type: ignore[no-untyped-call]
        # The mean of a unit is what it is without dropout, so that evaluation scales nothing.
        scaled_units = x / (1 - rate)
        return torch.where(mask, scaled_units, 0.0)


class _KeepMask(torch.autograd.Function):
    """Mask of the units that stay. Its vmap rule sees the whole stack, so each trial draws from its own stream."""

    @staticmethod
    def forward(x: Tensor, rate: float | Tensor, random: StackedGenerator) -> Tensor:
        return random.uniform(*x.shape[1:]) >= rate

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.mark_non_differentiable(output)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, None, None]:
        return None, None, None

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Tensor, rate: float, random: StackedGenerator) -> tuple[Tensor, int]:
        # The streams add the axis of trials themselves, in front.
        shape = x.movedim(in_dims[0], 0).shape[1:]
        return random.uniform(*shape) >= rate, 0


class BatchNorm(nn.Module):
    """(x - mean) / sqrt(variance + epsilon) * weight + bias (Ioffe and Szegedy 2015, as `torch.nn.BatchNorm1d`).

    Training takes mean and variance over the rows and tracks them with ``momentum``; evaluation uses the tracked ones.
    It reduces over rows alone, so a trial's numbers do not depend on the trials beside it. The built-in layer treats
    the trials of a stack as more units, and its rounding depends on their number.

    **Shape.** Input and output ``(..., N, width)``; each leading index is normalised by itself.
    """

    mean: Tensor
    variance: Tensor

    def __init__(self, width: int, *, momentum: float = 0.1, epsilon: float = 1e-5) -> None:
        super().__init__()
        self.momentum = momentum
        self.epsilon = epsilon
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("variance", torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        # Under autocast, sums in half precision would lose the variance.
        x = x.to(self.weight.dtype)
        if not self.training:
            factor = self.weight * torch.rsqrt(self.variance + self.epsilon)
            return (x - self.mean) * factor + self.bias
        n = x.shape[-2]
        mean = x.sum(dim=-2, keepdim=True) / n
        centred = x - mean
        variance = centred.square().sum(dim=-2, keepdim=True) / n
        with torch.no_grad():
            # As `torch.nn.BatchNorm1d`, which normalises by the biased variance and tracks the unbiased one.
            unbiased_variance = variance * (n / max(n - 1, 1))
            self._track(self.mean, mean)
            self._track(self.variance, unbiased_variance)
        factor = self.weight * torch.rsqrt(variance + self.epsilon)
        return centred * factor + self.bias

    def _track(self, statistic: Tensor, batch_statistic: Tensor) -> None:
        """Move a tracked statistic ``(width,)`` towards that of a batch, ``(..., 1, width)``."""
        # In a stack a trial has its own layer, so any leading axes are further rows.
        batch_mean = batch_statistic.flatten(0, -2).mean(dim=0)
        statistic.mul_(1 - self.momentum).add_(self.momentum * batch_mean)


class ReLUNetwork(nn.Module):
    """Linear layers with a ReLU and dropout between them; in an encoder these follow the last layer too.

    **Shape.** Input ``(..., widths[0])``, output ``(..., widths[-1])``.
    """

    acts_on_last_axis = True

    def __init__(self, widths: Sequence[int], *, is_encoder: bool = False, dropout: float | None = None) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(n_in, n_out) for n_in, n_out in pairwise(widths))
        self.dropout = Dropout(dropout or 0.0)
        self.is_encoder = is_encoder

    def forward(self, x: Tensor) -> Tensor:
        last = len(self.layers) - 1
        for position, layer in enumerate(self.layers):
            x = layer(x)
            if position < last or self.is_encoder:
                # In place, because nothing else reads the layer's output.
                x = self.dropout(x.relu_())
        return x


DEVIATION_AFTER_CUT = 0.8796256610342398
"""Standard deviation of a standard normal variable that is cut at -2 and 2."""


@torch.no_grad()
def initialise(module: nn.Module, scheme: str, random: torch.Generator) -> None:
    """Draw the parameters of all linear layers of a module, layer by layer.

    The weights of a layer with ``n_in`` inputs and ``n_out`` outputs have the variance 2 / (n_in + n_out) (``glorot``),
    2 / n_in (``he``), 1 / n_in (``lecun``) or 1 / (3 n_in) (``pytorch``). They are uniform, or normal and cut at two
    standard deviations of the distribution before the cut, as in Keras and Flax. Biases are zero, but with ``pytorch``
    uniform on [-1 / sqrt(n_in), 1 / sqrt(n_in)].

    ``glorot_uniform`` comes nearest to the accuracies that the paper reports.
    """
    for layer in module.modules():
        if not isinstance(layer, nn.Linear):
            continue
        weight, bias = _draw_weights(layer.in_features, layer.out_features, scheme, random)
        # torch keeps weights as (n_out, n_in).
        layer.weight.copy_(weight.T)
        if layer.bias is not None:
            layer.bias.copy_(bias)


def _draw_weights(n_in: int, n_out: int, scheme: str, random: torch.Generator) -> tuple[Tensor, Tensor]:
    """Weight ``(n_in, n_out)`` and bias ``(n_out,)``, float32 whatever the default dtype is."""
    kind, _, shape = scheme.partition("_")
    if shape == "normal":
        variance = {"glorot": 2 / (n_in + n_out), "he": 2 / n_in}[kind]
        # The cut takes the tails away, so the distribution before it must be wider.
        deviation = math.sqrt(variance) / DEVIATION_AFTER_CUT
        weight = torch.empty(n_in, n_out, dtype=torch.float32)
        nn.init.trunc_normal_(weight, std=deviation, a=-2 * deviation, b=2 * deviation, generator=random)
        return weight, torch.zeros(n_out)
    # A uniform distribution on ±b has the variance b^2 / 3.
    bound = {
        "glorot": math.sqrt(6 / (n_in + n_out)),
        "he": math.sqrt(6 / n_in),
        "lecun": math.sqrt(3 / n_in),
        "pytorch": 1 / math.sqrt(n_in),
    }[kind]
    shares = torch.rand(n_in, n_out, generator=random, dtype=torch.float32)
    weight = (2 * shares - 1) * bound
    if kind != "pytorch":
        return weight, torch.zeros(n_out)
    shares = torch.rand(n_out, generator=random, dtype=torch.float32)
    return weight, (2 * shares - 1) / math.sqrt(n_in)
