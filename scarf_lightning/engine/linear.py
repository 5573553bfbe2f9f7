"""Linear layers of T independent networks, that compute for a trial what they compute for it alone, bit for bit."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class StackedLinear(nn.Module):
    """One linear layer a trial: y_t = x_t W_t + b_t.

    **Shape.** Weight ``(T, n_in, n_out)``, bias ``(T, 1, n_out)``; input ``(T, N, n_in)``, output ``(T, N, n_out)``.
    One batched product with the bias in it is a tenth faster than `torch.vmap`, which adds it apart.
    """

    def __init__(self, layers: Sequence[nn.Linear]) -> None:
        super().__init__()
        bias = [
            layer.bias if layer.bias is not None else layer.weight.new_zeros(layer.out_features) for layer in layers
        ]
        self.weight = nn.Parameter(torch.stack([layer.weight.detach().T for layer in layers]))
        self.bias = nn.Parameter(torch.stack([each.detach() for each in bias]).unsqueeze(1))
        self.bias.requires_grad_(layers[0].bias is not None)

    def forward(self, x: Tensor) -> Tensor:
        bias: Tensor = self.bias
        x, weight = _without_ones(x, self.weight)
        if bias.shape[-1] == 1:
            return torch.baddbmm(F.pad(bias, (0, 1)), x, weight)[..., :1]
        return torch.baddbmm(bias, x, weight)


class VmappedLinear(nn.Linear):
    """The linear layer of one trial inside `torch.vmap`, with the parameters of the `torch.nn.Linear` it stands for.

    **Shape.** Input ``(..., n_in)``, output ``(..., n_out)``. All axes but the last become rows of one product:
    `torch.vmap` would repeat the weights for every element of the first axis, and round as it does not for one trial.
    """

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__(layer.in_features, layer.out_features, bias=layer.bias is not None, device="meta")
        self.weight, self.bias = layer.weight, layer.bias

    def forward(self, x: Tensor) -> Tensor:
        n_out = self.out_features
        rows, weight = _without_ones(x.flatten(0, -2), self.weight.T)
        out = (rows @ weight)[..., :n_out]
        if self.bias is not None:
            out = out + self.bias
        return out.reshape(*x.shape[:-1], n_out)


def _without_ones(x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Factors whose widths are two at least: zeros beside a single column, which leave the product as it is.

    A dimension of one takes another path through the product, on which the stack's size shows in the last bit.
    """
    if weight.shape[-2] == 1:
        x, weight = F.pad(x, (0, 1)), F.pad(weight, (0, 0, 0, 1))
    if weight.shape[-1] == 1:
        weight = F.pad(weight, (0, 1))
    return x, weight
