import re

import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.report.options import Options, read_options


def test_the_papers_test_is_the_default() -> None:
    assert (
        read_options({})
        == Options()
        == Options(metric="accuracy", rope=0.01, test="welch", adjust="none", alpha=0.05, nemenyi=False)
    )
    assert Options().in_words == "Welch's t-test, p < 0.05"


def test_all_can_be_chosen() -> None:
    given = {"metric": "auroc", "rope": "0.005", "test": "corrected", "adjust": "holm", "alpha": "0.01"}
    chosen = read_options(given | {"nemenyi": "true"})

    assert chosen == Options("auroc", rope=0.005, test="corrected", adjust="holm", alpha=0.01, nemenyi=True)
    assert chosen.measure.label == "AUROC"
    assert chosen.in_words == "corrected resampled t-test, p < 0.01 after Holm's correction over datasets"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"test": "student"}, r"test=student is unknown; the options are: welch, paired, corrected\."),
        ({"adjust": "bonferroni"}, r"adjust=bonferroni is unknown; the options are: none, holm\."),
        ({"nemenyi": "perhaps"}, r"nemenyi: Value 'perhaps' is not a valid bool .*\."),
        ({"alpha": "small"}, r"alpha: Value 'small' of type 'str' could not be converted to Float\."),
        ({"alpha": "5"}, r"alpha=5 must be between 0 and 1; the paper's is 0\.05\."),
        ({"alpha": "nan"}, r"alpha=nan must be between 0 and 1; the paper's is 0\.05\."),
        ({"rope": "-1"}, r"rope=-1 must be 0 or more; 0\.01 is one point of accuracy\."),
        ({"metric": "f1"}, r"metric=f1 is unknown; the metrics are: accuracy, .*\."),
        (
            {"tset": "welch"},
            r"tset is not an option; the options are: metric, rope, test, adjust, alpha, nemenyi\. Did you mean test\?",
        ),
    ],
)
def test_bad_options_are_refused_in_a_sentence(given: dict[str, str], sentence: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_options(given)
    assert re.fullmatch(sentence, str(refused.value))
