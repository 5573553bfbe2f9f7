"""Asks MKL to round a product alike in whatever batch it is computed, before MKL is first used.

MKL picks its kernels by processor and by the size of a batch. On some processors (seen on AMD's EPYC with MKL 2024.2)
the kernels of small and of large batches round differently, and the last bits of a trial would depend on how many
trials are trained beside it. With ``MKL_CBWR=AUTO`` one code path serves them all, at the same speed.

MKL reads the variable at its first call, not when it is loaded. So this package sets it when it is imported, and a
notebook that says ``import torch`` first is covered too, as long as torch has computed nothing by MKL before: a matrix
product, a factorisation, an exponential or a logarithm is a call; making tensors and drawing normal numbers is not, nor
is what NumPy and SciPy do, which bring a library of their own. Where the variable comes too late, is set otherwise by
the user, or means nothing because the processor has no MKL, `scarf_lightning.engine.exactness` notices.

Processes that are started later inherit the environment: the workers of every launcher are covered.
"""

import os

VARIABLE, ASKED = "MKL_CBWR", "AUTO"


def round_alike_in_any_batch() -> None:
    """Set the variable, unless the user has."""
    os.environ.setdefault(VARIABLE, ASKED)
