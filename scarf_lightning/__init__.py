"""An ablation workbench for self-supervised pre-training on tables.

`run` trains a sweep, `plan` says what there is to do, `report` writes what came out, `load` reads it as a table:

    >>> import scarf_lightning
    >>> trials = scarf_lightning.run(["corruption=mean,marginal", "trials=2"])
    >>> print(scarf_lightning.report(results="results"))

`ScarfClassifier` and `ScarfTransformer` are for scikit-learn, `load_model` opens networks that were carried away:

    >>> from scarf_lightning import ScarfClassifier
    >>> classifier = ScarfClassifier(n_trials=3).fit(X, y)
    >>> classifier.predict_proba(X_new)
"""

import importlib
from typing import TYPE_CHECKING, Any

from .rounding import round_alike_in_any_batch

if TYPE_CHECKING:
    from .errors import UnfinishedError, UsageError
    from .estimators import ScarfClassifier, ScarfTransformer, load_model
    from .results import load
    from .running.in_process import plan, run
    from .running.reporting import report

__all__ = [
    "ScarfClassifier",
    "ScarfTransformer",
    "UnfinishedError",
    "UsageError",
    "load",
    "load_model",
    "plan",
    "report",
    "run",
]

_HOMES = {
    "ScarfClassifier": ".estimators",
    "ScarfTransformer": ".estimators",
    "UnfinishedError": ".errors",
    "UsageError": ".errors",
    "load": ".results",
    "load_model": ".estimators",
    "plan": ".running.in_process",
    "report": ".report",
    "run": ".running.in_process",
}
"""Where a public name is defined: imported when it is first asked for, so that importing the package is fast."""

round_alike_in_any_batch()


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    home = importlib.import_module(_HOMES[name], __name__)
    return home if name == "report" else getattr(home, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
