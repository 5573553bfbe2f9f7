"""The search of ``hydra/sweeper=optuna`` before Optuna: spaces, the cell of a try, and what is refused."""

from collections.abc import Sequence
from typing import Any

import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.options import checked
from scarf_lightning.sweeping.search import Search, SearchOptions, axis_of, read_search
from tests.composing import CONF, SWEEPS, _composer, yaml

RATE = "corruption.rate=interval(0.2,0.8)"


class Middle:
    """Suggests the value in the middle, and keeps what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def suggest_categorical(self, name: str, choices: Sequence[Any]) -> Any:
        self.asked.append((name, *choices))
        return choices[len(choices) // 2]

    def suggest_int(self, name: str, low: int, high: int, *, step: int = 1, log: bool = False) -> int:
        self.asked.append((name, low, high, step, log))
        return low + (high - low) // step // 2 * step

    def suggest_float(
        self, name: str, low: float, high: float, *, step: float | None = None, log: bool = False
    ) -> float:
        self.asked.append((name, low, high, step, log))
        return (low * high) ** 0.5 if log else low + (high - low) / 2 + 1e-16


def searched(*arguments: str, objective: Any = "validation_error", **options: Any) -> Search:
    return read_search(options, list(arguments), objective, _composer(), SWEEPS)


@pytest.mark.parametrize(
    ("given", "asked", "suggested"),
    [
        ("a=x,y,z", ("a", "x", "y", "z"), "a=y"),
        ("a=choice([b,c],[d])", ("a", "[b,c]", "[d]"), "a=[d]"),
        ("a=1,2.5,null", ("a", "1", "2.5", "null"), "a=2.5"),
        ("a='x,y','z'", ("a", "'x,y'", "'z'"), "a='z'"),
        ("a=range(1,6)", ("a", 1, 5, 1, False), "a=3"),
        ("a=range(10,0,-3)", ("a", 1, 10, 3, False), "a=4"),
        ("a=shuffle(range(1,6))", ("a", 1, 5, 1, False), "a=3"),
        ("a=range(0.25,1.5,0.25)", ("a", 0.25, 1.25, 0.25, False), "a=0.75"),
        ("a=interval(2,8)", ("a", 2.0, 8.0, None, False), "a=5.0"),
        ("a=int(interval(2.0,8.0))", ("a", 2, 8, 1, False), "a=5"),
        ("a=float(interval(2,8))", ("a", 2.0, 8.0, None, False), "a=5.0"),
        ("a=tag(log,interval(0.01,1.0))", ("a", 0.01, 1.0, None, True), "a=0.1"),
        ("a=tag(log,int(interval(1,64)))", ("a", 1, 64, 1, True), "a=32"),
        ("loss@cotrain.loss=infonce,x", ("loss@cotrain.loss", "infonce", "x"), "loss@cotrain.loss=x"),
    ],
)
def test_a_space_is_asked_for_as_hydras_grammar_says(given: str, asked: tuple[Any, ...], suggested: str) -> None:
    (override,) = _composer().parse([given])
    axis, middle = axis_of(override), Middle()

    assert axis.suggested(middle) == suggested
    assert middle.asked == [asked]


def test_what_has_no_space_is_the_same_in_every_try() -> None:
    search = searched("pretrain=scarf", RATE, "trials=2", "objective=validation_error")

    assert [axis.key for axis in search.axes] == ["corruption.rate"]
    assert search.fixed == ["pretrain=scarf", "trials=2"]
    assert [cell.config.corruption["rate"] for cell in search.cells] == pytest.approx([0.2, 0.4292, 0.8])


def test_a_file_may_hold_the_spaces_and_the_command_line_wins() -> None:
    params = {"corruption.rate": "interval(0.2,0.8)", "corruption": "marginal,mean", "trials": 2, "metric": None}

    search = searched("corruption=gaussian,mean", "corruption.rate=0.3", params=params)

    assert {axis.key: axis.given for axis in search.axes} == {"corruption": "gaussian,mean"}
    assert search.fixed == ["corruption.rate=0.3", "trials=2", "metric=null"]


def test_an_option_that_only_some_parts_have_is_left_out_of_the_tries_of_others() -> None:
    search = searched("corruption=gaussian,marginal", "corruption.sigma=interval(0.1,0.9)")

    assert search.cell(["corruption=gaussian", "corruption.sigma=0.2"]).config.corruption["sigma"] == 0.2
    assert search.cell(["corruption=marginal", "corruption.sigma=0.2"]).overrides == ("corruption=marginal",)


def test_two_searches_of_one_description_are_the_same() -> None:
    one, same = searched(RATE, "trials=2"), searched(RATE, "trials=2", "trainer=cpu", n_trials=3)
    others = [
        searched(RATE, "trials=3"),
        searched(RATE, "trials=2", objective="accuracy"),
        searched(RATE, "trials=2", "seed=1"),
        searched("corruption.rate=interval(0.2,0.7)", "trials=2"),
    ]

    assert one.description == same.description
    assert all(one.description != other.description for other in others)


def test_the_file_of_the_sweeper_has_the_defaults_of_its_class() -> None:
    folder = CONF / "hydra" / "sweeper"
    content = yaml(folder / "optuna.yaml")
    assert content.pop("_target_").endswith(".OptunaSweeper")
    assert content.pop("defaults") == [{"sampler": "tpe"}]

    for name in ("tpe", "random"):
        options = checked(SearchOptions, content | {"sampler": yaml(folder / "sampler" / f"{name}.yaml")}, "")
        assert options.sampler.name == name
        assert options.sampler.seed == SearchOptions().sampler.seed
        assert {key: getattr(SearchOptions(), key) for key in content} == content


@pytest.mark.parametrize(
    ("arguments", "options", "sentence"),
    [
        (["corruption.rate=0.3"], {}, "hydra/sweeper=optuna searches nothing, because no option has a space; "),
        (["corruption.rate=interval(0.2,1.8)"], {}, "corruption.rate must lie in (0, 1], not 1.8."),
        (["network.encoder.depth=interval(2,4)"], {}, "network.encoder.depth must be a whole number, not 2.764."),
        (["corruption.rate=interval(0.8,0.2)"], {}, "corruption.rate=interval(0.8,0.2): name the lower end first."),
        (["corruption.rate=tag(log,interval(0.0,0.2))"], {}, "corruption.rate=tag(log,interval(0.0,0.2)): a loga"),
        ([RATE], {"n_trials": 0}, "hydra.sweeper.n_trials must be at least 1, not 0."),
        (
            [RATE],
            {"sampler": {"name": "grid"}},
            "hydra.sweeper.sampler.name cannot be grid. Its values are: tpe, random.",
        ),
        ([RATE], {"direction": "up"}, "hydra.sweeper.direction cannot be up. Its values are: minimize, maximize."),
        ([RATE], {"direction": ["minimize", "maximize"]}, "hydra/sweeper=optuna searches by one objective; "),
        (["trials=1,2"], {}, "trials=1,2: trials is one for the whole run; give it one value."),
        (["dataset=wdbc,diabetes"], {}, "dataset=wdbc,diabetes: a search compares values of one dataset; "),
        (["objective=accuracy,f1"], {}, "objective=accuracy,f1: a search compares values of one objective; "),
        (["sweeps=quick", RATE], {}, "sweeps=quick is not for hydra/sweeper=optuna: a file names its cells "),
        (["force=true", RATE], {}, "force=true is not for hydra/sweeper=optuna: a search never trains a finished "),
        (["pretrain=none", "method=logistic,xgboost"], {}, "method=logistic has no validation error to search by; "),
        (["pretrain=none", "method=control,xgboost"], {}, "method=xgboost has no validation error to search by; "),
        (["pretrain=none", RATE], {}, "corruption.rate is set, but no cell of this run uses it ("),
        (["pretrain=none,scarf", "method=control,logistic"], {}, "method=logistic does not go with pretrain=scarf: "),
        (["corruption=glob(nothing*)"], {}, "corruption=glob(nothing*) matches no option."),
    ],
)
def test_what_cannot_be_searched_is_refused_in_a_sentence(
    arguments: list[str], options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(UsageError) as caught:
        searched(*arguments, **options)

    assert str(caught.value).startswith(sentence)
