"""Fixtures that tests of sweeps share."""

from pathlib import Path

import pytest


@pytest.fixture
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The test's own folder, which is the working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
