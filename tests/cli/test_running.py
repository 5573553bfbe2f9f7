"""What a sweep file of the user's names is checked before anything trains."""

from pathlib import Path

import pytest

from scarf_lightning.cli import commands, running
from scarf_lightning.cli.running import check_sweep_file
from scarf_lightning.errors import UsageError
from scarf_lightning.sweeping.folders import read_sweep
from tests.processes import here
from tests.test_architecture import imported_in_a_process

RIGHT = "report: [{draw: win_matrix, title: t, compare: pretrain}]"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(more: str) -> None:
    Path("mine.yaml").write_text(f"title: T\ncells: [{{pretrain: [none, scarf]}}]\n{more}\n", encoding="utf-8")
    check_sweep_file(read_sweep("./mine.yaml", []))


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ("report: [{draw: win_matrix, title: t}]", r"mine\.yaml, drawing 1 of report: compare is missing\."),
        (
            RIGHT.replace("pretrain", "prtrain"),
            r"mine\.yaml, drawing 1 of report: prtrain is no column of results\. .*",
        ),
    ],
)
def test_an_unknown_name_is_refused_by_the_name_of_the_file(more: str, sentence: str, folder: Path) -> None:
    with pytest.raises(UsageError, match=f"^{sentence}$"):
        check(more)


def test_known_names_are_taken(folder: Path) -> None:
    check(RIGHT)


def test_without_matplotlib_drawings_are_not_looked_at(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "find_spec", lambda name: None)
    check("report: [{draw: nope}]")


def test_a_plan_is_refused_before_it_is_made(folder: Path) -> None:
    Path("mine.yaml").write_text(
        "title: T\ncells: [{pretrain: none}]\nreport: [{draw: win_matrix}]\n", encoding="utf-8"
    )
    ran = here(commands.train, "sweeps=./mine.yaml", "plan=true", cwd=folder)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "mine.yaml, drawing 1 of report: title is missing." in ran.stderr


@pytest.mark.slow
def test_a_sweep_without_drawings_of_the_users_plans_without_matplotlib(folder: Path) -> None:
    code = (
        "from contextlib import redirect_stdout; from scarf_lightning.cli import commands; "
        f"sys.argv[1:] = ['sweeps=quick', 'plan=true', 'paths.results={folder}/results']\n"
        "with redirect_stdout(sys.stderr): status = commands.train()\nassert status == 0"
    )
    imported = imported_in_a_process(code)
    assert "scarf_lightning.sweeping.cell" in imported
    assert not {"matplotlib", "scarf_lightning.trying"} & imported
