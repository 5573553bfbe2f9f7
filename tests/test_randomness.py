"""Random streams, and the roster of the trials that are still training."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from scarf_lightning.randomness import Purpose, Roster, StackedGenerator, Streams

STREAMS = Streams(seed=5, n_labelled=200)
on_any_device = pytest.mark.parametrize("ahead", [0, 512], ids=["as on a processor", "as on an accelerator"])
SEEDS = [11, 12, 13, 14, 15, 16, 17, 18, 19, 20]


def draws(generator: StackedGenerator) -> list[torch.Tensor]:
    """Draws of each kind; the later ones depend on the state that the earlier ones leave."""
    return [
        generator.uniform(3, 4),
        generator.integers(100, 7),
        generator.permutations(9),
        generator.integers(9, 2, 5),
        generator.uniform(),
    ]


def test_a_stream_depends_on_seed_labelled_rows_trial_purpose_and_fit_and_on_nothing_else() -> None:
    seeds = {
        STREAMS.seed_of(3, Purpose.ENCODER),
        replace(STREAMS, seed=6).seed_of(3, Purpose.ENCODER),
        replace(STREAMS, n_labelled=201).seed_of(3, Purpose.ENCODER),
        STREAMS.seed_of(4, Purpose.ENCODER),
        STREAMS.seed_of(3, Purpose.HEAD),
        STREAMS.seed_of(3, Purpose.ENCODER, fit=1),
    }
    assert len(seeds) == 6

    first = STREAMS.numpy(3, Purpose.SPLIT).random(5)
    STREAMS.numpy(2, Purpose.SPLIT).random(50)
    np.random.default_rng().random(5)
    assert (first == Streams(seed=5, n_labelled=200).numpy(3, Purpose.SPLIT).random(5)).all()
    alone = STREAMS.torch([3], Purpose.SPLIT).uniform(5)
    assert torch.equal(STREAMS.torch([8, 3], Purpose.SPLIT).uniform(5)[1:], alone)


def test_streams_of_all_purposes_trials_and_fits_differ() -> None:
    assert len(Purpose.__members__) == len(list(Purpose)), "two purposes of one value are one purpose"
    keys = [(trial, purpose, fit) for trial in range(30) for purpose in Purpose for fit in range(3)]
    seeds = {STREAMS.seed_of(*key) for key in keys}
    assert len(seeds) == len(keys)
    first = {STREAMS.torch([trial], purpose, fit=fit).integers(2**62, 1).item() for trial, purpose, fit in keys}
    assert len(first) == len(keys)


def test_draws_have_a_leading_trial_axis_and_are_those_of_the_trials_generator_alone() -> None:
    generator = StackedGenerator(SEEDS)
    stacked = draws(generator)
    assert {len(generator), *map(len, stacked)} == {len(SEEDS)}
    for position, seed in enumerate(SEEDS):
        plain = torch.Generator().manual_seed(seed)
        expected = [
            torch.rand(3, 4, generator=plain),
            torch.randint(100, (7,), generator=plain),
            torch.randperm(9, generator=plain),
            torch.randint(9, (2, 5), generator=plain),
            torch.rand((), generator=plain),
        ]
        for together, single in zip(stacked, expected, strict=True):
            assert torch.equal(together[position], single)


@on_any_device
@given(st.lists(st.integers(0, 9), min_size=1, max_size=10, unique=True).map(sorted), st.integers(0, 3))
def test_draws_of_a_trial_are_the_same_after_others_have_left(ahead: int, kept: list[int], drawn_before: int) -> None:
    roster = Roster(len(SEEDS))
    full, left = StackedGenerator(SEEDS, ahead=ahead), StackedGenerator(SEEDS, roster=roster, ahead=ahead)
    for _ in range(drawn_before):
        full.uniform(4)
        left.uniform(4)
    roster.keep(kept)
    assert len(left) == len(kept)
    for expected, got in zip(draws(full), draws(left), strict=True):
        assert torch.equal(got, expected[kept])
