"""The README's sweep by Hydra's launcher for Ray, on a cluster of this machine; `make ray` installs both."""

from pathlib import Path

import pytest

from tests.processes import TINY, assert_equal_rows, in_the_way, train

pytestmark = pytest.mark.ray

SWEEP = ("-m", "corruption=mean,marginal", "scaling=zscore,minmax", "trials=2", *TINY)


def test_ray_trains_a_sweep_to_the_same_numbers(tmp_path: Path) -> None:
    by_ray, by_one = tmp_path / "ray", tmp_path / "one"
    by_ray.mkdir()
    by_one.mkdir()

    # Ray starts a process a job, and each imports torch by itself.
    ran = train(*SWEEP, "hydra/launcher=ray", cwd=by_ray, minutes=10)

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("4 cells of ")
    assert "not finished" not in ran.stdout
    assert train(*SWEEP, "workers=1", cwd=by_one).returncode == 0
    assert_equal_rows(by_ray / "results", by_one / "results")
    assert in_the_way(by_ray / "results") == []
