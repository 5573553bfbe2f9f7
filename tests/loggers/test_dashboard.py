"""The workspace's definition; no server is asked for it."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from scarf_lightning.report import dashboard
from scarf_lightning.sweeping.sweep_file import read_sweep
from tests.composing import SWEEPS, composed


@pytest.fixture
def definition(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Of the sweep `quick`, with a report of two figures."""
    for name in ("win_matrix_full", "box_plot"):
        (tmp_path / f"{name}.png").touch()
    assert dashboard.run(["quick", f"report={tmp_path}"]) == 0
    section: dict[str, Any] = json.loads(capsys.readouterr().out)["section"]
    return section


def panels(definition: dict[str, Any], section: str) -> list[dict[str, Any]]:
    (found,) = (each for each in definition["panelBankConfig"]["sections"] if each["name"] == section)
    return [panel["config"] for panel in found["panels"]]


def test_it_shows_win_matrix_accuracies_curves_trials_and_figures(definition: dict[str, Any]) -> None:
    sections = [section["name"] for section in definition["panelBankConfig"]["sections"]]

    assert sections == ["Who beats whom", "Accuracy by axis", "Curves", "Trials", "Figures"]
    assert [panel["mediaKeys"] for panel in panels(definition, "Who beats whom")] == [["figures/win_matrix_full"]]
    assert [panel["mediaKeys"] for panel in panels(definition, "Figures")] == [["figures/box_plot"]]
    assert [panel["groupBy"] for panel in panels(definition, "Accuracy by axis")] == [
        "regime.value.name", "pretrain.value.name", "method.value.name", "corruption.value.rate",
    ]  # fmt: skip
    assert "trials_table" in json.dumps(panels(definition, "Trials"))


def test_runs_are_compared_by_any_metric(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dashboard.run(["quick", f"report={tmp_path}", "metric=auroc"]) == 0

    section = json.loads(capsys.readouterr().out)["section"]
    assert {tuple(panel["metrics"]) for panel in panels(section, "AUROC by axis")} == {("auroc",)}


def test_it_shows_the_sweeps_runs_alone(definition: dict[str, Any]) -> None:
    (runs,) = definition["runSets"]

    conditions = re.findall(r'"key": \{[^}]*"name": "(\w+)"\}, "op": "(\S+)", "value": "(\w+)"', json.dumps(runs))
    assert conditions == [("group", "=", "quick")]


def test_the_curves_are_those_that_the_logger_writes(definition: dict[str, Any]) -> None:
    for panel in panels(definition, "Curves"):
        phase = panel["xAxis"].partition("/")[0]
        assert panel["xAxis"] == f"{phase}/epoch"
        (metric,) = panel["metrics"]
        assert re.fullmatch(rf"{phase}/(train_loss|validation_loss|validation_error)_mean", metric)


@pytest.mark.parametrize("file", sorted(SWEEPS.glob("*.yaml")), ids=lambda file: file.stem)
def test_every_sweep_has_one_whose_axes_are_in_the_configuration(file: Path) -> None:
    sweep, config = read_sweep(file.stem, SWEEPS), composed("method=cotrain")

    made = dashboard.workspace(sweep, [], entity="someone", project="p")

    assert (made.name, made.entity, made.project) == (sweep.title, "someone", "p")
    for axis, key in dashboard.axes_of(sweep).items():
        group, _, option = key.partition(".")
        assert group in config, axis
        assert option.partition(".")[0] in {*config[group], "weight", "align", "uniform", "sigma"}, axis


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "Name one sweep."),
        (["quick", "colour=red"], "colour is not an option; the options are: entity, project, report, metric."),
        (["slow"], "sweeps=slow: there is no file"),
        (["quick", "entity=me"], "Nobody is logged in; run `wandb login`, or leave entity out"),
    ],
)
def test_bad_input_is_answered_in_a_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dashboard.run(arguments) == 2
    assert capsys.readouterr().err.startswith(sentence)


def test_without_wandbs_package_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "wandb_workspaces", None)

    assert dashboard.run(["quick"]) == 2
    assert capsys.readouterr().err == "A workspace needs W&B's package: install the extra `workspaces`.\n"
