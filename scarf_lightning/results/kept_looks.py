"""Looks at comparisons: a line each of ``results/<fingerprint>/looks.jsonl``, in the folder of its first cell.

Who looks again and again finds a difference by chance. So each answer that was shown is remembered here, and the next
one is as strict as the looks before demand, see `scarf_lightning.verdicts.looks`. One call writes at the end of a file,
so runs that end at once do not mix their lines; a line that a crash has cut is left out.
"""

import json
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..options.checking import are_usable
from .files import DamagedRecordError, read_bytes

FILE = "looks.jsonl"
MOST_BYTES = 100_000_000


def read_looks(results: Path) -> list[dict[str, Any]]:
    """The looks of a store; a file that cannot be used has none."""
    looks = []
    # A store of an earlier release has a file of all of them beside its cells.
    for file in (results / FILE, *sorted(results.glob(f"*/{FILE}"))):
        try:
            lines = read_bytes(file, MOST_BYTES).splitlines()
        except (FileNotFoundError, DamagedRecordError):
            continue
        for line in lines:
            try:
                look = json.loads(line)
            # A process was killed while it wrote, or somebody edited the file.
            except (ValueError, RecursionError):
                continue
            if isinstance(look, dict) and are_usable([look]):
                looks.append(look)
    return looks


def keep_looks(results: Path, looks: Sequence[Mapping[str, Any]]) -> bool:
    """Keep looks, each with the fingerprints of its cells as ``pairs``; false if a folder cannot be written."""
    by_cell = defaultdict[str, list[str]](list)
    for look in looks:
        by_cell[look["pairs"][0][0]].append(json.dumps(look, sort_keys=True))
    try:
        for cell, lines in by_cell.items():
            # Nobody's link sends them elsewhere.
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
            number = os.open(results / cell / FILE, flags, 0o666)
            try:
                # What a crash has cut has no end of line, and would swallow the next look.
                os.write(number, "\n".join(["", *lines, ""]).encode())
            finally:
                os.close(number)
    except OSError:
        return False
    return True
