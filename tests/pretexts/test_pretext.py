from scarf_lightning.corruption.strategies import Exact, Marginal, Missing
from scarf_lightning.losses.loss import InfoNCE
from scarf_lightning.pretexts.scarf import Scarf


def test_values_for_missing_cells_are_learned_where_the_corruption_needs_them() -> None:
    task = Scarf(Missing(), Exact(), InfoNCE(), "one")
    assert task.learns_missing_values
    assert not Scarf(Marginal(), Exact(), InfoNCE(), "one").learns_missing_values
    del task.corruption  # as a task of a plugin that corrupts nothing
    assert not task.learns_missing_values
