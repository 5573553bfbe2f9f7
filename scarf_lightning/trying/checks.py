"""What a part is asked, one question after the other. Each function gives the end of a sentence that begins with the
part's name, or None; the first answer of a part is its fault."""

import math
import random as standard
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..engine.hardware import Promise, promise
from ..options.option import Option, options_of
from .bench import N_TRIALS, Bench
from .call import Call, Output, Probe, WrongError
from .source_lines import ALONG_TRIALS, OWN_DRAWS, line_that_changes, line_with, named

ROUNDING = 1e-4
"""Relative and absolute difference of a trial alone, whose products may be rounded in another way."""
LONGEST = 0.3
"""Seconds of processor time in which the options of a part are tried."""


@dataclass
class Attempt:
    """A part on one table: its calls, each made once.

    Attributes:
        part: of the class that is tried.
        probe: of its kind.
        bench: the table.
        seconds: that the part's own functions took in the fastest call.
    """

    part: Any
    probe: Probe
    bench: Bench
    seconds: float = math.inf

    def call(self, company: int | None = N_TRIALS) -> tuple[Call, dict[str, Output]]:
        """A new call, from the beginning of the same streams."""
        call = Call.on(self.bench, company)
        self.latest = call
        outputs = self.probe.call(self.part, call)
        if company == N_TRIALS:
            self.seconds = min(self.seconds, call.seconds)
        return call, outputs

    @cached_property
    def first(self) -> tuple[Call, dict[str, Output]]:
        """The first call of the part, on a stack of three trials."""
        return self.call()

    @cached_property
    def alone(self) -> dict[str, Output]:
        """What the part gives the first trial, as a stack of one."""
        return self.call(1)[1]

    @property
    def module(self) -> str:
        """The module of the user's that the part is in."""
        return getattr(self.part, "function", type(self.part)).__module__

    @property
    def outputs(self) -> dict[str, Output]:
        return self.first[1]


@dataclass(frozen=True)
class Fault:
    """A fault: the end of a sentence.

    Attributes:
        words: what is wrong, and what mends it.
        pattern: of the source line to name; empty for the function.
        line: to name, if it is known.
        is_note: whether the part may train all the same.
        function: at fault, if that is not the last one that was called.
    """

    words: str
    pattern: str = ""
    line: int | None = None
    is_note: bool = False
    function: str = ""


def global_states() -> tuple[Any, ...]:
    """The states of the global generators of torch, numpy and the standard library, which are the user's."""
    np_state: Any = np.random.get_state(legacy=True)  # noqa: NPY002
    return torch.random.get_rng_state().numpy().tobytes(), (np_state[1].tobytes(), *np_state[2:]), standard.getstate()


def leaves_global_generators(attempt: Attempt) -> Fault | None:
    """Random numbers come from the streams of the trials, not from a global generator."""
    # Twice: a library may draw a number when it is imported, by the first call.
    for is_first in (True, False):
        before, wrong = global_states(), None
        try:
            _ = attempt.first if is_first else attempt.call()
        except WrongError as error:
            # A number that is drawn anew may be what is wrong with the value.
            wrong = error
        after = global_states()
        if before == after:
            if wrong is not None:
                raise wrong
            return None
    owner = "torch's own" if before[0] != after[0] else "numpy's own" if before[1] != after[1] else "Python's own"
    line = line_that_changes(global_states, attempt.module, attempt.call)
    return Fault(f"uses {owner} random numbers; draw them by {attempt.probe.draws}", OWN_DRAWS, line)


def leaves_its_inputs(attempt: Attempt) -> Fault | None:
    """The rows that a part is given stay as they are, for others see them too."""
    if attempt.first[0].has_changed_inputs:
        return Fault(
            "changes the tensor that it is given; begin with x = x.clone()", r"\w_\(|\[.*\]\s*[-+*/]?=[^=]|[-+*/]="
        )
    return None


def has_the_right_shape(attempt: Attempt) -> Fault | None:
    """Outputs have the leading axes of the rows, then their own; masks are of bool, numbers of floats."""
    leading = attempt.first[0].sample.leading
    for name, output in attempt.outputs.items():
        value = output.value
        if output.shape is not None:
            wanted = (*leading, *output.shape)
            fits = len(wanted) == value.dim() and all(
                n in (None, size) for n, size in zip(wanted, value.shape, strict=True)
            )
            if not fits:
                shown = ", ".join("any" if n is None else str(n) for n in wanted)
                return Fault(
                    f"gives {tuple(value.shape)} as the shape of {name}, and not ({shown}), of {N_TRIALS} trials; it "
                    f"has to return {attempt.probe.returned(output.function or attempt.latest.function)}",
                    ALONG_TRIALS,
                    function=output.function,
                )
        if output.kind == "bool" and value.dtype is not torch.bool:
            words = "compare, as in mask > 0, so that it is torch.bool"
            return Fault(f"gives {value.dtype} as {name}; {words}", function=output.function)
        if output.kind == "number" and not value.is_floating_point():
            words = "it has to be a float, as by .to(x.dtype)"
            return Fault(f"gives {value.dtype} as {name}; {words}", function=output.function)
    return None


def is_finite(attempt: Attempt) -> Fault | None:
    """No number is NaN or infinite; the column is named."""
    for name, output in attempt.outputs.items():
        wrong = ~output.value.isfinite()
        if output.kind != "number" or not wrong.any():
            continue
        where = ""
        columns = attempt.bench.column_names.get(output.value.shape[-1]) if output.value.dim() > 1 else None
        if columns is not None and "view" in name:
            column = int(wrong.reshape(-1, wrong.shape[-1]).any(dim=0).int().argmax())
            where = f" in the column {columns[column]!r}"
        return Fault(
            f"gives {output.value[wrong][0]} in {name}{where}; keep divisors, logarithms and roots above 0, as by "
            ".clamp(min=1e-6)",
            r"/|log|sqrt|norm|std|pow|exp",
            function=output.function,
        )
    return None


def repeats_itself(attempt: Attempt) -> Fault | None:
    """A second call with the same streams gives the same bits."""
    # Mostly the call of the trial alone is that call.
    alone = attempt.alone
    if all(name in alone and same(output.value[:1], alone[name].value) for name, output in attempt.outputs.items()):
        return None
    _, again = attempt.call()
    for name, output in attempt.outputs.items():
        if not same(output.value, again[name].value):
            return Fault(
                f"gives other numbers in {name} when it is called twice with the same streams; it may keep nothing "
                f"between calls, and draws random numbers by {attempt.probe.draws}",
                OWN_DRAWS,
                function=output.function,
            )
    return None


def leaves_other_trials_alone(attempt: Attempt) -> Fault | None:
    """The first of three trials is what it is alone, without a trial axis, and as a stack of one."""
    is_exact = promise(torch.device("cpu"), "32-true") is Promise.EXACT
    for company in (1, None):
        alone = attempt.alone if company == 1 else attempt.call(company)[1]
        for name, output in attempt.outputs.items():
            # What is trained on a stack is not there for a trial without an axis.
            if name not in alone:
                continue
            own, expected = output.value[0], alone[name].value
            expected = expected if company is None else expected[0]
            fits = own.shape == expected.shape
            exactly = is_exact and company == 1
            if fits and (same(own, expected) if exactly else close(own, expected)):
                continue
            return Fault(
                f"mixes trials: {name} of a trial depends on the trials beside it; count axes from the right, as in "
                "dim=-2 for rows and dim=-1 for columns",
                ALONG_TRIALS,
                function=output.function,
            )
    return None


def is_learned_from(attempt: Attempt) -> Fault | None:
    """A gradient reaches what it should reach, and is finite."""
    for what, gradient in attempt.first[0].gradients.items():
        if gradient is None or (not gradient.any() and what.endswith(("inputs", "f", "g", "weights", ")"))):
            return Fault(
                f"lets no gradient reach {what}, so nothing would be learnt; leave out detach, item, numpy, round and "
                "argmax",
                r"detach|item\(|numpy|no_grad|argmax|round|sign|\.data\b|[<>]=?|float\(",
            )
        if not gradient.isfinite().all():
            return Fault(
                f"has a gradient that is not finite at {what}; keep what a root or a quotient is taken of above 0, as "
                "by .clamp(min=1e-6)",
                r"/|log|sqrt|norm|std|pow",
            )
    return None


def predicts_row_by_row(attempt: Attempt) -> Fault | None:
    """A network gives a row the same embedding among other rows, in evaluation."""
    whole = attempt.outputs.get("its embedding in evaluation")
    half = attempt.outputs.get("its embedding of half of the rows")
    if whole is None or half is None or close(whole.value[..., : half.value.shape[-2], :], half.value):
        return None
    return Fault(
        "gives a row another embedding among other rows, so a prediction depends on the rows beside it; take means "
        "over columns (dim=-1), or scarf_lightning.networks.BatchNorm",
        ALONG_TRIALS,
        is_note=True,
    )


CHECKS: tuple[Callable[[Attempt], Fault | None], ...] = (
    leaves_global_generators,
    leaves_its_inputs,
    has_the_right_shape,
    repeats_itself,
    leaves_other_trials_alone,
    is_finite,
    is_learned_from,
    predicts_row_by_row,
)
"""In the order in which they are asked."""


def unused_options(attempt: Attempt, names: Iterable[str]) -> Iterator[str]:
    """Those of a part's options that change nothing it gives one trial, whichever other value they take."""
    start = time.process_time()
    known = options_of(type(attempt.part))
    for name in names:
        # A part of many options is tried before each run of an edited module, so not for long.
        if time.process_time() - start > LONGEST:
            return
        values = list(other_values(known[name]))
        if values and not any(_differs(attempt, **{name: value}) for value in values):
            yield name


def _differs(attempt: Attempt, **options: Any) -> bool:
    probe, bench, usual = attempt.probe, attempt.bench, attempt.alone
    try:
        changed = Attempt(probe.make(type(attempt.part), bench, **options), probe, bench).alone
    # Two options may exclude each other, and a width may not fit.
    except Exception:
        return True
    if changed.keys() != usual.keys():
        return True
    return any(not same(output.value, changed[name].value) for name, output in usual.items())


def other_values(option: Option) -> Iterator[Any]:
    """Values that an option may take besides its default."""
    default = option.default
    if isinstance(default, bool):
        yield not default
    elif option.choices:
        yield from (choice for choice in option.choices if choice != default)
    elif isinstance(default, (int, float)):
        for value in (default * 2, default / 2, default + 1, default - 1):
            wanted = type(default)(value)
            if wanted != default and (option.limits is None or wanted in option.limits):
                yield wanted


def same(first: Tensor, second: Tensor) -> bool:
    """True if two tensors have the same shape and bits, NaN at the same places."""
    return first.shape == second.shape and torch.equal(first.nan_to_num(7e7), second.nan_to_num(7e7))


def close(first: Tensor, second: Tensor) -> bool:
    """True if two tensors are equal but for rounding."""
    if first.shape != second.shape or not first.is_floating_point():
        return same(first, second)
    return torch.allclose(first, second, rtol=ROUNDING, atol=ROUNDING, equal_nan=True)


def place_of(attempt: Attempt, fault: Fault) -> str:
    """The function, and the line, of a fault."""
    owner = attempt.latest.owner or getattr(attempt.part, "function", type(attempt.part))
    function = fault.function or attempt.latest.function
    line = fault.line
    if line is None and fault.pattern:
        line = line_with(owner, function, fault.pattern)
    return named(owner, function, line)
