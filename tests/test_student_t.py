import math
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scarf_lightning.student_t import central_quantile


@pytest.mark.parametrize(
    ("level", "freedom", "quantile"), [(0.95, 1, 12.706), (0.95, 4, 2.776), (0.95, 9, 2.262), (0.99, 30, 2.750)]
)
def test_quantiles_of_the_textbooks(level: float, freedom: int, quantile: float) -> None:
    assert central_quantile(level, freedom) == pytest.approx(quantile, abs=5e-4)


@given(level=st.floats(0.01, 0.999), freedom=st.integers(1, 400))
def test_it_is_that_of_scipy(level: float, freedom: int) -> None:
    assert central_quantile(level, freedom) == pytest.approx(stats.t.ppf((1 + level) / 2, freedom), rel=1e-9)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_with_one_degree_of_freedom_it_is_cauchys(level: float) -> None:
    assert central_quantile(level, 1) == pytest.approx(math.tan(math.pi * level / 2), rel=1e-12)


def test_an_interval_imports_no_scipy() -> None:
    script = (
        "import sys; from scarf_lightning.metrics import metric_named; "
        "metric_named('accuracy').interval([0.5, 0.6, 0.8]); print('scipy' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"
