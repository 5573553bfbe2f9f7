"""The one place where the trial axis is added: T plain modules become one that trains them all.

Each trial computes what its network computes alone, bit for bit where the processor's products are exact.

A stack of three trials, with batches of N rows and M columns::

    networks built alone              the lifted module

    trial 0: Linear (M, 256)
    trial 1: Linear (M, 256)   -->    StackedLinear, weight (3, M, 256)
    trial 2: Linear (M, 256)          takes (3, N, M), gives (3, N, 256)

There are two ways. Networks whose layers all act on the last axis alone keep their structure: only linear layers are
replaced, by `StackedLinear`. All other networks run under `torch.vmap`, see `Vmapped`. A third is for one trial with a
module that is not made for either: `Alone`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call

from ..networks import Dropout, without_ones
from ..randomness import StackedGenerator

Weight = TypeVar("Weight")
ON_LAST_AXIS = (
    nn.Linear, nn.ReLU, nn.GELU, nn.SiLU, nn.ELU, nn.LeakyReLU, nn.Tanh, nn.Sigmoid, nn.Softplus, nn.Identity,
)  # fmt: skip
"""Layers that treat all axes but the last alike, so they take a trial axis in front of the rows as it is."""
ADVICE_OF_VMAP = re.compile(r" (Please|We don't) ")


def lift(networks: Sequence[nn.Module]) -> nn.Module:
    """One module of T networks that were built alike.

    Its parameters and buffers carry a leading trial axis. It takes ``(T, N, ...)`` where each network takes
    ``(N, ...)``.
    """
    if isinstance(networks[0], Alone):
        (alone,) = networks
        return alone
    if acts_on_last_axis(networks[0]):
        return _lift_layers(networks)
    return Vmapped(networks)


def acts_on_last_axis(network: nn.Module) -> bool:
    """True if all layers of a module act on the last axis alone.

    The layer's type or its class attribute ``acts_on_last_axis`` decides, see `Network.build`.
    """
    kind = type(network)
    is_container = kind in (nn.Sequential, nn.ModuleList)
    # Exact types, because a subclass may do anything.
    if not (kind in ON_LAST_AXIS or is_container or getattr(kind, "acts_on_last_axis", False)):
        return False
    return all(acts_on_last_axis(child) for child in network.children())


def _lift_layers(networks: Sequence[nn.Module]) -> nn.Module:
    """The first network with stacked parameters and buffers, and `StackedLinear` in place of its linear layers."""
    first = networks[0]
    if type(first) is nn.Linear:
        return StackedLinear(networks)  # type: ignore[arg-type]
    lifted = deepcopy(first)
    _stack_tensors(lifted, networks)
    for name, _ in first.named_children():
        layers = [getattr(network, name) for network in networks]
        setattr(lifted, name, _lift_layers(layers))
    return lifted


def _stack_tensors(stacked: nn.Module, modules: Sequence[nn.Module]) -> None:
    """Give a module the stacked parameters and buffers of ``modules``; those of their layers are left alone."""
    for name, parameter in list(stacked.named_parameters(recurse=False)):
        values = torch.stack([getattr(module, name).detach() for module in modules])
        setattr(stacked, name, nn.Parameter(values, requires_grad=parameter.requires_grad))
    for name, _ in list(stacked.named_buffers(recurse=False)):
        values = torch.stack([getattr(module, name) for module in modules])
        setattr(stacked, name, values)


class StackedLinear(nn.Module):
    """One linear layer for each trial: y_t = x_t W_t + b_t.

    **Shape.** Weight ``(T, n_in, n_out)``, bias ``(T, 1, n_out)``; input ``(T, N, n_in)``, output ``(T, N, n_out)``.
    One batched product that includes the bias is a tenth faster than `torch.vmap`, which adds the bias separately.
    """

    def __init__(self, layers: Sequence[nn.Linear]) -> None:
        super().__init__()
        weights = []
        biases = []
        for layer in layers:
            weights.append(layer.weight.detach().T)
            if layer.bias is None:
                biases.append(layer.weight.new_zeros(layer.out_features))
            else:
                biases.append(layer.bias.detach())
        # A layer without a bias adds zeros that are never trained: `baddbmm` needs a summand.
        has_bias = layers[0].bias is not None
        self.weight = nn.Parameter(torch.stack(weights))
        self.bias = nn.Parameter(torch.stack(biases).unsqueeze(1), requires_grad=has_bias)

    def forward(self, x: Tensor) -> Tensor:
        bias: Tensor = self.bias
        # `without_ones` pads a single output, because products over a dimension of one round differently.
        x, weight = without_ones(x, self.weight)
        if bias.shape[-1] == 1:
            padded = torch.baddbmm(F.pad(bias, (0, 1)), x, weight)
            return padded[..., :1]
        return torch.baddbmm(bias, x, weight)


class Alone(nn.Module):
    """The network of one trial as it is.

    It may do what `torch.vmap` does not: branch, draw from torch's own generators, normalise by the rows of a batch.

    **Shape.** ``(1, N, D)`` to ``(1, N, E)``, by a network of ``(N, D)`` to ``(N, E)``; or as that network.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor) -> Tensor:
        if x.dim() == 2:
            out: Tensor = self.network(x)
            return out
        return self.forward(x.squeeze(0)).unsqueeze(0)


class Vmapped(nn.Module):
    """T networks of any kind, by `torch.vmap`.

    Args:
        networks: built alike. They may draw random numbers by `Dropout` only. Batch normalisation should be
            `BatchNorm`: the built-in layer works, but rounds by how many trials there are.
    """

    def __init__(self, networks: Sequence[nn.Module]) -> None:
        super().__init__()
        self.network = deepcopy(networks[0])
        trial_modules = [network.modules() for network in networks]
        for stacked, *modules in zip(self.network.modules(), *trial_modules, strict=True):
            _stack_tensors(stacked, modules)
        # Two layers get a vmap rule of their own, for exact numbers and for speed.
        for parent in list(self.network.modules()):
            for name, child in parent.named_children():
                if type(child) is nn.Linear:
                    setattr(parent, name, VmappedLinear(child))
                elif type(child) is nn.LayerNorm:
                    setattr(parent, name, VmappedLayerNorm(child))

    def forward(self, x: Tensor) -> Any:
        weights = {**dict(self.network.named_parameters()), **dict(self.network.named_buffers())}

        def run_trial(weights: dict[str, Tensor], x: Tensor) -> Any:
            return functional_call(self.network, weights, (x,))

        try:
            return torch.vmap(run_trial)(weights, x)
        except RuntimeError as error:
            # Torch advises flags of vmap and reports of bugs, which do not help the author of a network.
            error.args = (ADVICE_OF_VMAP.split(str(error))[0],)
            raise


class VmappedLinear(nn.Linear):
    """The linear layer of one trial under `torch.vmap`, with the parameters of the `torch.nn.Linear` that it replaces.

    **Shape.** Input ``(..., n_in)``, output ``(..., n_out)``. All axes but the last become the rows of one product:
    `torch.vmap` would repeat the weights for every element of the first axis, and round differently than for one trial.
    """

    def __init__(self, layer: nn.Linear) -> None:
        # On `meta` nothing is allocated for weights that are replaced at once.
        super().__init__(layer.in_features, layer.out_features, bias=layer.bias is not None, device="meta")
        self.weight = layer.weight
        self.bias = layer.bias

    def forward(self, x: Tensor) -> Tensor:
        rows, weight = without_ones(x.flatten(0, -2), self.weight.T)
        out = (rows @ weight)[..., : self.out_features]
        if self.bias is not None:
            out = out + self.bias
        return out.reshape(*x.shape[:-1], self.out_features)


class VmappedLayerNorm(nn.LayerNorm):
    """The normalisation of one trial under `torch.vmap`, with the parameters of a `torch.nn.LayerNorm`.

    `torch.vmap` itself would scale and shift in separate passes over all trials, and sum their gradients in two more: a
    tenth of the step of a transformer.
    """

    def __init__(self, layer: nn.LayerNorm) -> None:
        super().__init__(layer.normalized_shape, layer.eps, elementwise_affine=False)
        self.weight = layer.weight
        self.bias = layer.bias

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = _LayerNorm.apply(x, self.weight, self.bias, self.normalized_shape, self.eps)  # type: ignore[no-untyped-call]
        return out


class _LayerNorm(torch.autograd.Function):
    """`torch.nn.functional.layer_norm`, whose vmap rule calls it once for each trial on a processor, and once for all
    elsewhere.

    It needs no backward: the rule removes the trial axis before autograd records the differentiable calls inside.
    """

    @staticmethod
    def forward(x: Tensor, weight: Tensor | None, bias: Tensor | None, shape: tuple[int, ...], eps: float) -> Tensor:
        return F.layer_norm(x, shape, weight, bias, eps)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        return

    @staticmethod
    def vmap(
        info: Any,
        in_dims: tuple[int | None, ...],
        x: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        shape: tuple[int, ...],
        eps: float,
    ) -> tuple[Tensor, int]:
        # An accelerator takes longer to start a kernel for each trial than to compute.
        if x.device.type != "cpu":
            stacked = x[None] if in_dims[0] is None else x.movedim(in_dims[0], 0)
            scales = _broadcast_to_rows(weight, in_dims[1], stacked.dim())
            shifts = _broadcast_to_rows(bias, in_dims[2], stacked.dim())
            return _normalise_together(stacked, scales, shifts, shape, eps), 0

        def trial_tensors(tensor: Tensor | None, dim: int | None) -> tuple[Tensor | None, ...]:
            """The tensor of each trial; one without a trial axis is shared by all of them."""
            if tensor is None or dim is None:
                shared: tuple[Tensor | None, ...] = (tensor,) * info.batch_size
                return shared
            trials: tuple[Tensor, ...] = tensor.unbind(dim)
            return trials

        rows = trial_tensors(x, in_dims[0])
        weights = trial_tensors(weight, in_dims[1])
        biases = trial_tensors(bias, in_dims[2])
        outputs = []
        for trial_rows, trial_weight, trial_bias in zip(rows, weights, biases, strict=True):
            assert trial_rows is not None
            outputs.append(F.layer_norm(trial_rows, shape, trial_weight, trial_bias, eps))
        return torch.stack(outputs), 0


def _broadcast_to_rows(parameter: Tensor | None, dim: int | None, n_axes: int) -> Tensor | None:
    """A parameter with axes of one between the trial and the features; one that all trials share as it is."""
    if parameter is None or dim is None:
        return parameter
    stacked = parameter.movedim(dim, 0)
    unit_axes = (1,) * (n_axes - stacked.dim())
    return stacked.reshape(stacked.shape[0], *unit_axes, *stacked.shape[1:])


def _normalise_together(
    rows: Tensor, scales: Tensor | None, shifts: Tensor | None, shape: tuple[int, ...], eps: float
) -> Tensor:
    """The rows of all trials ``(T, ...)`` normalised by one kernel, then scaled and shifted by another."""
    out = F.layer_norm(rows, shape, eps=eps)
    if scales is None:
        return out
    if shifts is None:
        return out * scales
    return torch.addcmul(shifts, out, scales)


@torch.no_grad()
def unlift(lifted: nn.Module, networks: Sequence[nn.Module]) -> list[nn.Module]:
    """Each trial's network by itself: copies the weights into ``networks``, built like those that were lifted."""
    for trial, network in enumerate(networks):
        if isinstance(lifted, Vmapped):
            stacked_weights = lifted.network.state_dict()
            network.load_state_dict({name: weight[trial] for name, weight in stacked_weights.items()})
        else:
            for name, stacked in lifted.named_modules():
                _unstack_tensors(stacked, network.get_submodule(name), trial)
    return list(networks)


def _unstack_tensors(stacked: nn.Module, module: nn.Module, trial: int) -> None:
    """Give a module a trial's share of the parameters and buffers of ``stacked``; the reverse of `_stack_tensors`."""
    if isinstance(module, nn.Linear):
        assert isinstance(stacked, StackedLinear)
        # A stacked layer holds the transposed weight, and a bias with an axis for the rows.
        module.weight.data = stacked.weight[trial].T.clone()
        if module.bias is not None:
            module.bias.data = stacked.bias[trial, 0].clone()
        return
    for name, tensor in [*stacked.named_parameters(recurse=False), *stacked.named_buffers(recurse=False)]:
        # A copy, because a slice would keep the tensor of all trials alive.
        getattr(module, name).data = tensor[trial].clone()


def without_trial_axis(network: nn.Module, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of a lifted network of one trial as torch's own layers have them: no trial axis, and linear layers
    ``(n_out, n_in)``."""
    plain = {}
    for key, tensor in weights.items():
        owner, name = _owner(network, key)
        if isinstance(owner, StackedLinear):
            plain[key] = tensor[0].T if name == "weight" else tensor[0, 0]
        else:
            plain[key] = tensor if owner is None else tensor[0]
    return plain


def with_trial_axis(network: nn.Module, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The reverse of `without_trial_axis`. Weights that have the axis pass."""
    stacked = {}
    for key, tensor in weights.items():
        owner, name = _owner(network, key)
        parameter = getattr(owner, name, None)
        if parameter is None or tensor.dim() == parameter.dim():
            stacked[key] = tensor
        elif isinstance(owner, StackedLinear):
            stacked[key] = tensor.T[None] if name == "weight" else tensor[None, None]
        else:
            stacked[key] = tensor[None]
    return stacked


def _owner(network: nn.Module, key: str) -> tuple[nn.Module | None, str]:
    """The layer with this parameter or buffer, and its name there. No layer if the tensor has no trial axis, or is
    unknown."""
    path, _, name = key.rpartition(".")
    owner: nn.Module | None = network
    for part in path.split(".") if path else ():
        owner = getattr(owner, part, None)
        if isinstance(owner, Alone):
            return None, name
    return owner, name


def give_streams(module: nn.Module, random: StackedGenerator) -> None:
    """Let dropout draw its masks from the streams of the trials."""
    for part in module.modules():
        if isinstance(part, Dropout):
            part.random = random


def state(module: nn.Module) -> dict[str, Tensor]:
    """Parameters and persistent buffers by name, each with a leading trial axis: all that training changes."""
    return dict(module.state_dict(keep_vars=True))


def load_state(module: nn.Module, weights: dict[str, Tensor]) -> None:
    """Give a lifted module copies of these weights, even if it has another number of trials."""
    for name, tensor in state(module).items():
        tensor.data = weights[name].clone()


def part_of(weights: Mapping[str, Weight], prefix: str) -> dict[str, Weight]:
    """The weights of one part of a module, such as ``encoder``, without the part's name."""
    start = prefix + "."
    part = {}
    for name, weight in weights.items():
        if name.startswith(start):
            part[name.removeprefix(start)] = weight
    return part


@torch.no_grad()
def let_leave(module: nn.Module, optimizer: torch.optim.Optimizer, staying: Tensor) -> None:
    """Shrink parameters, buffers and moments ``(A, ...)`` to the trials at ``staying``, int64 positions in them."""
    for tensor in state(module).values():
        moments = optimizer.state.get(tensor, {})
        for name, moment in moments.items():
            # The optimiser's count of steps is one number for all trials.
            if moment.shape == tensor.shape:
                moments[name] = moment[staying]
        tensor.grad = None
        tensor.data = tensor.data[staying]


@contextmanager
def as_it_is(module: nn.Module) -> Iterator[None]:
    """Put the training mode of each layer and torch's random stream back."""
    modes = [(layer, layer.training) for layer in module.modules()]
    with torch.random.fork_rng(devices=[]):
        yield
    for layer, mode in modes:
        layer.training = mode
