"""Tables that Python packages ship, as files and dataset options, beside those of the study.

    python -m study.packaged

Copies them from the packages of tests/corpus/packages.txt, which `make corpus` installs into build/corpus, to
build/study, writes a dataset option for each beside them, and prints them as a table. The files stay as they are, so
our own readers read them::

    python train.py --config-dir build/study dataset=hdma
"""

import shutil
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from omegaconf import OmegaConf

from scarf_lightning.cli.commands import answered
from scarf_lightning.data.sources import FileSource
from scarf_lightning.errors import UsageError

ROOT = Path(__file__).parents[1]
CORPUS = ROOT / "build/corpus"
FOLDER = ROOT / "build/study"
MIT, BSD = "MIT", "BSD"
ARCHIVE = "pydataset/resources.tar.gz"
"""The tables of R's packages, as pydataset ships them."""


class CopiedTable(Protocol):
    """A table of a package whose copy a cell reads."""

    @property
    def name(self) -> str: ...
    @property
    def copy(self) -> Path: ...
    @property
    def target(self) -> str: ...
    @property
    def target_kind(self) -> str: ...
    @property
    def drop(self) -> tuple[str, ...]: ...


@dataclass(frozen=True)
class PackagedTable:
    """A table of a package.

    Attributes:
        package: that ships it, with its version in tests/corpus/packages.txt.
        file: its path among the installed packages, or in pydataset's archive.
        drop: columns that say the target, or number the rows.
        licence: of the Python package.
    """

    name: str
    package: str
    file: str
    target: str
    target_kind: str = "classes"
    drop: tuple[str, ...] = ()
    licence: str = MIT

    @property
    def copy(self) -> Path:
        return FOLDER / f"{self.name}{''.join(Path(self.file).suffixes)}"

    @property
    def source(self) -> FileSource:
        """The copy, as a cell reads it."""
        return FileSource(self.copy, self.target, drop=self.drop, target_kind=self.target_kind)


def of_r(name: str, file: str, target: str, target_kind: str = "classes", drop: tuple[str, ...] = ()) -> PackagedTable:
    """A table of one of R's packages."""
    return PackagedTable(name, "pydataset", f"resources/rdata/csv/{file}.csv", target, target_kind, drop)


def of_islp(
    name: str, file: str, target: str, target_kind: str = "classes", drop: tuple[str, ...] = ()
) -> PackagedTable:
    """A table of *An Introduction to Statistical Learning with Python*."""
    return PackagedTable(name, "ISLP", f"ISLP/data/{file}.csv", target, target_kind, drop, BSD)


TABLES = (
    of_r("hdma", "Ecdat/Hdma", "deny"),
    of_r("chile", "car/Chile", "vote"),
    of_islp("caravan", "Caravan", "Purchase"),
    of_islp("orange-juice", "OJ", "Purchase"),
    of_r("benefits", "Ecdat/Benefits", "ui"),
    of_r("health-insurance", "Ecdat/DoctorAUS", "insurance"),
    of_r("bfi", "psych/bfi", "gender"),
    of_r("mroz", "Ecdat/Mroz", "work", drop=("hoursw", "wagew", "hearnw")),
    of_r("train-choice", "Ecdat/Train", "choice", drop=("id", "choiceid")),
    of_r("mexico", "Zelig/mexico", "vote88"),
    of_r("flchain", "survival/flchain", "death", drop=("futime", "chapter")),
    PackagedTable(
        "actg175", "lifelines", "lifelines/datasets/ACTG175.csv", "cens", drop=("pidnum", "days", "r", "cd496")
    ),
    PackagedTable("gbsg2", "lifelines", "lifelines/datasets/gbsg2.csv", "cens", drop=("time",)),
    PackagedTable("seattle-weather", "vega-datasets", "vega_datasets/_data/seattle-weather.csv", "weather"),
    of_islp("bikes", "Bikeshare", "bikers", "number", ("casual", "registered")),
    of_islp("wage", "Wage", "wage", "number", ("logwage",)),
    of_islp("college", "College", "Grad.Rate", "number"),
    of_r("computers", "Ecdat/Computers", "price", "number"),
    of_r("medical-expenses", "Ecdat/MedExp", "med", "number"),
    of_r("schooling", "Ecdat/Schooling", "lwage76", "number", ("wage76",)),
    of_r("griliches", "Ecdat/Griliches", "lw80", "number"),
    of_r("housing", "Ecdat/Housing", "price", "number"),
    of_r("working-hours", "Ecdat/Workinghours", "hours", "number"),
    of_r("slid", "car/SLID", "wages", "number"),
    of_r("physician-visits", "Ecdat/OFP", "ofp", "number"),
    of_r("household-budget", "Ecdat/BudgetUK", "totexp", "number"),
    of_r("quakes", "datasets/quakes", "stations", "number"),
    PackagedTable(
        "birth-weight",
        "statsmodels",
        "statsmodels/treatment/tests/results/cataneo2.csv",
        "bweight",
        "number",
        ("lbweight",),
        BSD,
    ),
)


def main(arguments: list[str]) -> None:
    """Copy the tables, write their options and print them.

    Raises:
        UsageError: a package is not installed, or an argument was given.
    """
    if arguments:
        raise UsageError("study.packaged takes no arguments.")
    if not CORPUS.exists():
        raise UsageError("The packages are not installed; `make corpus` installs them into build/corpus.")
    options = FOLDER / "dataset"
    options.mkdir(parents=True, exist_ok=True)
    with tarfile.open(CORPUS / ARCHIVE) as archive:
        for each in TABLES:
            installed = CORPUS / each.file
            if each.package == "pydataset":
                each.copy.write_bytes(extracted(archive, each.file))
            else:
                shutil.copy(installed, each.copy)
            (options / f"{each.name}.yaml").write_text(option_of(each))
    sys.stdout.write(as_markdown())


def extracted(archive: tarfile.TarFile, file: str) -> bytes:
    """The content of a file of pydataset's archive."""
    content = archive.extractfile(file)
    assert content is not None
    return content.read()


def option_of(table: CopiedTable) -> str:
    """The file of a dataset option."""
    content: dict[str, Any] = {
        "source": "csv",
        "name": table.name,
        "path": str(table.copy.relative_to(ROOT)),
        "target": table.target,
        "target_kind": table.target_kind,
    }
    if table.drop:
        content["drop"] = list(table.drop)
    text: str = OmegaConf.to_yaml(OmegaConf.create(content))
    return text


def as_markdown() -> str:
    """The tables with their sizes, as our readers read them."""
    lines = ["| table | package | file | target | kind | without | rows | columns | licence |", "| --- " * 9 + "|"]
    for each in TABLES:
        table = each.source.load()
        cells = [
            each.name,
            each.package,
            each.file.removeprefix("resources/rdata/"),
            each.target,
            each.target_kind,
        ]
        cells += [", ".join(each.drop), f"{table.n_labelled:,}", f"{len(table.columns)}", each.licence]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(answered(main))
