"""What tests may ask of two stacks: equal bits where the machine's kernels are exact, elsewhere but for rounding."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from scarf_lightning.engine.fitting import Fit
from scarf_lightning.engine.hardware import Promise, promise


def is_exact(precision: str = "32-true") -> bool:
    """Whether this processor rounds a trial's products alike in any company."""
    return promise(torch.device("cpu"), precision) is Promise.EXACT


def assert_same_numbers(found: Any, expected: Any, *, precision: str | None = None, rounding: float = 1e-4) -> None:
    """Arrays or tensors that were computed in different company.

    Args:
        found: one.
        expected: the other.
        precision: that they were computed in, in Lightning's words; None for that of their type.
        rounding: relative and absolute difference that is allowed where the kernels are not exact.
    """
    found, expected = (np.asarray(each.detach() if hasattr(each, "detach") else each) for each in (found, expected))
    if is_exact(precision or ("64-true" if found.dtype == np.float64 else "32-true")):
        np.testing.assert_array_equal(found, expected)
    else:
        np.testing.assert_allclose(found, expected, rtol=rounding, atol=rounding)


def assert_same_start(fit: Fit, of_whole: Fit, positions: Sequence[int], **how: Any) -> None:
    """The training losses of the first epoch of ``fit`` are those at these positions of ``of_whole``.

    Args:
        fit, of_whole: trials, trained in different company.
        positions: of the trials of ``fit`` in ``of_whole``.
        how: as `assert_same_numbers` takes it.
    """
    losses, of_trials = (
        np.array([record["train_loss"] for record in each.curves if record["epoch"] == 1]) for each in (fit, of_whole)
    )
    assert_same_numbers(losses, of_trials[list(positions)], **how)
