"""Parts of the package and of the documentation are taken; a module is tried once for each version of its source."""

from pathlib import Path

import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.methods import SingleFitMethod
from scarf_lightning.metrics import METRICS, Metric
from scarf_lightning.options import Config
from scarf_lightning.options.axes import BASES, parts
from scarf_lightning.sweeping.composer import composing
from scarf_lightning.trying import check_module, check_used, part_check, refuse_untaken
from scarf_lightning.trying.part_check import check_metric, check_part
from tests.documentation import ROOT, blocks_of
from tests.trying.mistakes import MISTAKES, corruption

NEEDS_A_TASK = "task"
"""The split of a task of OpenML, which brings the splits."""
GOOD = corruption("x.median(dim=-2, keepdim=True).values")


def _cases() -> list[object]:
    cases = []
    for axis in BASES:
        for name, cls in parts(axis).items():
            # These train models, or have wide layers.
            trains = axis == "method" and not issubclass(cls, SingleFitMethod)
            is_slow = trains or name in ("realmlp", "ft_transformer", "mlp_ple", "mlp_plr")
            if name != NEEDS_A_TASK:
                cases.append(pytest.param(axis, name, marks=pytest.mark.slow if is_slow else ()))
    return cases


@pytest.mark.slow
@pytest.mark.parametrize(("axis", "name"), _cases())
def test_every_part_of_the_package_is_taken(axis: str, name: str) -> None:
    found = check_part(parts(axis)[name], axis)
    assert found.fault is None
    assert found.seen


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_every_metric_is_taken(metric: Metric) -> None:
    assert check_metric(metric).fault is None


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
    """The working folder, with a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def used(*overrides: str) -> list[Config]:
    with composing(["plugins=[m]", *overrides]) as composer:
        return [composer(("plugins=[m]", *overrides))]


def test_a_part_is_tried_once_for_a_version_of_its_source(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "m.py").write_text(GOOD, encoding="utf-8")
    tried = list[object]()
    verdict = part_check._verdict
    monkeypatch.setattr(part_check, "_verdict", lambda part: tried.append(part) or verdict(part))
    configs = used("corruption=bad")
    assert check_used([*configs, *configs]) == []
    assert check_used(configs) == []
    assert [part.__name__ for part in tried] == ["Bad"]  # type: ignore[attr-defined]


@pytest.mark.slow
def test_a_wrong_part_refuses_the_cells_that_use_it_alone(folder: Path) -> None:
    wrong = corruption("x + torch.randn_like(x)").split("@dataclass", 1)[1].replace('"bad"', '"worse"')
    (folder / "m.py").write_text(f"{GOOD}\n\n@dataclass{wrong.replace('class Bad', 'class Worse')}", encoding="utf-8")
    assert check_used(used("corruption=bad")) == []
    with pytest.raises(UsageError, match=r"m.Worse.replacement \(m.py, line \d+\) uses torch's own random numbers"):
        check_used(used("corruption=worse"))
    assert [verdict.fault is None for verdict in check_module("m")] == [True, False]


def test_a_class_that_is_no_part_refuses_the_command_that_means_it_alone(folder: Path) -> None:
    nameless = GOOD.replace('    name: ClassVar[str] = "bad"\n', "")
    (folder / "m.py").write_text(nameless, encoding="utf-8")
    refuse_untaken(["m"], ["mean", "marginal"])
    with pytest.raises(UsageError, match="is a corruption without a name"):
        refuse_untaken(["m"], ["bad"])


def test_a_note_is_said_before_each_run(folder: Path) -> None:
    source, words, _ = MISTAKES["an option that is never used"]
    (folder / "m.py").write_text(source, encoding="utf-8")
    configs = used("loss=bad")
    first, second = check_used(configs), check_used(configs)
    assert first == second
    assert words in first[0]


@pytest.mark.parametrize(
    ("source", "name", "words"),
    [
        (GOOD, "bda", "m has no part bda. Its parts are: Bad."),
        ("x = 1\n", None, "m has no part: no class that inherits"),
        (f"{GOOD}\n1 / 0\n", None, "ZeroDivisionError: division by zero (m.py, line"),
        (corruption("x", options="rate: float = 0.5\nsigma: float"), None, "(m.py, line 19)"),
    ],
)
def test_a_module_without_the_part_is_refused(
    source: str, name: str | None, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "m.py").write_text(source, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as refused:
        check_module("m", name)
    assert words in str(refused.value)
