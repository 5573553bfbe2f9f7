"""A training step on a GPU, by how many trials are trained at once: `python -m tools.benchmarks.gpu_time`.

One table as Markdown: the MLP with 4 layers of 256, 60 features, batches of 128. A GPU takes steps that are captured as
CUDA graphs, and beside them the same ones with each kernel launched by itself. Time is the wall's, from one
synchronisation of the device to the next with an epoch's steps between; on the processor it is the thread's. The share
of the device's rate is the products' of a step, as operations a second, over those of a product of two large square
matrices in the same precision. `--device cpu` shows it for the processor.
"""

import argparse
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product

import torch
from torch.utils.flop_counter import FlopCounterMode

from scarf_lightning.engine import fit as fitting
from scarf_lightning.engine.hardware import Hardware, own_torch, prepare_process
from tools.benchmarks.step_time import PHASES, Case, Clock

TRIALS = (1, 5, 30, 100)
N_FEATURES, STEPS = 60, 30
PRECISIONS = {"cpu": ("32-true", "bf16-mixed"), "cuda": ("32-true", "tf32", "bf16-mixed")}
LARGE = {"cpu": 2048, "cuda": 8192}
WAYS = {"cpu": {"one by one": False}, "cuda": {"one by one": False, "captured": True}}


@contextmanager
def capturing(captures: bool) -> Iterator[None]:
    """Within, steps on a GPU are captured or not."""
    before = fitting.capture_of
    if not captures:
        fitting.capture_of = lambda device: None
    try:
        yield
    finally:
        fitting.capture_of = before


def operations(case: Case) -> int:
    """Multiplications and additions in the products of one step of one network."""
    step = case.trained_by_loop(1)
    with FlopCounterMode(display=False) as counter:
        step()
    return counter.get_total_flops()


def rate(hardware: Hardware, repeats: int = 10) -> float:
    """Operations a second in products of large matrices."""
    n, clock = LARGE[hardware.device.type], Clock(hardware.device)
    dtype = torch.bfloat16 if hardware.precision == "bf16-mixed" else torch.float32
    left, right = (torch.randn(n, n, device=hardware.device, dtype=dtype) for _ in range(2))
    with own_torch(hardware.precision):
        left @ right
        started = clock.now()
        for _ in range(repeats):
            left @ right
        return 2 * n**3 * repeats / (clock.now() - started)


def rows(device: str, turns: int) -> Iterator[str]:
    """A Markdown table, as it comes."""
    yield "| phase | precision | trials at once | launches | ms a step | ms a step and trial | of the device's rate |"
    yield "|---|---|---|---|---|---|---|"
    rates = {name: rate(Hardware(torch.device(device), name)) for name in PRECISIONS[device]}
    for phase in PHASES:
        case = Case("mlp", N_FEATURES, phase, STEPS)
        needed = operations(case)
        for precision in PRECISIONS[device]:
            for n_trials, (launches, captures) in product(TRIALS, WAYS[device].items()):
                with capturing(captures):
                    times = [case.stack(n_trials, precision, device) for _ in range(turns + 1)][1:]
                seconds = statistics.median(times)
                share = needed / seconds / rates[precision]
                yield (
                    f"| {phase} | {precision} | {n_trials} | {launches} | {1e3 * seconds * n_trials:.2f} | "
                    f"{1e3 * seconds:.3f} | {share:.2f} |"
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda", choices=PRECISIONS)
    parser.add_argument("--turns", type=int, default=3, help="of each measurement, after one that warms up (default 3)")
    arguments = parser.parse_args()
    prepare_process(threads=1)
    if arguments.device == "cuda":
        print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}\n")
    for line in rows(arguments.device, arguments.turns):
        print(line, flush=True)


if __name__ == "__main__":
    main()
