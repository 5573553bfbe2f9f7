from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from scarf_lightning.data.device_table import DeviceTable
from scarf_lightning.data.preprocessing import Mean, MinMax, NoScaling, Robust, Scaling, ZScore
from scarf_lightning.data.table import Table
from scarf_lightning.data.trials import Full, RowRules, TrialData, prepare_trials
from scarf_lightning.engine.encoder import Encoder
from scarf_lightning.engine.pretext_task import CorruptionSource
from scarf_lightning.networks import Columns
from scarf_lightning.randomness import Roster, Streams

SCALINGS: list[Scaling] = [ZScore(), MinMax(), Mean(), NoScaling(), Robust()]
every_scaling = pytest.mark.parametrize("scaling", SCALINGS, ids=str)
every_fit = pytest.mark.parametrize("fit_on", ["all", "train"])


def prepare(table: Table, trials: Any, fit_on: str, scaling: Scaling | None = None) -> TrialData:
    streams = Streams(0, table.n_labelled)
    return prepare_trials(table, trials, streams, RowRules(Full()), scaling=scaling or ZScore(), fit_on=fit_on)


def on_device(table: Table, data: TrialData, dtype: torch.dtype = torch.float64) -> DeviceTable:
    return DeviceTable(table, data.preprocessing, device="cpu", dtype=dtype)


def applied(table: Table, data: TrialData) -> NDArray[np.float64]:
    """The whole table as each trial sees it, ``(T, n, M)``."""
    return np.stack([data.preprocessing.apply(table.values, t) for t in range(len(data.trials))])


def random_rows(*shape: int) -> Tensor:
    return torch.from_numpy(np.random.default_rng(7).integers(60, size=shape))


def fetch_cells(seen: NDArray, index: Tensor) -> NDArray:
    """``seen[t, index[t, i, m], m]``."""
    trial, column = np.arange(len(seen))[:, None, None], np.arange(seen.shape[2])
    return seen[trial, index.numpy(), column]


@every_fit
@every_scaling
def test_rows_and_cells_are_imputed_and_scaled_as_each_trial_does(
    mixed_table: Table, fit_on: str, scaling: Scaling
) -> None:
    data = prepare(mixed_table, range(3), fit_on, scaling)
    seen, index, cells = applied(mixed_table, data), random_rows(3, 80), random_rows(3, 80, 8)
    expected = np.take_along_axis(seen, index.numpy()[:, :, None], axis=1)
    for dtype, tolerance in ((torch.float64, 1e-12), (torch.float32, 1e-5)):
        device_table = on_device(mixed_table, data, dtype)
        found = device_table.rows(index, Roster(3))
        assert (device_table.n_features, found.dtype) == (8, dtype)
        np.testing.assert_allclose(found.numpy(), expected, rtol=tolerance, atol=tolerance)
        np.testing.assert_array_equal(device_table.of([1]).rows(index[1:2], Roster(1))[0], found[1])
        of_cells = device_table.cells(cells, Roster(3)).numpy()
        np.testing.assert_allclose(of_cells, fetch_cells(seen, cells), rtol=tolerance, atol=tolerance)
    codes = found[..., torch.from_numpy(mixed_table.is_categorical)]
    assert torch.equal(codes, codes.round()), "codes stay whole numbers"
    if fit_on == "train" and scaling.name != "none":
        assert not np.allclose(seen[0], seen[1], equal_nan=True), "trials with fits of their own see other numbers"


@every_fit
def test_float32_keeps_small_differences_between_large_numbers(fit_on: str) -> None:
    random = np.random.default_rng(3)
    stamps = 1.5e9 + 10 * random.normal(size=300)
    stamps[::10] = np.nan
    target = pd.Series(["a", "b", "c"] * 100, name="y")
    table = Table.from_frame(pd.DataFrame({"at": stamps}), target, categorical=[False], name="t", source="test:t")
    data = prepare(table, range(3), fit_on)
    index = torch.arange(300).expand(3, 300)
    expected = applied(table, data)
    device_table = on_device(table, data, torch.float32)
    for found in (device_table.rows(index, Roster(3)), device_table.cells(index.unsqueeze(-1), Roster(3))):
        error = np.abs(found.double().numpy() - expected)
        clearly_not_zero = np.abs(expected) > 0.01
        assert (error[clearly_not_zero] < 1e-4 * np.abs(expected[clearly_not_zero])).all()
        assert error.max() < 1e-5


@every_fit
def test_a_trial_sees_the_same_bits_in_any_stack(mixed_table: Table, fit_on: str) -> None:
    """Where others have left, where it is taken out, and where it is prepared with others or alone."""
    device_table = on_device(mixed_table, prepare(mixed_table, range(4), fit_on), torch.float32)
    row_index, cell_index = random_rows(4, 30), random_rows(4, 30, 8)
    rows, cells = device_table.rows(row_index, Roster(4)), device_table.cells(cell_index, Roster(4))
    for kept in ([1], [2, 0], [0, 1, 2, 3]):
        roster = Roster(4)
        roster.keep(kept)
        assert torch.equal(device_table.rows(row_index[kept], roster), rows[kept])
        assert torch.equal(device_table.cells(cell_index[kept], roster), cells[kept])
    for asked in ([3], [2, 1]):
        prepared = on_device(mixed_table, prepare(mixed_table, asked, fit_on), torch.float32)
        assert torch.equal(prepared.rows(row_index[asked], Roster(len(asked))), rows[asked])
    for position in range(4):
        alone = device_table.of([position]).rows(row_index[[position]], Roster(1))
        assert torch.equal(alone, rows[[position]])
    assert torch.equal(device_table.rows(row_index, Roster(4)), rows), "the table itself stays"


def encoder_of(table: Table) -> Encoder:
    columns = Columns(tuple(len(column.categories or ()) for column in table.columns))
    return Encoder(columns, [nn.Linear(columns.n_encoded, 1)], width=1, learns_missing_values=False)


class TestTrainingRows:
    """What corruption draws from."""

    @pytest.fixture(scope="class")
    def large(self) -> Table:
        """1,600 rows, so that the mean is taken in more than one piece; column of three categories with gaps."""
        random = np.random.default_rng(5)
        frame = pd.DataFrame(
            {
                "x": random.normal(5, 2, 1600),
                "c": random.choice(["u", "v", "w", None], 1600, p=[0.5, 0.2, 0.2, 0.1]),
                "z": np.where(random.random(1600) < 0.1, np.nan, random.lognormal(size=1600)),
            }
        )
        target = pd.Series(random.choice(["a", "b"], 1600), name="y")
        return Table.from_frame(frame, target, categorical=[False, True, False], name="t", source="test:t")

    @staticmethod
    def training_rows(
        table: Table, data: TrialData, dtype: torch.dtype = torch.float64, roster: Roster | None = None
    ) -> CorruptionSource:
        roster = roster or Roster(len(data.trials))
        rows = torch.from_numpy(data.train)
        return CorruptionSource(encoder_of(table), on_device(table, data, dtype), rows, roster)

    @every_fit
    def test_cells_are_values_of_that_trials_training_rows_in_the_column(self, mixed_table: Table, fit_on: str) -> None:
        data = prepare(mixed_table, range(3), fit_on)
        rows = self.training_rows(mixed_table, data)
        assert rows.n_rows == 42
        positions = torch.from_numpy(np.random.default_rng(1).integers(42, size=(3, 200, 8)))
        seen = applied(mixed_table, data)
        train = np.stack([seen[t, data.train[t]] for t in range(3)])
        found = rows.cells(positions).numpy()
        assert found.shape == (3, 200, 8)
        np.testing.assert_allclose(found, fetch_cells(train, positions), rtol=1e-12, atol=1e-12)

    @every_fit
    def test_the_mean_is_that_of_the_encoded_training_rows(self, large: Table, fit_on: str) -> None:
        data = prepare(large, range(10), fit_on)
        every = self.training_rows(large, data).mean()
        assert every.shape == (10, 1, 5)
        assert every.dtype == torch.float64
        for t in range(3):
            train = data.preprocessing.apply(large.values, t)[data.train[t]]
            encoded = np.column_stack([train[:, 0], np.eye(3)[train[:, 1].astype(int)], train[:, 2]])
            np.testing.assert_allclose(every[t, 0].numpy(), encoded.mean(axis=0), rtol=1e-11, atol=1e-12)
        for asked in ([3], [7, 3]):
            some = self.training_rows(large, prepare(large, asked, fit_on)).mean()
            assert torch.equal(some, every[asked]), "the same bits in any stack"

        plain = prepare(large, range(2), "all", NoScaling())
        found = self.training_rows(large, plain, torch.float32).mean()
        assert found.dtype == torch.float32
        first = plain.preprocessing.apply(large.values, 0)[plain.train][..., 0].astype(np.float32)
        summed = first.astype(np.float64).mean(axis=1).astype(np.float32)
        assert (found[:, 0, 0].numpy() == summed).all(), "summed in float64"
