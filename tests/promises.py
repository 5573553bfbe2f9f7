"""What tests may ask of two stacks: equal bits where the machine's kernels are exact, elsewhere but for rounding."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from scarf_lightning.engine.fit import Fit
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


def assert_same_weights(found: Mapping[str, Tensor], expected: Mapping[str, Tensor], *, rounding: float = 0) -> None:
    """Weights by name are equal, or differ by this much at most."""
    assert found.keys() == expected.keys()
    for name, weight in found.items():
        torch.testing.assert_close(
            weight, expected[name], rtol=0, atol=rounding, msg=lambda said, name=name: f"{name}: {said}"
        )


def assert_same_trials(
    fit: Fit, of_whole: Fit, positions: Sequence[int], *, precision: str = "32-true", rounding: float = 1e-4
) -> None:
    """Every loss, epoch and weight of ``fit`` is bit for bit that of its trials in a larger stack, where that is
    promised.

    Elsewhere the losses of the first epoch are, but for rounding: what it makes of later ones is not bounded.

    Args:
        fit, of_whole: trials, trained in different company.
        positions: of the trials of ``fit`` in ``of_whole``.
        precision: that they were trained in.
        rounding: as `assert_same_numbers` takes it.
    """
    if not is_exact(precision):
        assert_same_start(fit, of_whole, positions, precision=precision, rounding=rounding)
        return
    chosen = list(positions)
    assert np.array_equal(fit.epochs, of_whole.epochs[chosen])
    assert np.array_equal(fit.best_epochs, of_whole.best_epochs[chosen])
    trials = {record["trial"] for record in fit.curves}
    assert fit.curves == [record for record in of_whole.curves if record["trial"] in trials]
    assert_same_weights(fit.weights, {name: weight[chosen] for name, weight in of_whole.weights.items()})


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
