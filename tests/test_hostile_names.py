"""A table whose names and values are commands to terminals, spreadsheets and browsers: all are shown as they are."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.cli import commands
from tests.processes import TINY_CONTROL, here

FORMULA, SCRIPT, ESCAPE = "=HYPERLINK(1)", "<script>x</script>", "\x1b[2J"


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.slow
def test_they_reach_no_terminal_no_spreadsheet_and_no_page(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    rows = pd.DataFrame({FORMULA + ESCAPE: random.normal(size=60), "b": random.normal(size=60)})
    rows.assign(y=random.choice([FORMULA, SCRIPT + ESCAPE], 60)).to_csv(tmp_path / f"t{ESCAPE}.csv", index=False)
    overrides = ["dataset=csv", f"dataset.path='t{ESCAPE}.csv'", "dataset.target=y", "trials=2"]
    trained = here(commands.train, *overrides, "pretrain=none", *TINY_CONTROL, cwd=tmp_path)
    reported = here(commands.report, "results=results", cwd=tmp_path)

    assert (trained.returncode, reported.returncode) == (0, 0), reported.stderr
    for ran in (trained, reported):
        assert "\x1b" not in ran.stdout + ran.stderr
    files = [*(tmp_path / "reports").rglob("*"), *(tmp_path / "results" / "tables").glob("*")]
    written = {file: file.read_text() for file in files if file.suffix in (".html", ".csv", ".md", ".tex")}
    assert {file.suffix for file in written} == {".html", ".csv", ".tex"}
    for file, content in written.items():
        assert "\x1b" not in content, file
        if file.suffix == ".html":
            assert SCRIPT not in content
        if file.suffix == ".csv":
            entries = pd.read_csv(file, header=None, dtype=str, keep_default_na=False).to_numpy().ravel()
            assert not [entry for entry in entries if entry.startswith("=")], file
