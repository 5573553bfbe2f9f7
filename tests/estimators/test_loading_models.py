"""`load_model` of cells in the store: their phases, their trials, and what they lack."""

import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import scarf_lightning
from scarf_lightning.data.sources import LastTable
from scarf_lightning.data.trials import prepare_trials
from scarf_lightning.engine.hardware import Hardware
from scarf_lightning.engine.stack import Stack
from scarf_lightning.errors import UsageError
from scarf_lightning.estimators import load_model
from scarf_lightning.estimators.loading import Phase
from scarf_lightning.options import build_parts
from scarf_lightning.randomness import Streams
from scarf_lightning.results.records import read_sealed, sealed
from scarf_lightning.screen import Screen
from scarf_lightning.training.loop import CellLoop
from tests.composing import ROOT, cells_of
from tests.estimators.conftest import OfACell, TrainOn
from tests.processes import TINY

WIDTH = 16


def in_the_stack(trained: OfACell) -> dict[Phase, np.ndarray[Any, Any]]:
    """What f of each of the cell's two trials gives for all rows, trained again as a stack outside the store."""
    (cell,) = cells_of(*TINY, *trained.overrides)
    loaded, config, parts = LastTable().load(cell.source), cell.config, build_parts(cell.config)
    streams, table = Streams(config.seed, loaded.hash), parts.encoding.encode(loaded)
    data = prepare_trials(table, (0, 1), streams, regime=parts.regime, scaling=parts.scaling, fit_on=config.fit_on)
    hardware = Hardware(torch.device("cpu"), config.trainer.precision)
    stack = Stack.make(table, data, streams, parts.network, config.network, hardware)
    assert parts.pretext is not None
    weights = stack.pretrain(config.pretrain, parts.pretext).part("encoder")
    encoders: dict[Phase, torch.nn.Module] = {
        "initial": stack.networks.encoder((0, 1)),
        "pretrain": stack.networks.encoder((0, 1), weights),
        "finetune": stack.finetune(config.finetune, stack.labelled(), weights)[1].encoder,
    }
    every = np.tile(np.arange(table.n_rows), (2, 1))
    with torch.no_grad():
        return {phase: f.to(hardware.dtype)(stack.raw(every)).numpy() for phase, f in encoders.items()}


@pytest.mark.parametrize(
    ("fit_on", "encoding", "precision"),
    [
        ("all", "onehot", "32-true"),
        ("train", "onehot_drop_last", "64-true"),
        pytest.param("all", "ordinal", "32-true", marks=pytest.mark.slow),
        pytest.param("all", "ordinal", "64-true", marks=pytest.mark.slow),
        pytest.param("train", "onehot", "32-true", marks=pytest.mark.slow),
    ],
)
def test_each_phase_embeds_bit_for_bit_as_the_network_in_the_stack(
    fit_on: str, encoding: str, precision: str, train_on: TrainOn
) -> None:
    trained = train_on(f"fit_on={fit_on}", f"encoding={encoding}", f"trainer.precision={precision}")

    for phase, expected in in_the_stack(trained).items():
        both = load_model(trained.folder, phase=phase).transform(trained.rows)
        assert (both.dtype, both.shape) == (np.float32, (120, 2 * WIDTH))
        for trial in (0, 1):
            embedded = load_model(trained.folder, trial=trial, phase=phase).transform(trained.rows)
            np.testing.assert_array_equal(embedded, expected[trial].astype(np.float32), err_msg=phase)
            np.testing.assert_array_equal(embedded, both[:, trial * WIDTH : (trial + 1) * WIDTH], err_msg=phase)
        assert (expected[0] != expected[1]).any()


def test_a_cell_is_its_saved_model(scarf: OfACell) -> None:
    expected = scarf.model.predict_proba(scarf.rows)

    for path in (scarf.folder, scarf.folder.parent):
        np.testing.assert_array_equal(load_model(path).predict_proba(scarf.rows), expected)
    alone = load_model(scarf.folder / "model", trial=1)
    assert alone.trials == [1]
    np.testing.assert_array_equal(
        alone.predict_proba(scarf.rows), load_model(scarf.folder, trial=1).predict_proba(scarf.rows)
    )
    with pytest.raises(UsageError, match=r"The model has no trial 7; it has: 0, 1\."):
        load_model(scarf.folder / "model", trial=7)


def test_further_trials_are_added_to_the_model(train_on: TrainOn) -> None:
    assert train_on("trials=1", "pretrain=none").model.trials == [0]
    assert train_on("trials=3", "pretrain=none", "trainer.trials_per_stack=2").model.trials == [0, 1, 2]


def test_a_trained_encoder_stands_in_a_pipeline(scarf: OfACell) -> None:
    encoder = FunctionTransformer(load_model(scarf.folder, trial=0, phase="pretrain").transform)

    scores = cross_val_score(make_pipeline(encoder, LogisticRegression()), scarf.rows, scarf.rows["grade"] > 1, cv=3)

    assert np.isfinite(scores).all()


class TestWhatIsNotThere:
    def test_a_tuned_cell_has_no_model_and_names_no_command_that_is_refused(self, train_on: TrainOn) -> None:
        trained = train_on("tune=2", "keep_weights=false")

        with pytest.raises(UsageError, match="with tune each trial has a network of its own shape") as raised:
            load_model(trained.folder)

        assert "train.py" not in str(raised.value)

    def test_weights_that_were_not_kept_are_trained_again_by_the_command_that_is_named(self, train_on: TrainOn) -> None:
        trained = train_on("keep_weights=false")
        with pytest.raises(
            UsageError, match=r"were not kept; `python train.py .* trains them again and keeps"
        ) as raised:
            load_model(trained.folder)

        _, _, *command = shlex.split(str(raised.value).split("`")[1])
        assert {"trials=2", "keep_weights=true", "force=true"} <= set(command)
        (cell,) = cells_of(*command)
        store = cell.store()
        assert store is not None
        store.clear("force=true")
        assert CellLoop(shown=Screen(quiet=True)).train_cell(cell)
        assert load_model(trained.folder).predict_proba(trained.rows).any()

    def test_pretrained_weights_that_were_evicted(self, train_on: TrainOn) -> None:
        trained = train_on()
        shutil.rmtree(trained.folder.parent / "pretrained")

        with pytest.raises(UsageError, match=r"of trial 1 of cell \w+ are not in the cache; `python train.py"):
            load_model(trained.folder, trial=1, phase="pretrain")

    @pytest.mark.parametrize(
        ("overrides", "phase", "sentence"),
        [
            (["pretrain=none"], "pretrain", "is not pre-trained; it has phase=finetune and phase=initial alone"),
            (["pretrain=none", "network=mlp_ple"], "initial", "looks at its training rows before training"),
            (["method=xgboost", "pretrain=none"], "finetune", "has no model: method=xgboost trains no network"),
            (["method=xgboost", "pretrain=none"], "initial", "has no encoder: method=xgboost trains no network"),
            (["method=probe"], "finetune", "has no model: method=probe trains no network of ours"),
            (
                ["method=tri_train", "method.iterations=1", "regime=semi25", "pretrain=none"],
                "finetune",
                "has no model: the networks of method=tri_train vote",
            ),
        ],
    )
    def test_a_cell_without_such_a_network_says_so(
        self, overrides: list[str], phase: Phase, sentence: str, train_on: TrainOn
    ) -> None:
        trained = train_on(*overrides)

        assert (trained.folder / "model").exists() == ("network=mlp_ple" in overrides or overrides == ["pretrain=none"])
        with pytest.raises(UsageError, match=sentence):
            load_model(trained.folder, phase=phase)

    @pytest.mark.parametrize(
        ("path", "asked", "sentence"),
        [
            ("", {"trial": 7}, r"has no finished trial 7; it has: 0, 1\."),
            ("", {"phase": "tuned"}, r"phase=tuned is unknown; the phases are: finetune, pretrain, initial\."),
            ("model", {"phase": "pretrain"}, "is a saved model, which has one phase: name a cell's folder"),
            ("nowhere", {}, "nowhere is no model: there is no such folder"),
            ("stacks", {}, r"is no model: it has no model\.json"),
        ],
    )
    def test_a_wrong_name_is_refused(self, path: str, asked: dict[str, Any], sentence: str, scarf: OfACell) -> None:
        with pytest.raises(UsageError, match=sentence):
            load_model(scarf.folder / path, **asked)

    def test_a_folder_of_several_cells_asks_for_one(self, scarf: OfACell, tmp_path: Path) -> None:
        for name in ("0" * 16, "1" * 16):
            shutil.copytree(scarf.folder, tmp_path / name)

        with pytest.raises(UsageError, match=r"holds 2 cells; name the folder of one, as .*0000.$"):
            load_model(tmp_path)


class TestACellFromElsewhere:
    def test_it_imports_no_module_that_is_not_allowed(self, scarf: OfACell, tmp_path: Path) -> None:
        copy = shutil.copytree(scarf.folder, tmp_path / scarf.folder.name)
        rewritten(copy, plugins=["antigravity"])

        with pytest.raises(UsageError, match="needs the module antigravity; allow its import with plugins="):
            load_model(copy)
        assert "antigravity" not in sys.modules

    def test_its_configuration_is_taken_as_it_stands(
        self, scarf: OfACell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SECRET", "hidden")
        copy = shutil.copytree(scarf.folder, tmp_path / scarf.folder.name)
        rewritten(copy, fit_on="${oc.env:SECRET}")

        with pytest.raises(UsageError, match="fit_on must be one of") as raised:
            load_model(copy)
        assert "hidden" not in str(raised.value)


def rewritten(cell: Path, **options: Any) -> None:
    """Change a cell's configuration, with its hash."""
    described = read_sealed(cell / "cell.json")
    described["config"] |= options
    (cell / "cell.json").write_text(sealed(described))


def test_the_package_offers_it_without_importing_torch() -> None:
    code = "import sys, scarf_lightning; assert 'load_model' in dir(scarf_lightning); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)

    assert scarf_lightning.load_model is load_model


@pytest.mark.slow
def test_lightning_is_imported_when_something_is_trained(scarf: OfACell) -> None:
    code = (
        "import sys, scarf_lightning, pandas; from scarf_lightning import ScarfClassifier, ScarfTransformer\n"
        f"model = scarf_lightning.load_model({str(scarf.folder / 'model')!r})\n"
        "model.transform(pandas.DataFrame({name: [None] for name in model.description.reader.names}))\n"
        "assert 'pytorch_lightning' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
