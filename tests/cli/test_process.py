import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scarf_lightning.cli.process import Terminated, ended_by_signals
from tests.processes import environment

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
IN_VAIN = 10.0
"""Seconds that a block runs where the signal comes to nothing."""


class Dropped:
    """Does this when nobody has it any more, in its `__del__`."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._act = act

    def __del__(self) -> None:
        self._act()


def terminated() -> None:
    signal.raise_signal(signal.SIGTERM)


def interrupted() -> None:
    signal.raise_signal(signal.SIGINT)


both_signals = pytest.mark.parametrize(("send", "ends"), [(terminated, Terminated), (interrupted, KeyboardInterrupt)])


def test_the_signal_ends_the_block_with_the_status_of_a_process_that_it_ended() -> None:
    cleaned = []

    @ended_by_signals()
    def block() -> None:
        try:
            terminated()
        finally:
            cleaned.append(True)

    with pytest.raises(Terminated) as raised:
        block()

    assert raised.value.code == 143
    assert cleaned == [True]


@both_signals
def test_one_that_comes_where_no_exception_gets_out_is_sent_again(
    send: Callable[[], None], ends: type[BaseException]
) -> None:
    went_on = []

    @ended_by_signals()
    def block() -> None:
        Dropped(send)
        went_on.append(True)
        time.sleep(IN_VAIN)
        pytest.fail("the signal came to nothing")

    with pytest.raises(ends):
        block()

    assert went_on == [True]


@both_signals
def test_one_that_makes_another_error_as_it_leaves_is_still_what_ended_the_block(
    send: Callable[[], None], ends: type[BaseException]
) -> None:
    """As in Hydra, which closes a file that it could not open."""

    @ended_by_signals()
    def block() -> None:
        try:
            send()
        except BaseException:
            del cleaned[0]

    cleaned: list[bool] = []
    with pytest.raises(ends):
        block()
    with pytest.raises(KeyError), ended_by_signals():
        raise KeyError("of no signal")


def test_what_signals_and_other_errors_do_is_what_it_was_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: said.append(unraisable.exc_type))
    before = signal.getsignal(signal.SIGTERM), sys.unraisablehook

    with ended_by_signals():
        Dropped(lambda: 1 / 0)
        assert (signal.getsignal(signal.SIGTERM), sys.unraisablehook) != before

    assert said == [ZeroDivisionError]
    assert (signal.getsignal(signal.SIGTERM), sys.unraisablehook) == before


def test_other_threads_which_get_no_signals_are_left_alone() -> None:
    handlers = []

    def run() -> None:
        with ended_by_signals():
            handlers.append(signal.getsignal(signal.SIGTERM))

    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()

    assert handlers == [before]


SAYS = """
import sys
from pathlib import Path
from scarf_lightning.cli.commands import answered


def speak(arguments):
    sys.stderr.write("Reading \\u2026\\n")
    for line in range(int(arguments[0])):
        print("0.3 \\u2013 0.5, \\u2212\\u00d7\\u00b1 \\u4e2d")
    with open("kept", "w") as file:
        file.write(str(file.fileno()))


sys.exit(answered(speak, sys.argv[1:]))
"""


def shell(redirected: str, folder: Path, lines: int = 1, **variables: str) -> subprocess.CompletedProcess[bytes]:
    """A command whose streams the shell redirects."""
    command = f'"{sys.executable}" -c "$SAYS" {lines} {redirected}'
    variables = environment() | {"SAYS": SAYS, "PYTHONUTF8": "0", **variables}
    return subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=folder, env=variables, capture_output=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        ("utf-8", "0.3 – 0.5, −×± 中\n".encode()),
        ("latin-1", b"0.3 ? 0.5, ?\xd7\xb1 ?\n"),
        ("ascii", b"0.3 ? 0.5, ??? ?\n"),
    ],
)
def test_signs_that_a_stream_lacks_are_written_in_others(encoding: str, expected: bytes, tmp_path: Path) -> None:
    ran = shell("", tmp_path, PYTHONIOENCODING=encoding)
    assert (ran.returncode, ran.stdout) == (0, expected)
    assert ran.stderr == ("Reading …\n" if encoding == "utf-8" else "Reading ?\n").encode()


@pytest.mark.slow
@pytest.mark.parametrize("redirected", ["2>&-", ">&-", "<&-", "<&- >&- 2>&-"])
def test_a_command_does_its_work_whatever_stream_is_closed(redirected: str, tmp_path: Path) -> None:
    assert shell(redirected, tmp_path).returncode == 0
    with (tmp_path / "kept").open() as kept:
        assert int(kept.read()) > 2, "a file of ours has no number of a stream"


@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_output_is_a_sentence(unbuffered: str, tmp_path: Path) -> None:
    ran = shell(">/dev/full", tmp_path, PYTHONUNBUFFERED=unbuffered)
    assert (ran.returncode, ran.stderr.decode().splitlines()[1:]) == (1, ["No space left on device."])


def test_output_that_nobody_reads_ends_with_the_status_of_sigpipe(tmp_path: Path) -> None:
    ran = shell("| head -1", tmp_path, lines=100_000)
    assert ran.returncode == 141
    assert ran.stderr == "Reading …\n".encode()
    assert not (tmp_path / "kept").exists()


@pytest.mark.slow
def test_what_hydra_logs_and_nobody_reads_is_no_error_of_its_log(tmp_path: Path) -> None:
    script = "import sys; from scarf_lightning.cli.commands import train; sys.exit(train())"
    command = f"\"{sys.executable}\" -c '{script}' --info all | true"
    ran = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], cwd=tmp_path, env=environment(), capture_output=True
    )
    assert ran.stderr == b""
