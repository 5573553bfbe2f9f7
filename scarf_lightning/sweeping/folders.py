"""Where the configuration and the sweeps are."""

from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def _folder(name: str) -> Path:
    """In a checkout it stands beside the package; `setup.py` puts it into the package in a wheel."""
    inside = PACKAGE / name
    return inside if inside.is_dir() else PACKAGE.parent / name


CONF, SWEEPS = _folder("conf"), _folder("sweeps")
