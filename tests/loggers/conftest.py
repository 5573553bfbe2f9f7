"""A home folder of its own, so that no test sees a user's W&B settings or leaves files there."""

from collections.abc import Iterator
from pathlib import Path

import pytest

SETTINGS = ("SERVICE", "API_KEY", "MODE", "DIR", "SWEEP_ID")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path / "matplotlib"))
    for name in ("WANDB_DATA_DIR", "WANDB_CACHE_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "client"))
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "*")
    for name in ("NETRC", "XDG_CONFIG_HOME", *(f"WANDB_{setting}" for setting in SETTINGS)):
        monkeypatch.delenv(name, raising=False)
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"
