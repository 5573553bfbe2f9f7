"""Whatever a user adds is one file, as a plugin: it is seen everywhere, and finished cells stay finished."""

import re
from pathlib import Path

import pytest

import scarf_lightning
from scarf_lightning.cli.commands import report, train
from scarf_lightning.loggers import cell_view
from tests.composing import ROOT
from tests.processes import here

TINY = (
    "max_epochs=1", "trials=2", "network.pretrain_head.width=8", "network.head.width=8", "trainer=cpu",
)  # fmt: skip
METRIC = """
from scarf_lightning.metrics import metric


@metric("rate of errors", higher_is_better=False)
def error_rate(probabilities, labels):
    return float((probabilities.argmax(axis=1) != labels).mean())
"""
SWEEP = """
title: My sweep
trials: 2
cells:
  - {pretrain: [none, scarf]}
"""
ADDED = {
    "my_parts": ("corruption", "median", ""),
    "my_loss": ("loss", "margin", "margin"),
    "my_network": ("network", "gated", "encoder.width"),
    "my_pretext": ("pretrain", "rank", "margin"),
    "my_method": ("method", "noisy", "sigma"),
}
"""The parts of docs/plugins.md, by module: the axis, the part and an option of it. `test_documentation` trains them."""


@pytest.mark.slow
def test_each_is_one_file_that_is_seen_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
    for name, source in re.findall(r"```python\n# (my_\w+)\.py\n(.*?)```", page, flags=re.DOTALL):
        (tmp_path / f"{name}.py").write_text(source)
    files = {"my_metric.py": METRIC, "mine.yaml": SWEEP}
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    modules = [*ADDED, "my_metric"]
    plugins = f"plugins=[{','.join(modules)}]"

    finished = scarf_lightning.run("sweeps=mine.yaml", *TINY)

    # Finished cells stay finished; trained again they have the new metric.
    still = scarf_lightning.plan("sweeps=mine.yaml", plugins, *TINY)
    assert set(still["state"]) == {"finished"}
    again = scarf_lightning.run("sweeps=mine.yaml", plugins, "force=true", *TINY)
    assert set(again["fingerprint"]) == set(finished["fingerprint"])
    assert again["error_rate"].to_numpy() == pytest.approx(1 - again["accuracy"].to_numpy())

    listed = here(train, plugins, "--help", cwd=tmp_path)
    for axis, name, option in ADDED.values():
        assert re.search(rf"^{axis}: .*\b{name}\b", listed.stdout, re.MULTILINE), listed.stderr
        shown = here(train, plugins, f"{axis}={name}", "--cfg", "job", cwd=tmp_path)
        assert f"{option.rpartition('.')[2]}: " in shown.stdout or not option

        planned = scarf_lightning.plan(plugins, f"{axis}={name}", *TINY)
        assert list(planned["state"]) == ["waiting"]
        assert list(planned[axis]) == [name]

    shown = here(train, plugins, "pretrain=none,rank", "regime=semi25", *TINY, cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "rank" in shown.stdout
    assert "rate of errors" in here(train, plugins, "corruption=median", *TINY, cwd=tmp_path).stdout

    reported = here(report, plugins, "results=results", "metric=error_rate", "out=page", cwd=tmp_path)
    assert reported.returncode == 0, reported.stderr
    means = again.groupby("fingerprint")["error_rate"].mean()
    views = [cell_view(cell, tmp_path / "results", group="g") for cell in means.index]
    assert [view.summary["error_rate"] for view in views] == pytest.approx(means.tolist())
    assert "pretrain=rank" in (tmp_path / "page" / "index.html").read_text(encoding="utf-8")
