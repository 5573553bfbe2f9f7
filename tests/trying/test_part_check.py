"""Parts of the package and of the documentation are taken; a module is tried once for each version of its source."""

from pathlib import Path

import pytest

from scarf_lightning.data.targets import Classes, Number
from scarf_lightning.errors import UsageError
from scarf_lightning.methods import SingleFitMethod
from scarf_lightning.metrics import METRICS, Metric
from scarf_lightning.options.axes import BASES, parts
from scarf_lightning.trying import check_module, check_plugins, part_check
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


@pytest.mark.parametrize(("axis", "name"), _cases())
def test_every_part_of_the_package_is_taken(axis: str, name: str) -> None:
    found = check_part(parts(axis)[name], axis)
    assert found.fault is None
    assert found.seen


@pytest.mark.parametrize("kind", [Classes, Number])
def test_both_kinds_of_targets_are_taken(kind: type[Classes | Number]) -> None:
    assert check_part(kind, "target").fault is None


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


def test_a_module_is_tried_once_for_a_version_of_its_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "m.py").write_text(GOOD, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    tried = list[str]()
    of_module = part_check.check_module

    def counting(module: str) -> list[part_check.Verdict]:
        tried.append(module)
        return of_module(module)

    monkeypatch.setattr(part_check, "check_module", counting)
    assert check_plugins(["m"]) == []
    assert check_plugins(["m"]) == []
    assert tried == ["m"]


def test_a_note_is_said_before_each_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    source, words, _ = MISTAKES["an option that is never used"]
    (tmp_path / "m.py").write_text(source, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    first, second = check_plugins(["m"]), check_plugins(["m"])
    assert first == second
    assert words in first[0]


@pytest.mark.parametrize(
    ("source", "name", "words"),
    [
        (GOOD, "bda", "m has no part bda; it has Bad"),
        ("x = 1\n", None, "m has no part: no class that inherits"),
        (f"{GOOD}\n1 / 0\n", None, "ZeroDivisionError: division by zero (m.py, line"),
        (corruption("x", options="rate: float = 0.5\nsigma: float"), None, "(m.py, line 20)"),
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
