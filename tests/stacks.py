"""Fixtures of the tests that train: a small table with structure, and stacks of small networks on it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, get_type_hints

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor

from scarf_lightning.corruption import Corruption, Selection
from scarf_lightning.corruption.strategies import Exact, Marginal
from scarf_lightning.data.preprocessing import ZScore
from scarf_lightning.data.table import Table
from scarf_lightning.data.trials import Full, Regime, RowRules, prepare_trials
from scarf_lightning.engine.hardware import Hardware
from scarf_lightning.engine.stack import Stack
from scarf_lightning.engine.stack_modules import Finetuning
from scarf_lightning.losses import Loss
from scarf_lightning.losses.loss import Discrimination, InfoNCE, Reconstruction
from scarf_lightning.networks import Network
from scarf_lightning.networks.mlp import MLP
from scarf_lightning.options.axes import parts
from scarf_lightning.options.settings import FinetuneSettings, LayerSettings, NetworkSettings
from scarf_lightning.pretexts import Pretext
from scarf_lightning.pretexts.scarf import Scarf, ScarfAE, ScarfDisc
from scarf_lightning.randomness import Streams
from tests.short_training import SMALL

MakeStack = Callable[..., Stack]


def normal(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    """Standard normal numbers."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def task(
    corruption: Corruption | None = None,
    loss: Loss | None = None,
    selection: Selection | None = None,
    views: Literal["one", "both"] = "one",
) -> Pretext:
    """The pretext that a loss serves; SCARF where nothing else is said."""
    parts = (corruption or Marginal(), selection or Exact())
    if isinstance(loss, Reconstruction):
        return ScarfAE(*parts, loss)
    if isinstance(loss, Discrimination):
        return ScarfDisc(*parts, loss)
    return Scarf(*parts, loss or InfoNCE(), views)  # type: ignore[arg-type]


def made_pretext(name: str, **chosen: str | None) -> Pretext:
    """A pretext by its name, with parts by theirs: a marginal corruption, the exact selection and a loss that serves
    it, unless others are chosen."""
    cls = parts("pretrain")[name]
    kinds = {axis: kind for axis, kind in get_type_hints(cls).items() if axis in ("corruption", "selection", "loss")}
    usual = {"corruption": "marginal", "selection": "exact"}
    if "loss" in kinds:
        serving = [name for name, loss in parts("loss").items() if issubclass(loss, kinds["loss"])]
        usual["loss"] = "infonce" if "infonce" in serving else serving[0]
    return cls(**{axis: parts(axis)[chosen.get(axis) or usual[axis]]() for axis in kinds})


def made_network(name: str) -> Network:
    """A tiny network by its name."""
    cls: type[Network] = parts("network")[name]
    return cls(**{option: value for option, value in SMALL.items() if option in cls.__dataclass_fields__})


def finetune_module(stack: Stack, settings: FinetuneSettings, **given: Any) -> Finetuning:
    """The module of a supervised fit before it trains."""
    module = Finetuning()
    stack.build_finetuning(module, settings, **given)
    return module


def unbalanced(stack: Stack) -> Stack:
    """Half of the labels of the first class are the second one's."""
    labels = stack.data.labels.copy()
    labels[:, : labels.shape[1] // 2] = np.maximum(labels[:, : labels.shape[1] // 2], 1)
    return replace(stack, data=replace(stack.data, labels=labels))


@pytest.fixture(scope="session")
def patients() -> Table:
    """199 rows: five informative numbers, two categorical columns, gaps, a constant column, three classes.

    139 rows train: with batches of 46 the last one is a single row, which joins the batch before it.
    """
    random = np.random.default_rng(7)
    n = 199
    labels = random.integers(3, size=n)
    centres = random.normal(size=(3, 5)) * 1.5
    numbers = centres[labels] + random.normal(size=(n, 5))
    numbers[random.random((n, 5)) < 0.05] = np.nan
    frame = pd.DataFrame(numbers, columns=[f"x{m}" for m in range(5)])
    frame["same"] = 0.1
    frame["colour"] = pd.Series(np.array(["red", "green", "blue", "grey"])[(labels + random.integers(3, size=n)) % 4])
    frame["smoker"] = pd.Series(random.random(n) < 0.3)
    target = pd.Series(np.array(["a", "b", "c"])[labels], name="class")
    return Table.from_frame(frame, target, categorical=[False] * 6 + [True] * 2, name="patients", source="made up")


@pytest.fixture(scope="session")
def make_stack() -> MakeStack:
    """A stack of trials with small networks."""

    def make(
        table: Table,
        trials: Sequence[int],
        *,
        regime: Regime | None = None,
        fit_on: str = "all",
        precision: str = "32-true",
        width: int = 16,
        device: str = "cpu",
        network: Network | None = None,
    ) -> Stack:
        streams = Streams(0, table.n_labelled)
        data = prepare_trials(table, trials, streams, RowRules(regime or Full()), scaling=ZScore(), fit_on=fit_on)
        settings = NetworkSettings(pretrain_head=LayerSettings(width=width), head=LayerSettings(width=width))
        hardware = Hardware(torch.device(device), precision)
        return Stack(table, data, streams, hardware, network or MLP(width=width), settings)

    return make
