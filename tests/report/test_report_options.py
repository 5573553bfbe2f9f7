import re

import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.report.options import Options, read_options


def test_the_papers_test_is_the_default() -> None:
    assert read_options({}) == Options() == Options(test="welch", adjust=False, alpha=0.05, nemenyi=False)
    assert Options().in_words == "Welch's t-test, p < 0.05"


def test_all_can_be_chosen() -> None:
    chosen = read_options({"test": "corrected", "adjust": "holm", "alpha": "0.01", "nemenyi": "true"})

    assert chosen == Options(test="corrected", adjust=True, alpha=0.01, nemenyi=True)
    assert chosen.in_words == "corrected resampled t-test, p < 0.01 after Holm's correction over datasets"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"test": "student"}, r"test=student is unknown; the options are: welch, paired, corrected\."),
        ({"adjust": "bonferroni"}, r"adjust=bonferroni is unknown; the options are: holm, none\."),
        ({"nemenyi": "1"}, r"nemenyi=1 is unknown; the options are: true, false\."),
        ({"alpha": "small"}, r"alpha=small is not a number; the paper's is 0\.05\."),
        ({"alpha": "5"}, r"alpha=5 must be between 0 and 1; the paper's is 0\.05\."),
        ({"alpha": "nan"}, r"alpha=nan must be between 0 and 1; the paper's is 0\.05\."),
        ({"tset": "welch"}, r"tset is not an option; the options are: test, adjust, nemenyi, alpha\."),
    ],
)
def test_bad_options_are_refused_in_a_sentence(given: dict[str, str], sentence: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_options(given)
    assert re.fullmatch(sentence, str(refused.value))
