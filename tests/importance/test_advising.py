"""Advice on columns: it follows from the answers, and says nothing that they do not hold."""

from collections.abc import Callable, Sequence

from scarf_lightning.importance.advising import advice, columns_that_can_go, columns_that_must_stay, on_untried
from scarf_lightning.importance.asked import Task
from scarf_lightning.importance.asking import Asked, ask
from tests.importance.answers import Known, Losses

SIZE, COPY, NOISE, BOTH = ("size",), ("copy",), ("noise",), ("size", "copy")


def of_all(way: str, *columns: tuple[str, ...]) -> Losses:
    """Losses of columns that both competitors have in this way."""
    return {(way, name, label): 0.3 for name in ("no pre-training", "SCARF") for label in columns}


def asked(losses: Losses, among: Callable[[Task], bool] = lambda task: True) -> Asked:
    """The answers where these trainings alone are done."""
    known = Known.of(losses)

    def launch(tasks: Sequence[Task]) -> None:
        known.launch([task for task in tasks if among(task)])

    return ask(known, launch)


def test_columns_can_go_that_nobody_uses_or_that_nobody_misses() -> None:
    # Everybody uses the copy and does without it; nobody uses the noise.
    found = asked({**of_all("permuted", SIZE, COPY), ("left out", "SCARF", SIZE): 0.3})

    assert columns_that_can_go(found) == ["copy", "noise"]
    assert advice(found)[0].startswith("2 columns (copy, noise) can go: without them no competitor is worse")
    # One that is left out with one competitor alone does not go.
    halved = asked(of_all("permuted", SIZE), lambda task: task.way == "permuted" or task.competitor == 0)
    assert "size" not in columns_that_can_go(halved)


def test_a_column_must_stay_if_every_competitor_misses_it() -> None:
    losses = {**of_all("permuted", SIZE, COPY), **of_all("left out", SIZE), ("left out", "SCARF", COPY): 0.3}
    found = asked(losses)

    assert columns_that_must_stay(found) == ["size"]
    assert "Keep size: trained without it, every competitor is worse." in advice(found)
    assert columns_that_must_stay(asked(of_all("permuted", SIZE))) == []


def test_redundant_columns_are_needed_together_and_not_alone() -> None:
    losses = {**of_all("permuted", SIZE, COPY, BOTH), **of_all("left out", BOTH)}

    sentences = advice(asked(losses))

    assert "size and copy say the same: together they are needed, and each one alone can go." in sentences
    alone = advice(asked({**losses, **of_all("left out", SIZE)}))
    assert not any("say the same" in sentence for sentence in alone)


def test_gains_of_pretraining_are_those_of_its_own_ways() -> None:
    losses = {
        ("left out of pre-training", "SCARF", SIZE): 0.3,
        ("left out of corruption", "SCARF", SIZE): 0.2,
        ("permuted", "SCARF", NOISE): 0.4,
    }

    sentences = advice(asked({**of_all("permuted", SIZE), **losses}))

    assert "The gains of pre-training need size: without it it is worse." in sentences
    assert "Pre-training is better if it corrupts size." in sentences
    assert "Pre-trained networks use noise more than networks that see the labels alone." in sentences


def test_time_that_was_over_is_told() -> None:
    losses = of_all("permuted", SIZE)

    (sentence,) = on_untried(asked(losses, lambda task: task.way == "permuted"))

    assert sentence.startswith("The time was over before all trainings without these columns were done: size. The same")
    assert on_untried(asked(losses)) == []
