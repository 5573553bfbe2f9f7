"""Pickles of earlier versions name modules and classes that this version does not have: a sentence refuses them."""

import sys
from importlib.abc import MetaPathFinder
from typing import NoReturn

from ..errors import UsageError
from ..options import settings

OF_EARLIER_VERSIONS = {
    f"{__package__}.{name}" for name in ("base", "cells", "classifier", "composing", "loading", "tables", "transformer")
}
"""Modules that version 0.1.0 had."""
CLASSES_OF_EARLIER_VERSIONS = ((settings, "Config"),)
"""Classes of which fitted estimators held an instance, and the modules where they were."""


class RefusingFinder(MetaPathFinder):
    """Answers the import of a module that only earlier versions had, as unpickling makes it."""

    def find_spec(self, name: str, path: object, target: object = None) -> None:
        """None for other modules.

        Raises:
            UsageError: an earlier version had this module.
        """
        if name in OF_EARLIER_VERSIONS:
            _refuse(name)


class RefusingClass:
    """Stands where a class of earlier versions was. Unpickling makes an instance first, and fills it then."""

    def __new__(cls) -> "RefusingClass":
        _refuse("The configuration in this pickle")


def refuse_earlier_pickles() -> None:
    """Ask the finder after all others, and put the class in its places, once in this process."""
    # Last, so that a module which exists, of whatever package, is found first.
    if not any(isinstance(finder, RefusingFinder) for finder in sys.meta_path):
        sys.meta_path.append(RefusingFinder())
    for module, name in CLASSES_OF_EARLIER_VERSIONS:
        setattr(module, name, RefusingClass)


def _refuse(what: str) -> NoReturn:
    raise UsageError(
        f"{what} is of an earlier version of SCARF-Lightning, and a pickle works with the version that made it; "
        "load it there, and keep the model by model.save(FOLDER), which later versions read."
    )
