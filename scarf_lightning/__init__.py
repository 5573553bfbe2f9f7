"""An ablation workbench for self-supervised pre-training on tables.

`ScarfClassifier` and `ScarfTransformer` are for scikit-learn, `load_model` opens networks that were carried away:

    >>> from scarf_lightning import ScarfClassifier
    >>> classifier = ScarfClassifier(n_trials=3).fit(X, y)
    >>> classifier.predict_proba(X_new)
"""

import importlib
from typing import TYPE_CHECKING, Any

from .rounding import round_alike_in_any_batch

if TYPE_CHECKING:
    from .estimators import ScarfClassifier, ScarfTransformer, load_model

__all__ = ["ScarfClassifier", "ScarfTransformer", "load_model"]

_HOMES = {
    "ScarfClassifier": ".estimators",
    "ScarfTransformer": ".estimators",
    "load_model": ".estimators",
}
"""Where a public name is defined: imported when it is first asked for, so that importing the package is fast."""

round_alike_in_any_batch()


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(importlib.import_module(_HOMES[name], __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
