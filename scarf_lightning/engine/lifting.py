"""The one place where the trial axis is added: T plain modules become one that trains them all.

Each trial computes what its network computes alone, bit for bit where the processor's products are exact.
"""

from collections.abc import Mapping, Sequence
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


def lift(networks: Sequence[nn.Module]) -> nn.Module:
    """One module of T networks that were built alike.

    Its parameters and buffers carry a leading trial axis. It takes ``(T, N, ...)`` where each network takes
    ``(N, ...)``.
    """
    return _on_last_axis(networks) if acts_on_last_axis(networks[0]) else Vmapped(networks)


def acts_on_last_axis(network: nn.Module) -> bool:
    """Whether all layers of a module act on the last axis alone, by their type or by their ``acts_on_last_axis``, see
    `Network.build`."""
    kind = type(network)
    known = kind in ON_LAST_AXIS or kind in (nn.Sequential, nn.ModuleList) or getattr(kind, "acts_on_last_axis", False)
    return known and all(acts_on_last_axis(child) for child in network.children())


def _on_last_axis(networks: Sequence[nn.Module]) -> nn.Module:
    """The first network with stacked parameters and buffers. Linear layers are replaced, for the sake of speed."""
    if type(networks[0]) is nn.Linear:
        return StackedLinear(networks)  # type: ignore[arg-type]
    lifted = deepcopy(networks[0])
    _stack_own(lifted, networks)
    for name, _ in networks[0].named_children():
        setattr(lifted, name, _on_last_axis([getattr(network, name) for network in networks]))
    return lifted


def _stack_own(stacked: nn.Module, modules: Sequence[nn.Module]) -> None:
    """Give a module the parameters and buffers of ``modules``, without those of their layers, one beside the other."""
    for name, parameter in list(stacked.named_parameters(recurse=False)):
        values = [getattr(module, name).detach() for module in modules]
        setattr(stacked, name, nn.Parameter(torch.stack(values), requires_grad=parameter.requires_grad))
    for name, _ in list(stacked.named_buffers(recurse=False)):
        setattr(stacked, name, torch.stack([getattr(module, name) for module in modules]))


class StackedLinear(nn.Module):
    """One linear layer for each trial: y_t = x_t W_t + b_t.

    **Shape.** Weight ``(T, n_in, n_out)``, bias ``(T, 1, n_out)``; input ``(T, N, n_in)``, output ``(T, N, n_out)``.
    One batched product that includes the bias is a tenth faster than `torch.vmap`, which adds the bias separately.
    """

    def __init__(self, layers: Sequence[nn.Linear]) -> None:
        super().__init__()
        has_bias = layers[0].bias is not None
        bias = [layer.bias if has_bias else layer.weight.new_zeros(layer.out_features) for layer in layers]
        self.weight = nn.Parameter(torch.stack([layer.weight.detach().T for layer in layers]))
        self.bias = nn.Parameter(torch.stack([each.detach() for each in bias]).unsqueeze(1), requires_grad=has_bias)

    def forward(self, x: Tensor) -> Tensor:
        bias: Tensor = self.bias
        x, weight = without_ones(x, self.weight)
        if bias.shape[-1] == 1:
            return torch.baddbmm(F.pad(bias, (0, 1)), x, weight)[..., :1]
        return torch.baddbmm(bias, x, weight)


class Vmapped(nn.Module):
    """T networks of any kind, by `torch.vmap`.

    Args:
        networks: built alike. They may draw random numbers by `Dropout` only. Batch normalisation should be
            `BatchNorm`: the built-in layer works, but rounds by how many trials there are.
    """

    def __init__(self, networks: Sequence[nn.Module]) -> None:
        super().__init__()
        self.network = deepcopy(networks[0])
        for stacked, *modules in zip(self.network.modules(), *(n.modules() for n in networks), strict=True):
            _stack_own(stacked, modules)
        for part in list(self.network.modules()):
            for name, child in part.named_children():
                if type(child) is nn.Linear:
                    setattr(part, name, VmappedLinear(child))
                elif type(child) is nn.LayerNorm:
                    setattr(part, name, VmappedLayerNorm(child))

    def forward(self, x: Tensor) -> Any:
        state = dict(self.network.named_parameters()) | dict(self.network.named_buffers())
        return torch.vmap(lambda state, x: functional_call(self.network, state, (x,)))(state, x)


class VmappedLinear(nn.Linear):
    """The linear layer of one trial under `torch.vmap`, with the parameters of the `torch.nn.Linear` that it replaces.

    **Shape.** Input ``(..., n_in)``, output ``(..., n_out)``. All axes but the last become the rows of one product:
    `torch.vmap` would repeat the weights for every element of the first axis, and round differently than for one trial.
    """

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__(layer.in_features, layer.out_features, bias=layer.bias is not None, device="meta")
        self.weight, self.bias = layer.weight, layer.bias

    def forward(self, x: Tensor) -> Tensor:
        n_out = self.out_features
        rows, weight = without_ones(x.flatten(0, -2), self.weight.T)
        out = (rows @ weight)[..., :n_out]
        if self.bias is not None:
            out = out + self.bias
        return out.reshape(*x.shape[:-1], n_out)


class VmappedLayerNorm(nn.LayerNorm):
    """The normalisation of one trial under `torch.vmap`, with the parameters of the `torch.nn.LayerNorm` given.

    `torch.vmap` itself would scale and shift in separate passes over all trials, and sum their gradients in two more: a
    tenth of the step of a transformer.
    """

    def __init__(self, layer: nn.LayerNorm) -> None:
        super().__init__(layer.normalized_shape, layer.eps, elementwise_affine=False)
        self.weight, self.bias = layer.weight, layer.bias

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = _TrialByTrial.apply(x, self.weight, self.bias, self.normalized_shape, self.eps)  # type: ignore[no-untyped-call]
        return out


class _TrialByTrial(torch.autograd.Function):
    """`torch.nn.functional.layer_norm`, whose vmap rule calls it once for each trial.

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
        def trials(tensor: Tensor | None, dim: int | None) -> tuple[Tensor | None, ...]:
            return (tensor,) * info.batch_size if tensor is None or dim is None else tensor.unbind(dim)

        each = zip(*map(trials, (x, weight, bias), in_dims[:3]), strict=True)
        return torch.stack([F.layer_norm(rows, shape, w, b, eps) for rows, w, b in each if rows is not None]), 0


@torch.no_grad()
def unlift(lifted: nn.Module, networks: Sequence[nn.Module]) -> list[nn.Module]:
    """Each trial's network by itself: copies the weights into ``networks``, built like those that were lifted."""
    for trial, network in enumerate(networks):
        if isinstance(lifted, Vmapped):
            network.load_state_dict({name: weight[trial] for name, weight in lifted.network.state_dict().items()})
            continue
        for name, stacked in lifted.named_modules():
            module = network.get_submodule(name)
            if isinstance(module, nn.Linear):
                assert isinstance(stacked, StackedLinear)
                module.weight.data = stacked.weight[trial].T.clone()
                if module.bias is not None:
                    module.bias.data = stacked.bias[trial, 0].clone()
                continue
            own = dict(stacked.named_parameters(recurse=False)) | dict(stacked.named_buffers(recurse=False))
            for name_of_own, tensor in own.items():
                getattr(module, name_of_own).data = tensor[trial].clone()
    return list(networks)


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
    return {name.removeprefix(start): weight for name, weight in weights.items() if name.startswith(start)}


@torch.no_grad()
def let_leave(module: nn.Module, optimizer: torch.optim.Optimizer, staying: Tensor) -> None:
    """Shrink parameters, buffers and moments ``(A, ...)`` to the trials at ``staying``, int64 positions in them."""
    for tensor in state(module).values():
        moments = optimizer.state.get(tensor, {})
        moments.update({name: value[staying] for name, value in moments.items() if value.shape == tensor.shape})
        tensor.grad = None
        tensor.data = tensor.data[staying]
