from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from scarf_lightning.data.preprocessing import Mean, MinMax, NoScaling, Scaling, ZScore
from scarf_lightning.data.regimes import Full, Noise30, Regime, Semi25
from scarf_lightning.data.splits import Column
from scarf_lightning.data.table import Table
from scarf_lightning.data.trials import TrialData, prepare_trials
from scarf_lightning.randomness import Streams

REGIMES: list[Regime] = [Full(), Semi25(), Noise30()]
ARRAYS = ("train", "validation", "test", "predicted", "labelled", "labels", "validation_labels")


def prepare(table: Table, trials: Any, *, seed: int = 0, **options: Any) -> TrialData:
    chosen = {"regime": Full(), "scaling": ZScore(), "fit_on": "all"} | options
    return prepare_trials(table, trials, Streams(seed, table.hash), **chosen)


every_regime = pytest.mark.parametrize("regime", REGIMES, ids=lambda r: r.name)


def test_every_trial_is_a_partition_of_all_rows(mixed_table: Table) -> None:
    data = prepare(mixed_table, range(6))
    assert data.trials == (0, 1, 2, 3, 4, 5)
    assert (data.train.shape, data.validation.shape, data.test.shape) == ((6, 42), (6, 6), (6, 12))
    parts = np.concatenate([data.train, data.validation, data.test], axis=1)
    assert (np.sort(parts, axis=1) == np.arange(60)).all()
    assert len({rows.tobytes() for rows in np.sort(data.test, axis=1)}) == 6


def test_every_method_sees_the_same_splits(mixed_table: Table) -> None:
    first = prepare(mixed_table, range(3))
    variants: list[dict[str, Any]] = [{"regime": regime} for regime in REGIMES]
    scalings: list[Scaling] = [MinMax(), Mean(), NoScaling()]
    variants += [{"scaling": scaling, "fit_on": "train"} for scaling in scalings]
    for options in variants:
        other = prepare(mixed_table, range(3), **options)
        for name in ("train", "validation", "test"):
            assert (getattr(first, name) == getattr(other, name)).all()


def test_another_seed_and_other_data_have_other_splits(mixed_table: Table) -> None:
    first = prepare(mixed_table, [0])
    assert (prepare(mixed_table, [0], seed=1).train != first.train).any()
    other = prepare_trials(mixed_table, [0], Streams(0, "other"), regime=Full(), scaling=ZScore(), fit_on="all")
    assert (other.train != first.train).any()


@every_regime
@pytest.mark.parametrize("fit_on", ["all", "train"])
@pytest.mark.parametrize("asked", [[3], [4, 1], [2, 3, 4, 9]])
def test_a_trial_does_not_depend_on_those_it_is_asked_with(
    mixed_table: Table, regime: Regime, fit_on: str, asked: list[int]
) -> None:
    every = prepare(mixed_table, range(10), regime=regime, fit_on=fit_on)
    some = prepare(mixed_table, asked, regime=regime, fit_on=fit_on)
    assert some.trials == tuple(asked)
    for name in ARRAYS:
        assert (getattr(some, name) == getattr(every, name)[asked]).all()
    for name in ("fill", "shift", "scale"):
        assert (getattr(some.preprocessing, name) == getattr(every.preprocessing, name)[asked]).all()
    assert some.preprocessing.is_shared is every.preprocessing.is_shared


@every_regime
@pytest.mark.parametrize("fit_on", ["all", "train"])
def test_a_trial_taken_out_is_that_trial_prepared_alone(mixed_table: Table, regime: Regime, fit_on: str) -> None:
    every = prepare(mixed_table, [4, 1, 7], regime=regime, fit_on=fit_on)
    for position, trial in enumerate(every.trials):
        taken, alone = every.of(position), prepare(mixed_table, [trial], regime=regime, fit_on=fit_on)
        assert taken.trials == (trial,)
        for name in ARRAYS:
            np.testing.assert_array_equal(getattr(taken, name), getattr(alone, name), strict=True)
        for name in ("fill", "shift", "scale", "is_shared"):
            np.testing.assert_array_equal(getattr(taken.preprocessing, name), getattr(alone.preprocessing, name))


def test_full_shows_the_labels_of_the_training_rows(mixed_table: Table) -> None:
    data = prepare(mixed_table, range(4))
    assert (data.labelled == data.train).all()
    assert (data.labels == mixed_table.labels[data.train]).all()


def test_semi25_shows_a_quarter_of_the_training_labels(mixed_table: Table) -> None:
    data = prepare(mixed_table, range(4), regime=Semi25())
    assert data.labelled.shape == data.labels.shape == (4, round(0.25 * 42))
    assert (data.labels == mixed_table.labels[data.labelled]).all()
    for train, labelled in zip(data.train, data.labelled, strict=True):
        assert set(labelled) < set(train)
        assert len(set(labelled)) == len(labelled)
    assert data.train.shape == (4, 42)


def test_noise30_redraws_training_labels_alone(mixed_table: Table) -> None:
    before = mixed_table.labels.copy()
    data = prepare(mixed_table, range(30), regime=Noise30())
    assert (data.labelled == data.train).all()
    wrong = (data.labels != mixed_table.labels[data.train]).sum(axis=1)
    assert wrong.max() <= round(0.3 * 42)
    assert wrong.min() > 0
    assert (mixed_table.labels == before).all()


@every_regime
def test_no_regime_touches_validation_or_test_rows(mixed_table: Table, regime: Regime) -> None:
    before = mixed_table.labels.copy()
    data = prepare(mixed_table, range(5), regime=regime)
    for labelled, train in zip(data.labelled, data.train, strict=True):
        assert np.isin(labelled, train).all()
    assert (data.validation_labels == mixed_table.labels[data.validation]).all()
    assert (mixed_table.labels == before).all()


def test_statistics_come_from_all_rows_or_from_each_trials_training_rows(mixed_table: Table) -> None:
    shared = prepare(mixed_table, range(3)).preprocessing
    own = prepare(mixed_table, range(3), fit_on="train").preprocessing
    assert shared.is_shared
    assert not own.is_shared
    values = mixed_table.values[:, 0]  # "length": numeric, never missing
    train = prepare(mixed_table, range(3)).train
    for t in range(3):
        assert shared.shift[t, 0] == pytest.approx(values.mean(), rel=1e-12)
        assert own.shift[t, 0] == pytest.approx(values[train[t]].mean(), rel=1e-12)
        assert 1 / shared.scale[t, 0] == pytest.approx(values.std(), rel=1e-12)
        assert 1 / own.scale[t, 0] == pytest.approx(values[train[t]].std(), rel=1e-12)


def test_the_scaling_asked_for_is_the_one_fitted(mixed_table: Table) -> None:
    values = mixed_table.values[:, 0]
    fitted = prepare(mixed_table, [0], scaling=MinMax()).preprocessing
    assert fitted.shift[0, 0] == values.min()
    assert 1 / fitted.scale[0, 0] == pytest.approx(values.max() - values.min(), rel=1e-12)


@every_regime
def test_rows_without_a_label_train_and_show_none(mixed_table: Table, regime: Regime) -> None:
    labels = np.where(np.arange(60) % 3 == 0, -1, mixed_table.labels)
    table = replace(mixed_table, labels=labels)
    data = prepare(table, range(4), regime=regime)
    assert (data.train.shape, data.validation.shape, data.test.shape) == ((4, 28 + 20), (4, 4), (4, 8))
    for t in range(4):
        assert set(np.flatnonzero(labels == -1)) <= set(data.train[t])
        assert set(data.labelled[t]) <= set(data.train[t])
        assert (labels[data.labelled[t]] >= 0).all()
        assert (labels[np.concatenate([data.validation[t], data.test[t]])] >= 0).all()
        if regime.name != "noise30":
            assert (data.labels[t] == labels[data.labelled[t]]).all()
    assert data.labelled.shape[1] == (7 if regime.name == "semi25" else 28)


def test_a_split_of_another_kind(mixed_table: Table) -> None:
    table = replace(mixed_table, split_by=np.repeat([0.0, 1.0, 2.0], [40, 8, 12]))
    data = prepare(table, [0, 1], splitting=Column("part"))
    assert (np.sort(data.train, axis=1) == np.arange(40)).all()
    assert (np.sort(data.test, axis=1) == np.arange(48, 60)).all()
