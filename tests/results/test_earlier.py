"""Results outlive a release: stores and models that earlier commits wrote are read, and marked."""

import shutil
import warnings
from pathlib import Path

import pandas as pd
import pytest

from scarf_lightning.cli import commands
from scarf_lightning.cli.report_command import report
from scarf_lightning.results import (
    SCIENCE_VERSION,
    described_cells,
    load,
    load_cell,
    load_predictions,
    load_trials,
    newest_versions,
    read_cell,
)
from scarf_lightning.results.earlier import options_of_schema_2
from scarf_lightning.sweeping.cell import survey
from scarf_lightning.sweeping.plan import other_versions_notes
from tests.composing import cells_of
from tests.processes import here
from tests.results.sealing import replace_file
from tests.results.stores import SCHEMA_2, SCHEMA_3, SCIENCE, unpacked

KEY = ["dataset", "pretrain", "method", "fingerprint", "trial"]
NETWORK = ("network.encoder.width=16", "network.encoder.depth=1", "network.head.width=16", "finetune.max_epochs=2")
PRETRAINED = ("pretrain=none,scarf", "corruption.rate=0.5", "network.pretrain_head.width=16", "pretrain.max_epochs=2")
ON_PEOPLE = ("dataset=csv", "dataset.path=people.csv", "dataset.target=left", "pretrain=none")


# Of each schema one is quick.
@pytest.fixture(scope="module", params=[SCHEMA_2, SCHEMA_3[0], pytest.param(SCHEMA_3[1], marks=pytest.mark.slow)])
def commit(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def folder(commit: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a commit left, which is only read."""
    return unpacked(commit, tmp_path_factory.mktemp(commit))


@pytest.fixture
def of_schema_2(tmp_path: Path) -> Path:
    """What the oldest one left, which may be changed."""
    return unpacked(SCHEMA_2, tmp_path)


def read(results: Path) -> pd.DataFrame:
    """What `load` gives, whether it warns of the science or not."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "[0-9]+ cells were trained by version 0.1.0")
        return load(results)


def test_rows_are_those_that_the_version_itself_read(commit: str, folder: Path) -> None:
    expected = pd.read_csv(folder / "expected.csv", dtype={"fingerprint": str})

    frame = read(folder / "results").sort_values(KEY)

    values = frame[list(expected)].reset_index(drop=True)
    pd.testing.assert_frame_equal(values, expected, check_dtype=False)
    assert set(frame["science"]) == {SCIENCE[commit]}


def test_a_cell_is_described_as_a_later_version_describes_the_same_cell(of_schema_2: Path, tmp_path: Path) -> None:
    """All options and labels, also those that the earlier identity leaves out at their defaults."""
    later = unpacked(SCHEMA_3[0], tmp_path / "later")

    def by_what_it_is(results: Path) -> dict[tuple[str, ...], tuple[dict[str, object], dict[str, str]]]:
        found = {}
        for _, stored in described_cells(results):
            cell = stored.description
            if cell["dataset"] == "wdbc":
                found[cell["options"]["pretrain"], cell["options"]["tune"]] = cell["options"], cell["labels"]
        return found

    earlier = by_what_it_is(of_schema_2 / "results")
    assert len(earlier) == 3
    assert earlier == by_what_it_is(later / "results")


def test_options_that_this_version_lacks_are_shown_where_they_were_set() -> None:
    finetune = {"learning_rate": 0.001, "patience_rule": "reached", "drop_last": False, "monitor": None}

    options = options_of_schema_2({"science": 1, "data": "a", "finetune": finetune, "views": None, "seed": 3})

    assert (options["finetune.patience_rule"], options["seed"]) == ("reached", 3)
    assert not {"finetune.drop_last", "finetune.monitor", "views", "science", "data", "network"} & set(options)
    assert (options["split"], options["finetune.gradient_clip"]) == ("random", "null")


@pytest.mark.slow
def test_curves_tries_arrays_and_predictions_are_read(folder: Path) -> None:
    for place, stored in described_cells(folder / "results"):
        assert stored.damaged == {}
        cell, trials = load_cell(place.name, place.parent), load_trials(place.name, place.parent)
        predictions = load_predictions(place.name, place.parent)
        options = cell.description["options"]
        assert len(cell.trials) == len(trials) == predictions["trial"].nunique() > 0
        assert set(cell.curves["phase"]) == {
            phase
            for phase, is_there in (
                ("pretrain", options["pretrain"] == "scarf"),
                ("finetune", options["method"] == "control"),
            )
            if is_there
        }
        assert cell.config["dataset"]["source"] in ("wdbc", "csv")


def who_trained_them(commit: str) -> str:
    return f"{5 if commit == SCHEMA_2 else 6} cells were trained by version 0.1.0 (science {SCIENCE[commit]})"


def test_it_is_said_who_trained_them(commit: str, folder: Path) -> None:
    _, said = newest_versions(list(described_cells(folder / "results")))

    assert any(who_trained_them(commit) in sentence for sentence in said) == (SCIENCE[commit] != SCIENCE_VERSION)


@pytest.mark.slow
def test_a_report_of_them_is_made(commit: str, folder: Path, tmp_path: Path) -> None:
    page = report(results=folder / "results", out=tmp_path / "page").index.read_text()

    assert (who_trained_them(commit) in page) == (SCIENCE[commit] != SCIENCE_VERSION)


def test_two_versions_in_one_folder_are_never_two_datasets(of_schema_2: Path, tmp_path: Path) -> None:
    later = unpacked(SCHEMA_3[0], tmp_path / "later") / "results"
    shutil.copytree(of_schema_2 / "results", later, dirs_exist_ok=True)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        frame = load(later)

    assert str(caught[0].message) == (
        "5 cells on people and wdbc are left out, trained by version 0.1.0 (science 1), since others are of a later "
        'science; load(versions="all") has all.'
    )
    assert len(caught) == 1 + (SCIENCE_VERSION != 2)
    assert set(frame["science"]) == {2}
    everything = load(later, versions="all")
    assert everything.groupby(["dataset", "science"])["version"].unique().map(list).to_dict() == {
        ("people", 1): [1],
        ("people", 2): [2, 1],
        ("wdbc", 1): [1],
        ("wdbc", 2): [2],
    }


OLD_PRACTICAL = [
    "fit_on=train", "finetune.monitor=loss", "finetune.min_steps=100", "finetune.patience=10",
    "finetune.weight_decay=0.01", "split.copies=apart",
]  # fmt: skip
"""The practical recipe of version 0.1, which was the default for a file."""


@pytest.mark.parametrize("asked", [PRETRAINED, (*ON_PEOPLE, "method=control")], ids=["wdbc", "people"])
@pytest.mark.slow
def test_a_plan_counts_what_another_version_trained(
    commit: str, folder: Path, asked: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    options = ["recipe=paper"]
    if commit != SCHEMA_2 and asked != PRETRAINED:
        options += OLD_PRACTICAL

    said = other_versions_notes(survey(cells_of("trials=2", "trainer=cpu", *options, *asked, *NETWORK)))

    cells, them = ("2 cells were", "them") if asked == PRETRAINED else ("1 cell was", "it")
    counted = (
        f"{cells} trained by version 0.1.0 (science {SCIENCE[commit]}); this version trains {them} anew; report and "
        f"load still read {them}."
    )
    assert said == [counted] * (SCIENCE[commit] != SCIENCE_VERSION)
    assert other_versions_notes(survey(cells_of("pretrain=scarf", "corruption=mean", "trials=2"))) == []


@pytest.mark.slow
def test_a_run_says_the_same_and_trains(of_schema_2: Path) -> None:
    planned, ran = (
        here(commands.train, "trials=2", *ON_PEOPLE, "recipe=paper", "method=logistic", *more, cwd=of_schema_2)
        for more in (["plan=true"], [])
    )

    said = (
        "1 cell was trained by version 0.1.0 (science 1); this version trains it anew; report and load still read it."
    )
    for process in (planned, ran):
        assert process.returncode == 0, process.stderr
        assert said in process.stderr.splitlines()
        assert "left out" not in process.stderr, "a note of an earlier version is no damage"
    assert len(load(of_schema_2 / "results", versions="all").query("method == 'logistic'")["fingerprint"].unique()) == 2


def test_a_module_that_never_was_is_not_found() -> None:
    with pytest.raises(ModuleNotFoundError, match="nothing"):
        import scarf_lightning.estimators.nothing  # type: ignore[import-not-found]  # noqa: F401


def test_a_configuration_that_is_none_is_damage(of_schema_2: Path) -> None:
    cell = next((of_schema_2 / "results").glob("*/cell.json")).parent
    for content in (b"", b"[]", b"a: [", b"{a: {b: &x [*x]}}", b"[" * 600, b"\xff"):
        replace_file(cell, "cell.json", "config.yaml", content)

        stored = read_cell(cell)

        assert (stored.description, list(stored.damaged)) == (None, [cell / "cell.json"]), content


def test_git_may_change_line_ends(of_schema_2: Path) -> None:
    results = of_schema_2 / "results"
    before = read(results)
    texts = [*results.rglob("*.json"), *results.rglob("*.yaml")]
    assert texts
    for path in texts:
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))

    pd.testing.assert_frame_equal(read(results), before)
