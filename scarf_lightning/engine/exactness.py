"""What may be promised of a trial's numbers on the machine at hand.

A stack computes every trial as if it were alone. Whether the last bit agrees, too, is up to the machine's kernels:

- ``exact``: they round a trial's products alike in any company. A trial's numbers are equal bit for bit alone, among
  ten, after others have left, and in 5 + 25 trials against 30.
- ``fixed``: they do not, or nobody can know, as on an accelerator, whose libraries choose kernels by the size of the
  batch. A trial is then always trained in the same company: with ``trials_per_stack=S`` trial t belongs to the block of
  the trials from S * (t // S) on, S in number, which is always trained whole. Asked for again, killed and resumed, or
  extended from 5 trials to 30, a trial starts from the same block, and kernels that repeat themselves give the same
  numbers. Another S gives numbers that agree but for rounding.

Both hold on one machine, for one number of threads, one precision and one setting of ``MKL_CBWR``.

The check below takes 0.15 seconds in float32, 0.3 in float64, and is made once a process. Its answer is not kept in a
file: it also depends on whether torch had computed something before this package was imported (see
`scarf_lightning.rounding`), which no file could know.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import cache
from itertools import product

import torch
from torch import Tensor

N_TRIALS = 6
WATCHED = 3
COMPANIES = ([3], [1, 3])
"""Positions that are computed without the others; the watched trial is in all of them."""
N_ROWS = (1, 47, 128)
"""A single row, an odd remainder, and the usual batch."""
LAYERS = [*product((5, 256), range(2, 12)), (2, 16), (16, 9), (16, 16), (256, 256)]
"""Inputs and outputs of a layer: heads of 2 to 11 classes, and others. A dimension of one is never multiplied: such
layers are padded to two."""
MIXED_LAYERS = [(5, 16), (16, 9), (256, 5), (256, 256)]
"""In bfloat16 every shape costs milliseconds, as its kernel is compiled."""


class Promise(StrEnum):
    """What a trial's numbers depend on: nothing else, or the block of trials that it is trained with."""

    EXACT = "exact"
    FIXED = "fixed"


def promise(device: torch.device, precision: str) -> Promise:
    """What holds on this device, in this precision (in Lightning's words), with the threads that torch has now."""
    if device.type != "cpu":
        return Promise.FIXED
    return Promise.EXACT if _products_are_exact(precision, torch.get_num_threads()) else Promise.FIXED


@cache
def _products_are_exact(precision: str, threads: int) -> bool:
    """Whether one of six trials is the same, bit for bit, in every company. ``threads`` is what the answer is for."""
    dtype = torch.float64 if precision == "64-true" else torch.float32
    with torch.enable_grad(), torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16-mixed"):
        return all(
            _same(_step(inputs, company)[company.index(WATCHED)], whole[WATCHED])
            for inputs in _inputs(dtype, MIXED_LAYERS if precision == "bf16-mixed" else LAYERS)
            for whole in [_step(inputs, range(N_TRIALS))]
            for company in COMPANIES
        )


def _inputs(dtype: torch.dtype, layers: Sequence[tuple[int, int]]) -> Iterator[list[Tensor]]:
    """Rows, weights, biases and what the outputs are weighted with, for each layer and batch."""
    random = torch.Generator().manual_seed(0)
    for (n_in, n_out), n_rows in product(layers, N_ROWS):
        shapes = ((n_rows, n_in), (n_in, n_out), (1, n_out), (n_rows, n_out))
        yield [torch.randn(N_TRIALS, *shape, generator=random, dtype=dtype) for shape in shapes]


def _step(inputs: Sequence[Tensor], company: Sequence[int]) -> list[list[Tensor]]:
    """What each trial of the company gets from a linear layer and from its rows' similarities, forward and backward."""
    x, weight, bias, probe = (each[list(company)] for each in inputs)
    learned = [each.requires_grad_() for each in (x, weight, bias)]
    out = torch.baddbmm(bias, x, weight)
    similarity = torch.bmm(out, out.transpose(1, 2))
    loss = (out * probe).sum() + similarity.log_softmax(dim=-1).diagonal(dim1=1, dim2=2).sum()
    computed = [out, similarity, *torch.autograd.grad(loss, learned)]
    return [[each[t] for each in computed] for t in range(len(company))]


def _same(alone: Sequence[Tensor], among: Sequence[Tensor]) -> bool:
    return all(torch.equal(one, other) for one, other in zip(alone, among, strict=True))
