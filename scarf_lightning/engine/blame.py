"""The sentence on a part of a user's own that gives numbers which are not finite once training has begun.

Nothing is looked at while a loss is finite. Where all trials of a stack have lost theirs, the views of the last step,
which are still there, tell whether the part that made them is at fault, or the loss that got them.
"""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from ..networks import Columns

OURS = __name__.partition(".")[0]


def blamed(
    makers: Sequence[Any], judges: Sequence[Any], inputs: Sequence[Tensor], columns: Columns, when: str
) -> str | None:
    """The sentence on a part, or None if no part of a user's own is at fault.

    Args:
        makers: the parts that made the inputs.
        judges: the parts that computed the loss.
        inputs: encoded rows ``(T, N, D)`` of the last step.
        columns: the D encoded columns.
        when: the step, for the sentence.
    """
    for x in inputs:
        wrong = ~x.isfinite()
        if wrong.any():
            column = int(wrong.flatten(0, -2).any(dim=0).int().argmax())
            feature = columns.owners[column] + 1
            for part in _foreign(makers):
                value = x[wrong][0].item()
                return (
                    f"{_named(part)} gives {value} in column {feature} of the table, {when}; keep divisors, logarithms "
                    f"and roots above 0, as by .clamp(min=1e-6). `scarf check {type(part).__module__}` tries it."
                )
            return None
    for part in _foreign(judges):
        return (
            f"The loss by {_named(part)} is not finite {when}, though the rows that it is computed from are; "
            "keep divisors, logarithms and roots above 0, as by .clamp(min=1e-6), or take a smaller learning_rate."
        )
    return None


def _foreign(parts: Sequence[Any]) -> list[Any]:
    """The parts that are none of this package."""
    return [part for part in parts if part is not None and type(part).__module__.partition(".")[0] != OURS]


def _named(part: Any) -> str:
    return f"{getattr(part, 'name', type(part).__name__)} ({type(part).__module__}.{type(part).__qualname__})"
