"""`Model` and `load_model`: what networks give after training, saved models, and cells of the store in their phases."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import scarf_lightning
from scarf_lightning.data.sources import open_source
from scarf_lightning.engine.hardware import Hardware
from scarf_lightning.errors import UsageError
from scarf_lightning.estimators import Model, load_model
from scarf_lightning.estimators.opening import Phase
from scarf_lightning.options import build_parts
from scarf_lightning.results.records import read_sealed, sealed
from scarf_lightning.sweeping.cell import Cell
from scarf_lightning.training import CellTraining
from tests.cells import finish
from tests.composing import cells_of, config_of, names
from tests.estimators.conftest import OfACell, TrainOn
from tests.estimators.small import small, table
from tests.processes import TINY

WIDTH = 16
Floats = np.ndarray[Any, np.dtype[np.float64]]


def predictions_in_the_stack(trained: OfACell) -> tuple[Floats, Floats, Floats]:
    """The cell's two trials trained without the store: all rows as they are encoded ``(n, M)``, the numbers of the test
    rows ``(T, n_test)``, and the probabilities of these."""
    config = config_of(*TINY, *trained.overrides)
    table = open_source(**vars(config.dataset), openml_cache=None).load()
    hardware = Hardware(torch.device("cpu"), config.trainer.precision)
    outcome = CellTraining.prepare(config, table, hardware).run((0, 1))
    return outcome.stack.table.values, outcome.stack.data.test, outcome.outcome.predictions


def predicted_here(models: dict[str, Model], rows: pd.DataFrame, folder: Path) -> dict[str, Floats]:
    """What each model gives the rows once it was saved and loaded."""
    for name, model in models.items():
        model.save(folder / name)
    return {name: load_model(folder / name).predict_proba(rows) for name in models}


def predicted_elsewhere(models: dict[str, Model], rows: pd.DataFrame, folder: Path) -> dict[str, Floats]:
    """What each model gives the rows in another process, to which only the models' folders and the rows have come."""
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    for name, model in models.items():
        model.save(elsewhere / name)
    rows.to_csv(elsewhere / "new.csv", index=False)
    code = f"""
import numpy, pandas, scarf_lightning
rows = pandas.read_csv("new.csv")
numpy.savez("given.npz", **{{n: scarf_lightning.load_model(n).predict_proba(rows) for n in {list(models)}}})
"""
    ran = subprocess.run([sys.executable, "-c", code], cwd=elsewhere, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    with np.load(elsewhere / "given.npz") as given:
        return dict(given)


def rewritten(cell: Path, options: dict[str, Any]) -> None:
    """Change a cell's configuration, with its hash."""
    described = read_sealed(cell / "cell.json")
    described["config"] |= options
    (cell / "cell.json").write_text(sealed(described))


BESIDE = {
    "by_trial": ("fit_on=train", "scaling=minmax", "pretrain=none", "trainer.precision=64-true"),
    "missing_values": ("corruption=missing", "method=dropout"),
    "codes": ("encoding=ordinal",),
    "fewer_indicators": ("encoding=onehot_drop_last",),
    "folds": (
        "recipe=practical", "regime=few", "regime.labels=30", "finetune.fold_steps=40", "finetune.learning_rate=0.01",
    ),
}  # fmt: skip
"""What a model must carry beside its network."""


@pytest.mark.parametrize(
    ("chosen", "predicted"),
    [
        (("by_trial", "folds"), predicted_here),
        pytest.param((*names("network"), *BESIDE), predicted_elsewhere, marks=pytest.mark.slow),
    ],
    ids=["some, loaded", "every, in another process"],
)
def test_a_network_gives_what_it_gave_in_the_stack_and_again_where_it_is_loaded(
    chosen: tuple[str, ...],
    predicted: Callable[[dict[str, Model], pd.DataFrame, Path], dict[str, Floats]],
    train_on: TrainOn,
    tmp_path: Path,
) -> None:
    overrides = BESIDE | {name: (f"network={name}",) for name in names("network")} | {"mlp": ()}
    cells = {name: train_on(*overrides[name]) for name in chosen}
    models = {name: cell.model for name, cell in cells.items()}
    again = predicted(models, next(iter(cells.values())).rows, tmp_path)
    for name, cell in cells.items():
        values, test, expected = predictions_in_the_stack(cell)
        for trial in (0, 1):
            every = models[name].predictions(values[test[trial]])
            given = every.reshape(2, -1, *every.shape[1:])[trial].mean(axis=0)
            np.testing.assert_allclose(given, expected[trial], atol=1e-6, err_msg=name)
        by_trial = models[name].predictions(values)
        assert np.ptp(by_trial, axis=0).max() > 1e-3, "the trials' networks differ"
        np.testing.assert_allclose(again[name], by_trial.mean(axis=0), atol=1e-6, err_msg=name)
        embedded = models[name].transform(next(iter(cells.values())).rows)
        assert embedded.shape[1] == 2 * models[name].encoder.width, "one network of each trial embeds"


def test_a_gap_is_imputed_and_an_unseen_category_counts_as_one(train_on: TrainOn) -> None:
    scarf = train_on("fit_on=all", "pretrain=none", "encoding.gaps=false", "trials=1")
    rows, given = scarf.rows.head(5), scarf.model.predict_proba
    with pytest.warns(UserWarning, match="'colour' has 'mauve'"):
        unseen = given(rows.assign(colour="mauve"))
    for same in (None, scarf.rows["colour"].mode()[0]):
        np.testing.assert_array_equal(unseen, given(rows.assign(colour=same)))
    mean = given(rows.assign(height=scarf.rows["height"].mean()))
    np.testing.assert_allclose(given(rows.assign(height=np.nan)), mean, atol=1e-6)


def embeddings_in_the_stack(trained: OfACell) -> dict[Phase, np.ndarray[Any, Any]]:
    """What f of each of the cell's two trials gives for all rows, trained again as a stack outside the store."""
    (cell,) = cells_of(*TINY, *trained.overrides)
    config, parts = cell.config, build_parts(cell.config)
    hardware = Hardware(torch.device("cpu"), config.trainer.precision)
    stack = CellTraining.prepare(config, cell.source.read().table, hardware).stack((0, 1))  # noqa: PD013
    assert parts.pretext is not None
    weights = stack.pretrain(config.pretrain, parts.pretext).part("encoder")
    encoders: dict[Phase, torch.nn.Module] = {
        "pretrain": stack.networks.encoder((0, 1), weights),
        "finetune": stack.finetune(config.finetune, stack.labelled(), weights)[1].encoder,
    }
    every = np.tile(np.arange(stack.table.n_rows), (2, 1))
    with torch.no_grad():
        return {phase: f.to(hardware.dtype)(stack.raw(every)).numpy() for phase, f in encoders.items()}


@pytest.mark.parametrize(
    "overrides",
    [
        (),
        ("fit_on=train", "encoding=onehot_drop_last", "trainer.precision=64-true"),
        ("encoding=ordinal",),
    ],
)
@pytest.mark.slow
def test_each_phase_embeds_bit_for_bit_as_the_network_embeddings_in_the_stack(
    overrides: tuple[str, ...], train_on: TrainOn
) -> None:
    trained = train_on(*overrides)
    for phase, expected in embeddings_in_the_stack(trained).items():
        both = load_model(trained.folder, phase=phase).transform(trained.rows)
        assert (both.dtype, both.shape) == (np.float32, (120, 2 * WIDTH))
        np.testing.assert_array_equal(both, np.concatenate(list(expected), axis=1).astype(np.float32), err_msg=phase)
        assert (expected[0] != expected[1]).any()


@pytest.fixture(scope="module")
def saved(scarf: OfACell, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model of the cell in a folder of its own."""
    folder = tmp_path_factory.mktemp("saved") / "model"
    scarf.model.save(folder)
    return folder


def test_a_cell_is_its_saved_model(scarf: OfACell, saved: Path) -> None:
    expected = scarf.model.predict_proba(scarf.rows)
    for path in (scarf.folder, saved):
        np.testing.assert_array_equal(load_model(path).predict_proba(scarf.rows), expected)
    assert scarf_lightning.load_model is load_model


def test_all_trials_of_all_stacks_are_in_the_model(train_on: TrainOn) -> None:
    assert train_on("trials=1", "pretrain=none").model.trials == [0]
    assert train_on("trials=3", "pretrain=none", "trainer.trials_per_stack=2").model.trials == [0, 1, 2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("overrides", "phase", "sentence"),
    [
        (["pretrain=none"], "pretrain", "is not pre-trained; it has phase=finetune alone"),
        (["method=xgboost", "pretrain=none"], "finetune", "has no model: method=xgboost trains no network"),
        (["method=probe"], "finetune", "has no model: method=probe trains no network of ours"),
        (["method=tri_train"], "finetune", "has no model: the networks of method=tri_train vote"),
    ],
)
def test_a_cell_without_such_a_network_says_so_and_has_no_model(
    overrides: list[str], phase: Phase, sentence: str, tmp_path: Path
) -> None:
    arguments = (f"paths.results={tmp_path}", "trials=2", *overrides)
    cell = Cell(arguments, config_of(*arguments))
    folder = finish(cell, precision="32-true").folder
    rewritten(folder, asdict(cell.config))
    with pytest.raises(UsageError, match=sentence):
        load_model(folder, phase=phase)


@pytest.fixture
def copy(scarf: OfACell, tmp_path: Path) -> Path:
    """A copy of the cell's folder, which a test may change."""
    return shutil.copytree(scarf.folder, tmp_path / scarf.folder.name)


def test_weights_that_were_evicted_are_said(copy: Path) -> None:
    with pytest.raises(UsageError, match=r"of trial 0 of cell \w+ are not in the cache; repeat its command with"):
        load_model(copy, phase="pretrain")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"plugins": ["antigravity"]}, "needs the module antigravity; allow its import with plugins="),
        ({"fit_on": "${oc.env:SECRET}"}, "fit_on=.* is unknown"),
    ],
)
def test_a_cell_from_elsewhere_imports_nothing_and_is_taken_as_it_stands(
    options: dict[str, Any], sentence: str, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "hidden")
    rewritten(copy, options)
    with pytest.raises(UsageError, match=sentence) as raised:
        load_model(copy)
    assert "hidden" not in str(raised.value)
    assert "antigravity" not in sys.modules


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_model_mixes_as_folds_have_chosen_and_so_does_its_copy(tmp_path: Path) -> None:
    X, _ = table()
    y = (X["a"] + 2 * np.random.default_rng(3).normal(size=len(X)) > 0).astype(int)
    # The first validation comes late, so that networks are overfitted.
    options = {"finetune.max_epochs": 40, "finetune.fold_steps": 40, "finetune.validate_every": 40}
    fitted = small(n_trials=1, options=options | {"finetune.folds": 3, "finetune.learning_rate": 0.05}).fit(X, y)
    share = fitted.trials_["mixed_share"].item()
    model, rows = fitted.model_, fitted.model_.values(X)
    target = model.preprocessing.target
    whole = replace(model, preprocessing=replace(model.preprocessing, target=target[:, :0]))

    predicted = model.predictions(rows)[0]

    assert 0 < share < 1
    assert target[0].sum() == pytest.approx(share)
    np.testing.assert_allclose(predicted, (1 - share) * whole.predictions(rows)[0] + target[0], atol=1e-12)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load_model(tmp_path / "model").predictions(rows)[0], predicted)
