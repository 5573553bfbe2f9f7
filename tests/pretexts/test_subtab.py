"""SubTab against its definition: which features each subset has, and its losses by hand."""

import math
from itertools import combinations, pairwise

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from scarf_lightning.corruption.selection import Exact
from scarf_lightning.corruption.strategies import NoCorruption
from scarf_lightning.data.table import Table
from scarf_lightning.engine.pretext_task import PretextTask
from scarf_lightning.losses.contrastive import nt_xent
from scarf_lightning.networks import Columns
from scarf_lightning.options.settings import LayerSettings, PretrainSettings
from scarf_lightning.pretexts.subtab import SubTab, subsets
from tests.stacks import MakeStack


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_runs_of_features_and_what_they_share() -> None:
    columns = Columns((0,) * 8)
    assert subsets(columns, 4, 0) == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert subsets(columns, 2, 0.5) == [[0, 1, 2, 3, 4, 5], [2, 3, 4, 5, 6, 7]]
    assert subsets(columns, 2, 1) == [list(range(8))] * 2
    assert subsets(Columns((0, 3, 0)), 3, 0) == [[0], [1, 2, 3], [4]], "all columns of a feature stay together"


@given(
    counts=st.lists(st.sampled_from([0, 0, 2, 5]), min_size=1, max_size=12),
    n=st.integers(2, 6),
    overlap=st.floats(0, 1),
)
def test_no_feature_is_left_out_and_none_is_cut(counts: list[int], n: int, overlap: float) -> None:
    columns = Columns(tuple(counts))
    found = subsets(columns, n, overlap)
    assert len(found) == min(n, len(counts))
    assert sorted({column for subset in found for column in subset}) == list(range(columns.n_encoded))
    for subset in found:
        for feature in range(len(counts)):
            inside = set(columns.of_feature(feature)) & set(subset)
            assert inside in (set(), set(columns.of_feature(feature)))


def test_nt_xent_by_a_loop() -> None:
    first, second, tau = normal(5, 3), normal(5, 3, seed=1), 0.3
    both = F.normalize(torch.cat([first, second]), dim=1).numpy()
    losses = []
    for i in range(10):
        scores = np.exp(both @ both[i] / tau)
        losses.append(-math.log(scores[(i + 5) % 10] / (scores.sum() - scores[i])))
    assert nt_xent(first, second, tau).item() == pytest.approx(np.mean(losses), abs=1e-12)


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


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("options", [{}, {"temperature": 0.5, "contrast": 0.7, "distance": 0.2}])
def test_the_loss_is_that_of_the_paper_and_of_its_code(options: dict[str, float], seed: int) -> None:
    outputs = tuple((normal(6, 4, seed=s), normal(6, 3, seed=10 + s)) for s in range(4 * seed, 4 * seed + 4))
    row, task = normal(6, 3, seed=50), SubTab(NoCorruption(), Exact(), **options)
    weights = (task.temperature, task.contrast, task.distance)
    expected = loss_of_pairs([(z.numpy(), x.numpy()) for z, x in outputs], row.numpy(), *weights)
    assert task.compute_loss(outputs, (row,)).item() == pytest.approx(expected, rel=1e-12)


def test_defaults_are_those_of_the_authors_configuration() -> None:
    task = SubTab(NoCorruption(), Exact())
    assert (task.n_subsets, task.overlap, task.temperature, task.contrast, task.distance) == (4, 0.75, 0.1, 1, 1)


def test_one_feature_has_no_pair_of_subsets_and_is_reconstructed() -> None:
    output, row = (normal(6, 4), normal(6, 1, seed=1)), normal(6, 1, seed=2)
    loss = SubTab(NoCorruption(), Exact()).compute_loss((output,), (row,))
    torch.testing.assert_close(loss, F.mse_loss(output[1], row, reduction="sum") / 6)


def test_f_sees_a_subset_of_each_row_at_a_time(
    patients: Table, make_stack: MakeStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[Tensor, ...]] = []
    embed = PretextTask._embed

    def spied(task: PretextTask, x: Tensor, n: int) -> object:
        seen.append(x.chunk(n, dim=1))
        return embed(task, x, n)

    monkeypatch.setattr(PretextTask, "_embed", spied)
    stack = make_stack(patients, [0])
    stack.pretrain(
        PretrainSettings(max_epochs=1, batch_size=200), SubTab(NoCorruption(), Exact(), n_subsets=2, overlap=0)
    )
    first, second = seen[0]
    rows = torch.from_numpy(stack.encoded(stack.data.train)).float()[0]
    assert sorted((first + second)[0].tolist()) == sorted(rows.tolist()), "together they are the row"
    assert not ((first != 0) & (second != 0)).any()


def test_its_head_projects_and_decodes() -> None:
    head = SubTab(NoCorruption(), Exact()).head(8, Columns((0, 3)), LayerSettings(width=16))
    projection, decoded = head(torch.zeros(2, 8))
    assert (projection.shape, decoded.shape) == ((2, 16), (2, 4))


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_both_parts_of_its_head_are_as_deep_as_any_head(depth: int) -> None:
    head = SubTab(NoCorruption(), Exact()).head(8, Columns((0, 3)), LayerSettings(width=16, depth=depth))
    weights = [(weight.shape[1], weight.shape[0]) for weight in head.parameters() if weight.dim() == 2]
    projection, decoder = [8, *[16] * depth], [8, *[16] * (depth - 1), 4]
    assert weights == [*pairwise(projection), *pairwise(decoder)]
