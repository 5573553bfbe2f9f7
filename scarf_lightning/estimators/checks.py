"""Checks of a model from elsewhere: its arrays and its plugins, before anything is built of them."""

from collections.abc import Collection

import numpy as np
import torch
from torch import nn

from ..data.preprocessing import VECTORS
from ..engine.encoder import Encoder
from ..engine.lifting import lift, state
from ..errors import UsageError
from ..results import DamagedRecordError
from .model import Model, Weights


def check_imported(needed: Collection[str], imported: Collection[str], what: str) -> None:
    """Refuse a file with plugins that the caller has not named: importing a module runs it."""
    if unnamed := sorted(set(needed) - set(imported)):
        raise UsageError(f"{what} needs the module {unnamed[0]}; allow its import with plugins=[{unnamed[0]!r}].")


def check_arrays(model: Model) -> None:
    """Make sure that the arrays belong to the described networks.

    A false description cannot ask for more memory than the arrays take: the networks are first built without any.

    Raises:
        DamagedRecordError: an array is missing, is not expected, has another shape, or holds NaN; or the networks
            cannot be built.
    """
    networks = model.description.networks
    try:
        _ = model.description.reader
        # A module on this device has shapes and no memory.
        with torch.device("meta"):
            network = networks.network.build(networks.columns, None)
            # Only an encoder of pre-training holds what its corruption has learnt in place of missing values.
            learns = "encoder.missing" in model.weights
            encoder = Encoder(networks.columns, [network], width=0, learns_missing_values=learns)
        _compare({name: each for name, each in model.weights.items() if not name.startswith("head.")}, encoder=encoder)
        if model.description.predicts is not None:
            # The width is computed by f, which is safe to build after its arrays were compared.
            _ = networks.width
            with torch.device("meta"):
                head = lift([networks.plain_head()])
            _compare(model.weights, encoder=encoder, head=head)
    except (UsageError, DamagedRecordError):
        raise
    except Exception as error:
        # Readers and networks refuse impossible options each in its own way.
        raise DamagedRecordError(f"the described model cannot be built: {type(error).__name__}: {error}") from error
    n_trials, n_columns = len(model.trials), len(model.description.columns)
    for name, array in {**model.weights, **model.preprocessing.arrays()}.items():
        if len(array) != n_trials or (name in VECTORS and array.shape[1:] != (n_columns,)):
            raise DamagedRecordError(f"{name} has the shape {array.shape} for {n_trials} trials of {n_columns} columns")
        # The ends of a network's bins may be infinite, and a number whose gaps networks see is not imputed.
        is_sound = ~np.isnan(array) if name in model.weights else np.isfinite(array)
        if not is_sound.all() and name != "fill":
            raise DamagedRecordError(f"{name} holds NaN or an infinite value")


def _compare(arrays: Weights, **parts: nn.Module) -> None:
    """Compare the shapes of arrays, but for the trial axis, with those of modules on no device."""
    found = {name: array.shape[1:] for name, array in arrays.items()}
    expected: dict[str, tuple[int, ...]] = {}
    for part, module in parts.items():
        expected |= {f"{part}.{name}": tuple(each.shape[1:]) for name, each in state(module).items()}
    for name in sorted({*found, *expected}):
        shape, described = (shapes.get(name, "missing") for shapes in (found, expected))
        if shape != described:
            raise DamagedRecordError(f"{name} is {shape}, and in the described network {described}")
