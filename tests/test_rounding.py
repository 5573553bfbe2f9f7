"""What the package asks of MKL when it is imported, in processes of their own."""

import os
import subprocess
import sys

import pytest
import torch

from tests.composing import ROOT

ASKED = "import os, scarf_lightning; print(os.environ['MKL_CBWR'])"
PROMISE = """
import torch
torch.set_num_threads(1)
{before}
import scarf_lightning
from scarf_lightning.engine.exactness import promise
print(promise(torch.device("cpu"), "32-true"))
"""


def said_by(code: str, **variables: str) -> str:
    """What a process prints that starts without this one's settings of MKL."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("MKL_")}
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=others | variables, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout.strip()


def test_importing_the_package_asks_for_one_rounding() -> None:
    assert said_by(ASKED) == "AUTO"


@pytest.mark.parametrize("own", ["COMPATIBLE", "AVX2", ""])
def test_a_setting_of_ones_own_is_left_alone(own: str) -> None:
    assert said_by(ASKED, MKL_CBWR=own) == own


@pytest.mark.slow
@pytest.mark.parametrize("guard", ["on", "off"])
def test_the_stacks_contract_holds_as_promised_with_the_guard_and_without(guard: str) -> None:
    """An empty setting is one of one's own, which MKL takes for none: equal bits may then not be promised."""
    contract = [
        "tests/engine/test_linear.py",
        "tests/engine/test_stack_contract.py::test_narrow_and_odd_networks_on_one_column",
    ]
    code = f"import pytest, sys; sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', *{contract}]))"

    said = said_by(code, **({} if guard == "on" else {"MKL_CBWR": ""}))

    assert " passed" in said
    assert " skipped" not in said


@pytest.mark.skipif(not torch.backends.mkl.is_available(), reason="this build of torch has no MKL")
@pytest.mark.parametrize(
    "before",
    [
        "torch.randn(300)",
        pytest.param("", marks=pytest.mark.slow),
        pytest.param("import numpy; numpy.ones((9, 9)) @ numpy.ones((9, 9))", marks=pytest.mark.slow),
    ],
)
def test_with_the_guard_products_are_exact_although_torch_was_imported_first(before: str) -> None:
    assert said_by(PROMISE.format(before=before)) == "exact"
