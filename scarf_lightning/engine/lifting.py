"""The one place where the trial axis is added: T plain modules become one that trains them all."""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.func import functional_call

from ..networks import Dropout
from ..randomness import StackedGenerator
from .layer_norm import VmappedLayerNorm
from .linear import StackedLinear, VmappedLinear

Weight = TypeVar("Weight")
ON_LAST_AXIS = (
    nn.Linear,
    nn.ReLU,
    nn.GELU,
    nn.SiLU,
    nn.ELU,
    nn.LeakyReLU,
    nn.Tanh,
    nn.Sigmoid,
    nn.Softplus,
    nn.Identity,
)
"""Layers that treat all axes but the last alike, so that a trial axis before the rows is one more of these."""


def lift(networks: Sequence[nn.Module]) -> nn.Module:
    """One module of T networks that were built alike.

    Its parameters and buffers carry a leading trial axis; it takes ``(T, N, ...)`` where each network takes
    ``(N, ...)``. Each trial computes what its network computes alone.
    """
    return _on_last_axis(networks) if acts_on_last_axis(networks[0]) else Vmapped(networks)


def acts_on_last_axis(network: nn.Module) -> bool:
    """Whether all of a module's layers act on the last axis alone, by their kind or by their own word."""
    kind = type(network)
    known = kind in ON_LAST_AXIS or kind in (nn.Sequential, nn.ModuleList) or getattr(kind, "acts_on_last_axis", False)
    return known and all(acts_on_last_axis(child) for child in network.children())


def per_trial(function: Callable[..., Any], *stacked: Any) -> Any:
    """What a function of one trial's tensors gives for each trial, with a leading trial axis; None stays None."""
    given = [position for position, value in enumerate(stacked) if value is not None]

    def of_one(*values: Any) -> Any:
        arguments: list[Any] = [None] * len(stacked)
        for position, value in zip(given, values, strict=True):
            arguments[position] = value
        return function(*arguments)

    return torch.vmap(of_one)(*(stacked[position] for position in given))


class Vmapped(nn.Module):
    """T networks of any kind, by `torch.vmap`.

    Args:
        networks: built alike; they may draw random numbers by `Dropout` only. Batch normalisation is by `BatchNorm`:
            the built-in one trains too, but rounds by how many trials there are.
    """

    def __init__(self, networks: Sequence[nn.Module]) -> None:
        super().__init__()
        self.network = deepcopy(networks[0])
        for stacked, *modules in zip(self.network.modules(), *(n.modules() for n in networks), strict=True):
            for name, parameter in list(stacked.named_parameters(recurse=False)):
                values = [getattr(module, name).detach() for module in modules]
                setattr(stacked, name, nn.Parameter(torch.stack(values), requires_grad=parameter.requires_grad))
            for name, _ in list(stacked.named_buffers(recurse=False)):
                setattr(stacked, name, torch.stack([getattr(module, name) for module in modules]))
        _replace_layers(self.network)

    def forward(self, x: Tensor) -> Any:
        state = dict(self.network.named_parameters()) | dict(self.network.named_buffers())
        return torch.vmap(lambda state, x: functional_call(self.network, state, (x,)))(state, x)


def _replace_layers(network: nn.Module) -> None:
    """Put the layers that have a way of their own through `torch.vmap` in their places."""
    for part in list(network.modules()):
        for name, child in part.named_children():
            if type(child) is nn.Linear:
                setattr(part, name, VmappedLinear(child))
            elif type(child) is nn.LayerNorm:
                setattr(part, name, VmappedLayerNorm(child))


def _on_last_axis(networks: Sequence[nn.Module]) -> nn.Module:
    """The first network with its linear layers replaced by those of all of them."""
    if type(networks[0]) is nn.Linear:
        return StackedLinear(networks)  # type: ignore[arg-type]
    lifted = deepcopy(networks[0])
    for name, _ in networks[0].named_children():
        setattr(lifted, name, _on_last_axis([getattr(network, name) for network in networks]))
    return lifted


def unlift(lifted: nn.Module, networks: Sequence[nn.Module]) -> list[nn.Module]:
    """Each trial's network by itself: ``networks`` are built as those that were lifted, and take the weights over."""
    for trial, network in enumerate(networks):
        if isinstance(lifted, Vmapped):
            network.load_state_dict({name: weight[trial] for name, weight in lifted.network.state_dict().items()})
        else:
            _take_over(network, lifted, trial)
    return list(networks)


@torch.no_grad()
def _take_over(network: nn.Module, lifted: nn.Module, trial: int) -> None:
    if isinstance(network, nn.Linear):
        assert isinstance(lifted, StackedLinear)
        network.weight.data = lifted.weight[trial].T.clone()
        if network.bias is not None:
            network.bias.data = lifted.bias[trial, 0].clone()
    for name, child in network.named_children():
        _take_over(child, getattr(lifted, name), trial)


def give_streams(module: nn.Module, random: StackedGenerator) -> None:
    """Let dropout draw its masks from the streams of the trials."""
    for part in module.modules():
        if isinstance(part, Dropout):
            part.random = random


def state(module: nn.Module) -> dict[str, Tensor]:
    """Parameters and persistent buffers by name, each with a leading trial axis: all that training changes."""
    return dict(module.state_dict(keep_vars=True))


def load_state(module: nn.Module, weights: dict[str, Tensor]) -> None:
    """Give a lifted module copies of these, whatever the trials its own are of."""
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
