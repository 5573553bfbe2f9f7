"""RealMLP: a network of well-chosen parts (Holzmüller, Grinsztajn and Steinwart 2024, arXiv:2407.04491).

The parts of RealMLP that are a network, and those that are a recipe:

- The network is here: the encoding of binary categories and of those with many values, the PBLD embedding of numbers,
  the scaling layer, the linear layers in the neural tangent parametrisation, the activations with a learned strength,
  the initial weights, which look at the training rows, and the factors on learning rate and weight decay that each
  kind of parameter has. h and g get layers of the same kind.
- Scaling by quantiles with a smooth clip is ``scaling=robust``.
- The optimiser, its numbers, schedules and label smoothing are options of a phase, which any network may use.
- ``recipe=realmlp`` puts them together. The authors have other defaults for numbers, ``recipe=realmlp_number``, and a
  simple network, ``recipe=realmlp_s``.

Parts hold their parameters in shapes that broadcast over a trial axis in front, such as ``(1, width)`` for a bias, so a
stack needs no `torch.vmap`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..options.option import option
from . import Columns, Dropout, Network, Rates, SomeColumns, without_ones

SIMPLEX = 5
"""Training rows whose weighted mean makes an initial bias."""
CLIP = 3.0
"""Scaled numbers approach this size, and never exceed it."""
SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772
"""Constants of Klambauer et al. 2017, https://arxiv.org/abs/1706.02515."""
LARGEST_EXPONENT = 20.0
"""From here on mish(x) is x in float32."""


def selu(x: Tensor) -> Tensor:
    """scale * x above 0, scale * alpha * (exp(x) - 1) below. `torch.nn.functional.selu` rounds the elements that do not
    fill a vector register differently, so a trial's numbers would depend on the trials beside it.

    >>> selu(torch.tensor([2.0]))
    tensor([2.1014])
    """
    # The gradient of relu is computed several times as fast as that of clamp.
    above = x.relu()
    below = x - above
    return SELU_SCALE * above + (SELU_SCALE * SELU_ALPHA) * below.expm1()


def mish(x: Tensor) -> Tensor:
    """x tanh(log(1 + exp(x))) (Misra 2019, https://arxiv.org/abs/1908.08681), made of functions that round all
    elements alike, as `selu` is.

    >>> mish(torch.tensor([1.0]))
    tensor([0.8651])
    """
    exponential = x.clamp_max(LARGEST_EXPONENT).exp()
    product = exponential * (exponential + 2)
    return x * (product / (product + 2))


ACTIVATIONS: Mapping[str, Callable[[Tensor], Tensor]] = {"selu": selu, "mish": mish}


class ParametricActivation(nn.Module):
    """x + (a(x) - x) * strength, with a learned strength of each unit that starts at 1 (section 3).

    **Shape.** Input and output ``(..., N, width)``.
    """

    acts_on_last_axis = True
    rates: ClassVar[Mapping[str, Rates]] = {"strength": Rates(0.1, 0.1)}

    def __init__(self, name: str, width: int) -> None:
        super().__init__()
        self.name = name
        self.strength = nn.Parameter(torch.ones(1, width))

    def forward(self, x: Tensor) -> Tensor:
        return x + (ACTIVATIONS[self.name](x) - x) * self.strength


class Activation(nn.Module):
    """An activation without parameters.

    **Shape.** Input and output ``(..., N, width)``.
    """

    acts_on_last_axis = True

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def forward(self, x: Tensor) -> Tensor:
        return ACTIVATIONS[self.name](x)


class NTKLinear(nn.Module):
    """x W / sqrt(n_in) + b, with weights that start as N(0, 1): the neural tangent parametrisation (section 3).

    A step of Adam moves every weight by the learning rate, whatever its size. With weights of size 1 it moves a layer
    by the same share, however wide the layer is.

    **Shape.** Input ``(N, n_in)`` or ``(T, N, n_in)``, output ``(..., N, n_out)``. Weight ``(n_in, n_out)``, bias
    ``(1, n_out)``.

    >>> layer = NTKLinear(4, 2)
    >>> layer(torch.ones(3, 4)).shape
    torch.Size([3, 2])
    """

    acts_on_last_axis = True
    rates: ClassVar[Mapping[str, Rates]] = {"bias": Rates(0.1, 0.0)}

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__()
        self.factor = 1 / math.sqrt(n_in)
        self.weight, self.bias = (nn.Parameter(torch.randn(n_in, n_out)), nn.Parameter(torch.zeros(1, n_out)))

    def forward(self, x: Tensor) -> Tensor:
        if x.dim() > 2 and self.weight.dim() == 2:
            # One network, with leading axes of rows.
            return self.bias + self.factor * (x @ self.weight)
        product = torch.addmm if x.dim() == 2 else torch.baddbmm
        x, weight = without_ones(x, self.weight)
        if self.bias.shape[-1] == 1:
            return product(F.pad(self.bias, (0, 1)), x, weight, alpha=self.factor)[..., :1]
        return product(self.bias, x, weight, alpha=self.factor)

    @torch.no_grad()
    def fit(self, x: Tensor) -> None:
        """Divide the weights so that each output has a standard deviation of 1 over rows ``(n, n_in)``, and draw
        biases: minus a random mean of `SIMPLEX` of its outputs ("he+5"), so that units bend where rows are."""
        deviation = (x @ self.weight * self.factor).std(dim=0, correction=0)
        # Outputs that are the same for all rows keep their weights.
        self.weight.div_(torch.where(deviation > 0, deviation, 1.0))
        outputs = x @ self.weight * self.factor
        n_out = outputs.shape[1]
        # From the global generator, which holds the trial's stream: on the host.
        rows = torch.randint(len(x), (SIMPLEX, n_out))
        # Exponential numbers divided by their sum are uniform on the simplex.
        shares = torch.empty(SIMPLEX, n_out).exponential_()
        weights = (shares / shares.sum(dim=0)).to(x)
        samples = outputs.gather(0, rows.to(x.device))
        means = (samples * weights).sum(dim=0)
        self.bias.copy_(-means)

    @torch.no_grad()
    def fit_normal(self) -> None:
        """Draw biases from N(0, 1)."""
        self.bias.normal_()

    @torch.no_grad()
    def fit_zero(self) -> None:
        """Set weights and biases to zero."""
        self.weight.zero_()
        self.bias.zero_()


class PBLD(nn.Module):
    """An embedding of each number x: (x, cos(2 pi c x + b) W + d), "periodic bias linear DenseNet" (section 3).

    Frequencies c start as N(0, ``scale`` squared) and phases b uniformly on [-pi, pi].

    **Shape.** Numbers ``(..., N, F)`` to ``(..., N, F * width)``: the ``width`` - 1 learned components of each number,
    then all numbers.

    >>> PBLD(n_features=3, frequencies=16, width=4, scale=0.1)(torch.ones(5, 3)).shape
    torch.Size([5, 12])
    """

    acts_on_last_axis = True
    rates: ClassVar[Mapping[str, Rates]] = dict.fromkeys(("frequency", "phase", "weight", "shift"), Rates(0.1, 0.1))

    def __init__(self, n_features: int, frequencies: int, width: int, scale: float) -> None:
        super().__init__()
        bound = 1 / math.sqrt(frequencies)
        frequency = scale * torch.randn(n_features, 1, frequencies)
        phase = math.pi * (2 * torch.rand(n_features, 1, frequencies) - 1)
        # The number itself is the last of the `width` components, and has no weights.
        weight = torch.empty(n_features, frequencies, width - 1)
        weight.uniform_(-bound, bound)
        shift = torch.empty(n_features, 1, width - 1)
        shift.uniform_(-bound, bound)
        self.frequency = nn.Parameter(frequency)
        self.phase = nn.Parameter(phase)
        self.weight = nn.Parameter(weight)
        self.shift = nn.Parameter(shift)

    def forward(self, x: Tensor) -> Tensor:
        features = x.transpose(-2, -1).unsqueeze(-1)
        # Multiplied and then added: a kernel that does both rounds the elements of a last register differently.
        turns = 2 * math.pi * self.frequency
        waves = (features * turns + self.phase).cos()
        waves, weight = without_ones(waves, self.weight)
        n_components = self.shift.shape[-1]
        components = (waves @ weight)[..., :n_components] + self.shift
        # Rows come before features again, whose components are side by side.
        embeddings = components.transpose(-3, -2).flatten(-2)
        return torch.cat([embeddings, x], dim=-1)


class RobustOneHot(nn.Module):
    """Indicators of categories, centred at their median, scaled by their quantiles and clipped, as numbers are.

    Before `fit` they are clipped alone.

    **Shape.** Input and output ``(..., N, C)``.
    """

    acts_on_last_axis = True
    median: Tensor
    scale: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("median", torch.zeros(1, width))
        self.register_buffer("scale", torch.ones(1, width))

    @torch.no_grad()
    def fit(self, x: Tensor) -> None:
        """Look at training rows ``(n, C)``."""
        places = torch.tensor([0.25, 0.5, 0.75], dtype=torch.float64)
        low, median, high = torch.quantile(x.double(), places, dim=0)
        size = high - low
        # A rare category is 0 between its quantiles.
        half_range = (x.amax(dim=0) - x.amin(dim=0)) / 2
        size = torch.where(size > 0, size, half_range)
        self.median.copy_(median)
        # A category that no training row has would be divided by 0.
        factor = torch.where(size > 0, 1 / size, 0.0)
        self.scale.copy_(factor)

    def forward(self, x: Tensor) -> Tensor:
        return smooth_clip((x - self.median) * self.scale)


def smooth_clip(x: Tensor, largest: float = CLIP) -> Tensor:
    """x / sqrt(1 + (x / largest)^2), which lies between -``largest`` and ``largest`` (section 3).

    >>> smooth_clip(torch.tensor([0.1, 4.0, 1000.0]))
    tensor([0.0999, 2.4000, 3.0000])
    """
    return x / (1 + (x / largest).square()).sqrt()


class CategoryTable(nn.Module):
    """A learned vector for each category of one feature, which starts as N(0, 1).

    **Shape.** Indicators ``(..., N, C)`` to ``(..., N, width)``.
    """

    acts_on_last_axis = True

    def __init__(self, n_categories: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_categories, width))

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.weight


class RealMLPInput(nn.Module):
    """The features as RealMLP sees them: embedded numbers, one-hot columns, embedded categories.

    A binary category is one column, -1 or 1. One with more values than ``largest_one_hot`` is embedded.

    **Shape.** Encoded rows ``(..., N, D)`` to ``(..., N, width)``.
    """

    acts_on_last_axis = True

    def __init__(self, columns: Columns, options: "RealMLP") -> None:
        super().__init__()
        binary: list[slice] = []
        large: list[slice] = []
        one_hot: list[int] = []
        for part in columns.categorical:
            if _size(part) == 2:
                binary.append(part)
            elif _size(part) > options.largest_one_hot:
                large.append(part)
            else:
                one_hot += range(part.start, part.stop)
        n_numeric = len(columns.numeric)
        self.numeric = SomeColumns(columns.numeric)
        self.one_hot = SomeColumns(one_hot)
        self.first = SomeColumns([part.start for part in binary])
        self.second = SomeColumns([part.start + 1 for part in binary])
        self.large = large
        self.numbers = options.number_embedding(n_numeric)
        self.categories = RobustOneHot(len(one_hot) + len(binary))
        self.tables = nn.ModuleList(CategoryTable(_size(part), options.category_embedding) for part in large)
        number_width = options.embedding if options.embeds_numbers else 1
        self.width = n_numeric * number_width + len(one_hot) + len(binary) + options.category_embedding * len(large)

    def forward(self, x: Tensor) -> Tensor:
        parts = []
        if self.numeric:
            parts.append(self.numbers(self.numeric(x)))
        if self.first or self.one_hot:
            parts.append(self.categories(self.indicators(x)))
        for part, table in zip(self.large, self.tables, strict=True):
            parts.append(table(x[..., part]))
        return torch.cat(parts, dim=-1)

    def indicators(self, x: Tensor) -> Tensor:
        """The columns of binary categories, then those of the other small ones: ``(..., N, C)``."""
        parts = []
        if self.first:
            # Binary categories are one column, so their indicators are subtracted.
            parts.append(self.first(x) - self.second(x))
        if self.one_hot:
            parts.append(self.one_hot(x))
        return torch.cat(parts, dim=-1)

    def fit(self, x: Tensor) -> None:
        """Look at encoded training rows ``(n, D)``."""
        if self.first or self.one_hot:
            self.categories.fit(self.indicators(x))


def _size(part: slice) -> int:
    size: int = part.stop - part.start
    return size


class Scale(nn.Module):
    """x * scale, with a learned scale of each column that starts at 1: the scaling layer, a soft choice of features.

    **Shape.** Input and output ``(..., N, width)``.
    """

    acts_on_last_axis = True
    rates: ClassVar[Mapping[str, Rates]] = {"scale": Rates(6.0, 6.0)}

    def __init__(self, width: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1, width))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scale


class Clamp(nn.Module):
    """In evaluation, outputs between bounds, which are those of the training labels. Before `fit` there are none.

    **Shape.** Input and output ``(..., N, C)``.
    """

    acts_on_last_axis = True
    low: Tensor
    high: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("low", torch.full((1, width), -math.inf))
        self.register_buffer("high", torch.full((1, width), math.inf))

    @torch.no_grad()
    def fit(self, targets: Tensor) -> None:
        """Take the bounds from targets ``(n, C)``."""
        self.low.copy_(targets.amin(dim=0))
        self.high.copy_(targets.amax(dim=0))

    def forward(self, x: Tensor) -> Tensor:
        return x if self.training else x.maximum(self.low).minimum(self.high)


@dataclass
class RealMLP(Network):
    """Embedded numbers, a scaling layer, and ``depth`` linear layers in the neural tangent parametrisation, each with
    an activation of learned strength and dropout after it. ``method=dropout`` replaces ``dropout``.

    ``recipe=realmlp`` trains it as its authors do, with an h of one layer.

    Differs from the paper: a missing category is not a column of zeros; it is imputed, or a category of its own with
    ``encoding.gaps=true``. Initial weights see their rows without dropout, and all training rows, also those without a
    label. Weight decay is that of the authors' package `pytabkit`, which multiplies it by a parameter's factor on the
    learning rate twice.
    """

    name: ClassVar[str] = "realmlp"
    label: ClassVar[str] = "RealMLP"
    paper: ClassVar[str] = "Holzmüller et al., 2024, arXiv:2407.04491"
    typical_cost: ClassVar[float] = 2.0
    width: int = option(256, "units of a layer", "[1, 100000]")
    depth: int = option(3, "number of layers", "[1, 1000]")
    activation: Literal["selu", "mish"] = option("selu", "selu, the authors' choice for classes, or mish, for numbers")
    learned_strength: bool = option(True, "learn how strong each unit's activation is")
    dropout: float = option(0.15, "dropout rate after each layer", "[0, 1)")
    embeds_numbers: bool = option(True, "give each number a PBLD embedding")
    embedding: int = option(4, "width of the embedding of a number, the number itself included", "[2, 100000]")
    frequencies: int = option(16, "frequencies of a number", "[1, 10000]")
    frequency_scale: float = option(0.1, "standard deviation of the initial frequencies", "(0, inf)")
    largest_one_hot: int = option(8, "categories of a feature above which it is embedded", "[2, 1000000000]")
    category_embedding: int = option(8, "width of the embedding of a category", "[1, 100000]")
    initial: Literal["rows", "normal"] = option(
        "rows", "initial weights and biases: fitted to the training rows; or normal, and zero in the last layer of h"
    )
    clamp: bool = option(False, "keep predicted numbers between the smallest and the largest training label")

    def number_embedding(self, n_features: int) -> nn.Module:
        """The module from numbers ``(..., N, F)`` to their embeddings."""
        if not self.embeds_numbers:
            return nn.Identity()
        return PBLD(n_features, self.frequencies, self.embedding, self.frequency_scale)

    def build(self, columns: Columns, dropout: float | None) -> nn.Module:
        rate = self.dropout if dropout is None else dropout
        inputs = RealMLPInput(columns, self)
        layers: list[nn.Module] = [inputs, Scale(inputs.width)]
        width = inputs.width
        for _ in range(self.depth):
            layers.append(NTKLinear(width, self.width))
            if self.learned_strength:
                layers.append(ParametricActivation(self.activation, self.width))
            else:
                layers.append(Activation(self.activation))
            layers.append(Dropout(rate))
            width = self.width
        return nn.Sequential(*layers)

    def prepare(self, module: nn.Module, rows: Tensor) -> None:
        inputs, *layers = module.children()
        assert isinstance(inputs, RealMLPInput)
        x = rows.to(next(module.parameters()))
        inputs.fit(x)
        # Dropout would make the initial weights depend on its masks.
        was_training = module.training
        module.eval()
        with torch.no_grad():
            x = inputs(x)
            # Initial weights look at the rows that a layer gets, so layer by layer.
            for layer in layers:
                if isinstance(layer, NTKLinear):
                    self._initialise(layer, x)
                x = layer(x)
        module.train(was_training)

    def _initialise(self, layer: NTKLinear, x: Tensor) -> None:
        if self.initial == "rows":
            layer.fit(x)
        else:
            layer.fit_normal()

    def pretrain_head(self, head: nn.Module) -> nn.Module:
        return with_ntk_layers(head)

    def head(self, widths: Sequence[int], dropout: float | None) -> nn.Module:
        head = with_ntk_layers(super().head(widths, dropout))
        return nn.Sequential(head, Clamp(widths[-1])) if self.clamp else head

    def prepare_head(self, head: nn.Module, embeddings: Tensor, targets: Tensor) -> None:
        x = embeddings
        *hidden_layers, last = [layer for layer in head.modules() if isinstance(layer, NTKLinear)]
        # As the head computes them, without its dropout.
        for layer in hidden_layers:
            self._initialise(layer, x)
            x = layer(x).relu()
        if self.initial == "rows":
            last.fit(x)
        else:
            last.fit_zero()
        for module in head.modules():
            # Class numbers are integers, and logits have no bounds.
            if isinstance(module, Clamp) and targets.is_floating_point():
                module.fit(targets)


def with_ntk_layers(module: nn.Module) -> nn.Module:
    """The module with an `NTKLinear` in place of each linear layer."""
    if isinstance(module, nn.Linear):
        return NTKLinear(module.in_features, module.out_features)
    for name, child in module.named_children():
        setattr(module, name, with_ntk_layers(child))
    return module
