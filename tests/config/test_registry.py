import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from scarf_lightning.config import CellParts, build_parts, read
from scarf_lightning.config.axes import BASES
from scarf_lightning.config.registry import build, options
from scarf_lightning.config.schema import ViewsSettings
from scarf_lightning.errors import UsageError
from scarf_lightning.settings import NetworkSettings, PretrainSettings
from tests.composing import changed, config_of

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
class Oval(Shape):
    # Without a name, so no option either.
    def area(self): return self.size**2

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
        ("corruption", {"name": "means"}, "corruption.name=means is unknown; the options are: {known}."),
        (
            "corruption",
            {"name": "mean", "rat": 0.5},
            "corruption.rat is not an option; the options of corruption are: ",
        ),
        ("corruption", {"name": "mean", "rate": 1.5}, "corruption.rate must lie in (0, 1], not 1.5."),
        ("corruption", {"name": "mean", "rate": 0}, "corruption.rate must lie in (0, 1], not 0.0."),
        ("corruption", {"name": "mean", "rate": float("nan")}, "corruption.rate must be a finite number, not nan."),
        ("corruption", {"name": "mean", "rate": "high"}, "corruption.rate: "),
        (
            "corruption",
            {"name": "gaussian", "rate": 0.3},
            "corruption.rate is not an option; the options of corruption are: sigma.",
        ),
        (
            "corruption",
            {"name": "none", "rate": 0.3},
            "corruption.rate is not an option; the options of corruption are: none.",
        ),
        ("corruption", {"name": "gaussian", "sigma": 0}, "corruption.sigma must be greater than 0, not 0.0."),
        ("loss", {"name": "barlow_twins", "off_diagonal": -1}, "loss.off_diagonal must be at least 0, not -1.0."),
        ("loss", {"name": "align_uniform", "align": -1}, "loss.align must be at least 0, not -1.0."),
        ("loss", {"name": "align_uniform", "t": 0}, "loss.t must be greater than 0, not 0.0."),
        (
            "selection",
            {"name": "exact", "rate": 1},
            "selection.rate is not an option; the options of selection are: none.",
        ),
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
    assert str(caught.value).endswith((".", "?"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("axis", "choice", "sentence"),
    [
        ("corruption", {"name": "means"}, "cotrain.corruption.name=means is unknown; the options are: {known}."),
        ("corruption", {"name": "mean", "rate": 2}, "cotrain.corruption.rate must lie in (0, 1], not 2.0."),
        (
            "loss",
            {"name": "infonce", "tau": 1},
            "cotrain.loss.tau is not an option; the options of cotrain.loss are: temperature, similarity, "
            "symmetric, own_candidate.",
        ),
    ],
)
def test_a_wrong_part_of_co_training_is_named_with_its_path(axis: str, choice: dict[str, Any], sentence: str) -> None:
    config = read(changed("method.name", "cotrain"))

    with pytest.raises(UsageError) as caught:
        build_parts(replace(config, cotrain=replace(config.cotrain, **{axis: choice})))

    assert str(caught.value) == sentence.format(known=", ".join(sorted(options(axis))))


@pytest.mark.parametrize("place", [*BASES, "cotrain.corruption", "cotrain.loss"])
@pytest.mark.parametrize("option", ["name", "_target_", "__class__"])
def test_a_configuration_cannot_name_code(place: str, option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []
    monkeypatch.setattr("os.system", lambda *given: ran.append(given))
    named = rf"^{place}(\.encoder)?\.(name=os\.system is unknown|{option} is not an option); the options"

    def attempt() -> None:
        config = read(changed(f"{place}.{option}", "os.system"))
        build_parts(replace(config, method={"name": "cotrain"}) if place.startswith("cotrain.") else config)

    with pytest.raises(UsageError, match=named):
        attempt()

    assert not ran


def test_parts_that_a_cell_does_not_use_are_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    built = []

    def spied(axis: str, choice: Any, place: str | None = None, **parts: Any) -> Any:
        built.append(place or axis)
        return build(axis, choice, place, **parts)

    monkeypatch.setattr("scarf_lightning.config.parts.build", spied)

    def parts_of(pretrain: str, method: str) -> tuple[CellParts, list[str]]:
        built.clear()
        config = read(changed("pretrain.name", pretrain))
        return build_parts(replace(config, method={"name": method})), sorted(built)

    always = ["encoding", "method", "network.encoder", "regime", "scaling", "split"]
    parts, named = parts_of("none", "control")
    assert parts.pretext is None
    assert named == always
    _, named = parts_of("scarf", "control")
    assert named == sorted([*always, "pretrain", "corruption", "selection", "loss"])
    _, named = parts_of("vime", "control")
    assert named == sorted([*always, "pretrain", "corruption", "selection"])
    parts, named = parts_of("none", "scarf_augment")
    assert parts.pretext is None
    assert named == sorted([*always, "corruption", "selection"])
    parts, named = parts_of("none", "cotrain")
    assert parts.pretext is None
    assert named == sorted([*always, "cotrain", "cotrain.corruption", "selection", "cotrain.loss"])


def test_parts_are_what_the_configuration_names() -> None:
    config = replace(
        read(changed("loss.temperature", 0.5)),
        corruption={"name": "mean", "rate": 0.25},
        selection={"name": "bernoulli"},
        views=ViewsSettings("both"),
        regime={"name": "semi25", "labelled": 0.5},
        scaling={"name": "minmax"},
        network=NetworkSettings(encoder={"width": 9, "depth": 1, "final_relu": False}),
    )

    parts = build_parts(config)

    pretext: Any = parts.pretext
    assert (pretext.corruption.name, asdict(pretext.corruption)) == ("mean", {"rate": 0.25})
    assert (pretext.selection.name, pretext.views) == ("bernoulli", "both")
    assert (parts.regime.name, asdict(parts.regime)) == ("semi25", {"labelled": 0.5, "labelled_validation": 1.0})
    assert (pretext.loss.name, pretext.loss.temperature) == ("infonce", 0.5)
    assert (parts.scaling.name, parts.method.name) == ("minmax", "control")
    assert (parts.network.name, asdict(parts.network)) == ("mlp", {"width": 9, "depth": 1, "final_relu": False})


def test_a_pretexts_own_options_stand_beside_those_of_all() -> None:
    config = config_of("pretrain=vime", "pretrain.alpha=0.5", "pretrain.patience=1")

    assert (config.pretrain.options, config.pretrain.patience) == ({"alpha": 0.5}, 1)
    pretext: Any = build_parts(config).pretext
    assert pretext.alpha == 0.5
    assert read(asdict(config)) == config, "as it is kept beside the results"
    with pytest.raises(UsageError, match=r"^pretrain\.alpha must be greater than 0, not -1\.0\.$"):
        build_parts(config_of("pretrain=vime", "pretrain.alpha=-1"))
    with pytest.raises(UsageError, match=r"^pretrain\.alpha is not an option; the options of pretrain are: "):
        read(changed("pretrain.alpha", 0.5))


def test_the_parts_of_co_training_and_augmentation_are_what_the_configuration_names() -> None:
    config = replace(read(changed("views.name", "both")), selection={"name": "shared"})
    cotrain = replace(config.cotrain, weight=0.5, corruption={"name": "zero", "rate": 0.2})

    parts = build_parts(replace(config, method={"name": "cotrain"}, cotrain=cotrain))

    pretext: Any = parts.pretext
    assert pretext.corruption.name == "marginal"
    method: Any = parts.method
    task = method.pretext
    assert (method.weight, task.loss.name, task.views) == (0.5, "infonce", "both")
    assert (task.corruption.name, asdict(task.corruption)) == ("zero", {"rate": 0.2})
    assert task.selection.name == "shared"

    alone = replace(config, method={"name": "scarf_augment"}, corruption={"name": "joint", "rate": 0.4})
    augment: Any = build_parts(replace(alone, pretrain=PretrainSettings(name="none"))).method
    assert (augment.corruption.name, asdict(augment.corruption)) == ("joint", {"rate": 0.4})
    assert augment.selection.name == "shared"
