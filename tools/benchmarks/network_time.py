"""Time and memory of networks in a stack, against a loop over single networks of plain `torch.nn`.

    python -m tools.benchmarks.network_time [--turns N] [--networks NAME ...] [--features M ...] [--trials T ...]

One CPU thread, batch 128, defaults of each network but for dropout, which is off: a step is forward, backward and
PyTorch's fused Adam on a squared output. Loop and stack take turns, so that the machine's other work meets both alike;
what is reported is the processor time of the thread and the ratio within each turn. Peak memory is that of a process of
its own which makes ten steps, less what it held before the first; Linux alone tells it.
"""

import argparse
import multiprocessing
import statistics
import time
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import torch
from torch import Tensor, nn

from scarf_lightning.engine.hardware import prepare_process
from scarf_lightning.engine.lifting import lift
from scarf_lightning.networks import Columns
from scarf_lightning.options.axes import parts as options

BATCH = 128


def build(name: str, n_features: int, n_trials: int) -> list[nn.Module]:
    network = options("network")[name]
    rates = {field.name: 0.0 for field in fields(network) if field.name.endswith("dropout")}
    modules = []
    for trial in range(n_trials):
        torch.manual_seed(trial)
        modules.append(network(**rates).build(Columns((0,) * n_features), None))
    return modules


def stepper(module: nn.Module, x: Tensor) -> Callable[[], None]:
    """A step of training."""
    optimizer = torch.optim.Adam(module.parameters(), fused=True)

    def step() -> None:
        optimizer.zero_grad()
        module(x).square().sum().backward()
        optimizer.step()

    return step


def steppers(name: str, n_features: int, n_trials: int) -> dict[str, Callable[[], None]]:
    """A step of all trials, by a loop and by a stack."""
    x = torch.randn(n_trials, BATCH, n_features, generator=torch.Generator().manual_seed(0))
    single = [stepper(module, rows) for module, rows in zip(build(name, n_features, n_trials), x, strict=True)]

    def loop() -> None:
        for step in single:
            step()

    return {"loop": loop, "stack": stepper(lift(build(name, n_features, n_trials)), x)}


def thread_time(step: Callable[[], None]) -> float:
    started = time.thread_time()
    step()
    return time.thread_time() - started


def peak_memory(name: str, n_features: int, n_trials: int, way: str) -> float:
    """Megabytes that the steps add to a fresh process."""
    prepare_process(threads=1)
    step = steppers(name, n_features, n_trials)[way]
    before = _high_water()
    for _ in range(10):
        step()
    return _high_water() - before


def _high_water() -> float:
    """Most megabytes that this process has held; what `resource` gives may be its parent's."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--networks", nargs="*", default=sorted(options("network")))
    parser.add_argument("--features", nargs="*", type=int, default=[10, 30])
    parser.add_argument("--trials", nargs="*", type=int, default=[1, 10])
    asked = parser.parse_args()
    prepare_process(threads=1)
    for name in asked.networks:
        for n_features in asked.features:
            for n_trials in asked.trials:
                ways = steppers(name, n_features, n_trials)
                for step in ways.values():
                    step()  # warm up
                turns = [{way: thread_time(step) for way, step in ways.items()} for _ in range(asked.turns)]
                ratios = [turn["stack"] / turn["loop"] for turn in turns]
                times = {way: 1e3 * statistics.median(turn[way] for turn in turns) / n_trials for way in ways}
                with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
                    memory = pool.starmap(peak_memory, [(name, n_features, n_trials, way) for way in ways], chunksize=1)
                    pool.close()
                    pool.join()
                print(
                    f"{name:15} {n_features:3} features {n_trials:3} trials: loop {times['loop']:6.2f} ms, stack "
                    f"{times['stack']:6.2f} ms a trial; ratio {statistics.median(ratios):.2f} "
                    f"({min(ratios):.2f} to {max(ratios):.2f}); peak {memory[0]:.0f} and {memory[1]:.0f} MB",
                    flush=True,
                )


if __name__ == "__main__":
    main()
