"""Lightning's own command line on the modules and data modules."""

import importlib.util
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from scarf_lightning.errors import UsageError
from scarf_lightning.lightning import __main__ as room
from scarf_lightning.lightning.__main__ import main
from tests.lightning.test_encoders import D, data_with_gaps

has_cli = importlib.util.find_spec("jsonargparse") is not None
pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),
]
needs_cli = pytest.mark.skipif(not has_cli, reason="the extra cli is not installed")
QUIET = ["--trainer.max_epochs=1", "--trainer.enable_progress_bar=false", "--trainer.enable_model_summary=false"]
PLAIN = [*QUIET, "--trainer.accelerator=cpu"]
SMALL = "network.encoder.width=8 network.encoder.depth=2 batch_size=32"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, which has a table with gaps and a category."""
    # Lightning's command line seeds them.
    states = torch.get_rng_state(), np.random.get_state(), random.getstate()  # noqa: NPY002
    for name in ("PL_GLOBAL_SEED", "PL_SEED_WORKERS"):
        monkeypatch.setenv(name, "0")
    monkeypatch.chdir(tmp_path)
    frame = data_with_gaps()._frame
    assert frame is not None
    frame.to_csv("table.csv", index=False)
    yield tmp_path
    torch.set_rng_state(states[0])
    np.random.set_state(states[1])  # noqa: NPY002
    random.setstate(states[2])


TABLE = ["--data=TableDataModule", "--data.table=table.csv", "--data.target=y"]


def command(subcommand: str, model: str, *arguments: str) -> None:
    main([subcommand, f"--model={model}", *TABLE, *PLAIN, *arguments])


@pytest.mark.slow
@needs_cli
def test_two_commands_pretrain_and_fine_tune_and_a_third_tests(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    logs = [f"--trainer.logger.init_args.save_dir={folder}"]
    csv = ["--trainer.logger=CSVLogger", *logs]
    command("fit", "PretrainModule", f"--model.options={SMALL}", *csv)
    (pretrained,) = folder.glob("lightning_logs/version_0/checkpoints/*.ckpt")
    command("fit", "FinetuneModule", f"--model.options={SMALL}", f"--model.encoder={pretrained}", *csv)
    (tuned,) = folder.glob("lightning_logs/version_1/checkpoints/*.ckpt")
    config = yaml.safe_load((folder / "lightning_logs/version_1/config.yaml").read_text())
    assert config["model"]["init_args"]["options"] == SMALL

    capfd.readouterr()
    main(["test", "-c", "lightning_logs/version_1/config.yaml", f"--ckpt_path={tuned}", "--trainer.logger=false"])
    assert "test_accuracy" in capfd.readouterr().out


@needs_cli
def test_a_module_of_ones_own_is_named_by_its_class(folder: Path) -> None:
    own = ["--model.encoder=torch.nn.Linear", f"--model.encoder.in_features={D}", "--model.encoder.out_features=4"]
    command("fit", "PretrainModule", *own, "--trainer.logger=false", f"--trainer.default_root_dir={folder}")
    (checkpoint,) = folder.rglob("*.ckpt")
    weights = torch.load(checkpoint, weights_only=True)["state_dict"]
    assert weights["encoder.body.network.weight"].shape == (4, D)


@pytest.mark.slow
@needs_cli
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--model.options=corruption=maen"], r"Error: corruption=maen is not an option.*Did you mean mean\?"),
        (["--model.options=scaling=minmax"], "Error: scaling=minmax is an option of the table"),
        (["--data.table=nowhere.csv"], "Error: there is no file nowhere.csv"),
        (["--data.options=corruption=mean"], "Error: corruption=mean is no option of a table"),
    ],
)
def test_bad_input_is_one_sentence(arguments: list[str], sentence: str) -> None:
    with pytest.raises(SystemExit, match=sentence):
        command("fit", "PretrainModule", "--trainer.logger=false", *arguments)


def test_a_missing_package_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacks(package: str, what: str) -> None:
        raise UsageError(f"{what} needs the package {package}")

    monkeypatch.setattr(room, "require", lacks)
    with pytest.raises(SystemExit, match="needs the package jsonargparse"):
        main([])
