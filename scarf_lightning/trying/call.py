"""One call of a part on a mini-batch, and what comes of it."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from .bench import N_TRIALS, Bench, Sample, benches, made

Kind = Literal["number", "bool", "any"]


class WrongError(Exception):
    """A part gave something that is of no use, in words that follow its name: ``returns a list; ...``."""


@dataclass(frozen=True)
class Output:
    """Something that a part gave.

    Attributes:
        value: a tensor ``(..., *shape)``.
        shape: the last axes, None for one of any length; None checks no shape.
        kind: ``number`` has to be finite, ``bool`` is a mask.
        function: that gave it, if that is not the last one that was called.
    """

    value: Tensor
    shape: tuple[int | None, ...] | None = None
    kind: Kind = "number"
    function: str = ""


@dataclass
class Call:
    """A call on a mini-batch, which a probe fills in.

    Attributes:
        bench: the table.
        sample: the mini-batch.
        function: that is being called, for sentences.
        owner: the class of the user's that it belongs to, if that is not the part's.
        seconds: in functions of the part.
        gradients: by what they should reach; None where there is no gradient at all.
        seen: what a user is shown.
    """

    bench: Bench
    sample: Sample
    function: str = ""
    owner: type[Any] | None = None
    seconds: float = 0.0
    gradients: dict[str, Tensor | None] = field(default_factory=dict)
    seen: str = ""
    _watched: list[tuple[Tensor, Tensor]] = field(default_factory=list)

    @classmethod
    def on(cls, bench: Bench, company: int | None = N_TRIALS) -> "Call":
        """A call that is not made yet."""
        return cls(bench, bench.sample(company))

    def run(self, function: Callable[..., Any], *arguments: Any, name: str = "") -> Any:
        """Call a function of the part; ``name`` if its own name is not the one that a user wrote."""
        self.function = name or getattr(function, "__name__", "__call__")
        start = time.perf_counter()
        result = function(*arguments)
        self.seconds += time.perf_counter() - start
        return result

    def given(self, tensor: Tensor) -> Tensor:
        """A tensor that the part is given and has to leave as it is."""
        self._watched.append((tensor, tensor.detach().clone()))
        return tensor

    @property
    def has_changed_inputs(self) -> bool:
        return not all(torch.equal(tensor.detach(), before) for tensor, before in self._watched)


AVERAGE = "a tensor (...): average over the last axes, as in .mean(dim=(-2, -1))"
"""The value that a loss returns, as the end of a sentence."""


class Probe(ABC):
    """How parts of one kind are tried.

    Class variables:

    - ``returns``: what each function of the kind has to return, as the end of a sentence;
    - ``otherwise``: the same of a function that is not among them;
    - ``draws``: where the kind has its random numbers from;
    - ``unit``: what its time is for.
    """

    returns: ClassVar[Mapping[str, str]] = {}
    otherwise: ClassVar[str] = "what its kind documents"
    draws: ClassVar[str] = "random.normal(N, M), random.uniform(N, M) or random.integers(high, N, M)"
    unit: ClassVar[str] = "step"

    def returned(self, function: str) -> str:
        """The value that a function has to return, as the end of a sentence."""
        return self.returns.get(function, self.otherwise)

    @abstractmethod
    def call(self, part: Any, call: Call) -> dict[str, Output]:
        """Call the part, and give its outputs by name.

        Raises:
            WrongError: the part gave something else than its kind does.
        """

    def make(self, cls: type[Any], bench: Bench, **options: Any) -> Any:
        """A part with these options."""
        return made(cls, **options)

    def benches(self, part: Any) -> tuple[Bench, ...]:
        """The tables that it is tried on."""
        return benches()


def as_tensor(value: Any, name: str, returns: str) -> Tensor:
    """What a part gave, if it is a tensor.

    Raises:
        WrongError: it is something else.
    """
    if not isinstance(value, Tensor):
        raise WrongError(f"gives {_described(value)} as {name}; it has to return {returns}")
    return value


def as_tuple(value: Any, n: int | None, name: str, returns: str) -> tuple[Any, ...]:
    """What a part gave, if it is a tuple of ``n``.

    Raises:
        WrongError: it is something else.
    """
    if not isinstance(value, tuple) or n not in (None, len(value)):
        raise WrongError(f"gives {_described(value)} as {name}; it has to return {returns}")
    return value


def _described(value: Any) -> str:
    if value is None:
        return "None"
    if isinstance(value, Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    kind = type(value)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return f"a {module}{kind.__name__}"


def gradient(total: Tensor, of: Tensor | list[Tensor]) -> Tensor | None:
    """The gradient of the sum of a tensor, flat; None if it has none."""
    inputs = [each for each in ([of] if isinstance(of, Tensor) else of) if each.requires_grad]
    if not total.requires_grad:
        return None
    found = torch.autograd.grad(total.sum(), inputs, allow_unused=True, retain_graph=True)
    known = [each.flatten() for each in found if each is not None]
    return torch.cat(known) if known else None


def numbers(tensor: Tensor, n: int = 5) -> str:
    """The first numbers of a tensor, for people."""
    flat = tensor.detach().flatten()[:n].tolist()
    return " ".join(f"{value:.2f}" for value in flat)


def rows_of(view: Tensor) -> str:
    """The first numbers of three rows of a trial ``(..., N, D)``, for people."""
    first_trial = view.reshape(-1, *view.shape[-2:])[0]
    return "; ".join(numbers(row) for row in first_trial[:3])
