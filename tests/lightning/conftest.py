"""What all tests of plain Lightning share."""

import pytest

from scarf_lightning.lightning import options
from tests.composing import composer_once


@pytest.fixture(autouse=True)
def quick_composing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "Composer", composer_once)
