"""Verdicts on a module's parts: each is taken, or refused with the reason."""

import inspect
import logging
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ..data.table import Table
from ..engine.hardware import own_torch, torch_threads
from ..errors import UsageError
from ..metrics import METRICS, Metric, metrics
from ..options import Config
from ..options.axes import BASES, classes, parts
from ..options.combinations import used_options
from ..options.plugins import load_plugins
from .bench import (
    N_ROWS,
    ROUNDING,
    TRIALS,
    Trained,
    WrongError,
    call_checked,
    check_company,
    check_hidden,
    check_trained,
    make_part,
    tables_for,
    watch,
)  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    """The outcome of the checks of a part before it trains.

    Attributes:
        title: the part as options name it, ``corruption=median``.
        fault: the sentence that refuses it; None if it is taken.
        notes: sentences for its user.
    """

    title: str
    fault: str | None = None
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.fault is not None:
            return f"{self.title}: not taken\n  {self.fault}"
        return "\n  Note: ".join([f"{self.title}: taken", *self.notes])


def refuse_untaken(plugins: Sequence[str]) -> None:
    """Import plugins, and refuse their classes of parts that a command could not name.

    Raises:
        UsageError: a module cannot be imported, two parts have one name, or the sentence on such a class.
    """
    load_plugins(plugins)
    for plugin in plugins:
        for cls, axis in _classes_of(plugin):
            if fault := _why_not_declared(cls, axis):
                raise UsageError(fault)


def check_used(configs: Iterable[Config]) -> list[str]:
    """Try the parts and metrics of a user's own that cells use, before these train. Metrics are measured in all cells.

    Returns:
        Sentences on parts that train all the same.

    Raises:
        UsageError: one of them is wrong.
    """
    verdicts = dict[Verdict, None]()
    for config in configs:
        verdicts |= {check_part(part.own, part.axis): None for part in used_options(config) if part.own}  # type: ignore[arg-type]
        verdicts |= {check_metric(metric): None for plugin in config.plugins for metric in _metrics_of(plugin)}
    for verdict in verdicts:
        if verdict.fault is not None:
            raise UsageError(verdict.fault)
    return [note for verdict in verdicts for note in verdict.notes]


def check_module(module: str) -> list[Verdict]:
    """Try all parts of a module.

    Raises:
        UsageError: the module cannot be imported, two parts have one name, or it has no part.
    """
    load_plugins([module])
    verdicts = [check_part(cls, axis) for cls, axis in _classes_of(module)]  # type: ignore[arg-type]
    verdicts += [check_metric(metric) for metric in _metrics_of(module)]
    if not verdicts:
        raise UsageError(
            f"{module} has no part: no class that inherits from one of an axis, such as "
            "scarf_lightning.corruption.SelectiveCorruption, and no metric."
        )
    return verdicts


def _classes_of(module: str) -> Iterator[tuple[type[Any], str]]:
    """The classes of a module, or of the modules of a package, that are parts, with their axis."""
    for axis in BASES:
        # Two of one name are refused.
        parts(axis)
        for cls in classes(axis):
            # A class that others inherit from, and that has no name, is their base.
            if _is_in(cls, module) and (hasattr(cls, "name") or not cls.__subclasses__()):
                yield cls, axis


def _metrics_of(module: str) -> list[Metric]:
    return [metric for metric in metrics() if metric not in METRICS and _is_in(metric.function, module)]


def _is_in(code: Any, module: str) -> bool:
    return f"{code.__module__}.".startswith(f"{module}.")


def _why_not_declared(cls: type[Any], axis: str) -> str | None:
    """The sentence on a class that cannot be named, made or configured; None if it can."""
    subject = f"{_name(cls)} is a part of {axis}"
    if not hasattr(cls, "name"):
        return f'{subject} without a name; add the line name: ClassVar[str] = "{cls.__name__.lower()}".'
    if missing := " and ".join(sorted(cls.__abstractmethods__)):
        return f"{subject} without {missing}; define it."
    options = [name for name, hint in inspect.get_annotations(cls).items() if "ClassVar" not in str(hint)]
    if options and "__dataclass_fields__" not in vars(cls):
        return f"{_name(cls)} is no dataclass, so {options[0]} is no option; write @dataclass above the class."
    return None


@cache
def check_part(cls: type[Any], axis: str) -> Verdict:
    """Try a class of an axis."""
    if fault := _why_not_declared(cls, axis):
        return Verdict(_name(cls), fault)

    def run_checks() -> Iterator[str]:
        part = make_part(cls)
        changes = watch(part, axis)
        tables = list(tables_for(part))
        for table in tables.copy():
            try:
                yield from _check_on_table(part, axis, table, changes)
            except UsageError as error:
                # Such as a part for numbers on a table of categories.
                tables.remove(table)
                if not tables:
                    raise
                yield f"does not take {table.name}: {error}"

    return _verdict(cls, f"{axis}={cls.name}", run_checks)


def _check_on_table(part: Any, axis: str, table: Table, changes: Sequence[bool | None]) -> Iterator[str]:
    """Run all checks of a part on a table; yields notes.

    Raises:
        WrongError: the part is wrong.
    """
    among = Trained(axis, part, table, TRIALS)
    check_trained(among)
    check_hidden(part)
    # Trial 0 comes last: a cache by shape keeps what the trial before has left in it.
    alone = {position: Trained(axis, part, table, (TRIALS[position],)) for position in (1, 0)}
    check_company(among, alone, Trained(axis, part, table, TRIALS))
    if axis == "corruption" and not any(changes):
        yield "changes nothing: each view is the row itself."
    if not np.allclose(*among.embeddings, ROUNDING, ROUNDING):
        yield (
            "gives a row another embedding among other rows, so a prediction depends on the rows beside it; take means "
            "over columns (dim=-1), or scarf_lightning.networks.BatchNorm."
        )


def check_metric(metric: Metric) -> Verdict:
    """Try a metric on predictions that are right and that are wrong, and on labels that are all equal."""
    labels: Any = np.arange(N_ROWS) % 3
    right, wrong = np.eye(3)[labels] * 0.97 + 0.01, np.eye(3)[labels - 1] * 0.97 + 0.01
    if "number" in metric.targets:
        labels = np.linspace(-1, 1, N_ROWS)
        right, wrong = labels.copy(), -labels

    def measure(predictions: Any) -> Any:
        value = call_checked(metric.function, predictions, labels)
        if not isinstance(value, (int, float, np.number)):
            raise WrongError(f"gives a {type(value).__name__}; it has to return one number, as by float(...)")
        low, high = metric.bounds
        if not low <= value <= high:
            raise WrongError(f"is {value}, outside its bounds {low} to {high}; state bounds=(LOW, HIGH)")
        return value

    def run_checks() -> Iterable[str]:
        best, worst = measure(right), measure(wrong)
        if metric.sign * best < metric.sign * worst:
            raise WrongError(
                "is better for wrong predictions than for right ones; "
                f"higher_is_better={not metric.higher_is_better} would be its direction"
            )
        # Test rows may all be of one class.
        call_checked(metric.function, right, labels * 0)
        if measure(right) != best:
            raise WrongError("gives another number when it is called again; it may keep nothing between calls")
        return ()

    return _verdict(metric.function, f"metric {metric.name}", run_checks)


def _verdict(code: Any, title: str, run_checks: Callable[[], Iterable[str]]) -> Verdict:
    """The verdict on a class or a function, with the part's own traceback where it fails."""
    with warnings.catch_warnings(), own_torch(), torch_threads(1):
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        try:
            return Verdict(title, None, tuple(dict.fromkeys(f"{_name(code)} {note}" for note in run_checks())))
        except WrongError as error:
            sentence = str(error)
        except Exception as error:
            sentence = f"fails, {type(error).__name__}: {' '.join(str(error).split())}"
            file = getattr(sys.modules[code.__module__], "__file__", None)
            frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
            if frames:
                sentence += f" (line {frames[-1].lineno}: {frames[-1].line})"
        finally:
            logging.disable(logging.NOTSET)
    return Verdict(title, f"{_name(code)} {sentence.rstrip('.')}.")


def _name(code: Any) -> str:
    return f"{code.__module__}.{code.__qualname__}"
