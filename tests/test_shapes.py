"""Leading axes are ``...``: every part gives each trial of a stack what it gives the trial alone, without that axis."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from scarf_lightning.corruption import Corruption, Selection
from scarf_lightning.corruption.strategies import Exact
from scarf_lightning.networks import Columns, Dropout
from scarf_lightning.options.axes import parts
from scarf_lightning.options.settings import LayerSettings
from scarf_lightning.randomness import StackedGenerator
from tests.methods.test_every_method import made as method_named
from tests.stacks import made_pretext, normal

N, M = 7, 5
COLUMNS = Columns((0,) * M)
LEADING = [(3,), (2, 2)]

pytestmark = [pytest.mark.usefixtures("float64_default"), pytest.mark.parametrize("leading", LEADING, ids=str)]


@dataclass
class Rows:
    """A mini-batch with any leading axes, and the training rows as the source of a corruption."""

    encoded: Tensor
    training: Tensor
    random: StackedGenerator
    columns: Columns = COLUMNS
    n_rows: int = 11

    @classmethod
    def of(cls, leading: tuple[int, ...]) -> "Rows":
        random = torch.Generator().manual_seed(0)
        x, training = (torch.randn(*leading, n, M, generator=random) for n in (N, cls.n_rows))
        return cls(x, training, StackedGenerator(range(int(np.prod(leading))), leading=leading))

    def each(self) -> Iterator["Rows"]:
        """Each trial's, without leading axes."""
        trials = zip(self.encoded.flatten(0, -3), self.training.flatten(0, -3), strict=True)
        for seed, (x, training) in enumerate(trials):
            yield Rows(x, training, StackedGenerator([seed], leading=()))

    def corrupted(self, corruption: Corruption, selection: Selection) -> tuple[Tensor, Tensor]:
        return corruption(self.encoded, self, self.random, selection)

    def cells(self, positions: Tensor) -> Tensor:
        return self.training.take_along_dim(positions, dim=-2)

    def rows(self, positions: Tensor) -> Tensor:
        return self.training.take_along_dim(positions.unsqueeze(-1), dim=-2)

    encoded_rows = rows

    def bins(self, n_bins: int) -> Tensor:
        edges = self.training.sort(dim=-2).values[..., [self.n_rows * k // n_bins for k in range(1, n_bins)], :]
        return (self.encoded.unsqueeze(-2) >= edges.unsqueeze(-3)).sum(dim=-2)[..., self.columns.numeric]

    def mean(self) -> Tensor:
        return self.training.mean(dim=-2, keepdim=True)

    def missing_values(self) -> Tensor:
        return self.training[..., :1, :]


def assert_each_trial_is_alone(together: Any, alone: list[Any]) -> None:
    """Tensors ``(..., *shape)``, or tuples of them, against one of ``shape`` for each trial."""
    if together is None:
        assert alone == [None] * len(alone)
    elif isinstance(together, tuple):
        for part, *each in zip(together, *alone, strict=True):
            assert_each_trial_is_alone(part, each)
    else:
        leading = together.shape[: together.dim() - alone[0].dim()]
        expected = torch.stack(alone).view(*leading, *alone[0].shape)
        torch.testing.assert_close(together, expected, rtol=1e-12, atol=1e-12)


def assert_trial_by_trial(function: Callable[..., Any], leading: tuple[int, ...], *stacked: Tensor | None) -> None:
    each = [
        [None if x is None else x.flatten(0, len(leading) - 1)[t] for x in stacked] for t in range(np.prod(leading))
    ]
    assert_each_trial_is_alone(function(*stacked), [function(*trial) for trial in each])


@pytest.mark.parametrize("selection", parts("selection"))
def test_selections(selection: str, leading: tuple[int, ...]) -> None:
    chosen, rows = parts("selection")[selection](), Rows.of(leading)
    masks = [chosen.mask(0.5, N, M, each.random) for each in rows.each()]
    assert_each_trial_is_alone(chosen.mask(0.5, N, M, rows.random), masks)


@pytest.mark.parametrize("corruption", parts("corruption"))
def test_corruptions(corruption: str, leading: tuple[int, ...]) -> None:
    chosen, rows = parts("corruption")[corruption](), Rows.of(leading)
    alone = [each.corrupted(chosen, Exact()) for each in rows.each()]
    assert_each_trial_is_alone(rows.corrupted(chosen, Exact()), alone)


@pytest.mark.parametrize("pretext", parts("pretrain"))
def test_pretexts(pretext: str, leading: tuple[int, ...]) -> None:
    """Views, then f and g in a plain module, then loss and error."""
    task, rows = made_pretext(pretext), Rows.of(leading)
    head = task.head(M, COLUMNS, LayerSettings(width=32))  # in a narrow one cosines tie, which rounding decides

    def values(rows: Rows) -> tuple[Any, ...]:
        views = task.make_views(rows)  # type: ignore[arg-type]
        outputs = tuple(head(x) for x in views.inputs)
        error = task.compute_error(outputs, views.targets) if task.has_error else None
        return *views, task.compute_loss(outputs, views.targets), error

    assert_each_trial_is_alone(values(rows), [values(each) for each in rows.each()])


@pytest.mark.parametrize("is_training", [True, False])
@pytest.mark.parametrize("network", parts("network"))
def test_networks(network: str, is_training: bool, leading: tuple[int, ...]) -> None:
    columns = Columns((0, 3, 0, 1))
    module = parts("network")[network]().build(columns, None).train(is_training)
    for part in module.modules():
        if isinstance(part, Dropout):
            part.rate = 0.0
    assert_trial_by_trial(module, leading, normal(*leading, N, columns.n_encoded))


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("method", parts("method"))
def test_training_steps_of_methods(method: str, weighted: bool, leading: tuple[int, ...]) -> None:
    chosen, rows = method_named(method), Rows.of(leading)
    weights = normal(*leading, N, seed=3).abs() if weighted else None
    soft, hard = normal(*leading, N, 3, seed=4).softmax(dim=-1), normal(*leading, N, 3, seed=5).argmax(dim=-1)
    for targets in (soft, hard):
        assert_trial_by_trial(chosen.compute_loss, leading, normal(*leading, N, 3), targets, weights)
    together = chosen.make_batch(rows, soft, weights)  # type: ignore[arg-type]
    of_each = (None,) * len(list(rows.each())) if weights is None else weights.view(-1, N)
    trials = zip(rows.each(), soft.view(-1, N, 3), of_each, strict=True)
    assert_each_trial_is_alone(together, [chosen.make_batch(*trial) for trial in trials])  # type: ignore[arg-type]
