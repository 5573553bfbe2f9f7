"""A drawing of a user's own, as the page of parts shows it: taken, and drawn in a report."""

from pathlib import Path

import pytest
import yaml

from scarf_lightning import report, run
from scarf_lightning.trying import check_module
from tests.documentation import QUICK, ROOT

PAGE = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_report_shows_the_drawing_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    section = PAGE.split("## A drawing\n")[1].split("\n## ")[0]
    code, sweep = section.split("```python\n")[1].split("```")[0], section.split("```yaml\n")[1].split("```")[0]
    (tmp_path / "spread.py").write_text(code, encoding="utf-8")
    (tmp_path / "spread.yaml").write_text(sweep, encoding="utf-8")
    [verdict] = check_module("spread")
    assert str(verdict).startswith("draw: spread: taken;")
    assert verdict.seen == "blocks: Table"
    asked = ["plugins=[spread]", "sweeps=spread.yaml", *QUICK]
    run(asked, "workers=1")

    written = report(asked)

    page = written.index.read_text(encoding="utf-8")
    assert yaml.safe_load(sweep)["report"][0]["title"] in page
    table = (written.index.parent / "tables" / "01-spread.md").read_text(encoding="utf-8")
    assert "| cell | spread |" in table
    assert {"no pre-training", "SCARF"} <= {
        line.split("|")[1].strip() for line in table.splitlines()[2:] if "|" in line
    }
