from collections.abc import Iterable

import pytest

from scarf_lightning.errors import UsageError, counted, did_you_mean, explained

KNOWN = ("marginal", "mean", "gaussian", "joint")
MORE_MEMORY = "It needs more memory"


@pytest.mark.parametrize(
    ("name", "known", "said"),
    [
        ("margnal", KNOWN, " Did you mean marginal?"),
        ("guassian", KNOWN, " Did you mean gaussian?"),
        ("zebra", KNOWN, ""),
        ("", KNOWN, ""),
        ("mean", iter([]), ""),
        ("GPU", ["cpu", "cuda"], " Did you mean cuda?"),
        ("mse", ["mae", "rmse"], " Did you mean rmse?"),
        ("mse", ["mae"], ""),
    ],
)
def test_a_near_name_or_that_of_other_tools_is_suggested_and_a_far_one_is_not(
    name: str, known: Iterable[str], said: str
) -> None:
    assert did_you_mean(name, known) == said


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (UsageError("trials must be at least 1, not 0."), "trials must be at least 1, not 0."),
        (OSError(28, "No space left on device", "results/a"), "results/a: No space left on device."),
        (
            OSError(28, "Error writing bytes to file. Detail: [errno 28] No space left on device", "results/a"),
            "results/a: No space left on device.",
        ),
        (MemoryError(), "It needs more memory than there is; "),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"), MORE_MEMORY),
        (type("OutOfMemoryError", (RuntimeError,), {})("CUDA out of memory"), MORE_MEMORY),
    ],
)
def test_what_is_no_fault_of_the_code_is_a_sentence(error: Exception, said: str) -> None:
    assert (explained(error) or "").startswith(said)
    assert explained(RuntimeError("shapes do not fit")) is None


def test_a_number_of_things() -> None:
    said = {0: "0 cells", 1: "1 cell", 2070: "2,070 cells", 2.5: "2.5 cells"}
    assert {n: counted(n, "cell") for n in said} == said
