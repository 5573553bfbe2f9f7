"""Whether trials were trained enough to say anything: on a small table an epoch is one step of the optimiser or two."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

FEW_STEPS = 100
"""Below it networks were measured to lose accuracy to want of training: on iris 0.74 after 5 steps, 0.90 after 100."""

PHASES = {
    "pretrain": ("pre-training", "pretrain.min_steps=100"),
    "finetune": ("fine-tuning", "finetune.min_steps=100 finetune.monitor=loss"),
}
"""What each phase is called, and what trains on."""


def on_few_steps(cells: Sequence[Sequence[Mapping[str, Any]]]) -> list[str]:
    """A sentence on each phase in which trials made fewer than 100 steps.

    Args:
        cells: rows of trials, a sequence of them a cell.
    """
    said = []
    for phase, (called, longer) in PHASES.items():
        steps = [[row[f"{phase}_steps"] for row in rows if row.get(f"{phase}_steps") is not None] for rows in cells]
        medians = [median(of_cell) for of_cell in steps if of_cell]
        few = [of_cell for of_cell in medians if of_cell < FEW_STEPS]
        if few:
            where = f" of {len(few)} of {len(medians)} cells" if len(medians) > 1 else ""
            least = f"{min(few):g}" + (f" to {max(few):g}" if max(few) > min(few) else "")
            said.append(
                f"In {called} the median trial{where} made {least} steps of the optimiser, fewer than {FEW_STEPS}: the "
                f"network may have hardly learnt. {longer} trains on."
            )
    return said
