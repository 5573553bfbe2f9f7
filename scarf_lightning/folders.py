"""Where the configuration and the sweeps are."""

from pathlib import Path

PACKAGE = Path(__file__).parent


def _folder(name: str) -> Path:
    """In a checkout beside the package, in an installed wheel inside it: `setup.py` puts it there."""
    inside = PACKAGE / name
    return inside if inside.is_dir() else PACKAGE.parent / name


CONF, SWEEPS = _folder("conf"), _folder("sweeps")
