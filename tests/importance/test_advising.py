"""Advice on columns: it follows from the answers, and says nothing that they do not hold."""

from scarf_lightning.importance.advising import advice, columns_that_can_go, columns_that_must_stay, on_untried
from scarf_lightning.importance.asking import Asked, ask
from tests.importance.answers import Known, Losses

EVERY = ("no pre-training", "SCARF")
SIZE, COPY, NOISE, BOTH = ("size",), ("copy",), ("noise",), ("size", "copy")


def used(*columns: tuple[str, ...]) -> Losses:
    """Losses of columns that both competitors use."""
    return {("permuted", name, label): 0.3 for name in EVERY for label in columns}


def asked(losses: Losses) -> Asked:
    known = Known.of(losses)
    return ask(known, known.launch)


def test_columns_can_go_that_nobody_uses_or_that_nobody_misses() -> None:
    # Everybody uses the copy and does without it; nobody uses the noise.
    found = asked({**used(SIZE, COPY), ("left out", "SCARF", SIZE): 0.3})

    assert columns_that_can_go(found) == ["copy", "noise"]
    assert advice(found)[0].startswith("2 columns (copy, noise) can go: without them no competitor is worse")


def test_a_column_must_stay_if_every_competitor_misses_it() -> None:
    by_all = {("left out", name, SIZE): 0.3 for name in EVERY}
    found = asked({**used(SIZE, COPY), **by_all, ("left out", "SCARF", COPY): 0.3})

    assert columns_that_must_stay(found) == ["size"]
    assert "Keep size: trained without it, every competitor is worse." in advice(found)
    assert columns_that_must_stay(asked(used(SIZE))) == []


def test_a_column_that_is_left_out_with_one_competitor_alone_does_not_go() -> None:
    known = Known.of(used(SIZE))

    def launch(tasks: "list[object]") -> None:
        known.launch([task for task in tasks if task.way == "permuted" or task.competitor == 0])  # type: ignore[attr-defined]

    assert "size" not in columns_that_can_go(ask(known, launch))  # type: ignore[arg-type]


def test_redundant_columns_are_needed_together_and_not_alone() -> None:
    losses = used(SIZE, COPY, BOTH) | {("left out", name, BOTH): 0.3 for name in EVERY}

    sentences = advice(asked(losses))

    assert "size and copy say the same: together they are needed, and each one alone can go." in sentences
    alone = advice(asked({**losses, **{("left out", name, SIZE): 0.3 for name in EVERY}}))
    assert not any("say the same" in sentence for sentence in alone)


def test_gains_of_pretraining_are_those_of_its_own_ways() -> None:
    losses = used(SIZE) | {
        ("left out of pre-training", "SCARF", SIZE): 0.3,
        ("left out of corruption", "SCARF", SIZE): 0.2,
        ("permuted", "SCARF", NOISE): 0.4,
    }

    text = " ".join(advice(asked(losses)))

    assert "The gains of pre-training need size: without it it is worse." in text
    assert "Pre-training is better if it corrupts size." in text
    assert "Pre-trained networks use noise more than networks that see the labels alone." in text


def test_time_that_was_over_is_told() -> None:
    known = Known.of(used(SIZE))

    found = ask(known, lambda tasks: known.launch([task for task in tasks if task.way == "permuted"]))

    (sentence,) = on_untried(found)
    assert sentence.startswith("The time was over before all trainings without these columns were done: size. The same")
    assert on_untried(asked(used(SIZE))) == []
