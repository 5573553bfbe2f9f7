"""VIME against its equations, by hand."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from scarf_lightning.corruption.selection import Bernoulli, Exact
from scarf_lightning.corruption.strategies import Marginal, Zero
from scarf_lightning.data.table import Table
from scarf_lightning.networks import Columns
from scarf_lightning.options.settings import LayerSettings, PretrainSettings
from scarf_lightning.pretexts.vime import Vime, mask_loss
from tests.stacks import MakeStack

COLUMNS = Columns((0, 3, 0))


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("options", [{}, {"alpha": 0.7}])
def test_the_loss_is_that_of_the_papers_equations(options: dict[str, float], seed: int) -> None:
    """A value at a time: l_m, the cross-entropy of the mask, plus alpha l_r, the squared error; means over columns."""
    n, n_masked, n_encoded = 6, 3, 5
    logits, features, row = (normal(n, m, seed=10 * seed + k) for k, m in enumerate((n_masked, n_encoded, n_encoded)))
    mask = (normal(n, n_masked, seed=10 * seed + 3) > 0).double()
    task = Vime(Marginal(), Bernoulli(), **options)
    l_m = l_r = 0.0
    for i in range(n):
        for j in range(n_masked):
            p = 1 / (1 + math.exp(-logits[i, j]))
            l_m -= (mask[i, j] * math.log(p) + (1 - mask[i, j]) * math.log(1 - p)).item() / (n * n_masked)
        l_r += sum((row[i, j] - features[i, j]).item() ** 2 for j in range(n_encoded)) / (n * n_encoded)
    found = task.compute_loss(((logits, features),), (mask, row))
    assert found.item() == pytest.approx(l_m + options.get("alpha", 2) * l_r, rel=1e-12)


def test_the_mask_loss_stays_finite_where_the_answer_is_sure_and_wrong() -> None:
    logits = torch.tensor([[800.0, -800.0]], requires_grad=True)
    loss = mask_loss(logits, torch.tensor([[0.0, 1.0]]))
    loss.backward()
    assert loss.item() == 800
    assert logits.grad.tolist() == [[0.5, -0.5]]


def test_the_error_is_the_share_of_wrong_masks() -> None:
    logits = torch.tensor([[2.0, -1.0, 3.0, -4.0]])
    error = Vime(Marginal(), Exact()).compute_error(((logits, None),), (torch.tensor([[1.0, 1.0, 0.0, 0.0]]), None))
    assert error.item() == 0.5


@pytest.mark.parametrize(("corruption", "n_masked"), [(Marginal(), 3), (Zero(), 5)])
def test_there_is_an_estimate_for_each_feature_of_the_corrupted_space(corruption: object, n_masked: int) -> None:
    head = Vime(corruption, Exact()).head(8, COLUMNS, LayerSettings(width=16, depth=2))
    mask, features = head(torch.zeros(2, 8))
    assert (mask.shape, features.shape) == ((2, n_masked), (2, 5))
    assert [layer.out_features for layer in head.mask.layers] == [16, n_masked]


def test_the_targets_are_what_changed_and_the_clean_row(
    patients: Table, make_stack: MakeStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    compute_loss = Vime.compute_loss

    def spied(self: Vime, outputs: tuple[Any, ...], targets: tuple[Tensor, ...]) -> Tensor:
        seen.append(targets)
        return compute_loss(self, outputs, targets)

    monkeypatch.setattr(Vime, "compute_loss", spied)
    stack = make_stack(patients, [0, 1])
    stack.pretrain(PretrainSettings(max_epochs=1, batch_size=200, validation_passes=1), Vime(Marginal(0.5), Exact()))
    mask, row = seen[0]
    n_features = len(patients.columns)
    assert mask.shape == (2, 139, n_features)
    changed = mask.sum(dim=2)
    assert (changed <= n_features // 2).all(), "no more than were selected"
    assert (changed < n_features // 2).any(), "a category that is replaced by itself has not changed"
    rows = torch.from_numpy(stack.encoded(stack.data.train)).float()
    for t in range(2):
        assert sorted(row[t].tolist()) == sorted(rows[t].tolist())
