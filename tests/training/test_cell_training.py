"""A cell, before and after its stacks are trained."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.datasets import make_classification

from scarf_lightning.data.sources import DiabetesSource
from scarf_lightning.data.splits import Random
from scarf_lightning.data.table import Table
from scarf_lightning.engine.hardware import Hardware
from scarf_lightning.engine.memory import Demand
from scarf_lightning.engine.stack import Stack
from scarf_lightning.errors import UsageError
from scarf_lightning.methods import Method, SupervisedPhase
from scarf_lightning.randomness import Purpose, Streams
from scarf_lightning.results import read_cell
from scarf_lightning.training import CellTraining
from scarf_lightning.training.pretraining import Start
from tests.composing import config_of
from tests.short_training import trained, training_of


def test_a_cell_is_described_by_what_it_was_asked_for_and_read_from(wdbc: Table, tmp_path: Path) -> None:
    training = training_of(config_of("pretrain=scarf", "trials=2"), wdbc)
    asked = CellTraining.prepare(training.config, wdbc, training.hardware, tmp_path)
    asked = replace(asked, notes=["one column is constant"])
    assert asked.store is not None

    asked.describe(["pretrain=scarf"])

    described = read_cell(asked.store.folder).description
    assert described["overrides"] == ["pretrain=scarf"]
    assert described["reading"] == wdbc.report(["one column is constant"])
    assert described["config"]["trials"] == 2
    assert [column["name"] for column in described["columns"]] == [column.name for column in wdbc.columns]


def test_a_split_that_has_no_such_trial_is_refused_before_any_training(
    wdbc: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Random, table: Table, trials: int) -> None:
        raise UsageError(f"{table.name} has no splits for {trials} trials.")

    monkeypatch.setattr(Random, "check", refuse)
    with pytest.raises(UsageError, match=r"^wdbc has no splits for 8 trials\.$"):
        CellTraining.prepare(config_of("trials=8"), wdbc, Hardware(torch.device("cpu")))


@pytest.mark.parametrize("chosen", [("pretrain=scarf",), ("pretrain=none", "method=xgboost")])
def test_a_renamed_column_changes_no_bit(chosen: tuple[str, ...], mixed_table: Table) -> None:
    renamed = replace(mixed_table, columns=tuple(replace(each, name=f"{each.name}!") for each in mixed_table.columns))
    assert renamed.hash != mixed_table.hash, "another table by its identity"

    one, other = (training_of(config_of(*chosen), table).run(range(2)).outcome for table in (mixed_table, renamed))

    np.testing.assert_array_equal(other.predictions, one.predictions)


def test_a_mended_cell_leaves_the_initial_weights_and_the_test_rows(mixed_table: Table) -> None:
    mended = replace(mixed_table, values=mixed_table.values + 1e-9)

    stacks = [
        CellTraining.stack(training_of(config_of("pretrain=none"), table), range(2)) for table in (mixed_table, mended)
    ]

    np.testing.assert_array_equal(*(stack.data.test for stack in stacks))
    weights = [[*stack.networks.encoder((0, 1)).parameters()] for stack in stacks]
    assert weights[0]
    assert all(torch.equal(*pair) for pair in zip(*weights, strict=True))


@pytest.mark.parametrize(("method", "expected"), [("control", (3, 0, 5)), ("logistic", (0, 5))])
def test_others_of_a_block_are_trained_too_unless_the_method_trains_each_alone(
    method: str, expected: tuple[int, ...], wdbc: Table
) -> None:
    training = training_of(config_of("pretrain=none", f"method={method}"), wdbc)

    assert training.run([0, 5], [3, 0, 5]).stack.trials == expected


@pytest.mark.parametrize("fit_on", ["all", "train"])
def test_rows_are_split_shown_and_scaled_as_the_configuration_says(fit_on: str, wdbc: Table) -> None:
    chosen = (f"fit_on={fit_on}", "scaling=minmax", "regime=semi25", "seed=3", "pretrain=none")
    trials = (4, 1)

    data = CellTraining.stack(training_of(config_of(*chosen), wdbc), trials).data

    assert data.trials == trials
    assert data.labelled.shape == (2, round(0.25 * data.train.shape[1]))
    for position, trial in enumerate(trials):
        split = Random(copies="apart").split(wdbc, Streams(3, wdbc.n_labelled).numpy(trial, Purpose.SPLIT))
        np.testing.assert_array_equal(data.train[position], split.train)
        rows = wdbc.values if fit_on == "all" else wdbc.values[split.train]
        np.testing.assert_array_equal(data.preprocessing.shift[position], rows.min(axis=0))


@pytest.mark.parametrize(
    ("chosen", "has_network", "rows", "views"),
    [
        ("pretrain=none finetune.batch_size=32", True, 32, 0),
        ("pretrain=scarf pretrain.batch_size=64 pretrain.validation_passes=7", True, 11 * 64, 14),
        ("pretrain=none method=cotrain cotrain=scarf finetune.batch_size=32", True, 4 * 32, 0),
        ("pretrain=none method=logistic", False, 128, 0),
    ],
)
def test_memory_is_asked_for_a_network_and_the_views_that_a_validation_takes_at_once(
    chosen: str, has_network: bool, rows: int, views: int, wdbc: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    training = training_of(config_of(*chosen.split()), wdbc)
    asked: dict[str, Any] = {}
    monkeypatch.setattr(Demand, "of", lambda table, network, *_, **named: asked.update(named, network=network))
    _ = training._demand

    assert (asked["network"] is not None) == has_network
    assert (asked["rows"], asked["views"], asked["embeds"]) == (rows, views, False)


@pytest.mark.parametrize(("copies", "n_at_once"), [("together", 1), ("apart", 3)])
def test_trials_whose_parts_differ_in_size_are_trained_one_by_one(
    copies: str, n_at_once: int, mixed_table: Table
) -> None:
    row = np.repeat(np.arange(24), [*[2] * 16, *[5] * 8])
    table = replace(mixed_table, values=mixed_table.values[row], labels=mixed_table.labels[row])

    training = training_of(config_of("method=logistic", "pretrain=none", f"split.copies={copies}"), table)

    assert [len(together) for _, together in training.stacks([0, 1, 2])] == [n_at_once] * (3 // n_at_once)
    (said,) = training.notes
    assert ("trained one by one" in said) == (copies == "together")
    assert ("have a copy among its training rows" in said) == (copies == "apart")


def test_an_option_without_effect_is_noted_unless_the_recipe_sets_it() -> None:
    table = DiabetesSource().load()
    asked, of_recipe = (
        training_of(config_of("pretrain=none", each), table).notes
        for each in ("finetune.label_smoothing=0.2", "recipe=realmlp")
    )

    assert [note.partition(":")[0] for note in asked] == ["finetune.label_smoothing=0.2 is for classes"]
    assert of_recipe == [], "its label smoothing is for classes"


def test_networks_start_from_encoders_that_are_given_in_turn(wdbc: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three trials and two encoders, so that the third one starts from the first encoder."""
    training = training_of(config_of("pretrain=none", "trials=3"), wdbc)
    two = training.stack([0, 1])  # noqa: PD013
    weights = {name: tensor.detach().numpy() for name, tensor in two.networks.encoder([5, 6]).state_dict().items()}
    starts = []

    def run(_: Method, stack: Stack, phase: SupervisedPhase) -> None:
        starts.append(phase.pretrained)
        raise InterruptedError

    monkeypatch.setattr(type(training.parts.method), "run", run)
    with pytest.raises(InterruptedError):
        replace(training, start=Start(weights, two.data.preprocessing)).run([0, 1, 2])

    (start,) = starts
    assert start is not None
    for name, weight in weights.items():
        np.testing.assert_array_equal(start[name].numpy(), weight[[0, 1, 0]])


@pytest.mark.parametrize(("copies", "low", "high"), [("together", 0.6, 0.75), ("apart", 0.9, 1.0)])
def test_a_forest_cannot_look_up_the_answers_of_copies(copies: str, low: float, high: float) -> None:
    """200 rows, each three times; on the 200 alone the forest gets 0.69."""
    values, labels = make_classification(200, 10, n_informative=4, flip_y=0.25, class_sep=0.7, random_state=3)
    frame, target = pd.DataFrame(np.tile(values, (3, 1))).add_prefix("x"), pd.Series(np.tile(labels, 3), name="y")
    table = Table.from_frame(frame, target, categorical=[False] * 10, name="three", source="a test")

    config = config_of("method=random_forest", "pretrain=none", f"split.copies={copies}")
    rows = trained(config, table, trials=range(5)).rows

    assert low < np.mean([row["accuracy"] for row in rows]) <= high
    assert table.n_copies == 400
