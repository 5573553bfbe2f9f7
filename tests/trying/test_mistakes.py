"""Mistakes in parts of a user's own are never silent, and never a traceback."""

from pathlib import Path

import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.trying import check_module
from tests.trying.mistakes import AGAIN, ALONE, MISTAKES, corruption

LATE = (AGAIN, ALONE, "other numbers in ", "m.Bad ")
"""Words on what is found once a part has trained several times; two of these are tried by the fast tests."""
FAST = ("torch's own draws", "a mean over trials")


def cases() -> list[object]:
    found = []
    for name, (_, words) in MISTAKES.items():
        is_late = (words in LATE or words.startswith("Note: ")) and name not in FAST
        found.append(pytest.param(name, marks=pytest.mark.slow if is_late else ()))
    return found


@pytest.mark.parametrize("mistake", cases())
def test_a_mistake_is_one_sentence(mistake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, words = MISTAKES[mistake]
    (tmp_path / "m.py").write_text(source, encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    [verdict] = check_module("m")

    print(verdict)
    assert words in str(verdict)
    assert (verdict.fault is None) == words.startswith("Note: ")
    assert "Traceback" not in str(verdict)


@pytest.mark.parametrize("n_modules", [1, 2])
def test_two_parts_of_one_name_are_refused(n_modules: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = corruption("x * 2")
    other = source.replace("class Bad", "class Worse")
    (tmp_path / "m.py").write_text(
        f"{source}\n\n{other}" if n_modules == 1 else f"import n\n\n{source}", encoding="utf-8"
    )
    (tmp_path / "n.py").write_text(other, encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    with pytest.raises(UsageError, match=r"^bad is the name of two parts, [mn]\.\w+ and [mn]\.\w+; give one of them"):
        check_module("m")
