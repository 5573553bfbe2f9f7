"""A scripted module: the parameter of each trial counts epochs, and its validation metric is read from a script."""

import itertools
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from scarf_lightning.data.datamodule import Batch, DeviceTable, Examples, StackDataModule
from scarf_lightning.data.preprocessing import NoScaling, Preprocessing
from scarf_lightning.data.table import Table
from scarf_lightning.engine import fit as fitting
from scarf_lightning.engine.fit import Fit, KeptWeights
from scarf_lightning.engine.hardware import Hardware
from scarf_lightning.engine.stack_modules import StackModule
from scarf_lightning.engine.watching import TrialStopping, Watcher
from scarf_lightning.options.settings import FinetuneSettings
from scarf_lightning.randomness import Roster, StackedGenerator


class Scripted(StackModule):
    """``script[t][e]`` is the validation loss of trial t after epoch e + 1."""

    def __init__(self, script: Sequence[Sequence[float]], **options: Any) -> None:
        super().__init__()
        chosen = {"learning_rate": 1.0, "monitor": "loss", "max_epochs": len(script[0])} | options
        settings = FinetuneSettings(**chosen)
        self.begin(Roster(len(script)), settings)
        self.epochs_trained = nn.Parameter(torch.zeros(len(script), 1))
        self._script = torch.tensor(script, dtype=torch.float64)
        self.trials_in_each_epoch: list[int] = []

    def losses(self, batch: Batch) -> Tensor:
        assert len(batch.x) == len(self.epochs_trained), "batches shrink with the parameters"
        return -self.epochs_trained.squeeze(1)

    def validation_metrics(self, given: Any) -> dict[str, Tensor]:
        epoch = round(self.epochs_trained[0].item()) - 1
        x, _ = given
        self.trials_in_each_epoch.append(len(x))
        return {"loss": self.roster.of(self._script)[:, epoch]}

    def make_optimizer(self, *, captured: bool = False) -> torch.optim.Adam:
        return Descent(self.parameters(), lr=1.0)


class Descent(torch.optim.Adam):
    """Subtracts gradients, in the place of Adam."""

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        for parameter in self.param_groups[0]["params"]:
            parameter -= parameter.grad


def run(
    table: Table,
    script: Sequence[Sequence[float]],
    *,
    kind: type[Scripted] = Scripted,
    batch_size: int = 32,
    **options: Any,
) -> tuple[Scripted, Fit, TrialStopping]:
    """A script, played to its end with one batch an epoch: the module, the fit, and the early stopping within it."""
    n, stoppings = len(script), list[TrialStopping]()
    preprocessing = Preprocessing.fit(table, [None] * n, NoScaling())
    device_table = DeviceTable(table, preprocessing, device="cpu", dtype=torch.float32)
    rows = Examples(torch.arange(20).repeat(n, 1))
    module, datamodule = kind(script, **options), StackDataModule(device_table)
    order = StackedGenerator(range(n), roster=module.roster)
    datamodule.serve(rows, rows, batch_size=batch_size, order=order, roster=module.roster)
    module.steps_per_epoch = datamodule.steps_per_epoch

    def watch(_: str, stopping: TrialStopping) -> list[Watcher]:
        stoppings.append(stopping)
        return []

    hardware, trials = Hardware(torch.device("cpu"), "32-true"), tuple(range(10, 10 + n))
    fit = fitting.fit("finetune", module, datamodule, trials=trials, hardware=hardware, watch=watch)
    return module, fit, stoppings[0]


def kept(fit: Fit) -> list[float]:
    """The epoch whose weights are kept, of each trial."""
    weights: list[float] = fit.weights["epochs_trained"].squeeze(1).tolist()
    return weights


def falling(n: int) -> list[float]:
    return [1 - 0.01 * epoch for epoch in range(n)]


LATE = [0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.7, 0.1, 0.1]
LAST = [0.5, 0.3, 0.4, 0.3, 0.3, 0.6, 0.6, 0.6]


@pytest.mark.parametrize(
    ("script", "options", "epochs", "best"),
    [
        # As all of the paper's on dataset 40923: patience 3 stops after the fourth epoch without improvement.
        pytest.param([[0.5] * 9, falling(9), LATE], {}, [5, 9, 7], [1, 9, 3], id="each by itself"),
        pytest.param([[0.5, 0.4, 0.4, 0.3, 0.2]], {"patience": 0}, [3], [2], id="patience of zero"),
        pytest.param([[0.5] * 9], {"patience": None}, [9], [1], id="no patience, all epochs"),
        pytest.param([LAST], {"patience": 2}, [5], [2], id="ties do not improve"),
        pytest.param([LAST], {"patience": 2, "ties": "last"}, [8], [5], id="the last of ties"),
    ],
)
def test_each_trial_stops_by_itself_and_keeps_its_best_weights(
    patients: Table, script: list[list[float]], options: dict[str, Any], epochs: list[int], best: list[int]
) -> None:
    module, fit, stopping = run(patients, script, **options)
    assert (fit.epochs.tolist(), fit.best_epochs.tolist(), kept(fit)) == (epochs, best, best)
    assert stopping.best.tolist() == pytest.approx([script[t][epoch - 1] for t, epoch in enumerate(best)])
    in_each_epoch = [sum(last > epoch for last in epochs) for epoch in range(max(epochs))]
    assert module.trials_in_each_epoch == in_each_epoch, "no work for trials that have stopped"
    for t, losses in enumerate(script):
        records = [record for record in fit.curves if record["trial"] == 10 + t]
        assert [record["epoch"] for record in records] == list(range(1, epochs[t] + 1))
        assert [record["validation_loss"] for record in records] == pytest.approx(losses[: epochs[t]])
        assert [record["train_loss"] for record in records] == [-epoch for epoch in range(epochs[t])]


def test_only_a_gpu_says_how_it_launched(patients: Table) -> None:
    _, fit, _ = run(patients, [[0.5]])
    assert fit.launches is None


def test_patience_counts_validations_where_there_is_one_every_few_epochs(patients: Table) -> None:
    script = [[0.9, 0.5, 0.1, 0.6, 0.1, 0.4, 0.1, 0.4, 0.1, 0.4, 0.1, 0.1]]  # of which 0.5, 0.6, 0.4 ... are seen
    module, fit, _ = run(patients, script, patience=1, validate_every=2)
    assert (fit.epochs.tolist(), fit.best_epochs.tolist(), kept(fit)) == ([10], [6], [6])
    assert len(module.trials_in_each_epoch) == 5, "no other epoch is validated"
    assert ["validation_loss" in record for record in fit.curves] == [False, True] * 5


def test_an_epochs_time_is_shared_equally_among_the_trials_in_it(
    patients: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a clock on which every epoch takes a second."""
    clock = SimpleNamespace(process_time=itertools.count().__next__)
    monkeypatch.setattr(fitting, "time", clock)
    _, fit, _ = run(patients, [falling(12), [0.1] * 12])
    assert fit.seconds.tolist() == [5 / 2 + 7, 5 / 2]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_trial_that_diverges_leaves_and_the_others_go_on(patients: Table, value: float) -> None:
    module, fit, _ = run(patients, [falling(5), [0.5, 0.4, value, 0.1, 0.1]])
    assert fit.diverged.tolist() == [False, True]
    assert (fit.epochs.tolist(), fit.best_epochs.tolist()) == ([5, 3], [5, 2])
    assert kept(fit) == [5, 2], "those before it diverged"
    assert module.trials_in_each_epoch == [2, 2, 2, 1, 1]
    curve = [record["validation_loss"] for record in fit.curves if record["trial"] == 11]
    np.testing.assert_allclose(curve, [0.5, 0.4, np.nan])


def test_where_all_diverge_at_once_training_ends_with_the_initial_weights(patients: Table) -> None:
    _, fit, _ = run(patients, [[np.nan] * 4] * 2, restore_best=False)
    assert (fit.diverged.tolist(), fit.epochs.tolist(), kept(fit)) == ([True, True], [1, 1], [0, 0])


class Spoiled(Scripted):
    """The loss of trial 1 is not finite in the third epoch."""

    def losses(self, batch: Batch) -> Tensor:
        losses = super().losses(batch)
        if len(losses) == 2 and self.epochs_trained[0] >= 2 * self.steps_per_epoch:
            losses = losses * torch.tensor([1.0, torch.nan])
        return losses


@pytest.mark.parametrize(("batch_size", "steps"), [(32, 1), (7, 3)])
def test_a_fit_of_fixed_length_ends_with_the_last_good_weights(
    patients: Table, monkeypatch: pytest.MonkeyPatch, batch_size: int, steps: int
) -> None:
    """Where an epoch is one step, they are copied in that step and not in every epoch."""
    copies: list[int] = []
    take = KeptWeights.take

    def spied(kept: KeptWeights, places: Any) -> None:
        copies.append(len(places))
        take(kept, places)

    monkeypatch.setattr(KeptWeights, "take", spied)
    # The validation of the last epoch reads the script of the last step.
    script = [[0.5] * 15] * 2
    _, fit, _ = run(patients, script, kind=Spoiled, batch_size=batch_size, monitor="none", max_epochs=5)
    assert (fit.epochs.tolist(), fit.diverged.tolist()) == ([5, 3], [False, True])
    assert kept(fit) == [5 * steps, 2 * steps]
    # The diverging trial's, those before the validated epoch, and those of the end.
    expected = [1, 0, 1, 1] if steps == 1 else [2, 2, 2, 0, 1, 1, 1]
    assert [n for n in copies if n] == [n for n in expected if n]
