"""Looks at the comparisons of a store: a line each of ``results/looks.jsonl``, in the order in which they were taken.

Who looks again and again finds a difference by chance. So each answer that was shown is remembered here, and the next
one is as strict as the looks before demand, see `scarf_lightning.verdicts.looks`. One call writes at the end of the
file, so runs that end at once do not mix their lines; a line that a crash has cut is left out.
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

FILE = "looks.jsonl"


def read_looks(results: Path) -> list[dict[str, Any]]:
    """The looks of a store, the first ones first; none if it has no such file, or if it cannot be read."""
    try:
        text = (results / FILE).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    looks = []
    for line in text.splitlines():
        try:
            look = json.loads(line)
        # A process was killed while it wrote, or somebody edited the file.
        except ValueError:
            continue
        if isinstance(look, dict):
            looks.append(look)
    return looks


def keep_looks(results: Path, looks: Sequence[Mapping[str, Any]]) -> bool:
    """Keep looks at the end of the file; false if the folder cannot be written."""
    if not looks:
        return True
    path = results / FILE
    lines = "".join(f"{json.dumps(look, sort_keys=True)}\n" for look in looks)
    try:
        # What a crash has cut has no end of line, and would swallow the next look.
        if path.exists() and not path.read_bytes().endswith(b"\n"):
            lines = f"\n{lines}"
        number = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            os.write(number, lines.encode())
            os.fsync(number)
        finally:
            os.close(number)
    except OSError:
        return False
    return True
