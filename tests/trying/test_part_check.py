"""Parts of the package and of the documentation are taken; a module is tried once for each version of its source."""

from pathlib import Path

import pytest
import torch

from scarf_lightning.errors import UsageError
from scarf_lightning.metrics import METRICS, Metric
from scarf_lightning.options import Config
from scarf_lightning.options.axes import BASES, parts
from scarf_lightning.sweeping.compose import Composer
from scarf_lightning.trying import check_module, check_used, part_check, refuse_untaken
from scarf_lightning.trying.part_check import check_metric, check_part
from tests.documentation import ROOT, blocks_of
from tests.trying.mistakes import corruption

NEEDS_A_TASK = "task"
"""The split of a task of OpenML, which brings the splits."""
GOOD = corruption("x.median(dim=-2, keepdim=True).values")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("axis", "name"), [(axis, name) for axis in BASES for name in parts(axis) if name != NEEDS_A_TASK]
)
def test_every_part_of_the_package_is_taken(axis: str, name: str) -> None:
    found = check_part(parts(axis)[name], axis)
    assert found.fault is None


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_every_metric_is_taken(metric: Metric) -> None:
    assert check_metric(metric).fault is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "block",
    [block for block in blocks_of(ROOT / "docs" / "plugins.md") if "ClassVar[str]" in block.code],
    ids=lambda block: block.code.splitlines()[0],
)
def test_every_part_of_the_documentation_is_taken_without_a_note(
    block: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "documented.py").write_text(block.code, encoding="utf-8")  # type: ignore[attr-defined]
    monkeypatch.chdir(tmp_path)
    [found] = check_module("documented")
    assert (found.fault, found.notes) == (None, ())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def used(*overrides: str) -> list[Config]:
    return [Composer(["plugins=[m]"])(("plugins=[m]", *overrides))]


def test_a_part_is_tried_once_in_a_process_and_leaves_the_users_generators_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "m.py").write_text(GOOD, encoding="utf-8")
    tried, trained = list[object](), part_check.Trained
    monkeypatch.setattr(part_check, "Trained", lambda *arguments: tried.append(arguments) or trained(*arguments))
    configs, before = used("corruption=bad"), torch.random.get_rng_state()
    assert check_used([*configs, *configs]) == []
    assert torch.equal(torch.random.get_rng_state(), before)
    assert check_used(configs) == []
    assert len(tried) == 2 * 4, "on two tables among three trials, alone twice, and once more"


@pytest.mark.slow
def test_a_wrong_part_refuses_the_cells_that_use_it_alone(folder: Path) -> None:
    wrong = corruption("x + torch.randn_like(x)").split("@dataclass", 1)[1].replace('"bad"', '"worse"')
    (folder / "m.py").write_text(f"{GOOD}\n\n@dataclass{wrong.replace('class Bad', 'class Worse')}", encoding="utf-8")
    assert check_used(used("corruption=bad")) == []
    with pytest.raises(UsageError, match=r"^m.Worse gives other numbers in .* when it is called again"):
        check_used(used("corruption=worse"))
    assert sorted(str(verdict.fault)[:7] for verdict in check_module("m")) == ["None", "m.Worse"]


def test_a_class_without_a_name_refuses_the_command(folder: Path) -> None:
    (folder / "m.py").write_text(GOOD.replace('    name: ClassVar[str] = "bad"\n', ""), encoding="utf-8")
    with pytest.raises(UsageError, match="is a part of corruption without a name"):
        refuse_untaken(["m"])


def test_a_base_without_a_name_is_no_part(folder: Path) -> None:
    base = GOOD.replace('    name: ClassVar[str] = "bad"\n', "")
    (folder / "m.py").write_text(f'{base}\n\nclass Worse(Bad):\n    name = "worse"\n', encoding="utf-8")
    refuse_untaken(["m"])
    assert [str(verdict) for verdict in check_module("m")] == ["corruption=worse: taken"]


def test_a_note_is_said_before_each_run(folder: Path) -> None:
    (folder / "m.py").write_text(corruption("x"), encoding="utf-8")
    configs = used("corruption=bad")
    assert check_used(configs) == check_used(configs) == ["m.Bad changes nothing: each view is the row itself."]


def test_a_module_without_a_part_is_refused(folder: Path) -> None:
    (folder / "m.py").write_text("x = 1\n", encoding="utf-8")
    with pytest.raises(UsageError, match="m has no part: no class that inherits"):
        check_module("m")
