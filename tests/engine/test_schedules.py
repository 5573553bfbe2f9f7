"""Schedules against those of PyTorch and of RealMLP's authors."""

import math

import pytest
import torch
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR

from scarf_lightning.engine.schedules import level, share_done, warmth

TIMES = [step / 40 for step in range(41)]


def rates_of(kind: type[torch.optim.lr_scheduler.LRScheduler], steps: int, *options: float) -> list[float]:
    """The learning rates of the steps under a scheduler of PyTorch, from 1 on."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    scheduler = kind(optimizer, *options)  # type: ignore[call-arg]
    found = []
    for _ in range(steps):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return found


def test_cosine_and_warming_up_are_pytorchs() -> None:
    """From epoch to epoch; by default nothing warms up, and a schedule that is over stays at its end."""
    got = [level("cosine", share_done("cosine", 3 * epoch + 2, 3, 10)) for epoch in range(10)]
    assert got == pytest.approx(rates_of(CosineAnnealingLR, 10, 10))
    assert [warmth(step, 5) for step in range(8)] == pytest.approx(rates_of(LinearLR, 8, 0.2, 1.0, 4))
    assert [warmth(step, 0) for step in range(3)] == [1.0] * 3
    assert share_done("flat_cos", 100, 3, 10) == 1.0


def test_the_second_half_of_flat_cos_is_a_cosine() -> None:
    got = [level("flat_cos", 0.5 + done / 2) for done in TIMES]
    assert got == pytest.approx([level("cosine", done) for done in TIMES])


def test_coslog4_ends_each_cycle_at_zero_after_twice_the_time_of_the_one_before() -> None:
    ends = [0, 1 / 15, 3 / 15, 7 / 15, 1]
    assert [level("coslog4", end) for end in ends] == pytest.approx([0] * 5, abs=1e-12)
    peaks = [(math.sqrt(2) * 2**cycle - 1) / 15 for cycle in range(4)]
    assert [level("coslog4", peak) for peak in peaks] == pytest.approx([1] * 4)
