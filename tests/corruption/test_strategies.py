"""Algorithm 1, line 5, on a table with gaps, categories and a constant column."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import torch
from torch import Tensor

from scarf_lightning.corruption import Corruption
from scarf_lightning.corruption.marginal import Marginal
from scarf_lightning.corruption.mean import Mean
from scarf_lightning.corruption.selection import n_selected
from scarf_lightning.data.device_table import DeviceTable, TrainingRows
from scarf_lightning.data.preprocessing import Preprocessing
from scarf_lightning.data.scaling import ZScore
from scarf_lightning.data.table import Table
from scarf_lightning.nn import OneHot
from scarf_lightning.randomness import StackedGenerator

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
def one_hot(table: Table) -> OneHot:
    return OneHot([len(column.categories or ()) for column in table.columns])


@pytest.fixture(scope="module")
def source(table: Table, train_rows: Tensor, one_hot: OneHot) -> TrainingRows:
    preprocessing = Preprocessing.fit(table, [None, None], ZScore())
    device_table = DeviceTable(table, preprocessing, device="cpu", dtype=torch.float64)
    return TrainingRows(device_table, train_rows, one_hot)


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
def batch(training: np.ndarray) -> Tensor:
    """4,000 rows of each trial."""
    return torch.from_numpy(np.tile(training, (1, 134, 1))[:, :4000])


def corrupt(strategy: Corruption, x: Tensor, source: TrainingRows) -> tuple[Tensor, Tensor]:
    return strategy(x, source, StackedGenerator([10, 11]))


class TestMarginal:
    def test_exactly_q_features_are_selected_and_no_other_changes(self, batch: Tensor, source: TrainingRows) -> None:
        view, mask = corrupt(Marginal(0.6), batch, source)
        assert view.shape == mask.shape == batch.shape
        assert (mask.sum(dim=-1) == n_selected(0.6, 5)).all()
        assert torch.equal(view[~mask], batch[~mask])
        assert (view[mask] != batch[mask]).float().mean() > 0.3  # a redraw may give the old value, but not always does

    def test_every_value_occurs_in_that_training_column(
        self, batch: Tensor, source: TrainingRows, training: np.ndarray
    ) -> None:
        view, mask = corrupt(Marginal(1.0), batch, source)
        assert mask.all()
        for t in range(2):
            for m in range(training.shape[2]):
                distance = np.abs(view[t, :, m].numpy()[:, None] - training[t, :, m][None]).min(axis=1)
                assert distance.max() < 1e-12

    def test_values_follow_the_training_column(self, batch: Tensor, source: TrainingRows, training: np.ndarray) -> None:
        view, mask = corrupt(Marginal(0.6), batch, source)
        for t in range(2):
            for m in range(4):
                drawn = view[t, :, m][mask[t, :, m]].numpy().round(9)
                values, expected = np.unique(training[t, :, m].round(9), return_counts=True)
                observed = (drawn[:, None] == values[None]).sum(axis=0)
                result = scipy.stats.chisquare(observed, expected / expected.sum() * observed.sum())
                assert result.pvalue > 1e-3

    def test_features_are_drawn_independently(self, batch: Tensor, source: TrainingRows) -> None:
        """Two features that were one in the training rows have nothing to do with each other in a view."""
        twin = TrainingRows(source._table, source._rows, source._encode)
        view, _ = corrupt(Marginal(1.0), batch, twin)
        assert abs(scipy.stats.spearmanr(view[0, :, 0], view[0, :, 1]).statistic) < 0.06
        assert abs(scipy.stats.spearmanr(view[0, :-1, 0], view[0, 1:, 0]).statistic) < 0.06

    def test_categories_stay_valid(self, batch: Tensor, source: TrainingRows, one_hot: OneHot) -> None:
        view, _ = corrupt(Marginal(0.6), batch, source)
        encoded = one_hot(view)[..., COLOURS : COLOURS + 3]
        assert torch.equal(encoded.sum(dim=-1), torch.ones(encoded.shape[:-1], dtype=encoded.dtype))
        assert set(encoded.unique().tolist()) == {0.0, 1.0}

    def test_the_batch_itself_stays(self, batch: Tensor, source: TrainingRows) -> None:
        before = batch.clone()
        corrupt(Marginal(0.6), batch, source)
        assert torch.equal(batch, before)


class TestMean:
    def test_selected_encoded_columns_take_the_training_mean(
        self, batch: Tensor, source: TrainingRows, one_hot: OneHot, training: np.ndarray
    ) -> None:
        encoded = one_hot(batch)
        view, mask = corrupt(Mean(0.6), encoded, source)
        assert (mask.sum(dim=-1) == n_selected(0.6, 7)).all()  # five raw columns, seven encoded ones
        assert torch.equal(view[~mask], encoded[~mask])
        codes = training[:, :, COLOURS, None] == np.arange(3)
        rows = np.concatenate([training[:, :, :COLOURS], codes, training[:, :, COLOURS + 1 :]], axis=2)
        mean = np.broadcast_to(rows.mean(axis=1, keepdims=True), view.shape)
        np.testing.assert_allclose(view[mask].numpy(), mean[mask.numpy()], atol=1e-12)

    def test_trials_that_stay_keep_their_mean(self, table: Table, train_rows: Tensor, one_hot: OneHot) -> None:
        preprocessing = Preprocessing.fit(table, [None, None], ZScore())
        device_table = DeviceTable(table, preprocessing, device="cpu", dtype=torch.float64)
        rows = TrainingRows(device_table, train_rows, one_hot)
        before = rows.mean().clone()
        rows.keep([1])
        assert torch.equal(rows.mean(), before[1:])


@pytest.mark.parametrize("rate", [0.0, -0.1, 1.01, float("nan")])
@pytest.mark.parametrize("strategy", [Marginal, Mean])
def test_rates_outside_their_range_are_refused(strategy: type[Corruption], rate: float) -> None:
    with pytest.raises(ValueError, match="rate must lie in"):
        strategy(rate)
