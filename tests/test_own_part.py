"""A corruption of one's own against SCARF's on five tables: what the answer needs, the runs, and a report."""

import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from scarf_lightning.results import load
from tests.test_own_table import script

PLUGIN = '''
from dataclasses import dataclass
from typing import ClassVar

from scarf_lightning.corruption import SelectiveCorruption


@dataclass
class Blend(SelectiveCorruption):
    """A selected column takes the middle of its value and of another row's."""

    name: ClassVar[str] = "blend"

    def replacement(self, x, source, random):
        others = source.encoded_rows(random.integers(source.n_rows, x.shape[-2]))
        return (x + others) / 2
'''


def write_tables(folder: Path) -> list[str]:
    """Three tables of measurements; one with categories, gaps and three classes; and one with few rows of a class."""
    for name, bunch in (("iris", load_iris), ("wine", load_wine), ("cancer", load_breast_cancer)):
        frame = bunch(as_frame=True).frame.rename(columns={"target": "kind"})
        frame.assign(kind=[f"class {code}" for code in frame["kind"]]).to_csv(folder / f"{name}.csv", index=False)
    random = np.random.default_rng(5)
    size = random.normal(size=240)
    colour = np.where(random.random(240) < 0.1, None, random.choice(["red", "green", "blue"], 240))
    untidy = pd.DataFrame({"size": np.where(random.random(240) < 0.1, np.nan, size), "colour": colour})
    untidy.assign(kind=pd.cut(size, [-9, -0.5, 0.5, 9], labels=list("abc"))).to_csv(folder / "untidy.csv", index=False)
    rare = pd.DataFrame({"size": size, "width": random.normal(size=240)})
    rare.assign(kind=np.where(size > 1, "rare", "common")).to_csv(folder / "rare.csv", index=False)
    return ["iris", "wine", "cancer", "untidy", "rare"]


@pytest.mark.slow
def test_three_commands_compare_it_on_five_tables(tmp_path: Path) -> None:
    names = write_tables(tmp_path)
    (tmp_path / "my_blend.py").write_text(PLUGIN, encoding="utf-8")
    asked = (
        "plugins=[my_blend]", f"dataset.path={','.join(f'{name}.csv' for name in names)}", "dataset.target=kind",
        "corruption=marginal,blend", "reference=marginal", "recipe=practical", "pretrain.max_epochs=3",
        "finetune.fixed_steps=20", "trials=3", "trainer=cpu",
    )  # fmt: skip

    planned = ended(script("train.py", *asked, "plan=true", cwd=tmp_path))
    assert "An answer over datasets needs 6 or more, and these are 5: each will have a difference" in planned
    assert not (tmp_path / "results").exists()

    trained = ended(script("train.py", *asked, cwd=tmp_path))
    frame = load(tmp_path / "results")
    assert len(frame) == 5 * 2 * 3
    assert "We cannot tell whether blend corruption helps over 5 datasets" in trained
    assert set(frame["corruption"]) == {"marginal", "blend"}
    for name in names:
        assert f"{name} marginal" in trained
        assert f"{name} blend" in trained

    ended(script("report.py", "results=results", "plugins=[my_blend]", "reference=marginal", "out=page", cwd=tmp_path))
    answers = pd.read_csv(tmp_path / "page" / "tables" / "summary.csv")
    assert set(answers["competitor"]) == {"blend corruption", "marginal corruption"}


def ended(ran: "subprocess.CompletedProcess[str]") -> str:
    """What a script that ended well wrote."""
    assert ran.returncode == 0, ran.stderr
    return " ".join((ran.stdout + ran.stderr).split())
