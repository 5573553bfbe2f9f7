"""`ScarfRegressor`: numbers in, numbers out, saved and exported."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scarf_lightning import load_model
from scarf_lightning.errors import UsageError
from tests.estimators.small import N, small, table

X, _ = table()
NUMBERS = np.asarray(1000 + 50 * X["a"] + 20 * (X["c"] == "u"))


@pytest.fixture(scope="module")
def fitted() -> Any:
    return small(is_regressor=True, n_trials=2).fit(X, NUMBERS)


def test_predictions_are_in_the_unit_of_y_and_alike_after_saving(fitted: Any, tmp_path: Path) -> None:
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
