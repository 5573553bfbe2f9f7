"""The files of `conf/`: what is by hand stays, what is made from a class is its defaults and meanings."""

import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from omegaconf import OmegaConf

from scarf_lightning.errors import UsageError
from scarf_lightning.options import options_of, part
from scarf_lightning.options.building import build_parts
from scarf_lightning.options.option import Options, option
from tests.composing import CONF, checked_by_itself, composed, config_of
from tools.conf import conf_files, main_file, part_file
from tools.reference import main_options

BY_HAND = """\
# @package _global_
# A meaning of yesterday.
defaults:
  - override /loss: reconstruction

mine:
  monitor: error # as the paper
  name: mine
  rate: 0.1 # a default of yesterday (float)
"""


@dataclass
class Mine(Options):
    name: ClassVar[str] = "mine"
    rate: float = option(0.5, "a share", "(0, 1]")
    kind: str | None = option(
        None, "a meaning that is far too long to stand behind its value on one line of a file, " * 2
    )


def test_a_file_keeps_what_is_by_hand_and_takes_the_rest_from_the_class() -> None:
    text = part_file(BY_HAND, "What it means.", "mine", "mine", "m.Mine.from_config", options_of(Mine).values())

    assert text.startswith("""\
# @package _global_
# What it means.
defaults:
  - override /loss: reconstruction

mine:
  monitor: error # as the paper
  _target_: m.Mine.from_config
  name: mine
  rate: 0.5 # a share (float; (0, 1])
  # a meaning that is far too long""")
    assert text.endswith("  kind: null\n")
    assert max(map(len, text.splitlines())) <= 120
    again = part_file(text, "What it means.", "mine", "mine", "m.Mine.from_config", options_of(Mine).values())
    assert again == text


def test_a_changed_default_changes_the_main_file_alone_where_it_is() -> None:
    before = (CONF / "train.yaml").read_text()
    options = main_options()
    options["finetune.beta2"] = replace(options["finetune.beta2"], default=0.9)

    after = main_file(before, options)

    changed = [pair for pair in zip(before.splitlines(), after.splitlines(), strict=True) if pair[0] != pair[1]]
    assert [after for _, after in changed] == [
        "  beta2: 0.9 # share of the past in Adam's mean of squared gradients (float; [0, 1))"
    ]


def test_generated_files_are_those_of_the_repository() -> None:
    files = conf_files()

    assert len(files) > 70
    assert (
        "rate: 0.6 # share of the features to replace (float; (0, 1])\n" in files[CONF / "corruption" / "marginal.yaml"]
    )
    assert [path.name for path, text in files.items() if path.read_text(encoding="utf-8") != text] == [], (
        "run `make docs`"
    )


class TestInstantiate:
    """`hydra.utils.instantiate` makes the parts that a run builds."""

    def parts_of(self, *overrides: str) -> dict[str, Any]:
        from hydra.utils import instantiate

        sections = composed(*overrides)
        made = {}
        for axis in ("split", "regime", "scaling", "encoding", "corruption", "selection", "loss", "method"):
            made[axis] = instantiate(sections[axis])
        made["network"] = instantiate(sections.network.encoder)
        own = {name: made[name] for name in ("corruption", "selection", "loss")}
        made["pretrain"] = instantiate(sections.pretrain, **own, views=sections.views.name, _convert_="object")
        return made

    @pytest.mark.parametrize("overrides", ["", "corruption=mean corruption.rate=0.3 loss=barlow_twins network=resnet"])
    def test_equals_what_a_run_builds(self, overrides: str) -> None:
        made, built = self.parts_of(*overrides.split()), build_parts(config_of(*overrides.split()))

        assert (made["pretrain"], made["network"], made["method"]) == (built.pretext, built.network, built.method)
        assert (made["split"], made["regime"]) == (built.splitting, built.regime)
        assert (made["scaling"], made["encoding"]) == (built.scaling, built.encoding)

    def test_refuses_an_option_that_the_part_lacks(self) -> None:
        with pytest.raises(TypeError, match="rat"):
            part("corruption", "mean").from_config(name="mean", rat=0.3)


def test_a_target_is_not_looked_at_unless_it_is_of_somebody_else() -> None:
    sections = composed("corruption=mean")

    assert checked_by_itself(sections).corruption == {"name": "mean", "keep": None, "rate": 0.6}
    OmegaConf.update(sections, "corruption._target_", "evil.Mean")
    with pytest.raises(UsageError, match=r"^corruption\._target_=evil\.Mean: parts are built by their name"):
        checked_by_itself(sections)


PLAIN = """
import random, sys
from hydra import compose, initialize_config_dir
conf, n = sys.argv[1], int(sys.argv[2])
from pathlib import Path
names = {axis.name: sorted(f.stem for f in axis.glob("*.yaml")) for axis in Path(conf).iterdir() if axis.is_dir()}
chosen = [axis for axis in names if axis not in ("hydra", "recipe", "dataset", "trainer", "logger")]
draw = random.Random(0)
for of_axis in names.values():
    draw.shuffle(of_axis)
with initialize_config_dir(conf, version_base="1.3"):
    for number in range(n):
        overrides = [f"{axis}={names[axis][number % len(names[axis])]}" for axis in chosen]
        composed = compose("train", overrides=overrides)
        assert composed.corruption.name == dict(each.split("=") for each in overrides)["corruption"]
        assert composed.pretrain.max_epochs > 0
assert "scarf_lightning" not in sys.modules
"""


@pytest.mark.parametrize("n", [2, pytest.param(50, marks=pytest.mark.slow)])
def test_plain_hydra_composes_any_choice_without_an_import_of_ours(n: int, tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PLAIN, str(CONF), str(n)], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert ran.returncode == 0, ran.stderr
