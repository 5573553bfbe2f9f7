"""Options of Hydra's own: those that cannot do what they say are refused; logs of jobs that went well are removed."""

from pathlib import Path

import pytest
from omegaconf import OmegaConf

from scarf_lightning.errors import UsageError
from scarf_lightning.sweeping.hydra_options import check_hydra, remove_logs


def asked(*overrides: str, mode: str = "MULTIRUN", chdir: bool | None = None) -> object:
    return OmegaConf.create({"job": {"chdir": chdir}, "mode": mode, "overrides": {"hydra": list(overrides)}})


@pytest.mark.parametrize(
    ("hydra", "sentence"),
    [
        (asked(chdir=True), "hydra.job.chdir=true: results and tables are found from the folder"),
        (asked("hydra.run.dir=a"), "hydra.run.dir=a is not for a sweep, whose folder .* is hydra.sweep.dir."),
        (asked("+hydra.run.dir=a"), "hydra.run.dir=a is not for a sweep"),
        (asked("hydra.sweep.dir=a", mode="RUN"), "hydra.sweep.dir=a is not for hydra.mode=RUN, .* is hydra.run.dir."),
    ],
)
def test_what_would_be_ignored_or_lose_results_is_refused(hydra: object, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        check_hydra(hydra)


@pytest.mark.parametrize(
    "hydra", [asked(), asked("hydra.sweep.dir=a", chdir=False), asked("hydra.run.dir=a", mode="RUN")]
)
def test_the_rest_is_taken(hydra: object) -> None:
    check_hydra(hydra)


def test_logs_of_our_own_folder_are_removed_with_it_and_a_folder_of_the_users_stays(tmp_path: Path) -> None:
    for name in ("logs", "mine"):
        (tmp_path / name / "now").mkdir(parents=True)

    remove_logs(OmegaConf.create({"submitit_folder": f"{tmp_path}/mine/now"}))
    assert (tmp_path / "mine" / "now").is_dir()

    OmegaConf.register_new_resolver("now", lambda _: "now", replace=True)
    remove_logs(OmegaConf.create({"submitit_folder": f"{tmp_path}/logs/${{now:%Y}}/jobs"}))
    assert not (tmp_path / "logs" / "now").exists()
