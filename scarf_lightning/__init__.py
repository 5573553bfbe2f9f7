"""An ablation workbench for self-supervised pre-training on tables.

`run` trains a sweep, `plan` lists what is left to train,
`report` writes a page on the results, `load` reads them as a table; `compare` compares results of any library:

    >>> import scarf_lightning
    >>> trials = scarf_lightning.run(["corruption=mean,marginal", "trials=2"])
    >>> print(scarf_lightning.report(results="results"))

`ScarfClassifier`, `ScarfRegressor` and `ScarfTransformer` are for scikit-learn, `load_model` opens saved networks:

    >>> from scarf_lightning import ScarfClassifier
    >>> classifier = ScarfClassifier(n_trials=3).fit(X, y)
    >>> classifier.predict_proba(X_new)
"""

import importlib
import os
from typing import TYPE_CHECKING, Any

from .version import __version__ as __version__

if TYPE_CHECKING:
    from .cli.api import plan, run
    from .cli.report_command import report
    from .errors import UnfinishedError, UsageError
    from .estimators import ScarfClassifier, ScarfRegressor, ScarfTransformer, load_model
    from .reporting.own_results import compare
    from .results import load

__all__ = [
    "ScarfClassifier",
    "ScarfRegressor",
    "ScarfTransformer",
    "UnfinishedError",
    "UsageError",
    "compare",
    "load",
    "load_model",
    "plan",
    "report",
    "run",
]

_HOMES = {
    "plan": ".cli.api",
    "run": ".cli.api",
    "report": ".cli.report_command",
    "UnfinishedError": ".errors",
    "UsageError": ".errors",
    "ScarfClassifier": ".estimators",
    "ScarfRegressor": ".estimators",
    "ScarfTransformer": ".estimators",
    "load_model": ".estimators",
    "compare": ".reporting.own_results",
    "load": ".results",
}
"""The modules of the public names, imported when one is first asked for, so that importing the package is fast."""

# Intel's MKL picks its kernels by processor and batch size, and on some processors (seen on AMD's EPYC with MKL 2024.2)
# they round differently, so that the last bits of a trial would depend on how many trials train beside it. AUTO keeps
# to one code path at the same speed. MKL reads the variable at its first product, so it must be set before torch
# computes; importing torch first is fine. Where it comes too late, `engine.hardware.promise` notices. Child processes
# inherit it.
os.environ.setdefault("MKL_CBWR", "AUTO")
# Threads of OpenBLAS wait in a loop for 0.1 s after each product and when NumPy and SciPy are imported, each on a core
# of the machine, in every process. After 2^16 cycles they sleep instead; no product that was timed takes longer.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "16")


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(importlib.import_module(_HOMES[name], __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
