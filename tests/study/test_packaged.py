"""Tables of packages: copied as they are, with an option each."""

import io
import tarfile
from pathlib import Path

import pytest
import yaml

from scarf_lightning.errors import UsageError
from study import packaged


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two installed tables, one of them in pydataset's archive."""
    rows = "a,b,y\n" + "".join(f"{row % 7},{row % 5},{'yes' if row % 2 else 'no'}\n" for row in range(40))
    folder = tmp_path / "build/corpus"
    (folder / "pydataset").mkdir(parents=True)
    (folder / "plain.csv").write_text(rows)
    with tarfile.open(folder / packaged.ARCHIVE, "w:gz") as archive:
        entry = tarfile.TarInfo("resources/rdata/csv/in.csv")
        entry.size = len(rows)
        archive.addfile(entry, io.BytesIO(rows.encode()))
    tables = (
        packaged.PackagedTable("plain", "some", "plain.csv", "y", drop=("b",)),
        packaged.of_r("archived", "in", "a", "number"),
    )
    for name, value in {
        "ROOT": tmp_path,
        "CORPUS": folder,
        "FOLDER": tmp_path / "build/study",
        "TABLES": tables,
    }.items():
        monkeypatch.setattr(packaged, name, value)
    return folder


def test_tables_are_copied_as_they_are_with_an_option_each(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packaged.main([])

    made = packaged.FOLDER
    assert (made / "plain.csv").read_bytes() == (corpus / "plain.csv").read_bytes()
    assert (made / "archived.csv").read_bytes() == (corpus / "plain.csv").read_bytes()
    option = yaml.safe_load((made / "dataset/plain.yaml").read_text())
    assert option == {"source": "csv", "name": "plain", "path": "build/study/plain.csv", "target": "y",
                      "target_kind": "classes", "drop": ["b"]}  # fmt: skip
    printed = capsys.readouterr().out.splitlines()
    assert printed[2] == "| plain | some | plain.csv | y | classes | b | 40 | 1 | MIT |"
    assert printed[3] == "| archived | pydataset | csv/in.csv | a | number |  | 40 | 2 | MIT |"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        pytest.param(["tables"], "takes no arguments", id="an argument"),
        pytest.param([], "make corpus", id="packages that are not installed"),
    ],
)
def test_what_cannot_be_done_is_said(
    arguments: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packaged, "CORPUS", tmp_path / "none")
    with pytest.raises(UsageError, match=sentence):
        packaged.main(arguments)
