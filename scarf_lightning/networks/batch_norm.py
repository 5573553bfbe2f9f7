"""Batch normalisation (Ioffe and Szegedy 2015, https://arxiv.org/abs/1502.03167)."""

import torch
from torch import Tensor, nn


class BatchNorm(nn.Module):
    """(x - mean) / sqrt(variance + epsilon) * weight + bias, as `torch.nn.BatchNorm1d` does it on rows.

    Training takes mean and variance over the rows and follows them with ``momentum``; evaluation takes what was
    followed. Made of reductions over rows alone, a trial's numbers do not depend on its company in a stack: the
    built-in layer sees the trials of a stack as more units, and rounds by how many there are.

    **Shape.** Input and output ``(N, width)``.
    """

    mean: Tensor
    variance: Tensor

    def __init__(self, width: int, *, momentum: float = 0.1, epsilon: float = 1e-5) -> None:
        super().__init__()
        self.momentum, self.epsilon = momentum, epsilon
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("variance", torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        x = x.to(self.weight.dtype)  # under autocast, sums of half precision would lose the variance
        if not self.training:
            return (x - self.mean) * (self.weight * torch.rsqrt(self.variance + self.epsilon)) + self.bias
        n = len(x)
        mean = x.sum(dim=0) / n
        centred = x - mean
        variance = centred.square().sum(dim=0) / n
        with torch.no_grad():
            unbiased = variance * (n / max(n - 1, 1))
            for followed, value in ((self.mean, mean), (self.variance, unbiased)):
                followed.mul_(1 - self.momentum).add_(self.momentum * value)
        return centred * (self.weight * torch.rsqrt(variance + self.epsilon)) + self.bias
