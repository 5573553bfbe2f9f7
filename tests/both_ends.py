"""A plugin of pytest: with ``--both-ends`` two forks run the tests, one from the first on and one from the last back.

Packages are imported and tests are collected once, before the forks. pytest-xdist does both in each of its processes.
The forks keep to neighbours, so most that tests share is made once, too. Whatever pytest shows or writes is of this
process::

    this process  ---- the places of its next two tests, then of one more a test, None at the end --->  fork
    this process  <--- starts, reports, warnings and ends of tests ----------------------------------  fork
"""

import os
import sys
import traceback
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--both-ends", action="store_true", help="run the tests in two forks, from both ends")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    chosen = session.config.option
    if not chosen.both_ends or chosen.collectonly or chosen.usepdb or session.testsfailed:
        return None
    # The forks put the folders of their tests into one, as one process does, and say nothing twice.
    session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
    session.config.get_terminal_writer().flush()
    waiting = deque(range(len(session.items)))
    forks = {fork.pipe: fork for fork in (_Fork(session, waiting.popleft), _Fork(session, waiting.pop))}
    try:
        for fork in forks.values():
            fork.give(waiting, 2)
        while forks:
            for pipe in wait(list(forks)):
                fork = forks[pipe]  # type: ignore[index]
                if not fork.listen(waiting):
                    del forks[fork.pipe]
                # The tests that each fork has got already are run, and no others.
                if session.shouldfail or session.shouldstop:
                    waiting.clear()
    finally:
        for fork in forks.values():
            fork.end()
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)
    return True


class _Fork:
    """A process that runs tests, and what this process knows of it."""

    def __init__(self, session: pytest.Session, take: Callable[[], int]) -> None:
        self._session, self._take = session, take
        self._running = "no test"
        self.pipe, theirs = Pipe()
        self._pid = os.fork()
        if self._pid == 0:
            self.pipe.close()
            _live(session, theirs)
        theirs.close()

    def give(self, waiting: deque[int], n: int = 1) -> None:
        """Send the places of the next tests, or that there are no more."""
        for _ in range(n):
            self.pipe.send(self._take() if waiting else None)

    def listen(self, waiting: deque[int]) -> bool:
        """Pass on what the fork says; False at its end."""
        config = self._session.config
        try:
            said, content = self.pipe.recv()
        except (EOFError, ConnectionError):
            if status := self.end():
                why = f"a process of tests ended with the status {status}, in or after {self._running}"
                raise self._session.Failed(why) from None
            return False
        if said == "report":
            report = config.hook.pytest_report_from_serializable(config=config, data=content)
            config.hook.pytest_runtest_logreport(report=report)
        elif said == "warning":
            config.hook.pytest_warning_recorded.call_historic(kwargs=content)
        elif said == "start":
            self._running = content["nodeid"]
            config.hook.pytest_runtest_logstart(**content)
        else:
            config.hook.pytest_runtest_logfinish(**content)
            # It may have died since, which is heard next.
            with suppress(OSError):
                self.give(waiting)
        return True

    def end(self) -> int:
        """Wait for the end of the fork, which has no tests from now on, for its exit status; 0 if it is known."""
        self.pipe.close()
        pid, self._pid = self._pid, 0
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) if pid else 0


def _live(session: pytest.Session, pipe: Connection) -> None:
    """The life of a fork, which never returns: it would go on as the process that it is a copy of."""
    status, config = 1, session.config
    capture: Any = config.pluginmanager.getplugin("capturemanager")
    try:
        config.pluginmanager.unregister(name="terminalreporter")
        config.pluginmanager.register(_Told(config, pipe))
        # What tests print goes to files, which the forks must not share.
        capture.stop_global_capturing()
        capture.start_global_capturing()
        current, following = pipe.recv(), pipe.recv()
        while current is not None:
            item, after = session.items[current], None if following is None else session.items[following]
            config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            current, following = following, None if following is None else pipe.recv()
        # What pytest finds at its end, such as a file that no test closed, counts here too.
        config._ensure_unconfigure()
        status = 0
    # Both ends of the pipe are interrupted together, and the first process may be gone.
    except (KeyboardInterrupt, EOFError, ConnectionError):
        pass
    except BaseException:
        capture.stop_global_capturing()
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


class _Told:
    """A plugin of a fork: what is told of a test goes to the first process."""

    def __init__(self, config: pytest.Config, pipe: Connection) -> None:
        self._config, self._pipe = config, pipe

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        self._pipe.send(("start", {"nodeid": nodeid, "location": location}))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._pipe.send(("report", data))

    def pytest_warning_recorded(self, warning_message: Any, when: str, nodeid: str, location: Any) -> None:
        told = {"warning_message": warning_message, "when": when, "nodeid": nodeid, "location": location}
        self._pipe.send(("warning", told))

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self, nodeid: str, location: Any) -> None:
        self._pipe.send(("finish", {"nodeid": nodeid, "location": location}))
