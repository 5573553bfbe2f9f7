"""The processes of a fit by ``n_jobs``: how many there are, and that numbers are the same with any of them."""

import os
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import torch
from joblib import Parallel, delayed, parallel_config
from sklearn.model_selection import GridSearchCV, cross_val_score

from scarf_lightning import ScarfTransformer
from scarf_lightning.errors import UsageError
from scarf_lightning.estimators import jobs
from scarf_lightning.estimators.jobs import n_processes
from scarf_lightning.training import CellTraining
from tests.estimators.small import OF_ENCODERS, small, table

X, y = table()


@pytest.fixture
def trained_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The stacks that were trained, each with the number of its process."""
    run = CellTraining.stack

    def noted(cell: CellTraining, trials: list[int], **asked: Any) -> Any:
        with (tmp_path / "log").open("a", encoding="utf-8") as file:
            file.write(f"{os.getpid()} {list(trials)}\n")
        return run(cell, trials, **asked)

    monkeypatch.setattr(CellTraining, "stack", noted)

    def read() -> list[tuple[int, str]]:
        lines = (tmp_path / "log").read_text(encoding="utf-8").splitlines()
        return [(int(pid), trials) for pid, _, trials in (line.partition(" ") for line in lines)]

    return read


class TestSameNumbers:
    @pytest.mark.parametrize(
        ("is_regressor", "pretrain", "stacks"),
        [
            (False, "none", ["[0, 1]", "[2]"]),
            pytest.param(False, "auto", ["[0, 1]", "[0, 1]", "[2]", "[2]"], marks=pytest.mark.slow),
            (True, "auto", ["[0, 1]", "[0, 1]", "[2]", "[2]"]),
        ],
    )
    @pytest.mark.slow
    def test_networks_are_equal_bit_for_bit_and_forks_train_them(
        self, is_regressor: bool, pretrain: str, stacks: list[str], trained_by: Any
    ) -> None:
        learned = X["a"] if is_regressor else y
        of_one = small(is_regressor=is_regressor, pretrain=pretrain, n_trials=3)
        alone = of_one.fit(X, learned)
        n_before = len(trained_by())

        shared = small(is_regressor=is_regressor, pretrain=pretrain, n_trials=3, n_jobs=2).fit(X, learned)

        by_forks = trained_by()[n_before:]
        assert sorted(trials for _, trials in by_forks) == stacks
        assert len({pid for pid, _ in by_forks} - {os.getpid()}) == 2
        for name, weight in alone.model_.weights.items():
            np.testing.assert_array_equal(shared.model_.weights[name], weight, err_msg=name)
        assert shared.choice_ == alone.choice_
        without_seconds = [column for column in alone.trials_ if not column.endswith("seconds")]
        pd.testing.assert_frame_equal(shared.trials_[without_seconds], alone.trials_[without_seconds])

    @pytest.mark.slow
    def test_scores_of_trials_and_encoders_too(self) -> None:
        scores = [small(n_trials=2, n_jobs=n).score_trials(X, y)["log_loss"] for n in (None, 2)]
        pd.testing.assert_series_equal(*scores)
        embeddings = [
            ScarfTransformer(n_trials=2, device="cpu", n_jobs=n, options=OF_ENCODERS).fit_transform(X)
            for n in (None, 2)
        ]
        np.testing.assert_array_equal(*embeddings)

    def test_progress_is_told_by_stacks(self, capsys: pytest.CaptureFixture[str]) -> None:
        small(n_trials=2, n_jobs=2, verbose=1).fit(X, y)
        shown = capsys.readouterr().err.splitlines()
        assert shown == ["1 of 2 stacks are trained.", "2 of 2 stacks are trained."]


class TestNumber:
    def test_as_scikit_learn_means_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "3")
        monkeypatch.setattr(os, "cpu_count", lambda: 8)
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
        assert [n_processes(n) for n in (None, 1, 2, 7, -1, -2)] == [1, 1, 2, 7, 3, 2]
        with parallel_config(n_jobs=2):
            assert [n_processes(n) for n in (None, 3)] == [2, 3]

    def test_one_within_a_job_of_joblib(self) -> None:
        with parallel_config(backend="threading", n_jobs=2):
            assert Parallel()(delayed(n_processes)(n) for n in (2, -1)) == [1, 1]

    @pytest.mark.parametrize("n_jobs", [0, 1.5, "2"])
    def test_other_values_are_refused(self, n_jobs: Any) -> None:
        with pytest.raises(UsageError, match=r"^n_jobs must be None, a number of processes from 1, or -1"):
            small(n_jobs=n_jobs).fit(X, y)

    def test_without_forks_a_number_of_jobs_is_refused_and_all_means_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        for device, said in (("cuda", "a GPU trains all networks at once"), ("cpu", "torch cannot be forked where")):
            with pytest.raises(UsageError, match=f"^n_jobs=2 is not possible here: {said}"):
                n_processes(2, device)
            assert [n_processes(n, device) for n in (None, 1, -1)] == [1, 1, 1]
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        monkeypatch.setattr(jobs, "why_no_fork", lambda: "it is a Tuesday")
        with pytest.raises(UsageError, match="it is a Tuesday; leave n_jobs out"):
            n_processes(2)


def _threads(estimator: Any, X: Any, y: Any) -> float:
    """A scorer that counts the threads of its process."""
    return float(torch.get_num_threads())


@pytest.mark.slow
def test_jobs_of_scikit_learn_give_the_same_numbers_and_share_the_cores() -> None:
    estimator = small(pretrain="auto", n_trials=2)
    search = partial(GridSearchCV, estimator, {"corruption__rate": [0.4, 0.7]}, cv=2, error_score="raise")
    alone = cross_val_score(estimator, X, y, cv=2, error_score="raise")
    grid = search().fit(X, y)

    with parallel_config(backend="loky"):
        np.testing.assert_array_equal(cross_val_score(estimator, X, y, cv=2, n_jobs=2, error_score="raise"), alone)
        of_two = search(n_jobs=2).fit(X, y)
        threads = cross_val_score(estimator, X, y, cv=2, n_jobs=2, scoring=_threads)
        # A fit within a job starts no processes of its own.
        nested = cross_val_score(small(pretrain="auto", n_trials=2, n_jobs=2), X, y, cv=2, n_jobs=2)

    for score in ("mean_test_score", "split0_test_score", "split1_test_score"):
        np.testing.assert_array_equal(of_two.cv_results_[score], grid.cv_results_[score])
    np.testing.assert_array_equal(of_two.predict_proba(X), grid.predict_proba(X))
    assert threads.max() <= max(1, joblib.cpu_count() // 2)
    np.testing.assert_array_equal(nested, alone)
