"""Only pandas differs, or only numpy: every number that is learned stays as it is, bit by bit."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.beside.index import uv_pip
from tests.composing import ROOT

TRAINED = """
import json, sys, warnings

warnings.simplefilter("ignore")
from importlib.metadata import version

import numpy as np
import pandas as pd
import torch

import scarf_lightning
from tests.estimators.small import OF_NETWORKS, small, table

torch.set_num_threads(1)
X, y = table()
X["gaps"] = [None if row % 7 == 0 else row % 13 / 3 for row in range(len(X))]
X.assign(label=y.map({0: "no", 1: "yes"}), day=pd.date_range("2020-01-01", periods=len(X))).to_csv("t.csv", index=False)
text = ["dataset.path=t.csv", "dataset.target=label", "trials=2"]
small_networks = [f"{name}={value}" for name, value in OF_NETWORKS.items()]


def digits(numbers):
    return np.asarray(numbers, dtype=float).tobytes().hex()


def scores(*overrides):
    return digits(scarf_lightning.run([*text, *overrides])[["accuracy", "log_loss", "auroc"]])


classifier = small(pretrain="scarf", n_trials=2).fit(X, y)
found = {
    "classifier": digits(classifier.predict_proba(X)),
    "embedding": digits(classifier.transform(X)),
    "regressor": digits(small(is_regressor=True).fit(X[["b", "c", "gaps"]], X["a"]).predict(X[["b", "c", "gaps"]])),
    "networks": scores("pretrain=none,scarf", "pretrain.max_epochs=2", *small_networks),
    "rivals": scores("method=logistic,random_forest,hist_gradient_boosting,xgboost"),
}
with open(sys.argv[1], "w") as file:
    json.dump({"numbers": found, "versions": {name: version(name) for name in ("numpy", "pandas")}}, file)
"""

pytestmark = pytest.mark.beside


def trained(folder: Path, packages: str = "") -> Any:
    """Numbers and versions of a process that finds these packages before those of the environment."""
    folder.mkdir()
    path = os.pathsep.join(filter(None, [packages, str(ROOT)]))
    environment = os.environ | {"PYTHONPATH": path, "CUDA_VISIBLE_DEVICES": ""}
    subprocess.run([sys.executable, "-c", TRAINED, "found.json"], cwd=folder, env=environment, check=True)
    return json.loads((folder / "found.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return trained(tmp_path_factory.mktemp("ours") / "cells")


@pytest.mark.parametrize(("package", "besides"), [("pandas", ["pytz"]), ("numpy", [])])
def test_the_oldest_version_of_one_package_changes_no_number(
    package: str, besides: list[str], ours: Any, tmp_path: Path
) -> None:
    (oldest,) = re.findall(rf'"{package}>=([\d.]+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = str(tmp_path / "packages")
    where = ("--python", sys.executable, "--target", packages, "--no-deps")
    uv_pip("install", *where, f"{package}=={oldest}", *besides)

    older = trained(tmp_path / "cells", packages)

    assert older["versions"] == ours["versions"] | {package: oldest}
    assert older["numbers"] == ours["numbers"]
