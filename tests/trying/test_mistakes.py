"""Mistakes in parts of a user's own are never silent, and never a traceback."""

import re
from pathlib import Path

import pytest

from scarf_lightning.trying import check_module
from tests.trying.mistakes import MISTAKES


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_sentence_with_class_line_and_cure(
    mistake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, fault, cure = MISTAKES[mistake]
    (tmp_path / "m.py").write_text(source, encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    [verdict] = check_module("m")

    said = " ".join([verdict.fault or "", *verdict.notes])
    print(said)
    assert fault in said
    assert cure in said
    assert re.search(r"m\.\w+(\.\w+)? \(m\.py, line \d+\)", said)
    assert "Traceback" not in said
