from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from scarf_lightning.data.datamodule import Examples, StackDataModule, batch_bounds
from scarf_lightning.data.device_table import DeviceTable
from scarf_lightning.data.preprocessing import ZScore
from scarf_lightning.data.table import Table
from scarf_lightning.data.trials import Full, RowRules, prepare_trials
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
    """Batches are fetched one by one, as they are asked for."""
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
