"""The commit of the package's source."""

import subprocess
from functools import cache
from pathlib import Path


@cache
def source_commit() -> str | None:
    """As git describes it, ``-dirty`` where files differ from it; None where there is no checkout, or no git."""
    git = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--exclude=*"]
    try:
        ran = subprocess.run(git, capture_output=True, text=True, timeout=5)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ran.stdout.strip() if ran.returncode == 0 else None
