from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from torch import Tensor, nn

from scarf_lightning.data.datamodule import DeviceTable, Examples, StackDataModule, batch_bounds
from scarf_lightning.data.preprocessing import Mean, MinMax, NoScaling, Quantile, Robust, Scaling, ZScore
from scarf_lightning.data.table import Table
from scarf_lightning.data.trials import Full, RowRules, TrialData, prepare_trials
from scarf_lightning.engine.encoder import Encoder
from scarf_lightning.engine.pretext_task import CorruptionSource
from scarf_lightning.errors import UsageError
from scarf_lightning.networks import Columns
from scarf_lightning.randomness import Purpose, Roster, Streams

TRIALS = (0, 3, 4, 7)
Function = Callable[[Tensor], Tensor]


@given(n=st.integers(1, 400), size=st.integers(2, 130))
def test_batches_hold_every_example_once(n: int, size: int) -> None:
    bounds = batch_bounds(n, size)
    assert [i for start, end in bounds for i in range(start, end)] == list(range(n))
    lengths = [end - start for start, end in bounds]
    assert all(length == size for length in lengths[:-1])
    assert 1 < lengths[-1] <= size + 1 or n == 1, "a last row alone joins the batch before it"


def targets_of(rows: Tensor) -> Tensor:
    """A target that tells which row it belongs to."""
    return rows * 10


def soft_targets_of(rows: Tensor) -> Tensor:
    return torch.stack([rows * 10, rows * 10 + 1, rows * 10 + 2], dim=-1).double()


def weights_of(rows: Tensor) -> Tensor:
    return rows / 7


@dataclass(frozen=True)
class Served:
    """A datamodule, and what it was given."""

    datamodule: StackDataModule
    train: Examples
    validation: Examples
    roster: Roster

    def epoch(self) -> Tensor:
        """Row numbers in the order of a pass, ``(T, n)``."""
        return torch.cat([batch.rows for batch in self.datamodule.training_examples()], dim=1)


Make = Callable[..., Served]


@pytest.fixture
def make(mixed_table: Table) -> Make:
    def make_datamodule(
        trials: Sequence[int] = TRIALS, *, targets: Function | None = targets_of, fit_on: str = "all", **sizes: int
    ) -> Served:
        streams = Streams(0, mixed_table.n_labelled)
        data = prepare_trials(mixed_table, trials, streams, RowRules(Full()), scaling=ZScore(), fit_on=fit_on)
        train, validation = torch.from_numpy(data.train), torch.from_numpy(data.validation)
        served = Served(
            StackDataModule(DeviceTable(mixed_table, data.preprocessing, device="cpu", dtype=torch.float64)),
            Examples(train, targets and targets(train), weights_of(train)),
            Examples(validation, targets_of(validation)),
            Roster(len(trials)),
        )
        order = streams.torch(trials, Purpose.FINETUNE_ORDER, roster=served.roster)
        sizes = {"batch_size": 8, "validation_batch_size": 4} | sizes
        served.datamodule.serve(served.train, served.validation, order=order, roster=served.roster, **sizes)
        return served

    return make_datamodule


def test_lightning_is_given_all_epochs_and_a_validation_as_one_item_each(make: Make) -> None:
    """Batches are fetched one by one, when the loop needs them."""
    served, again = make().datamodule, make().datamodule
    training, validation = served.train_dataloader(), served.val_dataloader()
    assert (len(training), len(validation)) == (1, 1)
    (epochs,), (batches,) = training, validation
    passes = [(next(epochs), again.training_examples()), (next(epochs), again.training_examples())]
    for got, expected in [*passes, (batches, again.validation_examples())]:
        for batch, examples in zip(got, expected, strict=True):
            assert torch.equal(batch.x, again.fetch(examples).x)
            assert torch.equal(batch.targets, examples.targets)


def test_the_order_is_drawn_from_each_trials_stream(mixed_table: Table, make: Make) -> None:
    """So an epoch is a permutation of a trial's examples, whatever other trials are in the stack."""
    served, streams = make(), Streams(0, mixed_table.n_labelled)
    plain = [torch.Generator().manual_seed(streams.seed_of(trial, Purpose.FINETUNE_ORDER)) for trial in TRIALS]
    for _ in range(2):
        drawn = torch.stack([torch.randperm(42, generator=generator) for generator in plain])
        assert torch.equal(served.epoch(), served.train.rows.gather(1, drawn))


@pytest.mark.parametrize("kept", [[2], [3, 0]])
def test_a_trials_batches_are_the_same_after_others_have_left(make: Make, kept: list[int]) -> None:
    whole, left = make(fit_on="train"), make(fit_on="train")
    assert torch.equal(left.epoch(), whole.epoch())
    left.roster.keep(kept)
    for name in ("training_examples", "validation_examples") * 2:
        passes = (getattr(served.datamodule, name)() for served in (whole, left))
        for expected, got in zip(*passes, strict=True):
            assert torch.equal(got.rows, expected.rows[kept])
            assert torch.equal(got.targets, expected.targets[kept])
            assert torch.equal(left.datamodule.fetch(got).x, whole.datamodule.fetch(expected).x[kept])


@pytest.mark.parametrize("targets", [targets_of, soft_targets_of, None], ids=["hard", "soft", "none"])
@pytest.mark.parametrize("kept", [[0, 1, 2, 3], [3, 1]])
def test_targets_and_weights_follow_their_rows(make: Make, targets: Function | None, kept: list[int]) -> None:
    served = make(targets=targets)
    served.roster.keep(kept)
    for batch in served.datamodule.training_examples():
        assert len(batch.rows) == len(kept)
        assert batch.targets is None if targets is None else torch.equal(batch.targets, targets(batch.rows))
        assert torch.equal(batch.weights, weights_of(batch.rows))
    for batch in served.datamodule.validation_examples():
        assert torch.equal(batch.targets, targets_of(batch.rows))
        assert batch.weights is None


@pytest.mark.parametrize(("size", "widths"), [(4, [4, 2]), (5, [6]), (1024, [6])])
def test_validation_goes_through_its_rows_in_their_order_and_draws_nothing(
    make: Make, size: int, widths: list[int]
) -> None:
    served, quiet = make(validation_batch_size=size), make()
    for _ in range(2):
        batches = list(served.datamodule.validation_examples())
        assert [batch.rows.shape[1] for batch in batches] == widths, "a last row joins the batch before it"
        assert torch.equal(torch.cat([batch.rows for batch in batches], dim=1), served.validation.rows)
        assert torch.equal(served.epoch(), quiet.epoch())
    assert (served.datamodule.n_validation, served.datamodule.n_validation_batches) == (6, len(widths))


SCALINGS: list[Scaling] = [ZScore(), MinMax(), Mean(), NoScaling(), Robust(), Quantile()]
every_scaling = pytest.mark.parametrize("scaling", SCALINGS, ids=str)
every_fit = pytest.mark.parametrize("fit_on", ["all", "train"])


def prepare(table: Table, trials: Any, fit_on: str = "all", scaling: Scaling | None = None) -> TrialData:
    streams = Streams(0, table.n_labelled)
    return prepare_trials(table, trials, streams, RowRules(Full()), scaling=scaling or ZScore(), fit_on=fit_on)


def on_device(table: Table, data: TrialData, dtype: torch.dtype = torch.float64) -> DeviceTable:
    return DeviceTable(table, data.preprocessing, device="cpu", dtype=dtype)


def applied(table: Table, data: TrialData) -> NDArray[np.float64]:
    """The whole table as each trial sees it, ``(T, n, M)``."""
    return np.stack([data.preprocessing.apply(table.values, t) for t in range(len(data.trials))])


def table_of(**columns: Any) -> Table:
    frame = pd.DataFrame(columns)
    target = pd.Series(["a", "b", "c"] * (len(frame) // 3), name="y")
    categorical = [each.dtype == object for _, each in frame.items()]
    return Table.from_frame(frame, target, categorical=categorical, name="t", source="test:t")


def random_rows(*shape: int) -> Tensor:
    return torch.from_numpy(np.random.default_rng(7).integers(42, size=shape))


def fetch_cells(seen: NDArray, index: Tensor) -> NDArray:
    """``seen[t, index[t, i, m], m]``."""
    trial, column = np.arange(len(seen))[:, None, None], np.arange(seen.shape[2])
    return seen[trial, index.numpy(), column]


@every_fit
@every_scaling
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 0), (torch.float32, 1e-6)], ids=str)
def test_rows_and_cells_are_imputed_and_scaled_as_each_trial_does(
    mixed_table: Table, fit_on: str, scaling: Scaling, dtype: torch.dtype, tolerance: float
) -> None:
    data = prepare(mixed_table, range(3), fit_on, scaling)
    seen, index, cells = applied(mixed_table, data), random_rows(3, 80), random_rows(3, 80, 8)
    device_table = on_device(mixed_table, data, dtype)
    found = device_table.rows(index, Roster(3))
    assert (device_table.n_features, found.dtype) == (8, dtype)
    expected = np.take_along_axis(seen, index.numpy()[:, :, None], axis=1)
    assert_allclose(found.numpy(), expected, rtol=tolerance, atol=tolerance)
    of_cells = device_table.cells(cells, Roster(3)).numpy()
    assert_allclose(of_cells, fetch_cells(seen, cells), rtol=tolerance, atol=tolerance)
    if fit_on == "train" and scaling.name != "none":
        assert not np.allclose(seen[0], seen[1], equal_nan=True), "trials with fits of their own see other numbers"


@every_fit
def test_a_column_too_large_for_the_number_type_is_named(fit_on: str) -> None:
    table = table_of(x=np.arange(30.0), huge=np.arange(30.0) * 1e39)
    data = prepare(table, [0], fit_on, NoScaling())
    with pytest.raises(UsageError, match=r"column 'huge' .* 2\.9e\+40"):
        on_device(table, data, torch.float32)


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
        prepared = on_device(mixed_table, prepare(mixed_table, kept, fit_on), torch.float32)
        for alone in (prepared, device_table.of(kept)):
            assert torch.equal(alone.rows(row_index[kept], Roster(len(kept))), rows[kept])
    assert torch.equal(device_table.rows(row_index, Roster(4)), rows), "the table itself stays"


def training_rows(table: Table, data: TrialData, dtype: torch.dtype = torch.float64) -> CorruptionSource:
    columns = Columns(tuple(len(column.categories or ()) for column in table.columns))
    encoder = Encoder(columns, [nn.Linear(columns.n_encoded, 1)], width=1, learns_missing_values=False)
    rows = torch.from_numpy(data.train)
    return CorruptionSource(encoder, on_device(table, data, dtype), rows, Roster(len(data.trials)))


@every_fit
def test_cells_are_values_of_that_trials_training_rows_in_the_column(mixed_table: Table, fit_on: str) -> None:
    data = prepare(mixed_table, range(3), fit_on)
    rows = training_rows(mixed_table, data)
    assert rows.n_rows == 42
    positions = random_rows(3, 200, 8)
    train = np.stack([seen[own] for seen, own in zip(applied(mixed_table, data), data.train, strict=True)])
    assert_allclose(rows.cells(positions).numpy(), fetch_cells(train, positions))


@pytest.fixture(scope="module")
def large() -> Table:
    """1,599 rows, so that the mean is taken in more than one piece; column of three categories with gaps."""
    random = np.random.default_rng(5)
    x, z = random.normal(5, 2, 1599), random.lognormal(size=1599)
    c = random.choice(np.array(["u", "v", "w", None], dtype=object), 1599, p=[0.5, 0.2, 0.2, 0.1])
    return table_of(x=x, c=c, z=np.where(random.random(1599) < 0.1, np.nan, z))


@every_fit
def test_the_mean_is_that_of_the_encoded_training_rows(large: Table, fit_on: str) -> None:
    data = prepare(large, range(4), fit_on)
    every = training_rows(large, data).mean()
    assert (every.shape, every.dtype) == ((4, 1, 5), torch.float64)
    for t in range(4):
        train = data.preprocessing.apply(large.values, t)[data.train[t]]
        encoded = np.column_stack([train[:, 0], np.eye(3)[train[:, 1].astype(int)], train[:, 2]])
        assert_allclose(every[t, 0].numpy(), encoded.mean(axis=0), rtol=1e-11, atol=1e-12)
    some = training_rows(large, prepare(large, [3, 1], fit_on)).mean()
    assert torch.equal(some, every[[3, 1]]), "the same bits in any stack"
