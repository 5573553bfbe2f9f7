"""Checks of a model from elsewhere: its reader, its arrays and its plugins, before anything is built of them."""

import warnings
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import nn

from ..data.preprocessing import VECTORS
from ..data.reading import Reader
from ..data.table import Column
from ..engine.encoder import Encoder
from ..engine.lifting import lift, state
from ..errors import UsageError
from ..results import DamagedRecordError
from ..results.records import parsed
from .model import Model, Weights


def check_reader(rules: list[Any], columns: tuple[Column, ...]) -> None:
    """Try the reader of these `Reader.plain_rules` and columns. Raises DamagedRecordError if it does not work."""
    try:
        reader = Reader.with_rules(parsed(list[dict[str, Any]], rules, "rules"), columns)
    except ValueError as error:
        raise DamagedRecordError(str(error)) from error
    # A missing value and a text: rules of all kinds meet both.
    for value in (None, "1"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                reader.values(pd.DataFrame({name: [value] for name in reader.names}, dtype=object))
            except UsageError:
                # "1" need not be a value of the column.
                pass
            except Exception as error:
                # A rule's library raises what it likes at options that are none.
                raise DamagedRecordError(f"its rules of reading do not work: {error}") from error


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
    try:
        _check_weights(model)
        _check_preprocessing(model)
    except (UsageError, DamagedRecordError):
        raise
    except Exception as error:
        # Networks refuse impossible options each in its own way.
        raise DamagedRecordError(f"the described network cannot be built: {error}") from error


def _check_weights(model: Model) -> None:
    networks, n_trials = model.description.networks, len(model.trials)
    # A module on this device has shapes and no memory.
    with torch.device("meta"):
        network = networks.network.build(networks.columns, None)
        # Only an encoder of pre-training holds what its corruption has learnt in place of missing values.
        learns = "encoder.missing" in model.weights
        encoder = Encoder(networks.columns, [network], width=0, learns_missing_values=learns)
    expected = _shapes("encoder", encoder)
    _compare({name: each for name, each in model.weights.items() if not name.startswith("head.")}, expected, n_trials)
    if model.description.predicts is not None:
        # The width is computed by f, which is safe to build after its arrays were compared.
        _ = networks.width
        with torch.device("meta"):
            expected |= _shapes("head", lift([networks.plain_head()]))
    _compare(model.weights, expected, n_trials)


def _check_preprocessing(model: Model) -> None:
    vectors, target = model.preprocessing.arrays(), model.description.predicts
    n_columns = len(model.description.columns)
    expected: dict[str, tuple[int, ...]] = dict.fromkeys(VECTORS, (n_columns,))
    if "clip" in vectors:
        expected["clip"] = (n_columns,)
    if "curve" in vectors:
        expected["curve"] = (n_columns, 2, *vectors["curve"].shape[3:4])
    if target is not None and target.n_fitted:
        expected["target"] = (target.n_fitted,)
    # A number whose gaps networks see is not imputed.
    shows = np.array([column.adds_gap_column for column in model.description.columns])
    if vectors.get("fill", shows).shape[1:] == shows.shape:
        vectors["fill"] = np.where(np.isnan(vectors["fill"]) & shows, 0.0, vectors["fill"])
    _compare(vectors, expected, len(model.trials))
    if not all(np.isfinite(vector).all() for vector in vectors.values()):
        raise DamagedRecordError("the preprocessing holds an infinite value")


def _compare(arrays: Weights, expected: Mapping[str, tuple[int, ...]], n_trials: int) -> None:
    """Compare the names and shapes of arrays with those that are expected of a single trial."""
    for name in sorted({*arrays, *expected}):
        if name not in arrays:
            raise DamagedRecordError(f"{name} is missing")
        if name not in expected:
            raise DamagedRecordError(f"{name} is not part of the described network")
        array, shape = arrays[name], (n_trials, *expected[name])
        if array.shape != shape or array.dtype.kind not in "fiub":
            raise DamagedRecordError(f"{name} is not an array of {' x '.join(map(str, shape))} numbers")
        if np.isnan(array).any():
            raise DamagedRecordError(f"{name} holds NaN")


def _shapes(part: str, module: nn.Module) -> dict[str, tuple[int, ...]]:
    """The shapes of a stacked module's arrays without the trial axis, by their names in a model."""
    return {f"{part}.{name}": tuple(tensor.shape[1:]) for name, tensor in state(module).items()}
