"""What the README and the pages of the site show is run; links lead somewhere; generated files are up to date."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import scarf_lightning
from scarf_lightning.methods.rivals import Rival
from scarf_lightning.options.axes import parts
from scarf_lightning.results import load
from tests.composing import cells_of
from tests.documentation import BLOCK, LANGUAGES, MADE, PAGES, QUICK, ROOT, blocks_of
from tests.test_own_table import own_table

TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
OWN = ("--", "plugins=")
"""What begins an argument of a command that trains no cell of ours."""


COUNTED = {"pretrain": "pre-trainings", "corruption": "corruptions", "network": "networks"}
"""What the README counts, beside methods."""
PARTS = ("pretrain", "corruption", "selection", "loss", "network", "method")


def commands(*pages: Path) -> list[list[str]]:
    """The arguments of each command of `train.py` on these pages."""
    blocks = [block for page in pages for block in blocks_of(page) if block.language == "console"]
    found = dict.fromkeys(tuple(words) for block in blocks for words in block.commands)
    return [list(words[2:]) for words in found if words[:2] == ("python", "train.py")]


def of_ours() -> list[Any]:
    """Those that train cells of ours. The README's are quick to look at, but for sweeps, which have many cells."""
    ours = [a for a in commands(*PAGES) if not any(argument.startswith(OWN) for argument in a)]
    quick = [a for a in commands(ROOT / "README.md") if not any(argument.startswith("sweeps=") for argument in a)]
    return [pytest.param(a, marks=() if a in quick else pytest.mark.slow, id=" ".join(a)) for a in ours]


@pytest.mark.parametrize("arguments", of_ours())
def test_commands_ask_for_cells_that_exist(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "paper").symlink_to(ROOT / "paper")  # whose sweeps are named from the repository's folder
    if any(argument.endswith("customers.csv") for argument in arguments):  # which methods serve its target?
        own_table().to_csv("customers.csv", index=False)
    assert cells_of(*(argument for argument in arguments if argument != "-m"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_say_their_language_tables_are_even_and_links_lead_somewhere(page: Path) -> None:
    """The site drops cells that are too many, and takes a line that follows a table without a gap for a row."""
    text = page.read_text(encoding="utf-8")
    fences = re.findall(r"^```(\S*)", text, flags=re.M)
    assert set(fences[::2]) <= {*LANGUAGES, "text", "yaml", "{toctree}", "{eval-rst}", "{include}"}
    assert set(fences[1::2]) <= {""}

    for table in re.findall(r"(?:^\|.*\n)(?:^.+\n)+", re.sub(BLOCK, "", text, flags=re.M | re.S), flags=re.M):
        heading, *rows = (len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines())
        assert set(rows) == {heading}, table[:300]

    links = re.findall(r"\]\(([^)#:]+)\)", text) + re.findall(r'src="([^":]+)"', text)
    made = {"gallery": "notebooks", "paper": "paper/pages", "study": "study"}  # what docs/conf.py copies in

    def place(link: str) -> Path:
        if page.parent.name == "docs" and link in MADE:
            return ROOT / "docs" / "pages.py"
        folder, _, file = link.partition("/")
        return ROOT / made[folder] / file if page.parent.name == "docs" and folder in made else page.parent / link

    assert [link for link in links if not place(link).exists()] == []


def runnable() -> list[Path]:
    return [page for page in PAGES if any(not block.not_run for block in blocks_of(page))]


@pytest.mark.slow
@pytest.mark.parametrize("page", runnable(), ids=lambda page: page.name)
def test_every_block_runs(page: Path, tmp_path: Path) -> None:
    table = own_table().rename(columns={"plan": "bundle", "churned": "bought"})
    table["household"] = np.arange(len(table)) // 3
    table["plan"] = np.random.default_rng(0).choice(["basic", "plus"], len(table))
    table.to_csv(tmp_path / "customers.csv", index=False)
    labelled = table[table["bought"].notna()].drop(columns="plan")
    labelled.to_csv(tmp_path / "train.csv", index=False)
    labelled.drop(columns="bought").head(20).to_csv(tmp_path / "new.csv", index=False)
    kept = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg", "WANDB_MODE": "offline"}

    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.documentation", str(page)],
        cwd=tmp_path,
        env=os.environ | kept,
        capture_output=True,
        text=True,
    )

    assert ran.returncode == 0, ran.stdout + ran.stderr


MODULES = sorted(set(re.findall(r"```python\n# (my_\w+)\.py\n", TEXT)))


def train_with(module: str, folder: Path) -> pd.DataFrame:
    """The trials of a page's code in a file, trained by the command beside it. Pages that repeat it agree."""
    (source,) = set(re.findall(rf"```python\n# {module}\.py\n(.*?)```", TEXT, flags=re.DOTALL))
    (folder / f"{module}.py").write_text(source)
    arguments, *_ = [a for a in commands(*PAGES) if f"plugins=[{module}]" in a]
    command = [*arguments, *QUICK, f"paths.results={folder / 'results'}"]

    ran = subprocess.run([sys.executable, str(ROOT / "train.py"), *command], cwd=folder, capture_output=True, text=True)

    assert ran.returncode == 0, ran.stderr
    return load(folder / "results")


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_a_part_of_your_own_trains_on_the_pages_table(module: str, tmp_path: Path) -> None:
    """`tests/trying` tries it on categories, gaps and any target."""
    trials = train_with(module, tmp_path)
    assert len(trials) == 2
    assert np.isfinite(trials.accuracy).all()


def test_files_of_conf_say_more_than_a_name_and_parts_of_ours_name_their_paper() -> None:
    for path in (ROOT / "conf").rglob("*.yaml"):
        assert path.read_text(encoding="utf-8").splitlines() != [f"name: {path.stem}"], "a file says more than its name"
    for axis in PARTS:
        without = [name for name, cls in parts(axis).items() if cls.__module__.startswith("scarf") and not cls.paper]
        assert without == [], f"{axis}: a part of ours names its paper"


@pytest.mark.parametrize("name", ["house.svg", *runpy.run_path(str(ROOT / "docs" / "diagrams.py"))["DIAGRAMS"]])
def test_each_diagram_is_that_of_the_code(name: str) -> None:
    code = runpy.run_path(str(ROOT / "docs" / "diagrams.py"))
    if name == "house.svg":
        pytest.importorskip("grimp", reason="finds the imports")
    diagram = code["house"]() if name == "house.svg" else dict(code["DIAGRAMS"])[name]
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == diagram.svg(), "run `make docs`"
    for box in diagram.boxes.values():
        width, _ = code["BOX"]
        assert max(map(len, box.lines)) * code["LETTER"] < width


def test_pages_have_all_parts_all_public_names_and_the_version() -> None:
    readme, api, changelog, citation = (
        (ROOT / name).read_text(encoding="utf-8")
        for name in ("README.md", "docs/api.md", "CHANGELOG.md", "CITATION.cff")
    )
    pages = runpy.run_path(str(ROOT / "docs" / "pages.py"))
    assert "| `corruption.rate` | `0.6` | share of the features to replace" in pages["options_page"]()
    listed = set(re.findall(r"^\| `(\w+)` \|", pages["methods_page"](), flags=re.M))
    assert {name for axis in PARTS for name in parts(axis)} <= listed

    n_rivals = sum(issubclass(cls, Rival) for cls in parts("method").values())
    counts = [f"{len(parts(axis))} {name}" for axis, name in COUNTED.items()]
    assert f"{', '.join(counts)}, {len(parts('method')) - n_rivals} methods and {n_rivals} rivals" in readme

    functions_and_classes = re.findall(r"auto(?:function|class|exception):: scarf_lightning\.(\w+)$", api, flags=re.M)
    assert set(functions_and_classes) == set(scarf_lightning.__all__)

    version = scarf_lightning.__version__
    assert f"version: {version}\n" in citation
    (latest, *_) = re.findall(r"^## (.*)$", changelog, flags=re.M)
    assert latest == "Unreleased" if version.endswith(".dev0") else latest.startswith(version)


def test_the_next_release_has_at_most_forty_lines_and_each_heading_once() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    (_, unreleased, *_) = re.split(r"^## .*\n", changelog, flags=re.M)
    assert 0 < len(unreleased.strip().splitlines()) <= 40
    headings = re.findall(r"^### .*", unreleased, flags=re.M)
    assert len(headings) == len(set(headings))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, built as `make docs` builds it: any warning fails."""
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-W", "ignore", "-m", "sphinx", "-n", "-W", "--keep-going", "-q", "-b", "html"]
    ran = subprocess.run([*build, str(ROOT / "docs"), str(folder)], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    return folder


@pytest.mark.slow
def test_the_site_has_every_page_and_every_picture(site: Path) -> None:
    pages = [page.stem for page in (ROOT / "docs").glob("*.md")]
    pages += [f"gallery/{notebook.stem}" for notebook in (ROOT / "notebooks").glob("*.ipynb")]
    for folder in ("study", "study/fourth_edition"):
        pages += [f"{folder}/{page.stem}" for page in (ROOT / folder).glob("*.md")]

    assert [name for name in pages if not (site / f"{name}.html").is_file()] == []
    for page in site.rglob("*.html"):
        pictures = re.findall(r'<img[^>]* src="([^":]+)"', page.read_text(encoding="utf-8"))
        assert [picture for picture in pictures if not (page.parent / picture).is_file()] == [], page
    assert "Bring your own table" in (site / "gallery" / "index.html").read_text(encoding="utf-8")
