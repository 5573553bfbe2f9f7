"""Effects in words: sizes with their units, and the sentences on each kind of effects."""

import math
from dataclasses import replace

import numpy as np
import pytest

from scarf_lightning.metrics import Metric, metric_named
from scarf_lightning.verdicts import Cell, Effect, Plan, answered, effects_of
from scarf_lightning.verdicts.trials import NOT_KEPT
from scarf_lightning.verdicts.words import MOST_SENTENCES, MOST_WORDS, WITHOUT_PREDICTIONS, effect_in_words, sentences
from tests.verdicts.worlds import cell

ERROR = Metric("error_rate", "error rate", False, (0.0, 1.0), lambda _, __: 0.0)
ACCURACY, LOG_LOSS, MCC = map(metric_named, ("accuracy", "log_loss", "mcc"))
NOISE = np.random.default_rng(0).normal(0, 0.002, (9, 12))
NOISE -= NOISE.mean(axis=1, keepdims=True)


def gaining(**gains: float) -> list[Cell]:
    """No pre-training, which has 60 %, and competitors that gain so much over it."""
    return [cell("none", 0.6 + NOISE[0])] + [
        cell(name, 0.6 + g + NOISE[n]) for n, (name, g) in enumerate(gains.items(), 1)
    ]


def found(cells: list[Cell], reference: str | None = "none", axes: tuple[str, ...] = ()) -> list[Effect]:
    return answered(effects_of(Plan(cells, axes, axes, ACCURACY, reference))[0])


(SOME,) = found(gaining(SCARF=0.1))


def of(difference: float, low: float = math.nan, high: float = math.nan, datasets: int = 1) -> Effect:
    average = 2 * difference if datasets > 1 else math.nan
    verdict = replace(SOME.verdict, difference=difference, low=low, high=high, datasets=datasets, average=average)
    return replace(SOME, verdict=verdict)


@pytest.mark.parametrize(
    ("metric", "effect", "words"),
    [
        (ACCURACY, of(0.012, 0.004, 0.02), "+1.20 points of accuracy (95 %: +0.40 to +2.00)"),
        (ACCURACY, of(-0.012), "−1.20 points of accuracy"),
        (ERROR, of(0.0088, -0.002, 0.015), "error rate −0.88 (95 %: −1.50 to +0.20)"),
        (LOG_LOSS, of(0.05, 0.01, 0.09), "log-loss 0.95 times as high (95 %: 0.91 to 0.99 times)"),
        (LOG_LOSS, of(-1.34, -5.35, 1.0), "log-loss 2.34 times as high (95 %: at most 6.35 times)"),
        (MCC, of(0.02), "+0.0200 in Matthews' correlation"),
        (ACCURACY, of(0.01, 0.002, 0.015, datasets=2),
         "median +1.00 points of accuracy (95 %: +0.20 to +1.50)"),
    ],
)  # fmt: skip
def test_an_effect_says_its_size_and_direction(metric: Metric, effect: Effect, words: str) -> None:
    assert effect_in_words(replace(effect, metric=metric)) == words


def test_a_competitor_has_a_sentence_with_where_and_beside_what() -> None:
    first, *others = sentences([SOME])

    assert first.startswith("On iris, beside none: SCARF helps, +10.0")
    assert first.endswith(").")
    assert others == [WITHOUT_PREDICTIONS, "Holds for iris; other tables may differ."]


def test_each_competitor_has_a_sentence_and_of_many_pretraining_and_the_sure_ones_come_first() -> None:
    three = sentences(found(gaining(SCARF=0.1, VIME=0.0, BT=-0.1)))[:3]
    for sentence, answer in zip(three, ("SCARF helps", "VIME makes no practical difference", "BT hurts"), strict=True):
        assert sentence.startswith(f"On iris, beside none: {answer}, ")
        assert len(sentence.split()) <= 25

    some = [replace(SOME, what=f"c{n}", claimed="undecided") for n in range(MOST_SENTENCES + 1)]
    pretrained = replace(some[0], what="VIME", ones=[replace(SOME.ones[0], options={"pretrain": "vime"})])
    first, second, *others = sentences([replace(pretrained, kind="interaction"), *some, SOME, pretrained])
    assert first.startswith("On iris, beside none: VIME undecided, +"), "pre-training comes first"
    assert second.startswith("On iris, beside none: SCARF helps, +")
    assert others[MOST_SENTENCES - 2] == "A report's table has 4 more effects."


def test_over_labels_each_number_has_a_sentence() -> None:
    cells = []
    for labels, gain in ((200, 0.02), (20, 0.1)):
        cells += [replace(each, labels=labels, context=f"{labels} labels") for each in gaining(SCARF=gain)]

    first, second, both, *_ = sentences(found(cells))

    assert {each.partition(": ")[0] for each in (first, second)} == {
        "On iris with 20 labels, beside none", "On iris with 200 labels, beside none",
    }  # fmt: skip
    assert both.startswith("On iris: SCARF × 200 labels gain less together, −8.0")


def test_options_that_both_sides_share_are_not_named() -> None:
    effect = replace(SOME, what="pretrain=scarf, method=control", reference="pretrain=none, method=control")
    other = replace(effect, what="pretrain=scarf, method=mixup", reference="pretrain=none, method=mixup")

    assert sentences([effect])[0].startswith("On iris, beside pretrain=none: pretrain=scarf helps, +")
    first, second, *_ = sentences([effect, other])
    assert first.endswith(", both with method=control.")
    assert second.endswith(", both with method=mixup.")


def test_over_tables_a_sentence_has_at_most_25_words_and_says_how_many_gain() -> None:
    """The longest answer, with a number of labels; what has no room is in the table."""
    cells = [replace(each, table=f"t{n}") for n in range(12) for each in gaining(SCARF=0.1)]
    short = found(cells)
    long = [replace(each, claimed="undecided", why="level kept for later looks", context="20 labels") for each in short]

    assert sentences(short)[0].endswith("), better on 12.")
    for effects in (short, long):
        assert all(len(each.split()) <= MOST_WORDS for each in sentences(effects))


def test_what_leaves_no_interval_is_named_once() -> None:
    verdict = replace(SOME.verdict, basis="none", reason=NOT_KEPT)
    effect = replace(SOME, claimed="undecided", verdict=verdict)

    reasons = [each for each in sentences([effect, replace(effect, context="20 labels")]) if "kept" in each]

    assert reasons == [f"A{NOT_KEPT[1:]}."]


def test_each_change_of_a_star_has_a_sentence_after_the_base() -> None:
    cells = gaining(a=0.1, b=0.0)
    settings = ({"a": "0", "b": "0"}, {"a": "1", "b": "0"}, {"a": "0", "b": "1"})
    star = [replace(each, options=options) for each, options in zip(cells, settings, strict=True)]

    base, first, second, *_ = sentences(found(star, None, ("a", "b")))

    assert base.startswith("Base: a=0, b=0, accuracy 60.00 % (")
    assert first.startswith("On iris: a=1 helps, +10.0")
    assert second.startswith("On iris: b=1 makes no practical difference, ")
