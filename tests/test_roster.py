import torch
from hypothesis import given
from hypothesis import strategies as st

from scarf_lightning.roster import Roster


def test_everyone_is_there_at_first() -> None:
    roster, stacked = Roster(3), torch.arange(3)
    assert (len(roster), roster.positions, roster.index.tolist()) == (3, [0, 1, 2], [0, 1, 2])
    assert roster.of(stacked) is stacked


@given(st.data())
def test_who_stays_is_told_among_those_still_here(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 8))
    roster, here = Roster(n), list(range(n))
    while len(here) > 1 and data.draw(st.booleans()):
        staying = sorted(data.draw(st.sets(st.integers(0, len(here) - 1), min_size=1)))
        roster.keep(staying)
        here = [here[position] for position in staying]
    assert roster.positions == here
    assert roster.of(10 * torch.arange(n)).tolist() == [10 * position for position in here]
