"""The ONNX file gives our probabilities, in a process that has neither this package nor the training data."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from scarf_lightning import ScarfTransformer
from scarf_lightning.data.table import Column
from scarf_lightning.errors import UsageError
from scarf_lightning.estimators import Model
from scarf_lightning.estimators import onnx as module
from scarf_lightning.estimators.onnx import Voters, inputs
from tests.composing import names
from tests.estimators.conftest import OfACell, TrainOn
from tests.estimators.small import OF_ENCODERS
from tests.estimators.test_model import BESIDE

RUN = """
import sys, numpy, onnxruntime
given = numpy.load("given.npz")
rows = {name: given[name].astype(object) if given[name].dtype.kind == "U" else given[name] for name in given}
outputs = onnxruntime.InferenceSession("model.onnx").run(None, rows)
assert not {"scarf_lightning", "torch", "pandas"} & set(sys.modules)
numpy.savez("outputs.npz", *[output.astype(str) if output.dtype == object else output for output in outputs])
"""


def run_elsewhere(model: Model, rows: pd.DataFrame, folder: Path) -> list[Any]:
    """The outputs of the model's ONNX file for the rows, in a process of its own in a folder with nothing else."""
    folder.mkdir()
    model.to_onnx(folder / "model.onnx")
    given = {name: each.astype(str) if each.dtype == object else each for name, each in inputs(model, rows).items()}
    np.savez(folder / "given.npz", **given)
    ran = subprocess.run([sys.executable, "-c", RUN], cwd=folder, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    with np.load(folder / "outputs.npz") as outputs:
        return list(outputs.values())


@pytest.fixture(scope="module")
def new(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with gaps in every column and a category that the table did not have."""
    new = rows.drop(columns="id").head(40).astype(object)
    for position, name in enumerate(new.columns):
        new.loc[position::7, name] = None
    return new


def test_what_is_exported_gives_our_probabilities(scarf: OfACell, new: pd.DataFrame) -> None:
    with torch.no_grad():
        found = Voters(scarf.model).eval()(torch.from_numpy(scarf.model.values(new)))
    np.testing.assert_allclose(found, scarf.model.predict_proba(new), atol=1e-6)
    given = inputs(scarf.model, new)
    assert (given["colour"].shape, given["colour"][3:4].tolist(), given["height"].dtype) == ((40, 1), [[""]], "float64")


@pytest.mark.slow  # exports models
@pytest.mark.parametrize("chosen", [*names("network"), *BESIDE])
def test_it_gives_our_probabilities(chosen: str, train_on: TrainOn, new: pd.DataFrame, tmp_path: Path) -> None:
    model = train_on(*BESIDE.get(chosen, (f"network={chosen}",))).model
    label, probabilities = run_elsewhere(model, new, tmp_path / "elsewhere")
    expected = model.predict_proba(new)
    assert np.ptp(expected[:, 0]) > 1e-3, "rows differ"
    np.testing.assert_allclose(probabilities, expected, atol=1e-5)
    assert label.tolist() == model.predict(new).tolist()


@pytest.mark.slow  # exports the model
def test_encoders_alone_give_our_embeddings(rows: pd.DataFrame, tmp_path: Path) -> None:
    X = rows[["height", "colour"]]
    fitted = ScarfTransformer(device="cpu", n_trials=2, options=OF_ENCODERS).fit(X)
    (embeddings,) = run_elsewhere(fitted.model_, X, tmp_path / "elsewhere")
    np.testing.assert_allclose(embeddings, fitted.transform(X), atol=1e-5)


@pytest.mark.slow  # exports the model
def test_what_is_no_category_counts_as_missing_in_the_file_too(scarf: OfACell, tmp_path: Path) -> None:
    onnx, onnxruntime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    scarf.model.to_onnx(tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    given = inputs(scarf.model, scarf.rows.head(3))

    def probabilities(colour: str) -> Any:
        return session.run(["probabilities"], given | {"colour": np.full((3, 1), colour, dtype=object)})[0]

    np.testing.assert_array_equal(probabilities("mauve"), probabilities(""))
    expected = scarf.model.predict_proba(scarf.rows.head(3).assign(colour=None))
    np.testing.assert_allclose(probabilities("mauve"), expected, atol=1e-5)
    assert (probabilities("red") != probabilities("blue")).any()
    described = {each.key: each.value for each in onnx.load(tmp_path / "m.onnx").metadata_props}
    assert described["classes"] == '["no", "yes"]'
    with pytest.raises(UsageError, match=r"no/m\.onnx cannot be written: No such file or directory\."):
        scarf.model.to_onnx(tmp_path / "no" / "m.onnx")


def test_columns_of_one_name_are_told_apart(scarf: OfACell) -> None:
    described = replace(scarf.model.description, columns=(Column("a"), Column("a"), Column("a 2"), Column("label")))
    model = Model(described, scarf.model.preprocessing, scarf.model.weights)
    assert module._names(model) == ["a", "a 2", "a 2 2", "label 2"]


def test_a_torch_that_is_too_old_and_a_missing_extra_are_refused_in_a_sentence(
    scarf: OfACell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(torch.onnx, "export", lambda model, args: None)  # as in torch 2.4
        with pytest.raises(UsageError, match=r"^ONNX export needs torch 2\.5 or newer, and this is torch "):
            scarf.model.to_onnx(tmp_path / "m.onnx")
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(UsageError, match=r"needs the package onnxscript: pip install 'onnx<"):
        scarf.model.to_onnx(tmp_path / "m.onnx")
