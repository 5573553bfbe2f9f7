"""The cells of every sweep, and those of frequent commands, keep their fingerprints."""

import hashlib
from collections.abc import Iterable

import pytest

from scarf_lightning.results import fingerprint
from scarf_lightning.sweeping import expand
from scarf_lightning.sweeping.cell import Cell
from tests.cells import identity_of, pretraining_identity_of
from tests.composing import ROOT, request_of

FIXED_LENGTH = "finetune.folds=null"
"""The recipe of version 0.2, beside recipe=practical."""
COMMANDS = {
    "card": ("corruption=mean,marginal", "scaling=zscore,minmax", "recipe=practical", "trials=5", FIXED_LENGTH),
    "labels": ("regime=full,few", "regime.labels=20", "pretrain=none,scarf", "trials=5"),
    "suite": ("dataset=glob(cc18-*)", "pretrain=none,scarf", "trials=5"),
    # A table with as many labels as the largest number asks for.
    "relative_gains": ("sweeps=relative_gains", "max_cells=null"),
    "answer": ("sweeps=answer", "dataset=cc18-adult", "dataset.target_kind=classes", "trials=5", FIXED_LENGTH),
    "textbook": ("sweeps=textbook", FIXED_LENGTH),
    "columns": ("sweeps=columns", FIXED_LENGTH),
}
SHORT = ("card", "labels", "losses", "pretraining_curves", "suite")
"""Those that take a second."""
DIGESTS = {
    "card": (4, "6fa3cfda9a2f0af3"),
    "labels": (4, "e02724743039f09c"),
    "suite": (138, "dde419257163b9a0"),
    "absolute_accuracy": (1449, "8001d5d4e4359745"),
    "align_uniform_weights": (345, "9e2e3f8d142a6e77"),
    "answer": (21, "39278854a98376fa"),
    "augmentation": (207, "5a7ba9d87bd3d3a2"),
    "batch_size": (414, "64f4609f9228f2ce"),
    "columns": (153, "48c80753a1600edd"),
    "control_scaling": (276, "a56b216bf92cd8c4"),
    "corruption_rate": (621, "f080427f256d73da"),
    "corruption_strategies": (1449, "85563ac2c250f84d"),
    "corruption_tweaks": (345, "3d3c85c22df0c834"),
    "cotraining_add_noise_ae": (414, "e36e309fa4973b1f"),
    "cotraining_scarf": (414, "91e9d9c7f5a7b981"),
    "losses": (207, "cb27bc314dc6a6e8"),
    "pretraining_curves": (1, "bb043945254ac803"),
    "pretraining_full": (2070, "e4c473210ab18ced"),
    "pretraining_noise30": (2898, "55572489f5e596e8"),
    "pretraining_semi25": (2898, "102ada0d0300fe4a"),
    "quick": (21, "682618ad285c1f82"),
    "relative_gains": (7866, "2a2e28ade9d29ab4"),
    "textbook": (10, "fc19474e1b219457"),
    "temperature": (483, "14eddc46daee2305"),
    "training_epochs": (414, "0d2c8a7089e6f285"),
    "validation_metric": (138, "60d350ad97d41387"),
}
"""The number of cells, and the digest of their fingerprints."""
NAMES = [*dict.fromkeys([*COMMANDS, *sorted(file.stem for file in (ROOT / "sweeps").glob("*.yaml"))])]


def digest(cells: Iterable[Cell]) -> tuple[int, str]:
    """Of what identifies cells and their pre-trainings; the options that name the data take the place of their hash."""
    lines = set[str]()
    for cell in cells:
        config, dataset = cell.config, cell.config.dataset
        data = f"{dataset.source} {dataset.id} None {dataset.drop} {config.pretrain.drop} {config.trials}"
        fields = [identity_of(config, data)]
        if config.is_pretrained:
            fields.append(pretraining_identity_of(config, data))
        lines.add(" ".join(map(fingerprint, fields)))
    return len(lines), hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()[:16]


@pytest.mark.parametrize(
    "name", [each if each in SHORT else pytest.param(each, marks=pytest.mark.slow) for each in NAMES]
)
def test_cells_keep_their_fingerprints(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # As they are composed: the sweep of columns is for a table of the user's.
    monkeypatch.setattr(expand, "distinct", list)
    cells = request_of(*COMMANDS.get(name, (f"sweeps={name}",))).cells
    # Which rival stood for trees depended on what was installed.
    if name == "answer":
        cells = [cell for cell in cells if cell.config.method["name"] != "random_forest"]

    assert digest(cells) == DIGESTS[name]
