"""Pickles of earlier versions, which name modules that this version does not have, are refused in a sentence."""

import sys
from importlib.abc import MetaPathFinder

from ..errors import UsageError

OF_EARLIER_VERSIONS = {
    f"{__package__}.{name}" for name in ("base", "cells", "classifier", "composing", "loading", "tables", "transformer")
}
"""Modules that version 0.1.0 had."""


class RefusingFinder(MetaPathFinder):
    """Answers the import of a module that only earlier versions had, as unpickling makes it."""

    def find_spec(self, name: str, path: object, target: object = None) -> None:
        """None for other modules.

        Raises:
            UsageError: an earlier version had this module.
        """
        if name not in OF_EARLIER_VERSIONS:
            return
        raise UsageError(
            f"{name} is of an earlier version of SCARF-Lightning, and a pickle works with the version that made it; "
            "load it there, and keep the model by model.save(FOLDER), which later versions read."
        )


def refuse_earlier_pickles() -> None:
    """Ask the finder after all others, once in this process."""
    # Last, so that a module which exists, of whatever package, is found first.
    if not any(isinstance(finder, RefusingFinder) for finder in sys.meta_path):
        sys.meta_path.append(RefusingFinder())
