"""Accuracy of MLPs on embedded numbers: this package's, and those of the authors' package in a plain loop.

    python -m tools.benchmarks.embeddings [--openml CACHE] [--tables NAME ...] [--trials N] [--steps N]

The loop is plain `torch` around `rtdl_num_embeddings`, with the layers, initial distributions, batches, Adam and steps
of ours, and no validation: both keep their last weights. Splits and labels are the same, trial by trial; random numbers
are not. The package is trained by its defaults, and with what differs in ours: ten times the scale of the frequencies
and ten times the learning rate of frequencies, or of the linear layer behind the bins. Means have standard errors over
trials.
"""

import argparse
import itertools
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from rtdl_num_embeddings import PeriodicEmbeddings, PiecewiseLinearEmbeddings, compute_bins
from torch import Tensor, nn

from scarf_lightning.data.preprocessing import ZScore
from scarf_lightning.data.sources import OpenMLSource
from scarf_lightning.data.table import Table
from scarf_lightning.data.trials import Few, Full, prepare_trials
from scarf_lightning.engine.hardware import Hardware, prepare_process
from scarf_lightning.engine.stack import Stack
from scarf_lightning.networks import Network
from scarf_lightning.networks.mlp import MLP, MLPPLE, MLPPLR
from scarf_lightning.options.settings import FinetuneSettings, NetworkSettings
from scarf_lightning.randomness import Streams

TABLES = {"phoneme": 1489, "kc1": 1067, "mfeat-karhunen": 16}
"""Numbers alone, by their id on OpenML: 5, 21 and 64 columns."""
FASTER = 10.0
"""The learning rate of embeddings in ours over that of other weights."""
WIDTH, DEPTH = 256, 4
BINS, EMBEDDING = 48, 24
LAYOUTS = ("no embedding", "PLR", "PLE")
NETWORKS: dict[str, Network] = {"no embedding": MLP(), "PLR": MLPPLR(), "PLE": MLPPLE()}


def stack_of(table: Table, network: Network, n_labels: int | None, trials: range) -> Stack:
    streams = Streams(0, table.n_labelled)
    regime = Full() if n_labels is None else Few(n_labels)
    data = prepare_trials(table, trials, streams, regime=regime, scaling=ZScore(), fit_on="train")
    hardware = Hardware(torch.device("cpu"), "32-true")
    return Stack(table, data, streams, hardware, network, NetworkSettings())


def ours(stack: Stack, steps: int) -> np.ndarray:
    """Test accuracy of each trial."""
    settings = FinetuneSettings(monitor="none", patience=None, restore_best=False, max_steps=steps)
    _, classifier = stack.finetune(settings, stack.labelled())
    predicted = stack.predict(classifier, stack.data.test).argmax(axis=-1)
    return (predicted == stack.table.labels[stack.data.test]).mean(axis=-1)


def embedding_of(layout: str, rows: Tensor, *, as_ours: bool) -> tuple[nn.Module, list[nn.Parameter]]:
    """The package's embedding for training rows ``(n, M)``, and the parameters that learn faster in ours."""
    n_features = rows.shape[1]
    if layout == "PLR":
        scale = {"frequency_init_scale": NETWORKS[layout].frequency_scale} if as_ours else {}
        embedding = PeriodicEmbeddings(n_features, EMBEDDING, lite=False, **scale)
        return nn.Sequential(embedding, nn.Flatten()), [embedding.periodic.weight]
    if layout == "PLE":
        bins = compute_bins(rows, n_bins=BINS)
        embedding = PiecewiseLinearEmbeddings(bins, EMBEDDING, activation=True, version="A")
        return nn.Sequential(embedding, nn.Flatten()), list(embedding.linear.parameters())
    return nn.Identity(), []


def plain(stack: Stack, position: int, layout: str, steps: int, *, as_ours: bool) -> float:
    """Test accuracy of a plain network on the rows of a trial."""
    data = stack.data
    torch.manual_seed(data.trials[position])
    x = {
        part: torch.from_numpy(stack.encoded(getattr(data, part))[position]).float()
        for part in ("train", "labelled", "test")
    }
    y = torch.from_numpy(data.labels[position])
    embedding, faster = embedding_of(layout, x["train"], as_ours=as_ours)
    widths = [embedding(x["test"][:2]).shape[1], *[WIDTH] * (DEPTH + 1)]
    layers: list[nn.Module] = []
    for n_in, n_out in itertools.pairwise(widths):
        layers += [nn.Linear(n_in, n_out), nn.ReLU()]
    layers.append(nn.Linear(WIDTH, stack.table.target.n_outputs))
    for layer in layers:
        if isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
    model = nn.Sequential(embedding, *layers)
    fast = {id(parameter) for parameter in faster}
    groups = [
        {"params": [each for each in model.parameters() if id(each) not in fast]},
        {"params": faster, "lr": 1e-3 * (FASTER if as_ours else 1)},
    ]
    optimizer = torch.optim.Adam([group for group in groups if group["params"]], lr=1e-3, eps=1e-7)
    for _ in range(math.ceil(steps / math.ceil(len(y) / 128))):
        for batch in torch.randperm(len(y)).split(128):
            optimizer.zero_grad()
            F.cross_entropy(model(x["labelled"][batch]), y[batch]).backward()
            optimizer.step()
    with torch.no_grad():
        predicted = model(x["test"]).argmax(dim=1).numpy()
    return float((predicted == stack.table.labels[data.test[position]]).mean())


def shown(accuracies: np.ndarray) -> str:
    error = accuracies.std(ddof=1) / math.sqrt(len(accuracies))
    return f"{100 * accuracies.mean():.1f} ± {100 * error:.1f}"


def rows(tables: list[str], cache: Path | None, n_trials: int, steps: int) -> Iterator[str]:
    yield "| table | labels | embedding | ours | package | package, as ours |"
    yield "|---|---|---|---|---|---|"
    for name, n_labels, layout in itertools.product(tables, (100, None), LAYOUTS):
        table = OpenMLSource(TABLES[name], cache, dataset_name=name).load()
        stack = stack_of(table, NETWORKS[layout], n_labels, range(n_trials))
        found = [shown(ours(stack, steps))]
        for as_ours in (False, True):
            if layout == "no embedding" and as_ours:
                found.append("")
                continue
            accuracies = [plain(stack, trial, layout, steps, as_ours=as_ours) for trial in range(n_trials)]
            found.append(shown(np.array(accuracies)))
        yield f"| {name} | {n_labels or 'all'} | {layout} | {' | '.join(found)} |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--openml", type=Path, help="a cache of the OpenML client")
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=TABLES)
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--steps", type=int, default=300)
    given = parser.parse_args()
    prepare_process(threads=1)
    for line in rows(given.tables, given.openml, given.trials, given.steps):
        print(line, flush=True)
