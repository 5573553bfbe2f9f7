"""The places in a user's source that sentences name: ``m.Bad.replacement (m.py, line 9)``."""

import inspect
import re
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

OWN_DRAWS = r"\b(randn?|randint|randperm|rand_like|randn_like|bernoulli|multinomial|normal_|uniform_|random)\b"
"""What draws random numbers in torch, numpy and the standard library."""
ALONG_TRIALS = r"\b(dim|axis)\s*=\s*[(\[]?\s*0\b|\.T\b|\.t\(\)|\.(mean|sum|std|var|max|min|median)\(\)|\.flatten\(\)"
"""What often reaches over the first axis, which is that of the trials."""


def named(part: Any, function: str = "", line: int | None = None) -> str:
    """The name of a class, or of one of its functions, with its place: ``m.Bad.replacement (m.py, line 9)``.

    Args:
        part: a class, or a function.
        function: of the class, which counts if the class or a parent of the user's defines it.
        line: of the source; its function is named then. None takes the first line of the definition.
    """
    own = _functions(part)
    if line is not None:
        containing = [name for name, (first, last) in own.items() if first <= line <= last]
        function = containing[0] if containing else ""
    elif function in own:
        line = own[function][0]
    else:
        function = ""
    name = ".".join(filter(None, [part.__module__, part.__qualname__, function]))
    try:
        file = Path(inspect.getsourcefile(part) or "").name
        line = line or _first_line(part)
    except (OSError, TypeError):
        return name
    return f"{name} ({file}, line {line})"


def _functions(part: Any) -> dict[str, tuple[int, int]]:
    """The functions that a class, or a parent in the same module, defines: their first and last lines."""
    found: dict[str, tuple[int, int]] = {}
    for owner in getattr(part, "__mro__", ()):
        for name, value in vars(owner).items():
            code = _plain(value)
            if owner.__module__ == part.__module__ and inspect.isfunction(code) and name not in found:
                try:
                    lines, first = inspect.getsourcelines(code)
                except (OSError, TypeError):
                    continue
                found[name] = (_first_line(code), first + len(lines) - 1)
    return found


def line_with(part: Any, function: str, pattern: str) -> int | None:
    """The first line that matches a pattern in a function of a class, or else in the class; None if none does."""
    code = _plain(inspect.getattr_static(part, function, part)) if function in _functions(part) else part
    for place in (code, part):
        try:
            lines, first = inspect.getsourcelines(place)
        except (OSError, TypeError):
            continue
        for number, text in enumerate(lines, first):
            if re.search(pattern, text.partition("#")[0]):
                return number
    return None


def line_of(error: BaseException, module: str) -> int | None:
    """The last line of a module that an error passed through."""
    file = getattr(sys.modules.get(module), "__file__", None)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return lines[-1] if lines else None


def text_at(module: str, line: int | None) -> str:
    """A line of a module's source."""
    file = getattr(sys.modules.get(module), "__file__", None)
    if line is None or file is None:
        return ""
    return Path(file).read_text(encoding="utf-8").splitlines()[line - 1]


def line_that_changes(state: Callable[[], Any], module: str, call: Callable[[], Any]) -> int | None:
    """The line of a module after which a state differs, while ``call`` runs; None if no line of it does that."""
    file = getattr(sys.modules.get(module), "__file__", None)
    found: list[int] = []
    before = state()

    def watch(frame: FrameType, event: str, argument: Any) -> Any:
        """Compare at each line of the module: what differs was done by the line before."""
        if frame.f_code.co_filename != file:
            return None
        last = [frame.f_lineno]

        def watch_line(inner: FrameType, event: str, argument: Any) -> Any:
            if not found and state() != before:
                found.append(last[0])
            last[0] = inner.f_lineno
            return watch_line

        return watch_line

    earlier = sys.gettrace()
    sys.settrace(watch)
    try:
        # A part may be wrong in another way, too.
        with suppress(Exception):
            call()
    finally:
        sys.settrace(earlier)
    return found[0] if found else None


def _plain(code: Any) -> Any:
    """The function in a property, a class method or a static method."""
    return getattr(code, "fget", None) or getattr(code, "__func__", code)


def _first_line(code: Any) -> int:
    """The line of ``class`` or ``def``, after the decorators."""
    lines, first = inspect.getsourcelines(code)
    for offset, text in enumerate(lines):
        if text.lstrip().startswith(("class ", "def ", "async def ")):
            return first + offset
    return first
