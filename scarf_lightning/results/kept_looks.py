"""Looks at comparisons: a line each of ``results/<fingerprint>/looks.jsonl``, in the folder of its first cell.

Who looks again and again finds a difference by chance. So each answer that was shown is remembered here, and the next
one is as strict as the looks before demand, see `scarf_lightning.verdicts.looks`. One call writes at the end of a file,
so runs that end at once do not mix their lines; a line that a crash has cut is left out.
"""

import json
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..errors import UsageError
from .files import DamagedRecordError, read_bytes, refuse_links
from .records import MOST_JSON, from_json

FILE = "looks.jsonl"


def read_looks(results: Path) -> list[dict[str, Any]]:
    """The looks of a store; a file that cannot be used has none."""
    looks = []
    for file in sorted(results.glob(f"*/{FILE}")):
        with suppress(FileNotFoundError, DamagedRecordError):
            for line in read_bytes(file, MOST_JSON).splitlines():
                # A process was killed while it wrote, or somebody edited the file.
                with suppress(DamagedRecordError):
                    looks.append(from_json(line, FILE))
    return looks


def keep_looks(results: Path, looks: Sequence[Mapping[str, Any]]) -> bool:
    """Keep looks, each with the fingerprints of its cells as ``pairs``; false if a folder cannot be written."""
    by_cell = defaultdict[str, list[str]](list)
    for look in looks:
        by_cell[look["pairs"][0][0]].append(json.dumps(look, sort_keys=True))
    try:
        for cell, lines in by_cell.items():
            refuse_links(results / cell)
            # Nobody's link sends them elsewhere.
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
            number = os.open(results / cell / FILE, flags, 0o666)
            try:
                # What a crash has cut has no end of line, and would swallow the next look.
                os.write(number, "\n".join(["", *lines, ""]).encode())
            finally:
                os.close(number)
    except (OSError, UsageError):
        return False
    return True
