import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from scarf_lightning.data.sources import open_source
from scarf_lightning.engine.hardware import Hardware
from scarf_lightning.errors import UsageError
from scarf_lightning.estimators import Model, load_model
from scarf_lightning.training import CellTraining
from tests.composing import config_of, names
from tests.estimators.conftest import OfACell, TrainOn
from tests.processes import TINY

Floats = np.ndarray[Any, np.dtype[np.float64]]


def in_the_stack(trained: OfACell) -> tuple[Floats, Floats, Floats]:
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


BESIDE = {
    "by_trial": ("fit_on=train", "scaling=minmax", "pretrain=none", "trainer.precision=64-true"),
    "missing_values": ("corruption=missing", "method=dropout"),
    "codes": ("encoding=ordinal",),
    "fewer_indicators": ("encoding=onehot_drop_last",),
}
"""What a model must carry beside its network."""


@pytest.mark.parametrize(
    ("chosen", "predicted"),
    [
        (("mlp", "by_trial", "codes", "fewer_indicators"), predicted_here),
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
    cells = {name: train_on(*BESIDE.get(name, (f"network={name}",))) for name in chosen}
    models = {name: cell.model for name, cell in cells.items()}
    rows = next(iter(cells.values())).rows

    again = predicted(models, rows, tmp_path)

    for name, cell in cells.items():
        values, test, expected = in_the_stack(cell)
        for trial in (0, 1):
            given = models[name].predictions(values[test[trial]])[trial]
            np.testing.assert_allclose(given, expected[trial], atol=1e-6, err_msg=name)
        by_trial = models[name].predictions(values)
        assert np.ptp(by_trial, axis=0).max() > 1e-3, "the trials' networks differ"
        np.testing.assert_allclose(again[name], by_trial.mean(axis=0), atol=1e-6, err_msg=name)


def test_the_most_probable_class_is_predicted(scarf: OfACell) -> None:
    probabilities = scarf.model.predict_proba(scarf.rows)

    assert scarf.model.classes == ["no", "yes"]
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    expected = np.where(probabilities[:, 1] > probabilities[:, 0], "yes", "no")
    assert scarf.model.predict(scarf.rows).tolist() == expected.tolist()


def test_embeddings_of_the_trials_stand_side_by_side(scarf: OfACell) -> None:
    embedded = scarf.model.transform(scarf.rows)

    assert embedded.shape == (len(scarf.rows), 2 * 16)
    assert embedded.dtype == np.float32
    one = scarf.model.encoder
    raw = torch.zeros(2, 1, len(scarf.model.description.reader.columns))
    assert one(raw).shape == (2, 1, 16)


def test_a_gap_is_imputed_and_an_unseen_category_counts_as_one(train_on: TrainOn) -> None:
    scarf = train_on("fit_on=all", "pretrain=none")
    rows = scarf.rows.head(5)
    mode = scarf.rows["colour"].mode()[0]

    with pytest.warns(UserWarning, match="'colour' has 'mauve'"):
        unseen = scarf.model.predict_proba(rows.assign(colour="mauve"))

    np.testing.assert_array_equal(unseen, scarf.model.predict_proba(rows.assign(colour=None)))
    np.testing.assert_array_equal(unseen, scarf.model.predict_proba(rows.assign(colour=mode)))
    mean = scarf.rows["height"].mean()
    gap = scarf.model.predict_proba(rows.assign(height=np.nan))
    np.testing.assert_allclose(gap, scarf.model.predict_proba(rows.assign(height=mean)), atol=1e-6)


def test_no_rows_have_no_probabilities(scarf: OfACell) -> None:
    assert scarf.model.predict_proba(scarf.rows.head(0)).shape == (0, 2)


def test_a_missing_column_is_named(scarf: OfACell) -> None:
    with pytest.raises(UsageError, match=r"^The rows lack 'colour', which the model was trained on\.$"):
        scarf.model.predict_proba(scarf.rows.drop(columns="colour"))
