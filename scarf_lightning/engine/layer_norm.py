"""Layer normalisation of T independent networks, by torch's kernel for one of them."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class VmappedLayerNorm(nn.LayerNorm):
    """The normalisation of one trial inside `torch.vmap`, with the parameters of the `torch.nn.LayerNorm` given.

    `torch.vmap` itself would scale and shift in passes of their own over all trials, and sum their gradients in two
    more: a tenth of the step of a transformer.
    """

    def __init__(self, layer: nn.LayerNorm) -> None:
        super().__init__(layer.normalized_shape, layer.eps, elementwise_affine=False)
        self.weight, self.bias = layer.weight, layer.bias

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = _TrialByTrial.apply(x, self.weight, self.bias, self.normalized_shape, self.eps)  # type: ignore[no-untyped-call]
        return out


class _TrialByTrial(torch.autograd.Function):
    """`torch.nn.functional.layer_norm`, whose `torch.vmap` calls it once a trial. Gradients are autograd's own, for
    what is called is differentiable: the trial axis goes before derivatives are taken."""

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
