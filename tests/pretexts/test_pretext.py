import torch
from torch import nn

from scarf_lightning.corruption.strategies import Exact, Marginal, Missing
from scarf_lightning.engine.lifting import acts_on_last_axis
from scarf_lightning.losses.loss import InfoNCE
from scarf_lightning.options.axes import parts
from scarf_lightning.pretexts import SideBySide
from scarf_lightning.pretexts.scarf import Scarf


def test_values_for_missing_cells_are_learned_where_the_corruption_needs_them() -> None:
    task = Scarf(Missing(), Exact(), InfoNCE(), "one")
    assert task.learns_missing_values
    assert not Scarf(Marginal(), Exact(), InfoNCE(), "one").learns_missing_values
    del task.corruption  # as a task of a plugin that corrupts nothing
    assert not task.learns_missing_values


def test_tasks_that_tell_rows_from_others_cannot_be_cotrained() -> None:
    """The rest may: their loss on a mini-batch is added to the supervised one."""
    assert {name for name, cls in parts("pretrain").items() if not cls.can_cotrain} == {"scarf_disc", "target_aware"}


def test_heads_side_by_side_keep_their_names_and_take_the_same_embeddings() -> None:
    heads = {"mask": nn.Linear(3, 2), "features": nn.Linear(3, 4)}
    x = torch.randn(5, 3)

    both = SideBySide(**heads)

    for output, head in zip(both(x), heads.values(), strict=True):
        assert torch.equal(output, head(x))
    assert list(both.state_dict()) == ["mask.weight", "mask.bias", "features.weight", "features.bias"]
    assert acts_on_last_axis(both), "so it is called with the trial axis"
