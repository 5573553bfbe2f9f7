"""The study's results as data."""

from pathlib import Path

import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.options import labels
from scarf_lightning.results import CellStore, identity
from study import results as study_results
from study.results import NONE, SCARF
from tests.cells import some_record
from tests.composing import config_of
from tests.reporting.store import described

CALLED = {"pretrain": "SCARF", "network": "MLP-PLR"}
OF_SCARF = {"pretrain": "scarf", "method": "control", "network": "mlp", "fit_on": "train"}


@pytest.mark.parametrize(
    ("options", "called", "asked", "name"),
    [
        ({}, {}, ("pretrain=scarf", "fit_on=train"), "SCARF"),
        ({"pretrain": "none"}, {"pretrain": "no pre-training"}, (), NONE),
        ({"fit_on": "all"}, {}, ("pretrain=scarf",), "SCARF, paper's recipe"),
        ({"network": "mlp_plr"}, {}, ("network=mlp_plr",), "MLP-PLR with SCARF"),
        ({"network": "mlp_plr", "pretrain": "none"}, {}, (), "MLP-PLR"),
        ({"method": "mixup"}, {"method": "mixup"}, ("method=mixup",), "SCARF, mixup"),
        ({}, {}, ("corruption=mean",), "SCARF, corruption=mean"),
        ({}, {}, ("corruption=marginal", "views=both"), "SCARF, views=both"),
        ({}, {}, ("recipe=realmlp_s", "finetune.fixed_below=1000", "split.copies=together", "seed=3"), "SCARF"),
        ({}, {}, ("regime.labels=20", "pretrain=scarf", "pretrain.rows=200"), "SCARF, pretrain.rows=200"),
    ],
)
def test_a_competitor_is_called_by_what_it_chose(
    options: dict[str, str], called: dict[str, str], asked: tuple[str, ...], name: str
) -> None:
    assert study_results.competitor(OF_SCARF | options, CALLED | called, asked) == name


def test_trials_of_a_folder_become_rows(tmp_path: Path) -> None:
    of_few = ("fit_on=train", "regime=few", "regime.labels=50")
    for overrides in (("pretrain=none", *of_few), ("pretrain=scarf", *of_few), ("method=logistic", "fit_on=train")):
        config = config_of("split=stratified", *overrides)
        store = CellStore(tmp_path / "results", identity(config, f"{1:064}"))
        of_config = described(config, labels=dict(labels(config)), overrides=overrides)
        store.describe(dataset="wdbc", dataset_id=1510, source="", **of_config)
        store.add(some_record(range(2), pretrained=config.pretrain.name != "none"))

    found = study_results.trials_of(tmp_path / "results")

    assert sorted(found["competitor"].unique()) == ["SCARF", "logistic regression", NONE]
    of_none = found[found["competitor"] == NONE]
    assert of_none[["labels", "trial", "accuracy"]].to_numpy().tolist() == [["50", 0, 0.5], ["50", 1, 0.51]]
    assert set(found.loc[found["competitor"] == SCARF, "labels"]) == {"50"}
    out = tmp_path / "mine.parquet"
    for _ in range(2):  # a second time adds nothing
        study_results.main([f"results={tmp_path / 'results'}", f"out={out}"])
    assert len(study_results.read(out)) == len(found)
    with pytest.raises(UsageError, match=r"^Name the folder to take trials from: results=FOLDER"):
        study_results.main(["folder=results"])
