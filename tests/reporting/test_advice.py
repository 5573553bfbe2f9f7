"""The sentence on the trials that would decide what is open."""

import re
from dataclasses import replace

from scarf_lightning.reporting.answers import answers_of, trials_sentence
from scarf_lightning.reporting.report_options import ReportOptions
from scarf_lightning.verdicts import ErrorParts, Look
from scarf_lightning.verdicts.answers import ALONE, Levels
from tests.reporting.cell_results import compared

OPEN = compared({"iris": {"none": [0.50, 0.51, 0.49, 0.51] * 3, "scarf": [0.50, 0.42, 0.60, 0.61] * 3}})
SCARF, VIME = ("pretrain=scarf", 0.015, 3e-5, 7e-5), ("VIME", 0.018, 1e-5, 9e-5)
OF_ROWS = ("pretrain=scarf", 0.012, 9.7e-5, 3e-6)


def advice_on(*errors: tuple[str, float, float, float], needed: Levels = ALONE, looks: tuple[int, ...] = ()) -> str:
    """The sentence on open comparisons at ten trials, each with its name, difference and parts of the variance."""
    (effect,) = answers_of(OPEN, ReportOptions()).effects
    effects = []
    for name, difference, rows, fits in errors:
        parts = ErrorParts(difference, rows, fits, fits, 499.0, 10, 500, 0.2)
        taken = tuple(Look(trials) for trials in looks)
        verdict = replace(effect.verdict, parts=parts, difference=difference, trials=10, looks=taken)
        effects.append(replace(effect, what=name, verdict=verdict, claimed="undecided", needed=needed))
    return " ".join(trials_sentence(effects))


def test_one_sentence_says_how_many_trials_would_decide_with_which_chance() -> None:
    """The fewest of 10, 20, 30, 50 and 100 trials that nearly have the best chance."""
    assert re.fullmatch(
        r"50 trials would decide VIME with a chance of \d\d % and pretrain=scarf of \d\d %: "
        r"the same command with trials=50\.",
        advice_on(SCARF, VIME),
    )


def test_what_more_trials_do_not_decide_has_no_sentence() -> None:
    assert advice_on(OF_ROWS) == "", "rows leave it open whatever the trials"
    assert advice_on(OF_ROWS, VIME) == advice_on(VIME)


def test_looks_and_other_comparisons_leave_less_of_the_level() -> None:
    assert advice_on(VIME, needed=Levels(0.005, 0.005, 0.005)) != advice_on(VIME)
    assert advice_on(VIME, looks=(10,)) != advice_on(VIME)
