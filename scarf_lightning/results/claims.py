"""Claims: which process trains what, told only by files in the shared folder.

While a folder is claimed, ``<folder>/claim/`` holds one empty file, whose name tells the holder.

- A claim is made under a temporary name and renamed, which fails while another claim is there: one process wins.
- The holder touches the file as long as it lives. Its age is that by the clock that stamps the folder's files.
- A claim that is too old, is stamped in the future, or whose process is known to be dead is taken over by renaming the
  file. The file carries the holder's name, so of several processes one succeeds, and a claim that was made in the
  meantime is never hit.
- For a file of another program, such as a file manager, its age alone counts.
"""

import errno
import os
import re
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

from .records import refuse_links, remove, surely, temporary

FOLDER = "claim"
TOKEN = re.compile(r"(?P<pid>\d{1,9})\.(?P<started>\w+)\.(?P<space>\w+)\.\w+", re.ASCII)
STALE_AFTER = 120.0
"""Seconds without a sign of life after which a claim may be taken over."""
RENEW_EVERY = 20.0
"""Seconds between signs of life."""
LOOK_EVERY = 0.5
"""Seconds between looks at a claim that is waited for."""
_held: set[str] = set()
"""The claims of this process. A file of another one is left of a claim that could not be given back."""
_run = ""
"""How the names of the claims begin under which this process works, see `work_under_claims_of`."""


class LostClaimError(Exception):
    """Another process took a claim over while its holder showed no sign of life."""


class Claim:
    """A claim that this process holds, which a thread renews; or that its run holds, see `work_under_claims_of`."""

    def __init__(self, folder: Path, token: str) -> None:
        self._folder, self._token = folder, token
        self._place = folder / FOLDER
        self._path = self._place / token
        self._released = threading.Event()
        self._renewing = threading.Thread(target=self._renew, daemon=True)

    @property
    def is_own(self) -> bool:
        """Whether this process holds it, and may mend what is claimed."""
        return self._token in _held

    def check(self) -> None:
        """Check, before anything is published, that the claim is still held.

        Raises:
            LostClaimError: it is not.
        """
        try:
            os.utime(self._path)
        except FileNotFoundError as error:
            raise LostClaimError(
                f"{self._place.parent} was taken over by another process after {STALE_AFTER:g} seconds without a sign "
                "of life from this one; the results of the other process are kept."
            ) from error

    def keep(self) -> None:
        """Start to renew the claim."""
        self._renewing.start()

    def release(self) -> None:
        """Give the claim back, whether it is still held or not."""
        self._released.set()
        # A process that ends has stopped the thread already, and Python 3.13 would wait for it for ever.
        if self._renewing.is_alive() and not sys.is_finalizing():
            self._renewing.join()
        with suppress(OSError):
            # Another process may hold it by now.
            # So that nobody takes it over meanwhile.
            os.utime(self._path)
            _remove_others(self._path)
        with suppress(OSError):
            remove(self._path)
        with suppress(OSError):
            # A claim that is held is never empty.
            self._place.rmdir()

    def _renew(self) -> None:
        """Touch the file every so often, until the claim is released."""
        while not self._released.wait(RENEW_EVERY):
            with suppress(OSError):
                # A file server that is away for a moment; `check` finds a claim that is lost.
                os.utime(self._path)


@contextmanager
def claim(folder: Path, *, waits: bool = False) -> Iterator[Claim | None]:
    """The claim to a folder while the block runs, or None if a living process holds it; ``waits`` until it is free."""
    refuse_links(folder, folder / FOLDER)
    for path in _tokens(folder) if _run else ():
        if path.name.startswith(_run):
            yield Claim(folder, path.name)
            return
    token = _token()
    new_claim = Claim(folder, token)
    _held.add(token)
    try:
        while not (is_acquired := _create(folder, token) or _take_over(folder, token)) and waits:
            time.sleep(LOOK_EVERY)
        if is_acquired:
            new_claim.keep()
        yield new_claim if is_acquired else None
    finally:
        surely(new_claim.release)
        _held.discard(token)


def work_under_claims_of(parent: int) -> None:
    """Let this process, a worker, train what the process of this number has claimed. It checks those claims, and
    neither renews nor releases them."""
    global _run
    _run = f"{parent}.{_start_time(parent)}.{_process_space()}."


def give_back(folder: Path) -> None:
    """Remove a claim that has no holder, or whose holder is known to be dead, for instance of a job that was killed.

    A claim that is only old stays, because its holder may be asleep. So does one in a folder that cannot be written to.
    """
    holders = _tokens(folder)
    is_left = any(_is_dead(path.name) for path in holders) or (not holders and (folder / FOLDER).exists())
    if is_left and os.access(folder, os.W_OK):
        with claim(folder):
            # Takes it over, and releases it.
            pass


def is_claimed(folder: Path, now: float) -> bool:
    """True if a living process holds the folder; ``now`` is by the folder's clock, see `folder_time`."""
    return any(not _is_stale(path, now) for path in _tokens(folder))


def folder_time(folder: Path) -> float:
    """Seconds since the epoch by the clock that stamps files in this folder, which may be a file server's."""
    with temporary(folder / "time") as probe:
        probe.touch()
        return probe.stat().st_mtime


def _create(folder: Path, token: str) -> bool:
    """Make a claim. True if there was none."""
    folder.mkdir(parents=True, exist_ok=True)
    with temporary(folder / FOLDER) as draft:
        draft.mkdir()
        (draft / token).touch()
        # A folder cannot be renamed to one that holds a file, so of several processes one succeeds.
        try:
            draft.rename(folder / FOLDER)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            # It may be released by now.
            return False
    return True


def _take_over(folder: Path, token: str) -> bool:
    """Take over a claim that is not renewed. True if there was one, and this process got it."""
    now, paths = folder_time(folder), _tokens(folder)
    if not paths or not all(_is_stale(path, now) for path in paths):
        return False
    try:
        # All processes try the same file, so that one succeeds; first, so that its new name never looks old.
        os.utime(paths[0], follow_symlinks=False)
        own_file = paths[0].rename(paths[0].with_name(token))
    except FileNotFoundError:
        # Released, or another was first.
        return False
    _remove_others(own_file)
    return True


def _remove_others(own_file: Path) -> None:
    """Remove all other files from a claim that this process holds: those of no process, or of an earlier holder."""
    for path in own_file.parent.iterdir():
        if path != own_file:
            with suppress(OSError):
                # Its owner was faster.
                remove(path)


def _tokens(folder: Path) -> list[Path]:
    """The files of a claim: its holder's first, if there is one."""
    try:
        return sorted((folder / FOLDER).iterdir(), key=lambda path: (TOKEN.fullmatch(path.name) is None, path.name))
    except FileNotFoundError:
        return []


def _is_stale(path: Path, now: float) -> bool:
    """True if a file of a claim is too old, is from the future, or is that of a dead process."""
    try:
        stamp = path.lstat().st_mtime
    except FileNotFoundError:
        # Another process has it by now.
        return False
    if stamp > now + STALE_AFTER:
        # From the future, unless this process slept since it read the clock.
        return stamp > folder_time(path.parent.parent) + STALE_AFTER
    return now - stamp > STALE_AFTER or _is_dead(path.name)


def _token() -> str:
    """The name of a holder: process number, start, the space that counts process numbers, and a random name."""
    pid = os.getpid()
    # One process may claim a folder again, so its name and start are not enough.
    return f"{pid}.{_start_time(pid) or 'unknown'}.{_process_space()}.{uuid4().hex[:8]}"


def _is_dead(token: str) -> bool:
    """True if the holder is known to be dead, so that nobody has to wait: it ran on this machine and has ended."""
    holder = TOKEN.fullmatch(token)
    # Another machine, or a container in this one, has other process numbers.
    if holder is None or holder["space"] != _process_space() or holder["space"] == "unknown":
        return False
    pid, start = int(holder["pid"]), holder["started"]
    if pid == os.getpid() and start == _start_time(pid):
        return token not in _held
    # Signal 0 is not sent. It only checks that the process exists.
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        # It runs as another user.
        return False
    # The system gives numbers of ended processes to new ones.
    return _start_time(pid) not in (start, None)


def _start_time(pid: int) -> str | None:
    """When a process started, in ticks since boot; "ended" if only its parent has not noticed, None if unknown."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    # The name of the program comes before, in brackets, and may hold blanks.
    fields = status.rpartition(")")[2].split()
    state, start = fields[0], fields[19]
    return "ended" if state in "ZX" else start


def _process_space() -> str:
    """The name of the space that counts process numbers: a boot of a machine and a container in it."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        namespace = Path("/proc/self/ns/pid").readlink()
    except OSError:
        return "unknown"
    return sha256(f"{socket.gethostname()} {boot} {namespace}".encode()).hexdigest()[:12]
