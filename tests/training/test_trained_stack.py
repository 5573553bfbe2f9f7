"""What is kept of a stack: of each trial its own, of the others nothing."""

from dataclasses import replace

import numpy as np
import pytest

from scarf_lightning.data.table import Table
from scarf_lightning.metrics import PROBES, metrics
from scarf_lightning.results.store import DTYPES
from scarf_lightning.training.trained_stack import TrainedStack
from tests.composing import config_of
from tests.short_training import training_of

COMPANY, KEPT = [3, 0, 5], [0, 5]


@pytest.fixture(scope="module")
def ran(wdbc: Table) -> TrainedStack:
    """Three trials that are pre-trained, with weights to keep, and only 25 % of their labels."""
    config = config_of("pretrain=scarf", "regime=semi25", "keep_weights=true", "trainer.threads=1")
    return training_of(config, wdbc).run(COMPANY)


def test_rows_are_those_of_the_trials_at_their_positions(ran: TrainedStack, wdbc: Table) -> None:
    record, data, fits = ran.record(KEPT), ran.stack.data, {"pretrain": ran.pretraining, "finetune": ran.outcome.fit}

    assert [row["trial"] for row in record.rows] == KEPT
    for row in record.rows:
        position = COMPANY.index(row["trial"])
        truth = wdbc.labels[data.test[position]]
        measured = wdbc.target.measured(ran.outcome.predictions[position], truth, data.labels[position])
        assert {name: row[name] for name in measured} == measured
        for phase, fit in fits.items():
            assert fit is not None
            assert row[f"{phase}_epochs"] == fit.epochs[position] == 2
            assert row[f"{phase}_steps"] == fit.steps[position]
            assert row[f"{phase}_best_epoch"] == fit.best_epochs[position]
        assert fits["pretrain"] is not None
        assert row["pretrain_seconds"] == fits["pretrain"].seconds[position]
        assert row["finetune_seconds"] == ran.outcome.seconds[position]
        assert row["fits"] == 1
        assert (row["device"], row["precision"], row["threads"], row["diverged"]) == ("cpu", "32-true", 1, None)
        known = {*DTYPES, *(metric.name for metric in metrics())}
        assert row.keys() <= known, "a reader does not know the type of a column"
        sizes = [row[f"n_{of}"] for of in ("train", "labels", "labelled", "unlabelled", "validation", "test")]
        assert sizes == [398, 157, 100, 298, 57, 114]


def test_curves_preprocessing_and_weights_that_are_asked_for_are_those_of_the_trials(ran: TrainedStack) -> None:
    record, positions = ran.record(KEPT), [COMPANY.index(trial) for trial in KEPT]

    found = [(curve["phase"], curve["trial"], curve["epoch"]) for curve in record.curves]
    assert sorted(found) == [(p, t, e) for p in ("finetune", "pretrain") for t in KEPT for e in (1, 2)]
    fit = ran.outcome.fit
    assert fit is not None
    expected = {name: weight.numpy()[positions] for name, weight in fit.part("classifier").items()}
    assert record.weights is not None
    assert list(record.weights) == list(expected)
    for name, weight in expected.items():
        np.testing.assert_array_equal(record.weights[name], weight)
    for name, array in ran.stack.data.preprocessing.arrays().items():
        np.testing.assert_array_equal(record.preprocessing[name], array[positions])
    assert [each.trial for each in record.predictions] == KEPT
    assert replace(ran, config=replace(ran.config, keep_weights=False)).record(KEPT).weights is None


def test_a_trial_that_diverged_has_the_phase_in_place_of_numbers(ran: TrainedStack) -> None:
    first, second = (np.array([trial == gone for trial in COMPANY]) for gone in KEPT)
    assert ran.pretraining is not None
    gone = replace(
        ran,
        pretraining=replace(ran.pretraining, diverged=first),
        outcome=replace(ran.outcome, diverged=first | second),
    )

    record = gone.record(COMPANY)

    assert [row["diverged"] for row in record.rows] == [None, "pretrain", "finetune"]
    for metric in metrics(["classes"]):
        assert [row[metric.name] is None for row in record.rows] == [False, True, True]
    assert [each.trial for each in record.predictions] == [3]


def test_a_probed_cell_has_the_probes_of_its_frozen_embeddings_in_its_rows(wdbc: Table) -> None:
    config = config_of("pretrain=scarf", "pretrain.probe=0", "trainer.threads=1")
    training = training_of(config, wdbc)
    probed = training.run(COMPANY)
    assert probed.pretraining is not None
    assert training.parts.pretext is not None
    of_end = probed.stack.probed(config.pretrain, training.parts.pretext, probed.pretraining.part("encoder"))
    for row in probed.record(KEPT).rows:
        position = COMPANY.index(row["trial"])
        assert {name: row[name] for name in PROBES} == {f"probe_{name}": of_end[name][position] for name in of_end}
    plain = training_of(config_of("pretrain=scarf", "trainer.threads=1"), wdbc).run(COMPANY)
    assert not set(PROBES) & set(plain.record(KEPT).rows[0])
    np.testing.assert_array_equal(plain.outcome.predictions, probed.outcome.predictions)
