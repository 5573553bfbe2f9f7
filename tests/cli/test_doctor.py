"""`scarf doctor`: what it says of a store, a home and a machine, and what it keeps to itself."""

import os
from pathlib import Path

import pytest

from scarf_lightning.cli.doctor import findings
from scarf_lightning.cli.scarf import scarf
from scarf_lightning.version import __version__
from tests.cells import finish, results_in, some_cell
from tests.processes import here


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A folder with a cell of three trials."""
    folders = results_in(tmp_path)
    finish(some_cell("a", trials=3, paths=folders))
    return Path(folders.results)


def found(results: Path) -> dict[str, str]:
    return dict(findings(results))


def test_versions_machine_and_store_have_a_line_each(results: Path, tmp_path: Path) -> None:
    ran = here(scarf, "doctor", f"results={results}", cwd=tmp_path)

    lines = dict(line.split(maxsplit=1) for line in ran.stdout.splitlines())
    assert (ran.returncode, ran.stderr) == (0, "")
    assert lines["package"].startswith(f"scarf-lightning {__version__}")
    assert lines["results"].endswith("; 1 cell with 3 trials")
    assert "torch " in lines["packages"]
    assert " usable" in lines["processor"]


def test_a_damaged_record_is_named_and_the_rest_is_shown(results: Path) -> None:
    (torn, *_) = results.glob("*/stacks/*/trials.json")
    torn.write_bytes(torn.read_bytes()[:-3])

    lines = found(results)

    assert lines["damaged"] == f"{torn.parent}: trials.json is torn"
    assert " with " in lines["results"]


def test_a_folder_that_is_missing_and_a_file_in_its_place_are_lines(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    assert found(tmp_path / "none")["results"] == f"{tmp_path / 'none'} is not there yet"
    assert "is not a folder" in found(tmp_path / "file")["results"]


def test_nothing_secret_is_shown(results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("WANDB_API_KEY", "a-key-of-mine")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")

    shown = here(scarf, "doctor", f"results={results}", cwd=tmp_path).stdout

    assert "a-key-of-mine" not in shown
    assert str(tmp_path) not in shown
    assert "~/" in shown
    assert "OMP_NUM_THREADS=1" in shown


def test_a_container_and_its_first_process_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getpid", lambda: 1)

    assert found(tmp_path)["container"] == "yes, process 1"


def test_other_arguments_are_refused(tmp_path: Path) -> None:
    ran = here(scarf, "doctor", "seed=1", cwd=tmp_path)

    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "scarf doctor takes no seed=1, and nothing but results=FOLDER.\n"
