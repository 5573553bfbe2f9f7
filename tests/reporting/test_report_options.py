"""Options of a report."""

import re

import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.options.checking import checked
from scarf_lightning.reporting.report_options import ReportOptions


def test_the_corrected_test_is_the_default_and_all_can_be_chosen() -> None:
    usual = ReportOptions(metric=None, rope=0.01, test="corrected", alpha=0.05)
    assert checked(ReportOptions, {}) == ReportOptions() == usual
    assert usual.in_words == "corrected resampled t-test, p < 0.05"
    assert "finds up to 27 % of equal competitors different" in ReportOptions(test="welch").in_words

    given = {"metric": "auroc", "rope": "0.005", "test": "corrected", "alpha": "0.01"}
    chosen = checked(ReportOptions, given)
    assert chosen == ReportOptions("auroc", rope=0.005, test="corrected", alpha=0.01)
    assert chosen.measure.label == "AUROC"
    assert chosen.in_words == "corrected resampled t-test, p < 0.01"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"test": "student"}, r"test=student is unknown\. Its values are: welch, corrected\."),
        ({"alpha": "5"}, r"alpha=5\.0: it takes a number in \(0, 1\)\."),
        ({"rope": "-1"}, r"rope=-1\.0: it takes a number in \[0, inf\)\."),
        ({"metric": "gini"}, r"metric=gini is unknown. The metrics are: accuracy, .*\."),
        ({"tset": "welch"}, r"tset is not an option. Did you mean test\? The options are: metric, rope, .*\."),
    ],
)
def test_bad_options_are_refused_in_a_sentence(given: dict[str, str], sentence: str) -> None:
    with pytest.raises(UsageError) as refused:
        checked(ReportOptions, given)
    assert re.fullmatch(sentence, str(refused.value))
