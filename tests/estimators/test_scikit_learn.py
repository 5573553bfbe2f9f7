"""scikit-learn's own checks of estimators, and its tools at work on ours."""

import re
from typing import Any

import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from scarf_lightning import ScarfClassifier, ScarfRegressor, ScarfTransformer
from tests.composing import ROOT
from tests.estimators.small import OF_ENCODERS, table

SMALL: dict[str, Any] = {
    "network.encoder.width": 32,
    "network.encoder.depth": 2,
    "network.pretrain_head.width": 16,
    "pretrain.max_epochs": 2,
    "trainer.precision": "64-true",  # the checks compare predictions of one row and of many to the seventh digit
}
OF_A_TARGET = SMALL | {
    "network.head.width": 16,
    "finetune.batch_size": 16,
    "finetune.max_epochs": 12,
    "finetune.learning_rate": 0.01,
    "finetune.patience": None,
}
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": "repeated rows are split and drawn otherwise than weighted ones",
}
"""The checks that fail, and why they may. docs/models.md names them."""

X, y = table()


def test_the_page_on_models_names_the_checks_that_fail() -> None:
    page = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    (sentence,) = [part for part in page.split("\n\n") if "scikit-learn's own checks" in part]
    assert set(re.findall(r"check_\w+", sentence)) == set(EXPECTED)


@parametrize_with_checks(
    [
        ScarfTransformer(device="cpu", options=SMALL),
        ScarfClassifier(device="cpu", n_trials=1, options=OF_A_TARGET),
        ScarfRegressor(device="cpu", n_trials=1, options=OF_A_TARGET),
    ],
    expected_failed_checks=lambda estimator: {} if isinstance(estimator, ScarfTransformer) else EXPECTED,
)
@pytest.mark.filterwarnings("ignore:.*:UserWarning")
@pytest.mark.slow
def test_scikit_learns_own_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def test_embeddings_feed_a_pipeline_and_have_names() -> None:
    transformer = ScarfTransformer(device="cpu", n_trials=2, options=OF_ENCODERS)
    pipeline = make_pipeline(transformer, StandardScaler(), LogisticRegression())
    assert pipeline.fit(X, y).score(X, y) > 0.7
    frame = clone(pipeline[0]).set_output(transform="pandas").fit_transform(X)
    assert list(frame.columns) == [f"embedding_{trial}_{n}" for trial in (0, 1) for n in range(8)]
    assert (frame.iloc[:, :8].to_numpy() != frame.iloc[:, 8:].to_numpy()).any()
