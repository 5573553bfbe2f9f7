"""Looks at comparisons: a line each of ``results/<fingerprint>/looks.jsonl``, in the folder of its first cell.

Who looks again and again finds a difference by chance. So each answer that was shown is remembered here, and the next
one is as strict as the looks before demand, see `scarf_lightning.verdicts.looks`. One call writes at the end of a file,
so runs that end at once do not mix their lines; a line that a crash has cut is left out.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ..errors import UsageError
from .files import DamagedRecordError, read_bytes, refuse_links
from .records import MOST_JSON, Row, from_json

FILE = "looks.jsonl"


def read_looks(results: Path) -> list[Row]:
    """The looks of a store; a file that cannot be used has none."""
    looks = []
    for file in sorted(results.glob(f"*/{FILE}")):
        with suppress(FileNotFoundError, DamagedRecordError):
            for line in read_bytes(file, MOST_JSON).splitlines():
                # A process was killed while it wrote, or somebody edited the file.
                with suppress(DamagedRecordError):
                    looks.append(from_json(line, FILE))
    return looks


def keep_looks(results: Path, looks: Sequence[Row]) -> bool:
    """Keep looks, each with the fingerprints of its cells as ``pairs``; false if a folder cannot be written."""
    try:
        for look in looks:
            file = results / look["pairs"][0][0] / FILE
            refuse_links(file.parent, file)
            # A pipe would wait for a reader. What a crash has cut has no end of line, and would swallow the next look.
            if file.exists() and not file.is_file():
                return False
            with file.open("a", encoding="utf-8") as lines:
                lines.write(f"\n{json.dumps(look, sort_keys=True)}\n")
    except (OSError, UsageError):
        return False
    return True
