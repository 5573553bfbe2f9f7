"""Algorithm 1, line 5, on a table with gaps, categories and a constant column."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import torch
from torch import Tensor, nn

from scarf_lightning.corruption import Corruption, Selection, SelectiveCorruption, TrainingSource
from scarf_lightning.corruption.selection import Bernoulli, Exact, Shared, n_selected
from scarf_lightning.corruption.strategies import (
    Gaussian,
    Joint,
    Marginal,
    Mean,
    Missing,
    NoCorruption,
    SingleRow,
    Zero,
)
from scarf_lightning.data.device_table import DeviceTable, TrainingRows
from scarf_lightning.data.preprocessing import Preprocessing
from scarf_lightning.data.scaling import ZScore
from scarf_lightning.data.table import Table
from scarf_lightning.engine.encoder import Encoder
from scarf_lightning.engine.pretext_task import CorruptionSource
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
    return CorruptionSource(encoder, TrainingRows(device_table, train_rows, roster), roster)


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


class TestMarginal:
    def test_exactly_q_features_are_selected_and_no_other_changes(self, batch: Tensor, source: TrainingSource) -> None:
        view, mask = corrupt(Marginal(0.6), batch, source)
        assert view.shape == mask.shape == batch.shape
        assert (mask.sum(dim=-1) == n_selected(0.6, 5)).all()
        assert torch.equal(view[~mask], batch[~mask])
        assert (view[mask] != batch[mask]).float().mean() > 0.3  # a redraw may give the old value, but not always does

    def test_every_value_occurs_in_that_training_column(
        self, batch: Tensor, source: TrainingSource, training: np.ndarray
    ) -> None:
        view, mask = corrupt(Marginal(1.0), batch, source)
        assert mask.all()
        for t in range(2):
            for m in range(training.shape[2]):
                distance = np.abs(view[t, :, m].numpy()[:, None] - training[t, :, m][None]).min(axis=1)
                assert distance.max() < 1e-12

    def test_values_follow_the_training_column(
        self, batch: Tensor, source: TrainingSource, training: np.ndarray
    ) -> None:
        view, mask = corrupt(Marginal(0.6), batch, source)
        for t in range(2):
            for m in range(4):
                drawn = view[t, :, m][mask[t, :, m]].numpy().round(9)
                values, expected = np.unique(training[t, :, m].round(9), return_counts=True)
                observed = (drawn[:, None] == values[None]).sum(axis=0)
                result = scipy.stats.chisquare(observed, expected / expected.sum() * observed.sum())
                assert result.pvalue > 1e-3

    def test_features_are_drawn_independently(self, batch: Tensor, source: TrainingSource) -> None:
        """Two features that were one in the training rows have nothing to do with each other in a view."""
        view, _ = corrupt(Marginal(1.0), batch, source)
        assert abs(scipy.stats.spearmanr(view[0, :, 0], view[0, :, 1]).statistic) < 0.06
        assert abs(scipy.stats.spearmanr(view[0, :-1, 0], view[0, 1:, 0]).statistic) < 0.06

    def test_categories_stay_valid(self, batch: Tensor, source: TrainingSource, one_hot: OneHot) -> None:
        view, _ = corrupt(Marginal(0.6), batch, source)
        encoded = one_hot(view)[..., COLOURS : COLOURS + 3]
        assert torch.equal(encoded.sum(dim=-1), torch.ones(encoded.shape[:-1], dtype=encoded.dtype))
        assert set(encoded.unique().tolist()) == {0.0, 1.0}

    def test_the_batch_itself_stays(self, batch: Tensor, source: TrainingSource) -> None:
        before = batch.clone()
        corrupt(Marginal(0.6), batch, source)
        assert torch.equal(batch, before)


class TestMean:
    def test_selected_encoded_columns_take_the_training_mean(
        self, batch: Tensor, source: TrainingSource, one_hot: OneHot, encoded_training: np.ndarray
    ) -> None:
        encoded = one_hot(batch)
        view, mask = corrupt(Mean(0.6), encoded, source)
        assert (mask.sum(dim=-1) == n_selected(0.6, 7)).all()  # five raw columns, seven encoded ones
        assert torch.equal(view[~mask], encoded[~mask])
        mean = np.broadcast_to(encoded_training.mean(axis=1, keepdims=True), view.shape)
        np.testing.assert_allclose(view[mask].numpy(), mean[mask.numpy()], atol=1e-12)

    def test_trials_that_stay_keep_their_mean(self, table: Table, train_rows: Tensor, encoder: Encoder) -> None:
        roster = Roster(2)
        source = make_source(table, train_rows, encoder, roster)
        before = source.mean().clone()
        roster.keep([1])
        assert torch.equal(source.mean(), before[1:])


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
            assert scipy.stats.kstest(noise[t, :, d], "norm", args=(0, 0.5)).pvalue > 1e-4
    assert np.abs(np.corrcoef(noise[0].T) - np.eye(7)).max() < 0.07
    assert not np.array_equal(noise[0], noise[1])


class TestJoint:
    def test_rows_occur_in_the_training_data(
        self, batch: Tensor, source: TrainingSource, one_hot: OneHot, encoded_training: np.ndarray
    ) -> None:
        view, _ = corrupt(Joint(1.0), one_hot(batch), source)
        for t in range(2):
            distance = np.abs(view[t].numpy()[:, None] - encoded_training[t][None]).max(axis=2)
            assert distance.min(axis=1).max() < 1e-12
            drawn = np.bincount(distance.argmin(axis=1), minlength=30)
            assert scipy.stats.chisquare(drawn).pvalue > 1e-3, "every row is as likely, the row itself included"

    def test_selected_entries_belong_to_one_row(
        self, batch: Tensor, source: TrainingSource, one_hot: OneHot, encoded_training: np.ndarray
    ) -> None:
        encoded = one_hot(batch)
        view, mask = corrupt(Joint(0.6), encoded, source)
        assert torch.equal(view[~mask], encoded[~mask])
        for i in range(50):
            chosen = mask[0, i].numpy()
            assert (np.abs(encoded_training[0][:, chosen] - view[0, i].numpy()[chosen]).max(axis=1) < 1e-12).any()


class TestMissing:
    def test_selected_columns_take_the_learnable_values(
        self, batch: Tensor, source: TrainingSource, one_hot: OneHot, encoder: Encoder
    ) -> None:
        with torch.no_grad():
            encoder.missing.copy_(torch.arange(14.0).view(2, 1, 7) + 100)
        encoded = one_hot(batch)
        view, mask = corrupt(Missing(0.6), encoded, source)
        assert torch.equal(view[~mask], encoded[~mask])
        assert torch.equal(view[mask], encoder.missing.expand_as(view)[mask])

    def test_each_value_gets_the_gradient_of_its_column_and_nothing_else_changes(
        self, batch: Tensor, source: TrainingSource, one_hot: OneHot, encoder: Encoder
    ) -> None:
        encoder.zero_grad()
        view, mask = corrupt(Missing(0.6), one_hot(batch), source)
        view.sum().backward()
        torch.testing.assert_close(encoder.missing.grad, mask.sum(dim=1, keepdim=True).double())
        assert all(p.grad is None for name, p in encoder.named_parameters() if name != "missing")


def test_zero(batch: Tensor, source: TrainingSource, one_hot: OneHot) -> None:
    encoded = one_hot(batch)
    view, mask = corrupt(Zero(0.6), encoded, source)
    assert torch.equal(view[~mask], encoded[~mask])
    assert (view[mask] == 0).all()


class TestSingleRow:
    def test_all_rows_take_their_values_in_one_training_row(
        self, batch: Tensor, source: TrainingSource, training: np.ndarray
    ) -> None:
        view, mask = corrupt(SingleRow(0.6), batch, source)
        assert torch.equal(view[~mask], batch[~mask])
        for t in range(2):
            candidates = training[t]
            for m in range(5):
                values = view[t, :, m][mask[t, :, m]]
                assert (values == values[0]).all()
                candidates = candidates[np.abs(candidates[:, m] - values[0].item()) < 1e-12]
            assert len(candidates) > 0, "the values of all features stand in the same row"

    def test_another_row_for_the_next_batch(self, batch: Tensor, source: TrainingSource) -> None:
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
