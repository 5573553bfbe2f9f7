"""The commit of the package's source, where there is one."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from scarf_lightning.results import commit


@pytest.fixture(autouse=True)
def _asked_anew() -> Iterator[None]:
    commit.source_commit.cache_clear()
    yield
    commit.source_commit.cache_clear()


def git(*arguments: str, folder: Path) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    ran = subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return ran.stdout.strip()


def test_a_checkout_has_one_and_says_when_a_file_differs_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "commit.py"
    source.write_text("\n")
    git("init", "--quiet", folder=tmp_path)
    git("add", ".", folder=tmp_path)
    git("commit", "--quiet", "--message", "first", folder=tmp_path)
    monkeypatch.setattr(commit, "__file__", str(source))

    assert commit.source_commit() == git("rev-parse", "--short", "HEAD", folder=tmp_path)

    commit.source_commit.cache_clear()
    source.write_text("changed\n")
    assert commit.source_commit() == git("rev-parse", "--short", "HEAD", folder=tmp_path) + "-dirty"


def test_without_a_checkout_or_without_git_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit, "__file__", str(tmp_path / "commit.py"))
    assert commit.source_commit() is None

    commit.source_commit.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit.source_commit() is None
