"""`ScarfRegressor`: numbers in, numbers out, saved and exported."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scarf_lightning import load_model
from scarf_lightning.cli.scarf import run
from scarf_lightning.errors import UsageError
from scarf_lightning.estimators.onnx import inputs
from tests.estimators.small import N, small, table

X, _ = table()
NUMBERS = np.asarray(1000 + 50 * X["a"] + 20 * (X["c"] == "u"))


@pytest.fixture(scope="module")
def fitted() -> Any:
    return small(is_regressor=True, n_trials=2).fit(X, NUMBERS)


def test_predictions_are_in_the_unit_of_y_and_alike_after_saving_and_on_the_command_line(
    fitted: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    predicted = fitted.predict(X)
    assert predicted.shape == (N,)
    assert 900 < predicted.mean() < 1100
    assert {"rmse", "mae", "r2", "spearman"} <= set(fitted.trials_)
    assert "accuracy" not in fitted.trials_
    fitted.save(tmp_path / "model")
    model = load_model(tmp_path / "model")
    assert np.array_equal(model.predict(X), predicted)
    with pytest.raises(UsageError, match="has no classes, and so no probabilities"):
        model.predict_proba(X)
    X.head(7).to_csv(tmp_path / "new.csv", index=False)
    assert run(["predict", str(tmp_path / "model"), str(tmp_path / "new.csv")]) == 0
    written = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert list(written.columns) == ["number"]
    np.testing.assert_allclose(written["number"], fitted.predict(X.head(7)), rtol=1e-9)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"method": "label_smoothing"}, r"^method=label_smoothing does not go with dataset\.target_kind=number: it "),
        ({"metric": "auroc"}, r"^metric=auroc does not measure numbers. Their metrics are: rmse, mae, "),
    ],
)
def test_what_is_for_classes_is_refused(parameters: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        small(is_regressor=True, **parameters).fit(X, NUMBERS)


def test_weights_of_rows() -> None:
    plain, equal, unequal = (
        small(is_regressor=True).fit(X, NUMBERS, sample_weight=weights).predict(X)
        for weights in (None, np.full(N, 3.0), np.arange(float(N)))
    )
    assert np.array_equal(plain, equal)
    assert not np.array_equal(plain, unequal)


@pytest.mark.slow  # exports the model
def test_onnx_gives_the_numbers(fitted: Any, tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime", reason="runs ONNX files")
    rows = X.head(9).copy()
    rows.loc[0, "a"], rows.loc[1, "c"] = np.nan, None
    fitted.model_.to_onnx(tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    (found, *_) = session.run(None, inputs(fitted.model_, rows))
    np.testing.assert_allclose(np.ravel(found), fitted.predict(rows), rtol=1e-5)
