"""Processor time of one training step: its products alone, a hand-written loop, stacks of one and of ten.

    python -m tools.benchmarks.step_time [--turns N] [--networks NAME ...] [--features M ...] [--phases PHASE ...]

One CPU thread; heads of two layers, batch 128. All take turns, so that the machine's other work meets them alike; what
is reported is the ratio within each turn. The hand-written loop is the one that the tests hold the stack to
(`tests/reference.py`), with PyTorch's fused Adam and, where it is not the MLP, the plain network of one trial; dropout
is off. The floor is what the loop multiplies in one step, and no more: the same products, called again on the same
tensors.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from scarf_lightning.data.preprocessing import ZScore
from scarf_lightning.data.table import Table
from scarf_lightning.data.trials import Full, RowRules, TrialData, prepare_trials
from scarf_lightning.engine.hardware import Hardware, prepare_process
from scarf_lightning.engine.stack import Stack
from scarf_lightning.engine.watching import Watcher
from scarf_lightning.networks import Columns, Network
from scarf_lightning.options.axes import parts as options
from scarf_lightning.options.settings import FinetuneSettings, LayerSettings, NetworkSettings, PretrainSettings
from scarf_lightning.randomness import Streams
from tests.reference import ReferenceTrial
from tests.stacks import task

PHASES = ("pretrain", "finetune")
PRODUCTS = {getattr(torch.ops.aten, name).default for name in ("mm", "addmm", "bmm", "baddbmm")}


class Clock(Watcher):
    """Seconds that the steps of the last epoch took, without validation: of the thread, or of an accelerator."""

    def __init__(self, device: torch.device) -> None:
        self.seconds, self._device = 0.0, device

    def now(self) -> float:
        if self._device.type == "cpu":
            return time.thread_time()
        torch.accelerator.synchronize(self._device)
        return time.perf_counter()

    def begin_epoch(self) -> None:
        self._started = self.now()

    def after_steps(self) -> None:
        self.seconds = self.now() - self._started


class Recorded(TorchDispatchMode):
    """Keeps the products that are computed, with their factors."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Callable[[], Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in PRODUCTS:
            self.calls.append(lambda: func(*args, **kwargs or {}))
        return func(*args, **kwargs or {})


@dataclass(frozen=True)
class Case:
    """What is trained, and for how many steps at a time."""

    network: str
    n_features: int
    phase: str
    steps: int = 30

    @cached_property
    def table(self) -> Table:
        """Noise, with as many training rows as the steps take."""
        random = np.random.default_rng(0)
        n = round(self.steps * 128 / 0.7)
        frame = pd.DataFrame(random.normal(size=(n, self.n_features)))
        target = pd.Series(random.integers(2, size=n))
        return Table.from_frame(frame, target, categorical=[False] * self.n_features, name="noise", source="made up")

    @cached_property
    def made(self) -> Network:
        kind = options("network")[self.network]
        return kind(**{field.name: 0.0 for field in fields(kind) if field.name.endswith("dropout")})

    @property
    def width(self) -> int:
        """Of the embeddings and of both heads."""
        return int(self.made.width)  # type: ignore[attr-defined]

    def data(self, n_trials: int) -> TrialData:
        streams = Streams(0, self.table.n_labelled)
        return prepare_trials(self.table, range(n_trials), streams, RowRules(Full()), scaling=ZScore(), fit_on="all")

    def stack(self, n_trials: int, precision: str = "32-true", device: str = "cpu") -> float:
        """Seconds a step and trial of a stack."""
        # The last batch of an epoch has a size of its own, and is captured in the fourth epoch.
        epochs = 1 if device == "cpu" else 5
        hardware, layers = Hardware(torch.device(device), precision), LayerSettings(width=self.width)
        clock = Clock(hardware.device)
        stack = Stack(
            self.table,
            self.data(n_trials),
            Streams(0, self.table.n_labelled),
            hardware,
            self.made,
            NetworkSettings(pretrain_head=layers, head=layers),
            watch=lambda *_: [clock],
        )
        if self.phase == "pretrain":
            stack.pretrain(PretrainSettings(max_epochs=epochs, validation_passes=1, patience=None), task())
        else:
            stack.finetune(FinetuneSettings(max_epochs=epochs, patience=None), stack.labelled())
        return clock.seconds / self.steps / n_trials

    def trained_by_loop(self, steps: int) -> Callable[[], Any]:
        data, streams = self.data(1), Streams(0, self.table.n_labelled)
        trial = ReferenceTrial(
            self.table, data.train[0], data.validation[0], streams, 0, torch.float32, self.width, fused=True
        )
        if self.network != "mlp":
            trial.f = self.made.build(Columns((0,) * self.n_features), None)  # type: ignore[assignment]
        fit = trial.pretrain if self.phase == "pretrain" else trial.finetune
        return lambda: fit(max_epochs=1, max_steps=steps)

    def loop(self) -> float:
        """Seconds a step of the hand-written loop."""
        return thread_time(self.trained_by_loop(self.steps)) / self.steps

    @cached_property
    def products(self) -> list[Callable[[], Any]]:
        step = self.trained_by_loop(1)
        with Recorded() as recorded:
            step()
        return recorded.calls

    def floor(self) -> float:
        """Seconds that the products of one step take."""
        products = self.products

        @torch.no_grad()
        def multiply() -> None:
            for _ in range(self.steps):
                for call in products:
                    call()

        return thread_time(multiply) / self.steps

    @property
    def ways(self) -> dict[str, Callable[[], float]]:
        ways = {
            "products alone": self.floor,
            "hand-written loop": self.loop,
            "stack of one": lambda: self.stack(1),
            "stack of ten": lambda: self.stack(10),
        }
        if self.network == "mlp":
            ways["stack of ten, bf16-mixed"] = lambda: self.stack(10, "bf16-mixed")
        return ways


def thread_time(function: Callable[[], Any]) -> float:
    started = time.thread_time()
    function()
    return time.thread_time() - started


@dataclass(frozen=True)
class Measured:
    """Medians over the turns: milliseconds a step and trial, and ratios to the loop and to the products within a turn,
    with the least and the largest ratio to the loop."""

    milliseconds: float
    to_loop: float
    to_products: float
    least: float
    most: float


def measure(case: Case, turns: int) -> dict[str, Measured]:
    """Each way of a case, after one turn that warms up."""
    taken = [{name: way() for name, way in case.ways.items()} for _ in range(turns + 1)][1:]

    def measured(name: str) -> Measured:
        to_loop = [turn[name] / turn["hand-written loop"] for turn in taken]
        to_products = [turn[name] / turn["products alone"] for turn in taken]
        times = [1e3 * turn[name] for turn in taken]
        return Measured(*map(statistics.median, (times, to_loop, to_products)), min(to_loop), max(to_loop))

    return {name: measured(name) for name in case.ways}


def rows(cases: list[Case], turns: int) -> Iterator[str]:
    """A Markdown table, as it comes."""
    yield "| phase | network | features | | ms a step and trial | over its products | over the loop (range) |"
    yield "|---|---|---|---|---|---|---|"
    for case in cases:
        for name, each in measure(case, turns).items():
            yield (
                f"| {case.phase} | {case.network} | {case.n_features} | {name} | {each.milliseconds:.2f} | "
                f"{each.to_products:.2f} | {each.to_loop:.2f} ({each.least:.2f} to {each.most:.2f}) |"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--networks", nargs="*", default=["mlp"], choices=sorted(options("network")))
    parser.add_argument("--features", nargs="*", type=int, default=[10, 60, 800])
    parser.add_argument("--phases", nargs="*", default=list(PHASES), choices=PHASES)
    arguments = parser.parse_args()
    prepare_process(threads=1)
    cases = [Case(n, m, phase) for n in arguments.networks for m in arguments.features for phase in arguments.phases]
    for line in rows(cases, arguments.turns):
        print(line, flush=True)


if __name__ == "__main__":
    main()
