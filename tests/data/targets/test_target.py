"""A kind of target is one file: the one of docs/plugins.md, used as a plugin."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from torch.nn.functional import poisson_nll_loss

import scarf_lightning
from scarf_lightning import ScarfRegressor, load_model
from scarf_lightning.cli import commands
from scarf_lightning.data.sources import FileSource
from scarf_lightning.data.targets import Classes, Number, kind_named
from scarf_lightning.errors import UsageError
from scarf_lightning.options import load_plugins
from tests.composing import ROOT
from tests.processes import here
from tests.results.sealing import reseal

N_ROWS = 300


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the plugin, and a table whose counts have the rate exp(x)."""
    page = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
    (source,) = re.findall(r"```python\n# counts\.py\n(.*?)```", page, flags=re.DOTALL)
    (tmp_path / "counts.py").write_text(source)
    random = np.random.default_rng(0)
    x = random.normal(size=N_ROWS)
    frame = pd.DataFrame({"x": x, "noise": random.normal(size=N_ROWS), "visits": random.poisson(np.exp(x))})
    frame.to_csv(tmp_path / "visits.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


OF_THE_TABLE = ("plugins=[counts]", "dataset=visits.csv", "dataset.target=visits", "dataset.target_kind=count")


@pytest.mark.slow
def test_a_subclass_of_a_kind_trains_with_its_parts_and_is_measured_by_its_metrics(folder: Path) -> None:
    small = ("trials=2", "trainer=cpu", "network.encoder.width=16", "network.encoder.depth=1", "max_epochs=40")
    found = scarf_lightning.run(*OF_THE_TABLE, "method=control,mixup,ridge", *small)

    spread = pd.read_csv(folder / "visits.csv")["visits"].std()
    rmse = found.groupby("method")["rmse"].mean()
    assert (rmse[["control", "mixup"]] < 0.9 * spread).all()
    assert rmse["control"] < rmse["ridge"], "a log link fits exponential rates better than a line"
    assert "accuracy" not in found

    page = scarf_lightning.report("plugins=[counts]", results="results", out="page").index
    assert "RMSE" in page.read_text(encoding="utf-8")
    with pytest.raises(UsageError, match=r"method=label_smoothing does not go with dataset\.target_kind=count"):
        scarf_lightning.run(*OF_THE_TABLE, "method=label_smoothing", *small)


def test_a_subclass_is_among_its_kinds_and_every_kind_among_no_names(folder: Path) -> None:
    load_plugins(["counts"])
    count = kind_named("count")
    assert count.kinds() == ("count", "number")
    for kind, names, is_among in (
        (count, ["number"], True), (count, ["classes", "count"], True), (count, ["classes"], False),
        (Number, ["number", "classes"], True), (Number, ["count"], False), (Classes, ["number", "count"], False),
    ):  # fmt: skip
        assert kind.is_among(names) is is_among
        assert kind.is_among(())
    for kind, has_classes in ((Classes, True), (Number, False), (count, False)):
        assert (kind.can_balance, kind.can_smooth, kind.has_probabilities) == (has_classes,) * 3


def test_the_example_has_the_likelihood_of_poisson_and_refuses_what_is_no_count(folder: Path) -> None:
    load_plugins(["counts"])
    target = kind_named("count")("visits")
    outputs, targets = torch.randn(3, 7, 1), torch.poisson(torch.full((3, 7, 1), 2.0))

    each = poisson_nll_loss(outputs, targets, reduction="none").squeeze(-1)
    weights = torch.rand(3, 7)
    torch.testing.assert_close(target.loss(outputs, targets, None), each.mean(-1))
    torch.testing.assert_close(target.loss(outputs, targets, weights), (each * weights).sum(-1) / weights.sum(-1))

    frame = pd.read_csv(folder / "visits.csv")
    frame.loc[3, "visits"] = -1
    frame.to_csv(folder / "visits.csv", index=False)
    with pytest.raises(UsageError, match="holds a value that is no count"):
        FileSource(folder / "visits.csv", "visits", target_kind="count").load()


@pytest.mark.slow
def test_results_of_a_kind_that_is_not_imported_name_what_lacks(folder: Path) -> None:
    scarf_lightning.run("dataset=visits.csv", "dataset.target=x", "method=constant", "trials=2")
    (record,) = Path("results").glob("*/cell.json")
    content = json.loads(record.read_text(encoding="utf-8"))
    assert content.pop("sha256")
    reseal(record, content | {"target": content["target"] | {"kind": "tree"}})
    ran = here(commands.report, "results=results", cwd=folder)
    assert ran.returncode == 2
    assert "'tree' is no kind of target; a plugin's kind needs plugins=[MODULE]" in ran.stderr


@pytest.mark.slow
def test_a_model_of_such_a_kind_names_its_plugin_and_is_loaded_with_it(folder: Path) -> None:
    options = {"plugins": ["counts"], "dataset.target_kind": "count", "finetune.max_epochs": 1}
    rows = pd.read_csv(folder / "visits.csv").head(60)
    fitted = ScarfRegressor(n_trials=1, pretrain="none", options=options).fit(rows[["x", "noise"]], rows["visits"])
    fitted.save("model")
    with pytest.raises(UsageError, match=r"needs the module counts; allow its import with plugins=\['counts'\]"):
        load_model("model")
    loaded = load_model("model", plugins=["counts"])
    np.testing.assert_array_equal(loaded.predict(rows), fitted.predict(rows[["x", "noise"]]))
