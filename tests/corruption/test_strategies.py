"""Algorithm 1, line 5, on a table with gaps, categories and a constant column."""

from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from scarf_lightning.corruption import Corruption, Selection, SelectiveCorruption, TrainingSource
from scarf_lightning.corruption.strategies import (
    Bernoulli,
    Exact,
    Gaussian,
    Joint,
    Marginal,
    Mean,
    Missing,
    NoCorruption,
    Shared,
    SingleRow,
    Zero,
    largest,
    n_selected,
)
from scarf_lightning.data.datamodule import DeviceTable
from scarf_lightning.data.preprocessing import Preprocessing, ZScore
from scarf_lightning.data.table import Table
from scarf_lightning.engine.encoder import Encoder
from scarf_lightning.engine.pretext_task import CorruptionSource
from scarf_lightning.errors import UsageError
from scarf_lightning.networks import Columns, OneHot
from scarf_lightning.randomness import Roster, StackedGenerator

N_ROWS = 60
COLOURS = 2  # position of the categorical column


@pytest.fixture(scope="module")
def table() -> Table:
    random = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "a": random.normal(size=N_ROWS),
            "b": random.exponential(size=N_ROWS),
            "colour": random.choice(["red", "green", "blue"], size=N_ROWS, p=[0.7, 0.2, 0.1]),
            "count": random.integers(0, 4, size=N_ROWS).astype(float),
            "same": 3.5,
        }
    )
    frame.loc[::7, "b"] = np.nan
    target = pd.Series(np.arange(N_ROWS) % 2, name="y")
    return Table.from_frame(frame, target, categorical=[False] * 5, name="t", source="made up")


@pytest.fixture(scope="module")
def train_rows() -> Tensor:
    """Half of the rows, another half for each of two trials."""
    return torch.stack([torch.arange(0, N_ROWS, 2), torch.arange(1, N_ROWS, 2)])


@pytest.fixture(scope="module")
def encoder(table: Table) -> Encoder:
    columns = Columns(tuple(len(column.categories or ()) for column in table.columns))
    networks = [nn.Linear(columns.n_encoded, 3) for _ in range(2)]
    return Encoder(columns, networks, width=3, learns_missing_values=True).double()


@pytest.fixture(scope="module")
def one_hot(encoder: Encoder) -> OneHot:
    return encoder.one_hot


def make_source(table: Table, train_rows: Tensor, encoder: Encoder, roster: Roster) -> CorruptionSource:
    preprocessing = Preprocessing.fit(table, [None, None], ZScore())
    device_table = DeviceTable(table, preprocessing, device="cpu", dtype=torch.float64)
    return CorruptionSource(encoder, device_table, train_rows, roster)


@pytest.fixture(scope="module")
def source(table: Table, train_rows: Tensor, encoder: Encoder) -> TrainingSource:
    return make_source(table, train_rows, encoder, Roster(2))


@pytest.fixture(scope="module")
def training(table: Table, train_rows: Tensor) -> np.ndarray:
    """Imputed and scaled training rows, computed here: ``(2, 30, M)``."""
    columns = []
    for m, column in enumerate(table.columns):
        values = table.values[:, m].copy()
        if not column.is_categorical:
            values[np.isnan(values)] = np.nanmean(values)
            values = scipy.stats.zscore(values) if np.ptp(values) else np.zeros_like(values)
        columns.append(values)
    return np.stack(columns, axis=1)[train_rows.numpy()]


@pytest.fixture(scope="module")
def encoded_training(training: np.ndarray) -> np.ndarray:
    """Training rows encoded here: ``(2, 30, D)``."""
    codes = training[:, :, COLOURS, None] == np.arange(3)
    return np.concatenate([training[:, :, :COLOURS], codes, training[:, :, COLOURS + 1 :]], axis=2)


@pytest.fixture(scope="module")
def batch(training: np.ndarray) -> Tensor:
    """4,000 rows of each trial."""
    return torch.from_numpy(np.tile(training, (1, 134, 1))[:, :4000])


def corrupt(
    strategy: Corruption, x: Tensor, source: TrainingSource, selection: Selection | None = None
) -> tuple[Tensor, Tensor]:
    return strategy(x, source, StackedGenerator([10, 11]), selection or Exact())


def test_marginal_draws_each_selected_feature_by_itself_from_its_training_column(
    batch: Tensor, source: TrainingSource, training: np.ndarray, one_hot: OneHot
) -> None:
    """Every value occurs in the column, as often as there; categories stay valid, and the batch itself stays."""
    before = batch.clone()
    view, mask = corrupt(Marginal(0.6), batch, source)
    assert torch.equal(batch, before)
    assert view.shape == mask.shape == batch.shape
    assert (mask.sum(dim=-1) == n_selected(0.6, 5)).all()
    assert (view[mask] != batch[mask]).float().mean() > 0.3  # a redraw may give the old value, but not always does
    for t, m in np.ndindex(2, 5):
        drawn = view[t, :, m][mask[t, :, m]].numpy().round(9)
        values, expected = np.unique(training[t, :, m].round(9), return_counts=True)
        observed = (drawn[:, None] == values[None]).sum(axis=0)
        assert observed.sum() == len(drawn), "no other value"
        if len(values) > 1:
            assert scipy.stats.chisquare(observed, expected / expected.sum() * observed.sum()).pvalue > 1e-3
    encoded = one_hot(view)[..., COLOURS : COLOURS + 3]
    assert torch.equal(encoded.sum(dim=-1), torch.ones(encoded.shape[:-1], dtype=encoded.dtype))
    assert set(encoded.unique().tolist()) == {0.0, 1.0}


def test_selected_encoded_columns_take_the_training_mean_of_their_trial(
    batch: Tensor, table: Table, train_rows: Tensor, encoder: Encoder, encoded_training: np.ndarray
) -> None:
    roster = Roster(2)
    source = make_source(table, train_rows, encoder, roster)
    view, mask = corrupt(Mean(0.6), encoder.one_hot(batch), source)
    assert (mask.sum(dim=-1) == n_selected(0.6, 7)).all()  # five raw columns, seven encoded ones
    mean = np.broadcast_to(encoded_training.mean(axis=1, keepdims=True), view.shape)
    np.testing.assert_allclose(view[mask].numpy(), mean[mask.numpy()], atol=1e-12)
    before = source.mean().clone()
    roster.keep([1])
    assert torch.equal(source.mean(), before[1:]), "trials that stay keep their mean"


def test_values_of_another_space_are_refused_with_the_cure(
    batch: Tensor, source: TrainingSource, one_hot: OneHot, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A class without a name is no part for other tests.
    @dataclass
    class OfAnotherSpace(SelectiveCorruption):
        """Takes raw values and works on encoded columns."""

        def replacement(self, x: Tensor, source: TrainingSource, random: StackedGenerator) -> Tensor:
            return source.rows(random.integers(source.n_rows, x.shape[-2]))

    monkeypatch.setattr(OfAnotherSpace, "name", "of_another_space", raising=False)

    # Five columns, of which one has three categories.
    with pytest.raises(UsageError, match=r"gives values of 5 columns, and rows have 7 encoded ones\. space: ClassVar"):
        corrupt(OfAnotherSpace(0.6), one_hot(batch), source)


def test_none_changes_and_selects_nothing(batch: Tensor, source: TrainingSource) -> None:
    view, mask = corrupt(NoCorruption(), batch, source)
    assert torch.equal(view, batch)
    assert not mask.any()


def test_gaussian_noise_on_every_encoded_column(batch: Tensor, source: TrainingSource, one_hot: OneHot) -> None:
    encoded = one_hot(batch)
    view, mask = corrupt(Gaussian(), encoded, source)
    assert mask.all()
    noise = (view - encoded).numpy()
    for t in range(2):
        for d in range(7):
            assert scipy.stats.kstest(noise[t, :, d], scipy.stats.norm(0, 0.5).cdf).pvalue > 1e-4
    assert np.abs(np.corrcoef(noise[0].T) - np.eye(7)).max() < 0.07
    assert not np.array_equal(noise[0], noise[1])


def test_joint_takes_all_selected_entries_of_one_training_row_each_as_likely(
    batch: Tensor, source: TrainingSource, one_hot: OneHot, encoded_training: np.ndarray
) -> None:
    view, _ = corrupt(Joint(1.0), one_hot(batch), source)
    for t in range(2):
        distance = np.abs(view[t].numpy()[:, None] - encoded_training[t][None]).max(axis=2)
        assert distance.min(axis=1).max() < 1e-12
        drawn = np.bincount(distance.argmin(axis=1), minlength=30)
        assert scipy.stats.chisquare(drawn).pvalue > 1e-3, "the row itself included"
    view, mask = corrupt(Joint(0.6), one_hot(batch), source)
    for i in range(50):
        chosen = mask[0, i].numpy()
        assert (np.abs(encoded_training[0][:, chosen] - view[0, i].numpy()[chosen]).max(axis=1) < 1e-12).any()


def test_missing_takes_learnable_values_each_with_the_gradient_of_its_column(
    batch: Tensor, source: TrainingSource, one_hot: OneHot, encoder: Encoder
) -> None:
    with torch.no_grad():
        encoder.missing.copy_(torch.arange(14.0).view(2, 1, 7) + 100)
    encoder.zero_grad()
    view, mask = corrupt(Missing(0.6), one_hot(batch), source)
    assert torch.equal(view[mask], encoder.missing.expand_as(view)[mask])
    view.sum().backward()
    torch.testing.assert_close(encoder.missing.grad, mask.sum(dim=1, keepdim=True).double())
    assert all(p.grad is None for name, p in encoder.named_parameters() if name != "missing")


def test_zero(batch: Tensor, source: TrainingSource, one_hot: OneHot) -> None:
    view, mask = corrupt(Zero(0.6), one_hot(batch), source)
    assert (view[mask] == 0).all()


def test_single_row_gives_all_rows_the_values_of_one_training_row_another_for_the_next_batch(
    batch: Tensor, source: TrainingSource, training: np.ndarray
) -> None:
    view, mask = corrupt(SingleRow(0.6), batch, source)
    for t in range(2):
        candidates = training[t]
        for m in range(5):
            values = view[t, :, m][mask[t, :, m]]
            assert (values == values[0]).all()
            candidates = candidates[np.abs(candidates[:, m] - values[0].item()) < 1e-12]
        assert len(candidates) > 0, "the values of all features stand in the same row"
    random = StackedGenerator([1, 2])
    views = [SingleRow(1.0)(batch, source, random, Exact())[0][0, 0] for _ in range(20)]
    assert len({tuple(view.tolist()) for view in views}) > 10


@pytest.mark.parametrize("selection", [Exact(), Bernoulli(), Shared()])
@pytest.mark.parametrize("strategy", [cls(0.4) for cls in SelectiveCorruption.__subclasses__()], ids=lambda s: s.name)
def test_every_strategy_leaves_what_a_selection_leaves(
    batch: Tensor, source: TrainingSource, one_hot: OneHot, strategy: SelectiveCorruption, selection: Selection
) -> None:
    x = batch if strategy.space == "raw" else one_hot(batch)
    view, mask = corrupt(strategy, x, source, selection)
    expected = selection.mask(0.4, *x.shape[1:], StackedGenerator([10, 11]))
    assert torch.equal(mask, expected)
    assert torch.equal(view[~mask], x[~mask])


@given(hundredths=st.integers(1, 100), n_features=st.integers(1, 2000))
@example(60, 30)
@example(70, 180)
@example(58, 100)
@example(10, 4)
@settings(max_examples=100)
def test_q_is_the_exact_floor(hundredths: int, n_features: int) -> None:
    """Algorithm 1, line 3, in decimal arithmetic."""
    rate = Decimal(hundredths) / 100
    assert n_selected(float(rate), n_features) == int(rate * n_features)


@given(
    shape=st.tuples(st.integers(1, 4), st.integers(1, 9), st.integers(1, 40)),
    n_values=st.sampled_from([1, 2, 5, 50, 10**6]),
    data=st.data(),
)
@settings(max_examples=40)
def test_the_largest_are_those_of_topk_also_where_some_are_equal(
    shape: tuple[int, int, int], n_values: int, data: st.DataObject
) -> None:
    k = data.draw(st.integers(0, shape[-1]))
    values = torch.randint(n_values, shape, generator=torch.Generator().manual_seed(n_values)) / n_values
    expected = torch.zeros(shape, dtype=torch.bool)
    for place in np.ndindex(*shape[:-1]):
        expected[place][values[place].topk(k, sorted=False).indices] = True
    assert torch.equal(largest(values, k), expected)


def test_sets_are_uniform_and_rows_independent() -> None:
    """All ten pairs among five features are equally likely, and a row's set says nothing of the next one's."""
    mask = Exact().mask(0.4, 20_000, 5, StackedGenerator([1]))[0]
    pairs = mask.double() @ torch.tensor([1.0, 2.0, 4.0, 8.0, 16.0], dtype=torch.float64)
    _, counts = np.unique(pairs.numpy(), return_counts=True)
    assert len(counts) == 10
    assert scipy.stats.chisquare(counts).pvalue > 1e-3
    table = np.histogram2d(pairs[:-1:2].numpy(), pairs[1::2].numpy(), bins=[*np.unique(pairs.numpy()).tolist(), 25])[0]
    assert scipy.stats.chi2_contingency(table).pvalue > 1e-3


def test_counts_of_bernoulli_are_binomial_but_for_the_empty_set_which_becomes_a_set_of_one() -> None:
    rate, n = 0.3, 20_000
    counts = Bernoulli().mask(rate, n, 5, StackedGenerator([1]))[0].sum(dim=-1)
    expected = scipy.stats.binom.pmf(np.arange(6), 5, rate)
    expected[1] += expected[0]
    observed = np.bincount(counts.numpy(), minlength=6)
    assert observed[0] == 0
    assert scipy.stats.chisquare(observed[1:], expected[1:] * n).pvalue > 1e-3
    for other in (0.01, 0.6, 1.0):
        assert Bernoulli().mask(other, 2000, 6, StackedGenerator([3, 4])).any(dim=-1).all()


def test_shared_is_one_set_of_q_features_within_a_batch_and_another_for_the_next() -> None:
    random = StackedGenerator([1, 2])
    masks = [Shared().mask(0.6, 50, 10, random) for _ in range(20)]
    assert masks[0].shape == (2, 50, 10)
    assert (masks[0].sum(dim=-1) == 6).all()
    assert (masks[0] == masks[0][:, :1]).all()
    assert len({tuple(mask[0, 0].tolist()) for mask in masks}) > 10


@pytest.mark.parametrize("selection", [Exact(), Bernoulli(), Shared()])
def test_a_trial_selects_alike_in_any_company_and_unlike_its_company(selection: Selection) -> None:
    alone = selection.mask(0.6, 9, 7, StackedGenerator([5]))
    among = selection.mask(0.6, 9, 7, StackedGenerator([4, 5, 6]))
    assert torch.equal(alone[0], among[1])
    assert not torch.equal(among[0], among[1])
