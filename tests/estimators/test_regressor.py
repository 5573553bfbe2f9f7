"""`ScarfRegressor`: numbers in, numbers out, saved and exported; and weights of rows for both estimators."""

import io
from pathlib import Path

import numpy as np
import onnxruntime
import pandas as pd
import pytest

from scarf_lightning import ScarfClassifier, ScarfRegressor, load_model
from scarf_lightning.cli.predict import main
from scarf_lightning.errors import UsageError
from scarf_lightning.estimators.onnx import inputs

FAST = {"pretrain": "none", "n_trials": 2, "options": {"finetune.max_epochs": 3, "finetune.min_steps": 0}}


@pytest.fixture(scope="module", name="X")
def rows() -> pd.DataFrame:
    random = np.random.default_rng(0)
    return pd.DataFrame({"size": random.normal(size=60), "colour": random.choice(["red", "blue"], 60)})


@pytest.fixture(scope="module")
def y(X: pd.DataFrame) -> np.ndarray:
    return np.asarray(1000 + 50 * X["size"] + 20 * (X["colour"] == "red"))


@pytest.fixture(scope="module")
def fitted(X: pd.DataFrame, y: np.ndarray) -> ScarfRegressor:
    return ScarfRegressor(**FAST).fit(X, y)


def test_predictions_are_in_the_unit_of_y(fitted: ScarfRegressor, X: pd.DataFrame, y: np.ndarray) -> None:
    predicted = fitted.predict(X)

    assert predicted.shape == (60,)
    assert 900 < predicted.mean() < 1100
    assert {"rmse", "mae", "r2", "spearman"} <= set(fitted.trials_)
    assert "accuracy" not in fitted.trials_


def test_a_saved_model_predicts_alike(fitted: ScarfRegressor, X: pd.DataFrame, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    model = load_model(tmp_path / "model")

    assert np.array_equal(model.predict(X), fitted.predict(X))
    with pytest.raises(UsageError, match="has no classes, and so no probabilities"):
        model.predict_proba(X)


def test_what_is_for_classes_is_refused(X: pd.DataFrame, y: np.ndarray) -> None:
    with pytest.raises(UsageError, match=r"^method=label_smoothing does not go with dataset\.target_kind=number: it "):
        ScarfRegressor(**FAST | {"method": "label_smoothing"}).fit(X, y)
    with pytest.raises(UsageError, match=r"^metric=auroc does not measure numbers; their metrics are: rmse, mae, "):
        ScarfRegressor(**FAST, metric="auroc").fit(X, y)


@pytest.mark.parametrize("estimator", [ScarfRegressor, ScarfClassifier])
def test_weights_of_rows(estimator: type, X: pd.DataFrame, y: np.ndarray) -> None:
    labels = y if estimator is ScarfRegressor else (y > 1000).astype(int)
    answer = "predict" if estimator is ScarfRegressor else "predict_proba"
    plain, equal, unequal = (
        getattr(estimator(**FAST).fit(X, labels, sample_weight=weights), answer)(X)
        for weights in (None, np.full(60, 3.0), np.arange(60.0))
    )

    assert np.array_equal(plain, equal)
    assert not np.array_equal(plain, unequal)
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        estimator(**FAST).fit(X, labels, sample_weight=-np.ones(60))


def test_the_command_line_predicts_numbers(
    fitted: ScarfRegressor, X: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fitted.save(tmp_path / "model")
    X.head(7).to_csv(tmp_path / "new.csv", index=False)

    assert main([str(tmp_path / "model"), str(tmp_path / "new.csv")]) == 0

    written = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert list(written.columns) == ["number"]
    np.testing.assert_allclose(written["number"], fitted.predict(X.head(7)), rtol=1e-9)


def test_onnx_gives_the_numbers(fitted: ScarfRegressor, X: pd.DataFrame, tmp_path: Path) -> None:
    rows = X.head(9).copy()
    rows.loc[0, "size"], rows.loc[1, "colour"] = np.nan, None
    fitted.model_.to_onnx(tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    (found, *_) = session.run(None, inputs(fitted.model_, rows))

    np.testing.assert_allclose(np.ravel(found), fitted.predict(rows), rtol=1e-5)
