"""Offline runs of W&B, read back from their files."""

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Row = dict[str, Any]


@dataclass
class Run:
    """What the file of a run holds; ``history`` is a record a logged step, without W&B's own keys."""

    id: str = ""
    name: str = ""
    group: str = ""
    config: Row = field(default_factory=dict)
    notes: str = ""
    history: list[Row] = field(default_factory=list)
    summary: Row = field(default_factory=dict)
    exit_code: int | None = None

    def curve(self, key: str) -> list[Any]:
        return [step[key] for step in self.history if key in step]


def runs(results: Path) -> list[Run]:
    """The runs in a results folder, in the order they were begun."""
    return [_read(folder) for folder in sorted((results / "wandb").glob("offline-run-*"))]


def table(results: Path, run: Run, key: str) -> Row:
    """Columns and data of a table that was logged."""
    (path,) = run.curve(f"{key}.path")
    (file,) = (results / "wandb").glob(f"offline-run-*-{run.id}/files/{path}")
    content: Row = json.loads(file.read_text())
    return content


def _read(folder: Path) -> Run:
    command = [sys.executable, "-m", "wandb", "leet", "inspect", "--json", str(folder)]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    run = Run()
    for record in map(json.loads, ran.stdout.splitlines()):
        content = record.get(record["type"])
        if record["type"] == "run":
            run.id, run.name, run.group = content["run_id"], content["display_name"], content["run_group"]
            run.notes = content.get("notes", run.notes)
            run.config |= content.get("config", {}).get("update", {})
        elif record["type"] == "config":
            run.config |= content.get("update", {})
        elif record["type"] == "history":
            run.history.append({key: v for key, v in content["item"].items() if not key.startswith("_")})
        elif record["type"] == "summary":
            run.summary |= {key: v for key, v in content.get("update", {}).items() if not key.startswith("_")}
        elif record["type"] == "exit":
            run.exit_code = content.get("exit_code", 0)
    run.config.pop("_wandb", None)
    return run
