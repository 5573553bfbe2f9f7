import pytest

from scarf_lightning.errors import UsageError, counted, did_you_mean, explained

KNOWN = ("marginal", "mean", "gaussian", "joint")


@pytest.mark.parametrize(
    ("name", "said"),
    [("margnal", " Did you mean marginal?"), ("guassian", " Did you mean gaussian?"), ("zebra", ""), ("", "")],
)
def test_a_near_name_is_suggested_and_a_far_one_is_not(name: str, said: str) -> None:
    assert did_you_mean(name, KNOWN) == said


def test_where_there_are_no_names_nothing_is_suggested() -> None:
    assert did_you_mean("mean", iter([])) == ""


def test_a_name_of_other_tools_suggests_ours() -> None:
    assert did_you_mean("GPU", ["cpu", "cuda"]) == " Did you mean cuda?"
    assert did_you_mean("mse", ["mae", "rmse"]) == " Did you mean rmse?"
    assert did_you_mean("mse", ["mae"]) == "", "it has no name of ours here"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (UsageError("trials must be at least 1, not 0."), "trials must be at least 1, not 0."),
        (OSError(28, "No space left on device", "results/a"), "results/a: No space left on device."),
        (MemoryError(), "It needs more memory than there is; "),
        (
            RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"),
            "It needs more memory",
        ),
        (type("OutOfMemoryError", (RuntimeError,), {})("CUDA out of memory"), "It needs more memory"),
    ],
)
def test_what_is_no_fault_of_the_code_is_a_sentence(error: Exception, said: str) -> None:
    assert (explained(error) or "").startswith(said)


def test_a_fault_of_the_code_is_none() -> None:
    assert explained(RuntimeError("shapes do not fit")) is None


@pytest.mark.parametrize(("n", "said"), [(0, "0 cells"), (1, "1 cell"), (2070, "2,070 cells"), (2.5, "2.5 cells")])
def test_a_number_of_things(n: float, said: str) -> None:
    assert counted(n, "cell") == said
