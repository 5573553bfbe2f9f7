import pytest
import torch

from scarf_lightning.networks import Dropout
from scarf_lightning.randomness import StackedGenerator

RATE = 0.3


def test_units_are_left_out_at_the_rate_and_the_others_scaled_up() -> None:
    dropout = Dropout(RATE)
    dropout.random = StackedGenerator([1, 2])
    out = dropout(torch.full((2, 500, 40), 7.0))
    kept = out != 0
    assert torch.equal(out[kept], torch.full((2, 500, 40), 7.0)[kept] / (1 - RATE))
    for trial in kept:
        assert trial.float().mean().item() == pytest.approx(1 - RATE, abs=0.015)  # four standard errors
    assert not torch.equal(kept[0], kept[1])


@pytest.mark.parametrize("rate", [0.0, RATE])
def test_nothing_happens_in_evaluation_or_at_rate_zero(rate: float) -> None:
    dropout = Dropout(rate)
    if rate:
        dropout.eval()
    x = torch.randn(3, 4)
    assert dropout(x) is x


def test_alone_it_is_torchs() -> None:
    x = torch.ones(1000, 10)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        found = Dropout(RATE)(x)
        torch.manual_seed(0)
        expected = torch.nn.functional.dropout(x, RATE)
    assert torch.equal(found, expected)


def test_under_vmap_a_trials_masks_are_those_that_it_has_alone() -> None:
    x = torch.randn(4, 6, 5)
    among, alone = Dropout(RATE), Dropout(RATE)
    among.random = StackedGenerator([11, 12, 13, 14])
    alone.random = StackedGenerator([13])
    whole = torch.vmap(among)(x)
    assert torch.equal(torch.vmap(alone)(x[[2]])[0], whole[2])
    among.random.reset()
    assert torch.equal(among(x), whole), "with and without vmap alike"


def test_gradients_pass_through_what_was_kept() -> None:
    dropout = Dropout(RATE)
    dropout.random = StackedGenerator([1, 2, 3])
    x = torch.randn(3, 6, 5, requires_grad=True)
    out = torch.vmap(dropout)(x)
    out.sum().backward()
    assert torch.equal(x.grad, torch.where(out != 0, 1 / (1 - RATE), 0.0))
