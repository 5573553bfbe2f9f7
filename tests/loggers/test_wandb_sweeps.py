"""The searches in `sweeps/wandb/`, without W&B's server: what its agent would start is composed, and run once."""

from pathlib import Path
from typing import Any

import pytest

from scarf_lightning.results import load
from tests.composing import SWEEPS, cells_of, yaml
from tests.loggers.wandb_files import runs
from tests.processes import TINY, train

FILES = sorted((SWEEPS / "wandb").glob("*.yaml"))
KEYS = {"name", "project", "program", "method", "metric", "parameters", "command"}


def suggestions(search: dict[str, Any]) -> list[dict[str, Any]]:
    """The corners of the space: for each parameter its first value, and for each its last."""
    return [
        {
            name: of[key] if key in of else of.get("value", of.get("values", [None])[position])
            for name, of in search["parameters"].items()
        }
        for key, position in (("min", 0), ("max", -1))
    ]


def command(search: dict[str, Any], suggestion: dict[str, Any]) -> list[str]:
    """What W&B's agent starts for these values, by its own rules."""
    from wandb.sdk.launch.sweeps.utils import create_sweep_command, create_sweep_command_args  # takes two seconds

    args = create_sweep_command_args({"args": {name: {"value": value} for name, value in suggestion.items()}})
    macros = {"env": ["/usr/bin/env"], "interpreter": ["python"], "program": [search["program"]]} | args
    words = []
    for word in create_sweep_command(search["command"]):
        words += macros[word[2:-1]] if word.startswith("${") else [word]
    return words


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_what_an_agent_starts_reports_to_the_agents_run(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = yaml(file)
    assert (set(search), search["name"], search["program"]) == (KEYS, file.stem, "train.py")
    monkeypatch.setenv("WANDB_SWEEP_ID", "search")
    monkeypatch.setenv("WANDB_RUN_ID", "chosen-by-the-agent")
    *start, program = command(search, suggestions(search)[0])[:3]
    assert (start, program) == (["/usr/bin/env", "python"], "train.py")
    overrides = [*command(search, suggestions(search)[0])[3:], *TINY]
    for suggestion in suggestions(search):
        (cell,) = cells_of(*command(search, suggestion)[3:])
        assert (cell.config.logger.views, cell.config.logger.wandb.mode) == (["wandb"], "online")
        assert cell.config.corruption["rate"] == suggestion["corruption.rate"]
    ran = train(
        *(o.replace("mode=online", "mode=offline").replace("trials=5", "trials=2") for o in overrides), cwd=tmp_path
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    results = tmp_path / "results" / "search_corruption"
    (run,) = runs(results)
    assert run.id == "chosen-by-the-agent"
    assert 0 <= run.summary[search["metric"]["name"]] <= 1
    assert load(results)["corruption.rate"].unique().tolist() == [search["parameters"]["corruption.rate"]["min"]]
