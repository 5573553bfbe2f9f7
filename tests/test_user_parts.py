"""A metric, an option of an axis and a figure of a user's, a file each: in the table, in W&B, in the report."""

from pathlib import Path

import pytest
from PIL import Image

from scarf_lightning.results import load
from tests.loggers.test_training_logs import runs
from tests.processes import TINY, train
from tests.test_report import report

METRIC = """
from scarf_lightning.metrics import Metric, register


def error_rate(probabilities, labels):
    return float((probabilities.argmax(axis=1) != labels).mean())


register(Metric("error_rate", "rate of errors", False, (0.0, 1.0), error_rate))
"""
CORRUPTION = """
from dataclasses import dataclass
from typing import ClassVar

from scarf_lightning.corruption import SelectiveCorruption


@dataclass
class Halved(SelectiveCorruption):
    name: ClassVar[str] = "halved"
    factor: float = 0.5

    def replacement(self, x, source, random):
        return x * self.factor
"""
FIGURE = """
from dataclasses import dataclass

from scarf_lightning.report.blocks import Picture
from scarf_lightning.report.drawings import Drawing
from scarf_lightning.report.style import new_figure


@dataclass(frozen=True, kw_only=True)
class Dots(Drawing):
    name = "dots"
    colour: str = "black"

    def blocks(self, results, options, name):
        figure, (axes,) = new_figure(3, 2)
        cells = self.cells(results)
        values = results.trials.loc[results.trials["cell"].isin(cells.index), options.measure.name]
        axes.plot(values.to_numpy(), "o", color=self.colour)
        return [Picture(name, figure, alt=f"{len(values)} dots", caption="Dots.")]
"""
SWEEP = """
title: My sweep
trials: 2
cells: [{corruption: [halved, mean]}]
report:
  - {draw: dots, title: My dots, colour: red}
  - {draw: win_matrix, title: My matrix, compare: corruption}
"""


@pytest.mark.slow
def test_each_is_one_file_and_is_seen_everywhere(tmp_path: Path) -> None:
    files = {"my_metric.py": METRIC, "my_corruption.py": CORRUPTION, "my_figure.py": FIGURE, "mine.yaml": SWEEP}
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    trained, drawn = "plugins=[my_metric,my_corruption]", "plugins=[my_metric,my_corruption,my_figure]"

    alone = train(trained, "corruption=halved", "corruption.factor=0.25", "trials=2", *TINY, cwd=tmp_path)
    again = train(trained, "corruption=halved", "corruption.factor=0.25", "trials=2", *TINY, cwd=tmp_path)
    sweep = train(trained, "sweeps=mine.yaml", "logger=wandb", *TINY, cwd=tmp_path)
    reported = report(drawn, "sweeps=mine.yaml", *TINY, "metric=error_rate", "out=page", cwd=tmp_path)

    for ran in (alone, again, sweep, reported):
        assert ran.returncode == 0, ran.stderr
    trials = load(tmp_path / "results")
    assert trials["error_rate"].to_numpy() == pytest.approx(1 - trials["accuracy"].to_numpy())
    assert set(trials["corruption.factor"].dropna()) == {0.25, 0.5}
    for ran in (alone, again):  # also where nothing is trained, and no part of the plugin is needed
        assert any("rate of errors" in line for line in ran.stdout.splitlines())
    halved, _ = sorted(runs(tmp_path / "results"), key=lambda run: "corruption=halved" not in run.tags)
    mean = trials.loc[(trials["corruption"] == "halved") & (trials["corruption.factor"] == 0.5), "error_rate"].mean()
    assert halved.summary["error_rate"] == pytest.approx(mean)
    html = (tmp_path / "page" / "index.html").read_text(encoding="utf-8")
    assert "My dots" in html
    assert "My matrix" in html
    assert "Not drawn" not in html
    assert "rate of errors" in reported.stdout
    (dots,) = (tmp_path / "page" / "figures").glob("*dots.png")
    assert any(red > 200 > green for red, green, *_ in Image.open(dots).convert("RGB").get_flattened_data())
    assert list((tmp_path / "page" / "tables").glob("*win_matrix*.csv"))
