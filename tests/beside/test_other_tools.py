"""Our core in one environment with another tool: one process imports both and fits both.

`make beside` makes an environment for each tool, and runs the case of this tool in it.
"""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.estimators.small import small, table

pytestmark = pytest.mark.beside


def of_autogluon(X: pd.DataFrame, y: "pd.Series[int]") -> Any:
    """Classes of the better one of a linear model and boosted trees."""
    from autogluon.tabular import TabularPredictor

    models: dict[str, dict[str, Any]] = {"LR": {}, "GBM": {"num_boost_round": 20}}
    predictor = TabularPredictor(label="label", path=str(Path.cwd() / "autogluon"), verbosity=0)
    predictor.fit(X.assign(label=y), hyperparameters=models, num_cpus=1, num_gpus=0, fit_weighted_ensemble=False)
    assert len(predictor.model_names()) == 2
    return predictor.predict(X)


def of_pytorch_tabular(X: pd.DataFrame, y: "pd.Series[int]") -> Any:
    """Classes of an MLP with embeddings after some epochs."""
    from pytorch_tabular import TabularModel
    from pytorch_tabular.config import DataConfig, OptimizerConfig, TrainerConfig
    from pytorch_tabular.models import CategoryEmbeddingModelConfig

    model = TabularModel(
        data_config=DataConfig(target=["label"], continuous_cols=["a", "b"], categorical_cols=["c"]),
        model_config=CategoryEmbeddingModelConfig(task="classification", layers="16", learning_rate=0.05, seed=0),
        optimizer_config=OptimizerConfig(),
        trainer_config=TrainerConfig(
            max_epochs=5, batch_size=16, accelerator="cpu", checkpoints=None, early_stopping=None, load_best=False
        ),
        suppress_lightning_logger=True,
    )
    model.fit(train=X.assign(label=y))
    return model.predict(X)["label_prediction"]


def of_tabpfn(X: pd.DataFrame, y: "pd.Series[int]") -> Any:
    """Classes of the version whose weights need no licence; None with random weights, where there are no others."""
    from tabpfn import TabPFNClassifier
    from tabpfn.constants import ModelVersion

    numbers = X[["a", "b"]]
    model = TabPFNClassifier.create_default_for_version(ModelVersion.V2, device="cpu", n_estimators=1)
    try:
        return model.fit(numbers, y).predict(numbers)
    except RuntimeError as error:
        assert str(error).startswith("Failed to download model to")  # noqa: PT017
    weights = random_weights(Path.cwd() / "tabpfn.ckpt")
    probabilities = (
        TabPFNClassifier(model_path=weights, device="cpu", n_estimators=1).fit(numbers, y).predict_proba(numbers)
    )
    assert probabilities.shape == (len(y), 2)
    assert probabilities.sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert len(np.unique(probabilities[:, 0])) > len(y) / 2, "the rows went through the network"
    return None


def random_weights(path: Path) -> Path:
    """A small network of TabPFN whose weights are drawn at random, as a checkpoint that it opens."""
    import torch
    from tabpfn.architectures import tabpfn_v2

    config = tabpfn_v2.TabPFNV2Config(max_num_classes=10, num_buckets=100, nlayers=2, emsize=32, nhead=2)
    network = tabpfn_v2.get_architecture(config)
    generator = torch.Generator().manual_seed(0)
    # Its own start has zeros at the end of each layer, with which all rows are predicted alike.
    weights = {
        name: 0.2 * torch.randn(value.shape, generator=generator) for name, value in network.state_dict().items()
    }
    torch.save({"state_dict": weights, "config": asdict(config), "architecture_name": "tabpfn_v2"}, path)
    return path


TOOLS: dict[str, Callable[[pd.DataFrame, "pd.Series[int]"], Any]] = {
    "autogluon": of_autogluon,
    "pytorch-tabular": of_pytorch_tabular,
    "tabpfn": of_tabpfn,
}


@pytest.mark.parametrize("tool", TOOLS)
def test_both_are_fitted_in_one_process(tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tool learns, and whatever it sets for the whole process leaves our numbers as they are."""
    monkeypatch.chdir(tmp_path)
    X, y = table()
    ours = small(pretrain="scarf").fit(X, y).predict_proba(X)

    theirs = TOOLS[tool](X, y)

    again = small(pretrain="scarf").fit(X, y).predict_proba(X)
    assert (again == ours).all()
    # Random weights have learned nothing.
    if theirs is not None:
        assert (pd.Series(theirs).to_numpy() == y.to_numpy()).mean() > 0.8
