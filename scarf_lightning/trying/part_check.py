"""A module's parts, each taken or with a sentence that says why not."""

import logging
import random
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..engine.hardware import own_torch, torch_threads
from ..errors import UsageError, unknown_name
from ..metrics import METRICS, Metric, metrics
from ..options import Config, used_options
from ..options.axes import BASES, is_own, part
from ..options.combinations import part_axis
from ..options.option import Options, options_of
from ..options.plugins import load_plugins, source_hash
from .call import Probe, WrongError
from .checks import CHECKS, Attempt, place_of, unused_options
from .declared import bases, classes_of, kind_of, why_not_taken
from .kept import keep_notes, kept_notes
from .probes import CorruptionProbe, LossProbe, NetworkProbe, PretextProbe, SelectionProbe
from .source_lines import line_of, named, text_at
from .table_probes import MethodProbe, MetricProbe, PreparingProbe

LONGEST = 0.03
"""Seconds of a part whose options are tried, too."""
CURES = {
    ".T": "use .mT, which leaves the axis of the trials alone",
    "dim=0": "count axes from the right, dim=-2 for rows",
    "axis=0": "count axes from the right, dim=-2 for rows",
    ".numpy()": "compute in torch, so that a gradient and a GPU are possible",
    "np.": "compute in torch, so that a gradient and a GPU are possible",
    "numpy.ndarray": "compute in torch, so that a gradient and a GPU are possible",
    "random operation": "take scarf_lightning.networks.Dropout, which draws from the trial's stream",
    "Dropout": "take scarf_lightning.networks.Dropout, which draws from the trial's stream",
    "dropout": "take scarf_lightning.networks.Dropout, which draws from the trial's stream",
    "BatchNorm": "take scarf_lightning.networks.BatchNorm",
}
"""What mends a line of source, or an error, that has one of these."""


@dataclass(frozen=True)
class Verdict:
    """What is known of a part before it trains.

    Attributes:
        title: the part as options name it, ``corruption=median``.
        fault: the sentence that refuses it; None if it is taken.
        notes: sentences on what its user should know.
        seen: what it gave.
        milliseconds: of a step, or a call, on three trials.
        unit: which of them.
    """

    title: str
    fault: str | None = None
    notes: tuple[str, ...] = ()
    seen: str = ""
    milliseconds: float = 0.0
    unit: str = "step"

    def __str__(self) -> str:
        if self.fault is not None:
            return f"{self.title}: not taken\n  {self.fault}"
        lines = [f"{self.title}: taken; {self.milliseconds:.1f} ms a {self.unit}", f"  {self.seen}"]
        return "\n".join([*lines, *(f"  Note: {note}" for note in self.notes)])


def refuse_untaken(names: Sequence[str], words: Collection[str]) -> None:
    """Refuse the classes of plugins that are no parts, and that a command means all the same.

    Args:
        names: the modules.
        words: of the command, such as ``median``: a class without a name is meant by its own in lower case.

    Raises:
        UsageError: a module cannot be imported, or the sentence on such a class.
    """
    load_plugins(names)
    bases()
    for name in names:
        for cls in classes_of(sys.modules[name]):
            called = {getattr(cls, "name", None), cls.__name__, cls.__name__.lower()}
            fault = None if called.isdisjoint(words) else why_not_taken(cls)
            if fault is not None:
                raise UsageError(fault)


def check_used(configs: Iterable[Config]) -> list[str]:
    """Try the parts of a user's own that cells use, before these train. One that was taken is not tried again until
    the source of its module changes.

    Returns:
        Sentences on parts that train all the same.

    Raises:
        UsageError: one of them is wrong.
    """
    # By their identity: a metric need not be hashable.
    notes, seen = list[str](), set[int]()
    for config in configs:
        for used in _used(config):
            if id(used) not in seen:
                seen.add(id(used))
                notes += _notes_of(used, config.plugins)
    return notes


def _used(config: Config) -> Iterator[Any]:
    """The parts and the metrics of a user's own that a cell uses. All metrics of a plugin are measured."""
    # A class may be registered by a program itself, with no plugin's name.
    for each in used_options(config):
        axis = part_axis(each.name)
        if axis in BASES and (axis, each.value) != ("pretrain", "none") and not is_own(part(axis, each.value)):
            yield part(axis, each.value)
    for metric in metrics():
        if metric not in METRICS and _is_in(metric.function.__module__, config.plugins):
            yield metric


def _notes_of(used: Any, plugins: Sequence[str]) -> list[str]:
    code = used.function if isinstance(used, Metric) else used
    hashes = [source_hash(name) for name in plugins if _is_in(code.__module__, [name])]
    # A class of a notebook has no file whose hash would tell that it has changed.
    source = f"{code.__module__}.{code.__qualname__} {' '.join(hashes)}" if hashes else None
    known = None if source is None else kept_notes(source)
    if known is not None:
        return known
    verdict = _verdict(used)
    if verdict.fault is not None:
        raise UsageError(verdict.fault)
    if source is not None:
        keep_notes(source, list(verdict.notes))
    return list(verdict.notes)


def _is_in(module: str, packages: Collection[str]) -> bool:
    return any(module == each or module.startswith(f"{each}.") for each in packages)


def check_module(module: str, name: str | None = None) -> list[Verdict]:
    """Try all parts of a module, or those whose class or name is ``name``.

    Raises:
        UsageError: the module cannot be imported, or has no such part.
    """
    load_plugins([module])
    # The rooms of all axes are imported, so that a class is known for what it is.
    bases()
    imported = sys.modules[module]
    found: dict[str, Any] = {cls.__name__: cls for cls in classes_of(imported)}
    own = [each for each in metrics() if each not in METRICS]
    found |= {each.name: each for each in own if each.function.__module__ in {module, *_submodules(module)}}
    if not found:
        raise UsageError(
            f"{module} has no part: no class that inherits from one of an axis, such as "
            "scarf_lightning.corruption.SelectiveCorruption, and no metric."
        )
    if name is not None:
        chosen = {key: each for key, each in found.items() if name in (key, getattr(each, "name", None))}
        if not chosen:
            raise UsageError(unknown_name(f"{module} has no part {name}", name, found, "its parts"))
        found = chosen
    return [_verdict(each) for each in found.values()]


def _submodules(module: str) -> list[str]:
    return [name for name in sys.modules if name.startswith(f"{module}.")]


def check_part(cls: type[Any], kind: str) -> Verdict:
    """Try a class of a kind of part, which is declared as one."""
    return _tried(cls, f"{kind}={cls.name}", probe_of(kind))


def _verdict(part: Any) -> Verdict:
    if isinstance(part, Metric):
        return check_metric(part)
    fault = why_not_taken(part)
    if fault is not None:
        return Verdict(f"{part.__module__}.{part.__qualname__}", fault)
    kind = kind_of(part)
    assert kind is not None
    return check_part(part, kind)


def check_metric(metric: Metric) -> Verdict:
    """Try a metric."""
    return _tried(metric, f"metric {metric.name}", MetricProbe())


def probe_of(kind: str) -> Probe:
    """The probe of the parts of an axis."""
    probes: dict[str, Probe] = {
        "corruption": CorruptionProbe(), "selection": SelectionProbe(), "loss": LossProbe(),
        "pretrain": PretextProbe(), "network": NetworkProbe(), "method": MethodProbe(),
    }  # fmt: skip
    return probes.get(kind) or PreparingProbe(kind)


def _tried(subject: Any, title: str, probe: Probe) -> Verdict:
    """The verdict on a class, or on a metric, of which each table may refuse it by a sentence of its own."""
    with _silenced(), own_torch(), torch_threads(1):
        try:
            return _verdict_of_tables(subject, title, probe)
        except _RefusedError as error:
            return Verdict(title, str(error))


@contextmanager
def _silenced() -> Iterator[None]:
    """Within, nothing is warned of, and nothing stays of what a part does to the global generators."""
    numpy_state, python_state = np.random.get_state(), random.getstate()  # noqa: NPY002
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)
        np.random.set_state(numpy_state)  # noqa: NPY002
        random.setstate(python_state)


class _RefusedError(Exception):
    """The sentence on a part that is not taken."""


def _verdict_of_tables(subject: Any, title: str, probe: Probe) -> Verdict:
    part = subject if isinstance(subject, Metric) else _made(subject, probe)
    notes, taken = list[str](), list[Attempt]()
    # Metrics and kinds of targets have no options.
    has_options = isinstance(subject, type) and issubclass(subject, Options)
    unused = list(options_of(subject)) if has_options else []
    for bench in probe.benches(part):
        attempt = Attempt(part, probe, bench)
        try:
            notes += _faults(attempt, subject)
        except UsageError as error:
            # Such as a part for numbers on a table of categories.
            notes.append(f"{_name(subject)} does not take {bench.title}: {error}")
            continue
        taken.append(attempt)
        # Other values of a part that takes long, such as a method that trains by itself, would take too long.
        unused = list(unused_options(attempt, unused)) if attempt.seconds < LONGEST else []
    if not taken:
        raise _RefusedError(notes[0])
    for name in sorted(unused):
        notes.append(
            f"{_name(subject)}: the option {name} changes nothing on two small tables; use self.{name}, or leave "
            "it out."
        )
    call, _ = taken[0].first
    return Verdict(title, None, tuple(dict.fromkeys(notes)), call.seen, 1000 * taken[0].seconds, probe.unit)


def _made(subject: Any, probe: Probe) -> Any:
    from .bench import benches

    try:
        return probe.make(subject, benches()[0])
    except WrongError as error:
        raise _RefusedError(f"{_name(subject)} {error}.") from error
    except Exception as error:
        line = line_of(error, subject.__module__)
        raise _RefusedError(
            f"{named(subject, line=line)} cannot be made with its defaults: {error}; give each option a default that "
            "it takes."
        ) from error


def _faults(attempt: Attempt, subject: Any) -> Iterator[str]:
    """Sentences on faults that are notes; the first other one is raised."""
    for check in CHECKS:
        try:
            fault = check(attempt)
        except UsageError:
            raise
        except WrongError as error:
            raise _RefusedError(f"{_place(attempt, subject)} {error}.") from error
        except (Exception, SystemExit) as error:
            raise _RefusedError(_error_sentence(attempt, subject, error)) from error
        if fault is None:
            continue
        sentence = f"{place_of(attempt, fault)} {fault.words}, on {attempt.bench.title}."
        if not fault.is_note:
            raise _RefusedError(sentence)
        yield sentence


def _error_sentence(attempt: Attempt, subject: Any, error: BaseException) -> str:
    """A sentence on an error within a part."""
    code = subject.function if isinstance(subject, Metric) else subject
    line = line_of(error, code.__module__)
    # Sometimes a line of ours stops at what the part gave, and only the message tells.
    text = text_at(code.__module__, line) + str(error)
    cure = next((cure for sign, cure in CURES.items() if sign in text), None)
    cure = cure or f"it has to return {attempt.probe.returned(attempt.latest.function)}"
    said = " ".join(str(error).split())[:160]
    place = _place(attempt, subject, line)
    return f"{place} fails on {attempt.bench.title}, {type(error).__name__}: {said}; {cure}."


def _place(attempt: Attempt, subject: Any, line: int | None = None) -> str:
    if isinstance(subject, Metric):
        return named(subject.function, line=line)
    owner = attempt.latest.owner or subject
    return named(owner, attempt.latest.function, line)


def _name(subject: Any) -> str:
    return named(subject.function if isinstance(subject, Metric) else subject)
