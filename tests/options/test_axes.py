"""Axes and their parts: what registers itself, what is refused, and what the cells of a run are called."""

from datetime import date
from pathlib import Path

import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.options.axes import AXES, BASES, COLUMNS, distinguishing_names, group_of, part, parts
from scarf_lightning.options.building import build
from scarf_lightning.options.option import Options, options_of
from scarf_lightning.options.plugins import load_plugins
from tests.composing import GROUPS

BASE = """
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from scarf_lightning.options import Options, option


@dataclass
class Shape(Options, ABC):
    name: ClassVar[str]
    size: float = option(1.0, "length of a side", "(0, inf)")

    @abstractmethod
    def area(self): ...
"""
CURVED = """
from dataclasses import dataclass
from typing import ClassVar

from . import Shape


@dataclass
class Round(Shape):
    name: ClassVar[str] = "round"  # abstract, so it is no part


@dataclass
class Oval(Shape):  # without a name, so it is no part
    def area(self): return self.size**2


@dataclass
class Circle(Round):
    name: ClassVar[str] = "full_circle"
    def area(self): return 3.14 * self.size**2
"""
STRAIGHT = """
from dataclasses import dataclass
from typing import ClassVar

from scarf_lightning.options import option

from . import Shape


@dataclass
class Square(Shape):
    name: ClassVar[str] = "square"
    label: ClassVar[str] = "Malevich's"
    corners: int = option(4, "how many it has")
    def area(self): return self.size**2
"""


@pytest.fixture
def shapes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An axis of its own, whose parts stand in modules that nobody has imported."""
    package = tmp_path / "toy_shapes"
    package.mkdir()
    for name, text in {"__init__": BASE, "curved": CURVED, "straight": STRAIGHT}.items():
        (package / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(BASES, "shape", "toy_shapes:Shape")
    monkeypatch.setattr("scarf_lightning.options.axes._base_class", _uncached)
    return "shape"


def _uncached(base: str) -> type:
    from importlib import import_module

    module, _, cls = base.partition(":")
    for name in ("curved", "straight"):
        import_module(f"{module}.{name}")
    return getattr(import_module(module), cls)  # type: ignore[no-any-return]


def test_every_named_subclass_is_a_part_with_all_its_options(
    shapes: str,
) -> None:
    known = parts(shapes)
    assert sorted(known) == ["full_circle", "square"]
    assert known["full_circle"].__module__ == "toy_shapes.curved"

    square = build(shapes, {"name": "square", "corners": 5})
    assert (type(square).__name__, square.corners, square.size) == ("Square", 5, 1.0)


@pytest.mark.parametrize(
    ("choice", "sentence"),
    [
        ({"name": "star"}, "shape.name=star is unknown. The options are: full_circle, square."),
        ({"name": "squares"}, "shape.name=squares is unknown. Did you mean square? The options are: {}."),
        ({"name": "round"}, "shape.name=round is unknown. The options are: full_circle, square."),
        ({"size": 3.0}, "shape.name=None is unknown. The options are: full_circle, square."),
        ({"name": "full_circle", "corners": 3}, "shape.corners is not an option. The options of shape are: size."),
        ({"name": "square", "size": -1}, "shape.size=-1.0: it takes a number in (0, inf)."),
    ],
)
def test_a_wrong_choice_is_refused_in_a_sentence(shapes: str, choice: dict[str, object], sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        build(shapes, choice)

    assert str(caught.value) == sentence.format("full_circle, square")


def test_a_class_made_again_below_another_base_counts_in_place_of_the_earlier(shapes: str) -> None:
    from importlib import import_module

    parts(shapes)
    straight = import_module("toy_shapes.straight")
    earlier = straight.Square
    # As in a notebook, whose module stays while a cell runs again.
    again = STRAIGHT.replace("from . import Shape", "from toy_shapes.curved import Round as Shape")
    exec(again, vars(straight))

    assert earlier in earlier.__mro__[1].__subclasses__(), "it lives on"
    assert parts(shapes)["square"] is straight.Square is not earlier


def test_two_parts_of_one_name_are_refused_with_both(shapes: str, tmp_path: Path) -> None:
    (tmp_path / "other_square.py").write_text(STRAIGHT.replace("from . import", "from toy_shapes import"))

    load_plugins(["other_square"])
    with pytest.raises(UsageError) as caught:
        parts(shapes)

    assert str(caught.value).startswith("square is the name of two parts, ")
    assert {"toy_shapes.straight.Square", "other_square.Square"} <= set(str(caught.value).replace(";", "").split())


def test_every_axis_is_a_group_of_the_menu_and_parts_are_columns() -> None:
    names = {axis.name for axis in AXES}

    assert names == {*GROUPS, "hydra/launcher"}
    assert {*BASES, "dataset", "views", "cotrain.task"} == set(COLUMNS)
    assert all(axis.meaning not in names for axis in AXES)


@pytest.mark.parametrize("axis", BASES)
def test_every_part_says_what_it_is(axis: str) -> None:
    assert any(each.name == axis for each in AXES)
    for name, cls in parts(axis).items():
        assert part(axis, name) is cls
        assert issubclass(cls, Options)
        assert cls.__doc__ is not None
        assert not cls.__doc__.startswith(f"{cls.__name__}("), f"{cls.__name__} has no docstring of its own"
        assert all(each.meaning for each in options_of(cls).values()), f"{cls.__name__} has an option without a meaning"


DAY = date(2026, 3, 1)
MEAN = ("dataset=iris", "corruption=mean", "trials=5", "logger=wandb")
GAUSSIAN = ("dataset=iris", "corruption=gaussian", "trials=5", "logger=wandb")


def test_cells_are_named_by_the_overrides_that_differ_among_them() -> None:
    assert distinguishing_names([MEAN, GAUSSIAN]) == ["corruption=mean", "corruption=gaussian"]
    assert distinguishing_names([MEAN, MEAN[:1]]) == ["corruption=mean", "defaults"]
    base = ("dataset=iris", "finetune.monitor=loss", "finetune.min_steps=100")
    rates = [(*base, f"corruption.rate=0.{rate}") for rate in range(1, 8)]

    assert distinguishing_names(rates) == [f"corruption.rate=0.{rate}" for rate in range(1, 8)]
    assert distinguishing_names([rates[0], base[:1]]) == [" ".join(rates[0][1:]), "defaults"]


def test_a_single_cell_is_named_by_its_overrides_and_a_group_by_its_day() -> None:
    assert distinguishing_names([MEAN]) == ["dataset=iris corruption=mean"]
    assert group_of([MEAN, GAUSSIAN], DAY) == "corruption 2026-03-01"
    assert group_of([MEAN, ("scaling=mean",)], DAY) == "dataset, corruption, scaling 2026-03-01"
    assert group_of([MEAN], DAY) == "dataset, corruption 2026-03-01"
