"""Schedules: the share of its full value that a learning rate, a weight decay, a dropout rate or a label smoothing has
while a phase trains.

``coslog4`` and ``flat_cos`` are those of RealMLP (Holzmueller et al. 2024, appendix A, https://arxiv.org/abs/2407.04491).
"""

import math

from ..options.settings import Schedule

CYCLES = 4
"""Times that ``coslog4`` rises and falls. Each cycle is twice as long as the one before it."""


def level(schedule: Schedule, done: float) -> float:
    """The share of its full value that a number has after the share ``done`` of the training, both in [0, 1].

    >>> [round(level("flat_cos", done), 2) for done in (0, 0.25, 0.5, 0.75, 1)]
    [1.0, 1.0, 1.0, 0.5, 0.0]
    """
    if schedule == "cosine":
        return (1 + math.cos(math.pi * done)) / 2
    if schedule == "flat_cos":
        if done <= 0.5:
            return 1.0
        return (1 + math.cos(math.pi * (2 * done - 1))) / 2
    if schedule == "coslog4":
        # The logarithm makes each cycle twice as long as the one before it.
        cycle = math.log2(1 + (2**CYCLES - 1) * done)
        return (1 - math.cos(2 * math.pi * cycle)) / 2
    return 1.0


def share_done(schedule: Schedule, step: int, steps_per_epoch: int, epochs: int) -> float:
    """The share of the training that a schedule takes to be done before a step, which counts from 0.

    ``cosine`` stays the same within an epoch. After ``epochs`` epochs all is done, even if training goes on.

    >>> share_done("cosine", 9, steps_per_epoch=8, epochs=4), share_done("flat_cos", 8, 8, 4)
    (0.25, 0.25)
    """
    # As torch's CosineAnnealingLR where it is stepped once an epoch.
    if schedule == "cosine":
        step -= step % steps_per_epoch
    return min(step / (epochs * steps_per_epoch), 1.0)


def warmth(step: int, warmup_steps: int) -> float:
    """The share of the learning rate that a step has, which counts from 0, if ``warmup_steps`` steps warm up.

    >>> [warmth(step, 4) for step in range(5)]
    [0.25, 0.5, 0.75, 1.0, 1.0]
    """
    if not warmup_steps:
        return 1.0
    # Counted from 1: at a rate of 0 the first step would be lost.
    return min((step + 1) / warmup_steps, 1.0)
