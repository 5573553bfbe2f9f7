import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import scarf_lightning
from scarf_lightning.config import build_parts
from scarf_lightning.data.sources import open_source
from scarf_lightning.engine.hardware import Hardware
from scarf_lightning.errors import UsageError
from scarf_lightning.estimators import Model, load_model, model_of_cell
from scarf_lightning.methods import SupervisedPhase
from scarf_lightning.training import make_stack
from tests.composing import ROOT, config_of, names
from tests.estimators.conftest import OfACell, TrainOn
from tests.processes import TINY

Floats = np.ndarray[Any, np.dtype[np.float64]]


def in_the_stack(trained: OfACell) -> tuple[Floats, Floats, Floats]:
    """The cell's two trials, trained again as a stack outside the store: all rows as they are encoded ``(n, M)``, those
    that each trial tests ``(T, n_test)``, and what its network gives them."""
    config = config_of(*TINY, *trained.overrides)
    table, parts = open_source(**vars(config.dataset), openml_cache=None).load(), build_parts(config)
    stack = make_stack(config, parts, table, (0, 1), Hardware(torch.device("cpu"), config.trainer.precision))
    weights = stack.pretrain(config.pretrain, parts.pretext).part("encoder") if parts.pretext else None
    outcome = parts.method.run(stack, SupervisedPhase(config.finetune, weights))
    return stack.table.values, stack.data.test, outcome.probabilities


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
    "fewer_indicators": ("encoding=onehot_drop_last", "impute_on=train"),
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
            given = models[name].probabilities(values[test[trial]])[trial]
            np.testing.assert_allclose(given, expected[trial], atol=1e-6, err_msg=name)
        by_trial = models[name].probabilities(values)
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


def test_a_gap_is_imputed_and_an_unseen_category_counts_as_one(scarf: OfACell) -> None:
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


class TestFolder:
    def test_it_holds_numbers_and_json_alone(self, scarf: OfACell) -> None:
        files = sorted(file.name for file in (scarf.folder / "model").iterdir())
        assert files == ["model.json", "preprocessing.safetensors", "weights.safetensors"]
        json.loads((scarf.folder / "model" / "model.json").read_text())

    def test_a_cell_is_opened_too(self, scarf: OfACell) -> None:
        expected = scarf.model.predict_proba(scarf.rows)
        np.testing.assert_array_equal(load_model(scarf.folder).predict_proba(scarf.rows), expected)
        of_cell = model_of_cell(scarf.folder.name, scarf.folder.parent)
        np.testing.assert_array_equal(of_cell.predict_proba(scarf.rows), expected)

    def test_further_trials_are_added_to_the_model(self, train_on: TrainOn) -> None:
        assert train_on("trials=1", "pretrain=none").model.trials == [0]
        assert train_on("trials=3", "pretrain=none", "trainer.trials_per_stack=2").model.trials == [0, 1, 2]

    def test_a_model_takes_the_place_of_another_and_of_nothing_else(self, scarf: OfACell, tmp_path: Path) -> None:
        (tmp_path / "empty").mkdir()
        for folder in ("new", "new", "empty"):
            scarf.model.save(tmp_path / folder)
            assert load_model(tmp_path / folder).trials == [0, 1]
        (tmp_path / "notes.txt").write_text("mine")
        for taken in (tmp_path, tmp_path / "notes.txt"):
            with pytest.raises(UsageError, match="is there already and is no model; name another folder"):
                scarf.model.save(taken)
        assert sorted(file.name for file in tmp_path.iterdir()) == ["empty", "new", "notes.txt"]

    @pytest.mark.parametrize("step", range(4))
    def test_an_interrupt_while_one_takes_anothers_place_leaves_the_one_or_the_other(
        self, step: int, scarf: OfACell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        scarf.model.save(tmp_path / "model")
        rename, n_renamed = Path.rename, count()

        def interrupted(path: Path, target: Path) -> Path:
            if next(n_renamed) == step:
                raise KeyboardInterrupt
            return rename(path, target)

        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt) if step < 3 else nullcontext():
            patched.setattr(Path, "rename", interrupted)
            scarf.model.save(tmp_path / "model")

        assert [file.name for file in tmp_path.iterdir()] == ["model"]
        assert load_model(tmp_path / "model").trials == [0, 1]

    @pytest.mark.parametrize("file", ["model.json", "preprocessing.safetensors", "weights.safetensors"])
    def test_a_file_that_is_damaged_or_missing_is_named(self, file: str, scarf: OfACell, tmp_path: Path) -> None:
        folder = tmp_path / "model"
        scarf.model.save(folder)
        content = bytearray((folder / file).read_bytes())
        content[-9] ^= 1
        (folder / file).write_bytes(content)
        with pytest.raises(UsageError, match=rf"model cannot be used: {file} is (damaged|torn); copy the model again"):
            load_model(folder)
        (folder / file).write_bytes(content[:20])
        with pytest.raises(UsageError, match=rf"model cannot be used: {file} is torn"):
            load_model(folder)
        (folder / file).unlink()
        with pytest.raises(UsageError, match=f"{file}"):
            load_model(folder)

    def test_what_is_no_model_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="nowhere is no model: there is no such folder"):
            load_model(tmp_path / "nowhere")
        with pytest.raises(UsageError, match=r"is no model: it has no model\.json"):
            load_model(tmp_path)

    def test_a_cell_without_kept_networks_says_how_to_keep_them(self, train_on: TrainOn) -> None:
        with pytest.raises(UsageError, match="is no model: there is no such folder"):
            train_on("keep_weights=false")

    @pytest.mark.parametrize(
        ("overrides", "why"),
        [
            (["pretrain=none", "method=tri_train", "regime=semi25", "method.iterations=1"], "tri_train vote, and only"),
            (["method=probe"], "method=probe trains no network for the classes"),
        ],
    )
    def test_a_method_without_such_a_network_has_none(
        self, overrides: list[str], why: str, rows: pd.DataFrame, tmp_path: Path
    ) -> None:
        from tests.storing import stored, write_csv

        data = write_csv(tmp_path, rows, pd.Series(["a", "b"] * (len(rows) // 2)))
        store = stored(tmp_path / "results", *data, "trials=1", "keep_weights=true", *overrides)

        assert not (store.folder / "model").exists()
        with pytest.raises(UsageError, match=f"Cell {store.fingerprint} has no model: .*{why}"):
            load_model(store.folder)

    def test_a_network_of_a_plugin_is_imported_only_if_it_is_allowed(self, scarf: OfACell, tmp_path: Path) -> None:
        from dataclasses import replace

        of_plugin = replace(scarf.model.description, plugins=("some_module",))
        Model(of_plugin, scarf.model.preprocessing, scarf.model.weights).save(tmp_path / "m")

        with pytest.raises(UsageError, match=r"The network of .* is in some_module; allow its import with plugins="):
            load_model(tmp_path / "m")
        with pytest.raises(UsageError, match="plugins names some_module, which is no module"):
            load_model(tmp_path / "m", plugins=["some_module"])


def test_the_package_offers_it_without_importing_torch() -> None:
    code = "import sys, scarf_lightning; assert 'load_model' in dir(scarf_lightning); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)

    assert scarf_lightning.load_model is load_model


def test_a_model_that_travelled_needs_no_results(scarf: OfACell, tmp_path: Path) -> None:
    shutil.copytree(scarf.folder / "model", tmp_path / "carried")

    carried = load_model(tmp_path / "carried")

    np.testing.assert_array_equal(carried.predict_proba(scarf.rows), scarf.model.predict_proba(scarf.rows))
