"""Training networks in stacks, and looking for what a trial's company changes."""

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from scarf_lightning.corruption.strategies import Exact, Marginal
from scarf_lightning.data.preprocessing import ZScore
from scarf_lightning.data.table import Table
from scarf_lightning.data.trials import Full, RowRules, prepare_trials
from scarf_lightning.engine.fit import Fit
from scarf_lightning.engine.hardware import Hardware
from scarf_lightning.engine.lifting import lift
from scarf_lightning.engine.stack import Stack
from scarf_lightning.losses.loss import InfoNCE
from scarf_lightning.networks import Columns, Network
from scarf_lightning.options.settings import FinetuneSettings, LayerSettings, NetworkSettings, PretrainSettings
from scarf_lightning.pretexts.scarf import Scarf
from scarf_lightning.randomness import Streams
from tests.promises import assert_same_trials, is_exact

KINDS_OF_TABLES = {
    "every kind of column": (0, 4, 0, 1, 2, 0),
    "one number": (0,),
    "numbers": (0,) * 10,
    "categories": (3, 1, 6),
    "two constants": (1, 1),
}
"""Tables by the number of categories of each of their columns, 0 for a number."""


def make_table(n_categories: tuple[int, ...], n: int = 133) -> Table:
    """93 of its rows train: batches of 46 are followed by a last one of a single row, which joins the one before."""
    random = np.random.default_rng(3)
    labels = random.integers(3, size=n)
    frame = pd.DataFrame(
        {
            f"x{m}": (labels + random.integers(count, size=n)) % count if count else labels + random.normal(size=n)
            for m, count in enumerate(n_categories)
        }
    )
    categorical = [count > 0 for count in n_categories]
    for column, is_category in zip(frame, categorical, strict=True):
        frame[column] = frame[column].astype(str) if is_category else frame[column]
    return Table.from_frame(
        frame, pd.Series(labels.astype(str), name="class"), categorical=categorical, name="made up", source="test"
    )


def train(network: Network, table: Table, trials: list[int]) -> tuple[Fit, Fit, np.ndarray]:
    """The results of a stack: a pre-training, the fine-tuning after it, and probabilities."""
    streams, layers = Streams(0, table.n_labelled), LayerSettings(width=16)
    data = prepare_trials(table, trials, streams, RowRules(Full()), scaling=ZScore(), fit_on="train")
    settings = NetworkSettings(pretrain_head=layers, head=layers)
    stack = Stack(table, data, streams, Hardware(torch.device("cpu")), network, settings)
    short = {"max_epochs": 3, "batch_size": 46, "patience": 0}
    pretraining = stack.pretrain(PretrainSettings(**short), Scarf(Marginal(), Exact(), InfoNCE()))
    finetuning, classifier = stack.finetune(FinetuneSettings(**short), stack.labelled(), pretraining.part("encoder"))
    return pretraining, finetuning, stack.predict(classifier, stack.data.test)


def assert_alone_is_among(network: Network, table: Table) -> None:
    """A trial that trains alone is that trial among three, in both phases and in its predictions."""
    (*alone, probabilities), (*among, of_all) = (train(network, table, trials) for trials in ([2], [0, 1, 2]))
    for fit, of_whole in zip(alone, among, strict=True):
        assert_same_trials(fit, of_whole, [2])
    assert not is_exact() or np.array_equal(probabilities[0], of_all[2])


def built(network: Network, columns: Columns, n_trials: int) -> list[nn.Module]:
    """A float64 network a trial, that has looked at rows of its own."""
    modules = []
    for trial in range(n_trials):
        torch.manual_seed(trial)
        module = network.build(columns, None)
        network.prepare(module, torch.randn(40, columns.n_encoded))
        modules.append(module.double())
    return modules


def assert_lifted_is_a_loop(network: Network, columns: Columns) -> None:
    """Outputs, gradients and buffers of a stack in training are those of a loop over the plain modules."""
    alone = built(network, columns, 3)
    stacked = lift(alone)
    x = torch.randn(3, 9, columns.n_encoded, dtype=torch.float64, requires_grad=True)
    own = [x[trial].detach().requires_grad_() for trial in range(3)]
    out = stacked(x)
    outs = [module(rows) for module, rows in zip(alone, own, strict=True)]
    probe = torch.randn_like(out)
    (out * probe).sum().backward()
    sum((mine * part).sum() for mine, part in zip(outs, probe, strict=True)).backward()
    _assert_close(out, torch.stack(outs))
    _assert_close(x.grad, torch.stack([rows.grad for rows in own]))
    lifted = {name.removeprefix("network."): value for name, value in stacked.named_parameters()}
    for name, parameter in alone[0].named_parameters():
        of_each = [dict(module.named_parameters())[name] for module in alone]
        assert lifted[name].shape == (3, *parameter.shape)
        if parameter.numel() == 0:  # of features that the table does not have
            continue
        _assert_close(lifted[name].grad, torch.stack([each.grad for each in of_each]))
    buffers = {name.removeprefix("network."): value for name, value in stacked.named_buffers()}
    for name, _ in alone[0].named_buffers():
        _assert_close(buffers[name], torch.stack([dict(module.named_buffers())[name] for module in alone]))


def _assert_close(got: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(got, expected, rtol=1e-9, atol=1e-9)
