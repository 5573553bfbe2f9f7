"""Names of runs, and the folders that loggers replace."""

from pathlib import Path

import pytest

from scarf_lightning.loggers import write_views
from scarf_lightning.loggers.places import LONGEST_NAME, remove_own, shortened
from scarf_lightning.options.run_settings import LoggerSettings, WandbSettings
from scarf_lightning.results import load_cell
from tests.loggers.made_up import view_of


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
@pytest.mark.parametrize("place", [".", "results", "..", "elsewhere", "link", "backups"])
def test_a_logger_that_writes_beside_records_removes_none(
    results: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = view_of(results)
    monkeypatch.chdir(results.parent)
    Path("link").symlink_to(results.name)
    save_dir = results.name if place == "results" else place
    # A copy of the record, and a file of the index, have the name of the folder that a logger replaces.
    for other in (Path("backups") / "copy" / view.id, results / "index" / view.id):
        other.parent.mkdir(parents=True, exist_ok=True)
        if other.parent.name == "copy":
            other.mkdir()
            (other / "cell.json").write_bytes((results / view.id / "cell.json").read_bytes())
            (other / "metrics.csv").write_text("theirs")
    before, copy = contents(results / view.id), contents(Path("backups") / "copy")

    section = {"_target_": "pytorch_lightning.loggers.CSVLogger", "save_dir": save_dir}
    for _ in range(2):
        assert write_views(view, results, LoggerSettings(others={"mine": section})) == []

    assert contents(results / view.id) == before
    assert contents(Path("backups") / "copy") == copy
    assert len(load_cell(view.id, results).trials) == len(view.trials)
    written = [path.parent for path in Path(save_dir).glob(f"wdbc_defaults/{view.id}/*")]
    assert written


def test_folders_with_other_files_links_and_folders_in_them_stay(tmp_path: Path) -> None:
    tmp_path = tmp_path / "logs"
    for name in ("ours", "mixed", "nested", "empty", "linked"):
        (tmp_path / name).mkdir(parents=True)
        if name != "empty":
            (tmp_path / name / "metrics.csv").touch()
    (tmp_path / "mixed" / "notes.txt").touch()
    (tmp_path / "nested" / "more").mkdir()
    (tmp_path / "linked" / "hparams.yaml").symlink_to("metrics.csv")
    (tmp_path / "link").symlink_to("ours")
    (tmp_path / "file").touch()
    remove_own(tmp_path.iterdir(), "metrics.csv", "hparams.yaml")
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"mixed", "nested", "empty", "linked", "link", "file"}


def test_a_long_name_ends_with_the_fingerprint() -> None:
    id = "0123456789abcdef"
    assert shortened("a" * LONGEST_NAME, id) == "a" * LONGEST_NAME
    cut = shortened("customers_of_the_north_" * 8, id)
    assert len(cut) == LONGEST_NAME == 128
    assert cut.startswith("customers_of_the_north_customers")
    assert cut.endswith(f" {id}")


def test_the_variable_of_wandb_turns_its_runs_off(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = LoggerSettings(wandb=WandbSettings(write=True))
    assert settings.views == ["wandb"]
    monkeypatch.setenv("WANDB_MODE", "disabled")
    assert settings.views == []
