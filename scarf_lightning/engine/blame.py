"""The sentence on a part of a user's own that goes wrong once training has begun.

Shapes cost nothing to compare, so each view is. Numbers are looked at where a part is a user's own alone: the losses of
each step on a processor, those of an epoch on an accelerator, which the host would wait for. The views and the outputs
of the step tell whether the part that made them is at fault, the network, or the loss that got them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from torch import Tensor, nn

from ..errors import UsageError

OURS = ("scarf_lightning", "torch", "numpy", "builtins", "abc", "typing")
ABOVE_ZERO = "keep divisors, logarithms and roots above 0, as by .clamp(min=1e-6)"


@dataclass(frozen=True)
class Suspects:
    """The parts of a phase in the order in which they compute a loss.

    Attributes:
        makers: of the inputs.
        networks: that turn inputs into outputs: the modules, and the parts that built them.
        judges: that compute the loss of outputs.
    """

    makers: Sequence[Any] = ()
    networks: Sequence[Any] = ()
    judges: Sequence[Any] = ()

    @property
    def has_foreign(self) -> bool:
        return next(foreign([*self.makers, *self.networks, *self.judges]), None) is not None

    @property
    def foreign_judges(self) -> Iterator[Any]:
        return foreign(self.judges)


@dataclass(frozen=True)
class Evidence:
    """The tensors of a step.

    Attributes:
        inputs: encoded rows ``(T, N, D)``.
        outputs: of the networks, ``(T, N, ...)``.
        column_names: of the D encoded columns.
    """

    inputs: Sequence[Tensor] = ()
    outputs: Sequence[Tensor] = ()
    column_names: Sequence[str] = ()


def blamed(suspects: Suspects, evidence: Evidence, weights: Iterable[Tensor], trials: Tensor, when: str) -> str | None:
    """The sentence on the part that spoilt the loss of these trials, or None if that is no part of a user's own.

    Args:
        suspects: the parts.
        evidence: the tensors that they made.
        weights: of the networks, ``(T, ...)`` each.
        trials: the mask ``(T,)`` of the trials that have lost their loss.
        when: the step, for the sentence.
    """
    for x in evidence.inputs:
        wrong = ~x[trials].isfinite()
        if wrong.any():
            column = int(wrong.flatten(0, -2).any(dim=0).int().argmax())
            value = x[trials][wrong][0].item()
            for part in foreign(suspects.makers):
                return (
                    f"{named(part)} gives {value} in the column {_column(evidence, column)} {when}; {ABOVE_ZERO}. "
                    f"`scarf check {type(part).__module__}` tries it."
                )
            return None
    if not all(weight[trials].isfinite().all() for weight in weights):
        for part in foreign([*suspects.judges, *suspects.networks]):
            return (
                f"Weights are not finite {when}, though the losses before it are: the gradient through {named(part)} "
                f"is not; {ABOVE_ZERO}, or take a smaller learning_rate."
            )
        return None
    if not all(each[trials].isfinite().all() for each in evidence.outputs):
        for part in foreign(suspects.networks):
            return (
                f"The network by {named(part)} gives numbers that are not finite {when}, though its rows and its "
                f"weights are; {ABOVE_ZERO}, or take a smaller learning_rate."
            )
        return None
    for part in foreign(suspects.judges):
        return (
            f"The loss by {named(part)} is not finite {when}, though the rows that it is computed from are; "
            f"{ABOVE_ZERO}, or take a smaller learning_rate."
        )
    return None


def check_shape(part: Any, what: str, found: Tensor, wanted: Tensor) -> None:
    """Refuse a tensor of a part that has another shape than its rows.

    Raises:
        UsageError: names the part and both shapes.
    """
    if found.shape != wanted.shape:
        raise UsageError(
            f"{named(part)} gives {what} of the shape {tuple(found.shape)} for rows of the shape "
            f"{tuple(wanted.shape)}; give one of their shape, whatever the number of rows is. "
            f"`scarf check {type(part).__module__}` tries it."
        )


def named(part: Any) -> str:
    """The name of a part and its class: ``median (my_parts.Median)``."""
    return f"{getattr(part, 'name', type(part).__name__)} ({type(part).__module__}.{type(part).__qualname__})"


def with_fields(parts: Iterable[Any]) -> list[Any]:
    """Parts and the parts that they hold, such as the loss of a pretext, which come first."""
    every: list[Any] = []
    for part in parts:
        if is_dataclass(part):
            every += with_fields(getattr(part, each.name) for each in fields(part))
        every.append(part)
    return every


def foreign(parts: Iterable[Any]) -> Iterator[Any]:
    """The parts that are none of this package, and the modules that are none of torch's."""
    for part in parts:
        if isinstance(part, nn.Module):
            found = [each for each in part.modules() if is_foreign(type(each))]
            yield from found[:1]
        elif part is not None and is_foreign(type(part)):
            yield part


def is_foreign(cls: type[Any]) -> bool:
    """True for a class that is not one of this package, or of what it is built on."""
    return cls.__module__.partition(".")[0] not in OURS


def _column(evidence: Evidence, column: int) -> str:
    if column < len(evidence.column_names):
        return repr(evidence.column_names[column])
    return f"{column + 1} of its rows"
