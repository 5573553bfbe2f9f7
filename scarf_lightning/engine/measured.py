"""Abilities of this processor, timed on it. A flag of the processor does not tell: an Intel with avx512_bf16 and
without AMX trains in bfloat16 1.5 times as long as in float32.

A measurement takes a third of a second. It is kept in the user's cache folder, for a processor, a number of threads and
a version of torch.
"""

import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from ..machine import processor
from ..user_cache import cache_file, read_cached, write_cached

N_TRIALS, N_ROWS, WIDTH, N_LAYERS = 10, 128, 256, 3
"""The layers that are timed: a stack of ten trials of the usual width and batch."""
N_TIMES = 5
"""Steps of each precision, one after the other in turn, of which the fastest counts."""


def bfloat16_time() -> float:
    """The time of a training step in bfloat16 over that of one in float32, on this processor, with torch's present
    number of threads."""
    return _kept_bfloat16_time(cache_file("processors.json"), torch.get_num_threads())


@cache
def _kept_bfloat16_time(file: Path | None, threads: int) -> float:
    """The time of `bfloat16_time` from the file, or measured and written there; without a file it is measured."""
    if file is None:
        return _time_bfloat16()
    key = f"{processor()}, {threads} threads, torch {torch.__version__}"
    known = _read(file)
    if key not in known:
        known[key] = _time_bfloat16()
        write_cached(file, known)
    return known[key]


def _time_bfloat16() -> float:
    """The fastest step in bfloat16 over the fastest in float32."""
    x, layers = _inputs()
    fastest = {False: float("inf"), True: float("inf")}
    # In turn, so that a disturbance of the machine meets both.
    for _ in range(N_TIMES):
        for in_bfloat16 in fastest:
            start = time.perf_counter()
            _step(x, layers, in_bfloat16=in_bfloat16)
            seconds = time.perf_counter() - start
            fastest[in_bfloat16] = min(fastest[in_bfloat16], seconds)
    return fastest[True] / fastest[False]


def _inputs() -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
    """Rows, and the weights and biases of each layer."""
    random = torch.Generator().manual_seed(0)
    x = torch.randn(N_TRIALS, N_ROWS, WIDTH, generator=random)
    layers = []
    for _ in range(N_LAYERS):
        # Scaled, so that outputs have one size in all layers.
        weight = torch.randn(N_TRIALS, WIDTH, WIDTH, generator=random) / WIDTH**0.5
        bias = torch.zeros(N_TRIALS, 1, WIDTH)
        layers.append((weight.requires_grad_(), bias.requires_grad_()))
    return x, layers


def _step(x: Tensor, layers: Sequence[tuple[Tensor, Tensor]], *, in_bfloat16: bool) -> None:
    """The forward and the backward pass of linear layers."""
    learned = []
    with torch.enable_grad():
        with torch.autocast("cpu", torch.bfloat16, enabled=in_bfloat16):
            for weight, bias in layers:
                x = torch.relu(torch.baddbmm(bias, x, weight))
                learned += [weight, bias]
        torch.autograd.grad(x.float().sum(), learned)


def _read(file: Path) -> dict[str, float]:
    """Earlier measurements; empty if the file is missing or damaged."""
    content = read_cached(file)
    if not isinstance(content, dict):
        return {}
    return {key: value for key, value in content.items() if isinstance(value, float) and value > 0}
