"""Files of the store that somebody else wrote, with hashes that are right."""

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from scarf_lightning.results.records import SEAL


def reseal(path: Path, change: dict[str, Any], without: str | None = None) -> None:
    """Change fields of a JSON file of ours, or leave one out, and give it the hash that it then must have."""
    content = json.loads(path.read_text()) | change
    content = {name: value for name, value in content.items() if name not in (SEAL, without)}
    seal = sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    path.write_text(json.dumps(content | {SEAL: seal}))


def replace_file(record: Path, contents: str, name: str, content: bytes) -> None:
    """Replace a file of a record, or add one, with its size and its hash."""
    (record / name).write_bytes(content)
    table = json.loads((record / contents).read_text())
    files, hashes = table["files"] | {name: len(content)}, table["hashes"] | {name: sha256(content).hexdigest()}
    reseal(record / contents, {"files": files, "hashes": hashes})


def rewritten(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Let a function change a JSON file of ours, and give it the hash that it then must have."""
    content = json.loads(path.read_text())
    content.pop(SEAL, None)
    change(content)
    path.write_text("{}")
    reseal(path, content)
