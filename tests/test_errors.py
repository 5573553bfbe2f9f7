from collections.abc import Iterable

import pytest

from scarf_lightning.errors import (
    MOST_LISTED,
    UsageError,
    counted,
    did_you_mean,
    explained,
    unknown_name,
)

KNOWN = ("marginal", "mean", "gaussian", "joint")
MORE_MEMORY = "It needs more memory"


@pytest.mark.parametrize(
    ("name", "known", "said"),
    [
        ("margnal", KNOWN, "Did you mean marginal?"),
        ("guassian", KNOWN, "Did you mean gaussian?"),
        ("zebra", KNOWN, ""),
        ("", KNOWN, ""),
        ("mean", iter([]), ""),
        ("GPU", ["cpu", "cuda"], "Did you mean cuda?"),
        ("mse", ["mae", "rmse"], "Did you mean rmse?"),
        ("mse", ["mae"], ""),
        (" Marginl", KNOWN, "Did you mean marginal?"),
    ],
)
def test_a_near_name_or_that_of_other_tools_is_suggested_and_a_far_one_is_not(
    name: str, known: Iterable[str], said: str
) -> None:
    assert did_you_mean(name, known) == said


def test_a_refusal_asks_first_and_lists_last_and_of_many_names_the_first() -> None:
    many = [f"option_{n}" for n in range(40)]

    short = unknown_name("x.jiont is unknown", "jiont", KNOWN, "the parts of x")
    cut = unknown_name("optoin_31 is unknown", "optoin_31", many, "the options", full_list="scarf --help")
    alone = unknown_name("x is unknown", "x", many, "its columns", shown=repr)

    assert short == "x.jiont is unknown. Did you mean joint? The parts of x are: marginal, mean, gaussian, joint."
    assert cut.startswith("optoin_31 is unknown. Did you mean option_31? The options are: option_0, option_1, ")
    assert cut.endswith(f", and {40 - MOST_LISTED} more; scarf --help lists them.")
    assert alone == f"x is unknown. Its columns are: {', '.join(map(repr, many[:MOST_LISTED]))}, and 20 more."
    assert unknown_name("x is unknown", "x", [], "its columns") == "x is unknown. Its columns are: none."


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (UsageError("trials=0: it takes one."), "trials=0: it takes one."),
        (OSError(28, "No space left on device", "results/a"), "results/a: No space left on device."),
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
