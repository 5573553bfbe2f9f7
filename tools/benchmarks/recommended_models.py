"""Recommendations of `scarf answer` with 100 labels, on real tables: `python -m tools.benchmarks.recommended_models`.

Of each table all labels but 100 are blanked, and the command gets five minutes of this machine. What each of its models
is worth with 100 labels is known from ten other draws of 100 labels, tested on a quarter of all rows. Tables are drawn
from those of OpenML's cache in ``OPENML_CACHE_DIR``.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import openml
import pandas as pd
import yaml

from scarf_lightning.metrics import metric_named
from scarf_lightning.results import load

LABELS = 100
SECONDS = 300
TABLES = 12
MOST_ROWS, MOST_COLUMNS = 12_000, 500
"""Larger tables take most of five minutes to read and to start."""
DRAWS = 10
ANSWERED = (0, 3)
"""Exit statuses of an answer, found or open."""
SCARF = [sys.executable, "-m", "scarf_lightning.cli.scarf"]
FEW = {"recipe": "practical", "regime": "few", "regime.labels": LABELS}
MODELS = {
    "title": "What each model is worth",
    "trials": DRAWS,
    "cells": [
        FEW | {"method": "control", "pretrain": ["none", "scarf", "vime"]},
        FEW | {"method": ["logistic", "xgboost"], "pretrain": "none"},
    ],
}
NAMES = {"logistic": "logistic regression", "xgboost": "XGBoost"}
PRETEXTS = {"none": "no pre-training", "scarf": "SCARF", "vime": "VIME"}


@dataclass(frozen=True)
class Row:
    """One table.

    Attributes:
        table: its name.
        seconds: of the whole command.
        recommended, expected: the competitor and its metric as the command says it.
        metric: by which it is recommended.
        values: of each competitor with 100 labels, by its name.
    """

    table: str
    seconds: float
    recommended: str
    expected: float
    metric: str
    values: dict[str, float]

    @property
    def best(self) -> str:
        """The competitor that is best in hindsight."""
        sign = metric_named(self.metric).sign
        return max(self.values, key=lambda name: sign * self.values[name])

    @property
    def lost(self) -> float:
        """Points lost to the best competitor."""
        return 100 * abs(self.values[self.best] - self.values[self.recommended])


def table_of(number: int) -> tuple[str, pd.DataFrame, str]:
    """The name of a table in OpenML's cache, its columns with the target, and the name of the target."""
    dataset = openml.datasets.get_dataset(number, download_qualities=False)
    columns, _, _, _ = dataset.get_data()
    assert dataset.default_target_attribute is not None
    return dataset.name, columns, dataset.default_target_attribute


def drawn_tables(cache: Path) -> list[int]:
    """The numbers of the tables on OpenML, in ascending order."""
    numbers = sorted(int(folder.name) for folder in (cache / "org/openml/www/datasets").iterdir())
    fitting = []
    for number in numbers:
        _, columns, _ = table_of(number)
        if len(columns) <= MOST_ROWS and len(columns.columns) <= MOST_COLUMNS:
            fitting.append(number)
    return sorted(np.random.default_rng(0).choice(fitting, TABLES, replace=False).tolist())


def measure(number: int, folder: Path) -> Row:
    """Ask for an answer on a table, and measure what its models are worth, in a folder of the table's own."""
    name, table, target = table_of(number)
    folder.mkdir(parents=True, exist_ok=True)
    labelled = np.random.default_rng(number).choice(len(table), LABELS, replace=False)
    is_labelled = pd.Series(False, index=table.index)
    is_labelled.iloc[labelled] = True
    table.to_csv(folder / "all.csv", index=False)
    few = table.assign(**{target: table[target].astype(object).where(is_labelled)})
    few.to_csv(folder / "few.csv", index=False)

    began = time.monotonic()
    said = run(folder, "answer", "few.csv", target, f"time_limit={SECONDS}s", "paths.results=answers", "--json")
    seconds = time.monotonic() - began
    recommendation = json.loads(said)["recommendation"]

    (folder / "models.yaml").write_text(yaml.safe_dump(MODELS), encoding="utf-8")
    run(folder, "train", "sweeps=models.yaml", "dataset=csv", "dataset.path=all.csv", f"dataset.target={target}")
    expected = recommendation["expected"]
    metric = expected["metric"]
    trials = load(folder / "results")
    names = trials["method"].map(NAMES).fillna(trials["pretrain"].map(PRETEXTS))
    values = trials.groupby(names)[metric].mean().to_dict()
    return Row(name, seconds, recommendation["use"], expected["value"], metric, values)


def run(folder: Path, *arguments: str) -> str:
    """The standard output of a command."""
    ran = subprocess.run([*SCARF, *arguments], cwd=folder, stdout=subprocess.PIPE, text=True, check=False)
    assert ran.returncode in ANSWERED, (ran.returncode, arguments)
    return ran.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("build/recommended"))
    parser.add_argument("--tables", type=int, nargs="*", help="numbers on OpenML; drawn if none")
    arguments = parser.parse_args()
    cache = Path(os.environ["OPENML_CACHE_DIR"])
    openml.config.set_root_cache_directory(cache)
    print("| table | seconds | recommended | says | metric | worth | best | lost |\n|---|--:|---|--:|---|--:|---|--:|")
    for number in arguments.tables or drawn_tables(cache):
        kept = arguments.folder / f"{number}.json"
        # A run that ended early goes on with the next table.
        if not kept.exists():
            row = measure(number, arguments.folder / str(number))
            kept.write_text(json.dumps(asdict(row)), encoding="utf-8")
        print_row(Row(**json.loads(kept.read_text(encoding="utf-8"))))


def print_row(row: Row) -> None:
    cells: list[Any] = [
        row.table,
        f"{row.seconds:.0f}",
        row.recommended,
        f"{row.expected:.3f}",
        row.metric,
        f"{row.values[row.recommended]:.3f}",
        f"{row.best}, {row.values[row.best]:.3f}",
        f"{row.lost:.1f}",
    ]
    print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
