import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from scarf_lightning.config import build_parts, read
from scarf_lightning.config.registry import BASES, build, options
from scarf_lightning.errors import UsageError
from tests.composing import changed

BASE = """
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

@dataclass
class Shape(ABC):
    name: ClassVar[str]
    size: float = 1.0

    def __post_init__(self):
        if self.size <= 0:
            raise ValueError(f"size must be greater than 0, not {self.size}")

    @abstractmethod
    def area(self): ...
"""

ROUND = """
from dataclasses import dataclass
from typing import ClassVar
from . import Shape

@dataclass
class Round(Shape):
    # Still abstract, so no option.
    name: ClassVar[str] = "round"

@dataclass
class Circle(Round):
    name: ClassVar[str] = "circle"
    def area(self): return 3.14 * self.size**2
"""

SQUARE = """
from dataclasses import dataclass
from typing import ClassVar
from . import Shape

@dataclass
class Square(Shape):
    name: ClassVar[str] = "square"
    corners: int = 4
    def area(self): return self.size**2
"""


@pytest.fixture
def shapes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An axis of its own, whose options stand in modules that nobody has imported."""
    package = tmp_path / "toy_shapes"
    package.mkdir()
    for name, text in {"__init__": BASE, "curved": ROUND, "straight": SQUARE}.items():
        (package / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(BASES, "shape", "toy_shapes:Shape")
    yield "shape"
    for name in [name for name in sys.modules if name.startswith("toy_shapes")]:
        del sys.modules[name]


def test_every_concrete_subclass_is_an_option_wherever_it_stands(shapes: str) -> None:
    known = options(shapes)

    assert sorted(known) == ["circle", "square"]
    assert known["circle"].__module__ == "toy_shapes.curved"


def test_a_choice_is_built_with_its_options_and_the_defaults_of_the_rest(shapes: str) -> None:
    square = build(shapes, {"name": "square", "corners": 5})

    assert (type(square).__name__, square.corners, square.size) == ("Square", 5, 1.0)


@pytest.mark.parametrize(
    ("choice", "sentence"),
    [
        ({"name": "star"}, "shape.name=star is unknown; the options are: circle, square."),
        ({"name": "round"}, "shape.name=round is unknown; the options are: circle, square."),
        ({"size": 3.0}, "shape.name=None is unknown; the options are: circle, square."),
        (
            {"name": "circle", "corners": 3},
            "shape.corners is not an option; the options of shape are: size.",
        ),
        ({"name": "square", "size": -1}, "shape.size must be greater than 0, not -1.0."),
    ],
)
def test_a_wrong_choice_is_refused_in_one_sentence(shapes: str, choice: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        build(shapes, choice)

    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("axis", "choice", "sentence"),
    [
        ("corruption", {"name": "means"}, "corruption.name=means is unknown; the options are: marginal, mean"),
        (
            "corruption",
            {"name": "mean", "rat": 0.5},
            "corruption.rat is not an option; the options of corruption are: ",
        ),
        ("corruption", {"name": "mean", "rate": 1.5}, "corruption.rate must lie in (0, 1], not 1.5."),
        ("corruption", {"name": "mean", "rate": 0}, "corruption.rate must lie in (0, 1], not 0.0."),
        ("corruption", {"name": "mean", "rate": float("nan")}, "corruption.rate must be a finite number, not nan."),
        ("corruption", {"name": "mean", "rate": "high"}, "corruption.rate: "),
        ("loss", {"name": "infonce", "temperature": 0}, "loss.temperature must be greater than 0, not 0.0."),
        ("regime", {"name": "semi25", "labelled": 0}, "regime.labelled must lie in (0, 1], not 0.0."),
        ("regime", {"name": "noise30", "noise": 1.1}, "regime.noise must lie in [0, 1], not 1.1."),
        ("scaling", {"name": "mean", "width": 1}, "scaling.width is not an option; the options of scaling are: none."),
        ("method", {"name": None}, "method.name=None is unknown; the options are: {known}."),
    ],
)
def test_a_wrong_part_is_refused_in_one_sentence(axis: str, choice: dict[str, Any], sentence: str) -> None:
    config = replace(read(changed("seed", 0)), **{axis: choice})

    with pytest.raises(UsageError) as caught:
        build_parts(config)

    assert str(caught.value).startswith(sentence.format(known=", ".join(sorted(options(axis)))))
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("axis", BASES)
@pytest.mark.parametrize("option", ["name", "_target_", "__class__"])
def test_a_configuration_cannot_name_code(axis: str, option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []
    monkeypatch.setattr("os.system", lambda *given: ran.append(given))
    config = read(changed(f"{axis}.{option}", "os.system"))

    with pytest.raises(
        UsageError, match=rf"^{axis}\.(name=os\.system is unknown|{option} is not an option); the options"
    ):
        build_parts(config)

    assert not ran


def test_parts_that_a_cell_does_not_use_are_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    built = []
    monkeypatch.setattr(
        "scarf_lightning.config.parts.build", lambda axis, choice: built.append(axis) or build(axis, choice)
    )

    parts = build_parts(read(changed("pretrain.name", "none")))

    assert (parts.corruption, parts.loss) == (None, None)
    assert built == ["regime", "scaling", "method"]


def test_parts_are_what_the_configuration_names() -> None:
    config = replace(
        read(changed("loss.temperature", 0.5)),
        corruption={"name": "mean", "rate": 0.25},
        regime={"name": "semi25", "labelled": 0.5},
        scaling={"name": "minmax"},
    )

    parts = build_parts(config)

    assert parts.corruption is not None
    assert parts.loss is not None
    assert (parts.corruption.name, parts.corruption.rate) == ("mean", 0.25)
    assert (parts.regime.name, asdict(parts.regime)) == ("semi25", {"labelled": 0.5})
    assert (parts.loss.name, asdict(parts.loss)) == ("infonce", {"temperature": 0.5})
    assert (parts.scaling.name, parts.method.name) == ("minmax", "control")
