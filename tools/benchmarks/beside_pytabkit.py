"""`ScarfClassifier()` beside pytabkit's `RealMLP_TD_S_Classifier()`: `python -m tools.benchmarks.beside_pytabkit`.

Five stratified splits of breast cancer and digits, 80 % to train, the same for both. They take turns in one process,
which has fitted each of them once before, with one thread each. Seconds are of one `fit`, in medians with ranges.
"""

import argparse
import os
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from sklearn.base import ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.model_selection import StratifiedShuffleSplit

from scarf_lightning import ScarfClassifier
from scarf_lightning.engine.hardware import prepare_process

TABLES = {"breast cancer": load_breast_cancer, "digits": load_digits}


def competitors(threads: int) -> dict[str, Callable[[], ClassifierMixin]]:
    """Each with so many threads."""
    # No requirement of ours.
    from pytabkit import RealMLP_TD_S_Classifier

    return {
        "`ScarfClassifier()`": lambda: ScarfClassifier(device="cpu", options={"trainer.threads": threads}),
        "RealMLP-TD-S of pytabkit": lambda: RealMLP_TD_S_Classifier(device="cpu", n_threads=threads),
    }


def fitted(model: ClassifierMixin, X: Any, y: Any) -> tuple[float, float]:
    """Seconds of `fit`, by the clock and of the processor."""
    clock, processor = time.perf_counter(), time.process_time()
    model.fit(X, y)
    return time.perf_counter() - clock, time.process_time() - processor


def rows(threads: int, n_splits: int) -> Iterator[str]:
    """A Markdown table."""
    yield "| table | classifier | accuracy | seconds | of the processor |"
    yield "|---|---|--:|--:|--:|"
    both = competitors(threads)
    for make in both.values():
        fitted(make(), *load_iris(return_X_y=True, as_frame=True))  # imports, and what the first fit of a process makes
    for table, load in TABLES.items():
        X, y = load(return_X_y=True, as_frame=True)
        found: dict[str, list[tuple[float, ...]]] = {name: [] for name in both}
        for train, test in StratifiedShuffleSplit(n_splits, test_size=0.2, random_state=0).split(X, y):
            for name, make in both.items():
                model = make()
                seconds = fitted(model, X.iloc[train], y.iloc[train])
                found[name].append((100 * model.score(X.iloc[test], y.iloc[test]), *seconds))
        for name, measured in found.items():
            accuracy, clock, processor = zip(*measured, strict=True)
            yield f"| {table} | {name} | {statistics.mean(accuracy):.1f} | {spread(clock)} | {spread(processor)} |"


def spread(seconds: tuple[float, ...]) -> str:
    """The median and the range."""
    return f"{statistics.median(seconds):.1f} ({min(seconds):.1f} to {max(seconds):.1f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--splits", type=int, default=5)
    asked = parser.parse_args()
    prepare_process(threads=asked.threads)
    warnings.simplefilter("ignore")
    print(f"Load of the machine: {os.getloadavg()[0]:.1f}")
    for line in rows(asked.threads, asked.splits):
        print(line, flush=True)
    print(f"Load of the machine: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
