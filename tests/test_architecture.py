"""Heavy libraries are imported where they are needed alone. `make check` holds which room may import which."""

import subprocess
import sys

import pytest

from tests.composing import ROOT

HEAVY = {"torch", "pytorch_lightning", "lightning_fabric", "openml", "sklearn", "pandas", "matplotlib", "wandb"}
BEFORE_TRAINING = [
    "scarf_lightning", "scarf_lightning.options", "scarf_lightning.results", "scarf_lightning.loggers",
    "scarf_lightning.sweeping.expand", "scarf_lightning.sweeping.run", "scarf_lightning.cli.show",
    "scarf_lightning.data.sources", "hydra_plugins.scarf_sweeper.sweeper",
]  # fmt: skip
PARTS = [f"scarf_lightning.{room}" for room in ("corruption", "losses", "networks", "pretexts", "methods")]


def imported_in_a_process(code: str) -> set[str]:
    """All modules that a new process has imported after this code, those of other libraries among them."""
    command = [sys.executable, "-c", f"import sys; {code}; print(*sys.modules)"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return set(ran.stdout.split())


@pytest.mark.parametrize(
    ("modules", "needed"),
    [
        (BEFORE_TRAINING, set()),
        pytest.param(
            ["scarf_lightning.verdicts", "scarf_lightning.reporting.making"],
            {"pandas", "matplotlib"},
            marks=pytest.mark.slow,
        ),
        pytest.param(PARTS, {"torch"}, marks=pytest.mark.slow),
        pytest.param(["scarf_lightning.estimators.estimators"], {"torch", "sklearn", "pandas"}, marks=pytest.mark.slow),
    ],
    ids=["before training", "report", "parts", "estimators"],
)
def test_nothing_heavy_is_imported_before_it_is_needed(modules: list[str], needed: set[str]) -> None:
    imported = imported_in_a_process(f"import {', '.join(modules)}")

    assert set(modules) <= imported
    assert imported & HEAVY <= needed
