"""VIME and SubTab against their equations, by hand."""

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from scarf_lightning.corruption.strategies import Bernoulli, Exact, Marginal, NoCorruption
from scarf_lightning.data.table import Table
from scarf_lightning.networks import Columns
from scarf_lightning.options.settings import PretrainSettings
from scarf_lightning.pretexts.others import SubTab, Vime, subsets
from tests.stacks import MakeStack, normal

COLUMNS = Columns((0, 3, 0))


def loss_of_pairs(
    outputs: list[tuple[np.ndarray, np.ndarray]], row: np.ndarray, tau: float, contrast: float, distance: float
) -> float:
    """The paper's equations 1 to 5, a pair of subsets and a row at a time, weighted as in the authors' code: each term
    is a sum over columns and a mean over the rows of a pair."""
    n, losses = len(row), []
    for (z_i, x_i), (z_j, x_j) in combinations(outputs, 2):
        unit = [z / np.sqrt((z**2).sum()) for z in (*z_i, *z_j)]
        reconstructed = sum(((x - row) ** 2).sum() for x in (x_i, x_j)) / (2 * n)
        contrasted = 0.0
        for a in range(2 * n):
            scores = {b: math.exp(unit[a] @ unit[b] / tau) for b in range(2 * n) if b != a}
            contrasted -= math.log(scores[(a + n) % (2 * n)] / sum(scores.values())) / (2 * n)
        apart = sum(((unit[k] - unit[n + k]) ** 2).sum() for k in range(n)) / n
        losses.append(reconstructed + contrast * contrasted + distance * apart)
    return float(np.mean(losses))


class TestVime:
    @pytest.mark.parametrize("seed", range(2))
    @pytest.mark.parametrize("options", [{}, {"alpha": 0.7}])
    def test_the_loss_is_that_of_the_papers_equations(self, options: dict[str, float], seed: int) -> None:
        """A value at a time: l_m, the mask's cross-entropy, plus alpha l_r, the squared error; means over columns."""
        n, n_masked, n_encoded = 6, 3, 5
        widths = (n_masked, n_encoded, n_encoded)
        logits, features, row = (normal(n, m, seed=10 * seed + k) for k, m in enumerate(widths))
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

    def test_the_error_is_the_share_of_wrong_masks(self) -> None:
        logits = torch.tensor([[2.0, -1.0, 3.0, -4.0]])
        error = Vime(Marginal(), Exact()).compute_error(((logits, None),), (torch.tensor([[1.0, 1.0, 0.0, 0.0]]), None))
        assert error.item() == 0.5

    def test_the_targets_are_what_changed_and_the_clean_row(
        self, patients: Table, make_stack: MakeStack, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen = []

        compute_loss = Vime.compute_loss

        def spied(self: Vime, outputs: tuple[Any, ...], targets: tuple[Tensor, ...]) -> Tensor:
            seen.append(targets)
            return compute_loss(self, outputs, targets)

        monkeypatch.setattr(Vime, "compute_loss", spied)
        stack = make_stack(patients, [0, 1])
        stack.pretrain(
            PretrainSettings(max_epochs=1, batch_size=200, validation_passes=1), Vime(Marginal(0.5), Exact())
        )
        mask, row = seen[0]
        n_features = len(patients.columns)
        assert mask.shape == (2, 139, n_features)
        changed = mask.sum(dim=2)
        assert (changed <= n_features // 2).all(), "no more than were selected"
        assert (changed < n_features // 2).any(), "a category that is replaced by itself has not changed"
        rows = torch.from_numpy(stack.encoded(stack.data.train)).float()
        for t in range(2):
            assert sorted(row[t].tolist()) == sorted(rows[t].tolist())


class TestSubTab:
    def test_runs_of_features_and_what_they_share(self) -> None:
        columns = Columns((0,) * 8)
        assert subsets(columns, 4, 0) == [[0, 1], [2, 3], [4, 5], [6, 7]]
        assert subsets(columns, 2, 0.5) == [[0, 1, 2, 3, 4, 5], [2, 3, 4, 5, 6, 7]]
        assert subsets(columns, 2, 1) == [list(range(8))] * 2
        assert subsets(Columns((0, 3, 0)), 3, 0) == [[0], [1, 2, 3], [4]], "all columns of a feature stay together"

    @pytest.mark.parametrize("seed", range(2))
    @pytest.mark.parametrize("options", [{}, {"temperature": 0.5, "contrast": 0.7, "distance": 0.2}])
    def test_the_loss_is_that_of_the_paper_and_of_its_code(self, options: dict[str, float], seed: int) -> None:
        outputs = tuple((normal(6, 4, seed=s), normal(6, 3, seed=10 + s)) for s in range(4 * seed, 4 * seed + 4))
        row, task = normal(6, 3, seed=50), SubTab(NoCorruption(), Exact(), **options)
        weights = (task.temperature, task.contrast, task.distance)
        expected = loss_of_pairs([(z.numpy(), x.numpy()) for z, x in outputs], row.numpy(), *weights)
        assert task.compute_loss(outputs, (row,)).item() == pytest.approx(expected, rel=1e-12)
