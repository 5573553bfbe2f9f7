"""Planned and spent processor time of runs: `python -m tools.benchmarks.planned_time [--turns N]`.

Each run is a command of its own, planned in an empty folder by `scarf plan --json` and then trained by `scarf train` in
one process. Tables are bundled ones, and those that scikit-learn ships. The last table is `docs/speed.md`'s.
"""

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from sklearn.datasets import load_digits, load_wine

from tests.composing import ROOT

DIGITS = ("dataset=digits.csv", "dataset.target=target")
PAPER = "recipe=paper"
WINE = ("dataset=wine.csv", "dataset.target=target")
RUNS: dict[str, tuple[str, ...]] = {
    "SCARF and no pre-training, digits": (*DIGITS, PAPER, "pretrain=none,scarf", "trials=4"),
    "VIME, wdbc": ("dataset=wdbc", "pretrain=vime", "trials=20"),
    "a number, diabetes": ("dataset=diabetes", "pretrain=none,scarf", "trials=10"),
    "ResNet, digits": (*DIGITS, PAPER, "pretrain=none", "network=resnet", "trials=8"),
    "FT-Transformer, wine": (*WINE, PAPER, "pretrain=none", "network=ft_transformer", "trials=20"),
    "MLP-PLR, wdbc": ("dataset=wdbc", "pretrain=none", "network=mlp_plr", "trials=20"),
    "RealMLP, diabetes": ("dataset=diabetes", "recipe=realmlp_number", "pretrain=none", "trials=1"),
    "self-training, wdbc": ("dataset=wdbc", "regime=semi25", "pretrain=none", "method=self_train", "trials=8"),
    "tri-training, wine": (*WINE, PAPER, "regime=semi25", "pretrain=none", "method=tri_train", "trials=6"),
    "random forest, wdbc": ("dataset=wdbc", "pretrain=none", "method=random_forest", "trials=10"),
    "practical recipe with few labels, wdbc": (
        "dataset=wdbc", "recipe=practical", "regime=few", "regime.labels=20,100", "pretrain=none,scarf", "trials=5",
    ),
}  # fmt: skip
"""Options of each run by its name."""
GOAL = 1.5
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
SECONDS = 3600.0


def write_tables(folder: Path) -> None:
    """Write tables of scikit-learn as files."""
    load_digits(as_frame=True).frame.to_csv(folder / "digits.csv", index=False)
    load_wine(as_frame=True).frame.to_csv(folder / "wine.csv", index=False)


def ran(folder: Path, *arguments: str) -> str:
    """The output of a command of ours."""
    command = [sys.executable, "-m", "scarf_lightning.cli.scarf", *arguments]
    found = subprocess.run(
        command, cwd=folder, env=os.environ | ENVIRONMENT, capture_output=True, text=True, check=True
    )
    return found.stdout


def planned(options: tuple[str, ...]) -> float:
    """The processor seconds of a plan."""
    with tempfile.TemporaryDirectory() as folder:
        write_tables(Path(folder))
        plan = json.loads(ran(Path(folder), "plan", *options, "--json"))
    return float(plan["core_hours"]) * SECONDS


def spent(options: tuple[str, ...]) -> float:
    """The processor seconds of a training, start of the process included."""
    with tempfile.TemporaryDirectory() as folder:
        write_tables(Path(folder))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        ran(Path(folder), "train", *options, "workers=1")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def processor() -> str:
    """The name of this machine's processor."""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.processor()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=1, help="trainings of each run, of which the median counts")
    asked = parser.parse_args()
    print(f"Processor seconds on one core of {processor()}; {os.getloadavg()[0]:.1f} processes run.\n")
    print("| run | planned, s | spent, s | factor |\n|---|--:|--:|--:|")
    worst = 1.0
    for name, options in RUNS.items():
        expected = planned(options)
        took = statistics.median(spent(options) for _ in range(asked.turns))
        factor = max(expected / took, took / expected)
        worst = max(worst, factor)
        print(f"| {name} | {expected:.1f} | {took:.1f} | {factor:.2f} |", flush=True)
    print(f"\nThe largest factor is {worst:.2f}; the goal is {GOAL}.")


if __name__ == "__main__":
    main()
