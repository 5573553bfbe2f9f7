"""An ablation workbench for self-supervised pre-training on tables.

`answer` asks whether pre-training helps on a table. `run` trains a sweep, `plan` says what there is to do, `report`
writes what came out, `load` reads it as a table:

    >>> import scarf_lightning
    >>> trials = scarf_lightning.run(["corruption=mean,marginal", "trials=2"])
    >>> print(scarf_lightning.report(results="results"))

`ScarfClassifier`, `ScarfRegressor` and `ScarfTransformer` are for scikit-learn, `load_model` opens
networks that were carried away:

    >>> from scarf_lightning import ScarfClassifier
    >>> classifier = ScarfClassifier(n_trials=3).fit(X, y)
    >>> classifier.predict_proba(X_new)
"""

import importlib
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .cli.api import answer, plan, run
    from .cli.reporting import report
    from .errors import UnfinishedError, UsageError
    from .estimators import ScarfClassifier, ScarfRegressor, ScarfTransformer, load_model
    from .results import load

__all__ = [
    "ScarfClassifier",
    "ScarfRegressor",
    "ScarfTransformer",
    "UnfinishedError",
    "UsageError",
    "answer",
    "load",
    "load_model",
    "plan",
    "report",
    "run",
]

_HOMES = {
    "ScarfClassifier": ".estimators",
    "ScarfRegressor": ".estimators",
    "ScarfTransformer": ".estimators",
    "UnfinishedError": ".errors",
    "UsageError": ".errors",
    "answer": ".cli.api",
    "load": ".results",
    "load_model": ".estimators",
    "plan": ".cli.api",
    "report": ".cli.reporting",
    "run": ".cli.api",
}
"""Where a public name is defined: imported when it is first asked for, so that importing the package is fast."""

__version__ = "0.1.0"

# Intel's MKL picks its kernels by processor and batch size, and on some processors (seen on AMD's EPYC with MKL 2024.2)
# they round differently, so that the last bits of a trial would depend on how many trials train beside it. AUTO keeps
# to one code path at the same speed. MKL reads the variable at its first product, so it must be set before torch
# computes; importing torch first is fine. Where it comes too late, `engine.hardware.promise` notices. Child processes
# inherit it.
os.environ.setdefault("MKL_CBWR", "AUTO")

# Importing a package sets it as an attribute of this one, once. The package `report` is imported here and its attribute
# removed, so that `scarf_lightning.report` is the function, whatever else of the package is imported later.
importlib.import_module(".report", __name__)
del globals()["report"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(importlib.import_module(_HOMES[name], __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
