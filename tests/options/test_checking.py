"""From plain values to checked options: what is converted, and one sentence for every kind of wrong value."""

from dataclasses import asdict, dataclass, field, fields
from functools import partial
from typing import Any, ClassVar, Literal

import pytest

from scarf_lightning.errors import MOST_LISTED
from scarf_lightning.options import Config, Options, checked, option, read
from scarf_lightning.options.option import part_name
from scarf_lightning.options.settings import Choice
from tests.composing import config_of, refusal


@dataclass
class Inner(Options):
    width: int = option(3, "of it", "[1, inf)")


@dataclass
class Middle(Options):
    inner: Inner = field(default_factory=Inner)
    note: str | None = option(None, "for people")


@dataclass
class Outer(Options):
    middle: Middle = field(default_factory=Middle)
    loss: Choice = field(default_factory=dict)
    ratio: float = option(0.5, "of two", "[0, inf)")
    flag: bool = option(True, "whether")
    either: int | Literal["auto"] = option("auto", "a number or by itself")
    word: str = option("a", "any")
    words: list[str] = option([], "several")
    plain: dict[str, Any] = option({}, "of another library")


@dataclass
class Naming(Options):
    named_part: ClassVar = ("compared_by", "loss")
    rest: ClassVar = "own"
    own: dict[str, Any] = field(default_factory=dict)
    compared_by: str = part_name("infonce")


@dataclass
class Bare(Options):
    pass


def values_with(name: str, value: Any) -> dict[str, Any]:
    """The default configuration as plain values, with one of them changed or added."""
    values = asdict(config_of())
    *groups, last = name.split(".")
    node = values
    for group in groups:
        node = node[group]
    node[last] = value
    return values


def test_given_values_take_the_options_types_and_all_others_their_defaults() -> None:
    loss = {"name": "reconstruction"}
    given = {"ratio": 2, "middle": {"inner": {"width": "7"}}, "either": 4, "loss": loss, "word": 7}

    value = checked(Outer, given)

    assert value == Outer(Middle(Inner(7)), loss, 2.0, True, 4, "7")
    assert type(value.ratio) is float
    assert checked(Outer, {"plain": {1: (2, {"b": 0.5}), "c": None}}).plain == {"1": [2, {"b": 0.5}], "c": None}


def test_settings_that_name_a_part_hold_all_of_its_options() -> None:
    assert checked(Naming, {}) == Naming({"temperature": 1.0, "symmetric": False}, "infonce")
    assert checked(Naming, {"own": {"temperature": 2}}).own == {"temperature": 2.0, "symmetric": False}
    assert checked(Naming, {"compared_by": "reconstruction"}).own == {}


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"ratoi": 1}, "ratoi is not an option. Did you mean ratio? The options are: {all}."),
        (
            {"middle": {"nte": 1}},
            "middle.nte is not an option. Did you mean note? The options of middle are: inner, note.",
        ),
        ({"middle": {"inner": {"width": 0}}}, "middle.inner.width=0: it takes a number in [1, inf)."),
        ({"middle": {"inner": {"width": 2.5}}}, "middle.inner.width=2.5: it takes a whole number."),
        ({"middle": 3}, "middle=3: it takes options by name, as in {{a:1,b:x}}."),
        ({"ratio": "much"}, "ratio=much: it takes a number."),
        ({"ratio": float("nan")}, "ratio=nan: it takes a number."),
        ({"ratio": -1}, "ratio=-1.0: it takes a number in [0, inf)."),
        ({"flag": "perhaps"}, "flag=perhaps: it takes true or false."),
        ({"either": "many"}, "either=many is unknown. Its values are: auto."),
        ({"words": "a"}, "words=a: it takes a list, as in [a,b]."),
        (
            {"plain": {"a": {"b": [1, float("inf")]}}},
            "plain.a={{'b': [1, inf]}}: it takes finite numbers, texts, lists and options by name.",
        ),
        (
            {"loss": {"name": "infonce", "temperature": float("nan")}},
            "loss.temperature=nan: it takes a number.",
        ),
    ],
)
def test_a_wrong_value_is_named_with_its_path(values: dict[str, Any], sentence: str) -> None:
    everything = ", ".join(each.name for each in fields(Outer))

    found = refusal(lambda: checked(Outer, values))

    assert found == sentence.format(all=everything)


def test_what_is_missing_is_named() -> None:
    values = asdict(config_of())
    del values["method"]
    assert refusal(lambda: read(values)) == "method is missing."


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("dataset.separator", ";;", "dataset.separator must be one character, not ';;'."),
        ("dataset.encoding", "utf9", "dataset.encoding must be one that Python knows, such as utf-8 or cp1252, not"),
        ("finetune.batch_size", 1, "finetune.batch_size=1: it takes a number in [2, 1000000000]."),
        ("finetune.validate_every", 900, "finetune.validate_every must be at most max_epochs=200, not 900."),
        ("pretrain.lr", 1, "pretrain.lr is not an option. "),
        (
            "cotrain.wieght",
            1,
            "cotrain.wieght is not an option. ",
        ),
        ("cotrain.loss.temperature", -1, "cotrain.loss.temperature=-1.0: it takes a number in (0, inf)."),
        (
            "corruption.name",
            "means",
            "corruption.name=means is unknown. Did you mean mean? The options are: ",
        ),
        ("network.name", "mpl", "network.name=mpl is unknown. The options are: "),
        ("plugins", "mine", "plugins=mine: it takes a list, as in [a,b]."),
        ("paths.results", None, "paths.results=null: it takes a text."),
        ("finetune._target_", "os.system", "finetune._target_ is not an option. The options of finetune are: "),
    ],
)
def test_a_configuration_is_refused_in_a_sentence(name: str, value: Any, sentence: str) -> None:
    assert refusal(lambda: read(values_with(name, value))).startswith(sentence)


def test_an_option_by_its_name_in_other_tools_suggests_ours() -> None:
    ours = {
        "batch_size": "finetune.bs", "learning_rate": "finetune.lr", "epsilon": "finetune.eps", "seed": "random_state",
        "max_epochs": "finetune.epochs finetune.n_epochs", "depth": "network.head.layers network.head.n_layers",
        "width": "network.head.hidden network.head.hidden_size network.head.units", "trials": "n_trials trails",
    }  # fmt: skip
    for option_of_ours, names in ours.items():
        for name in names.split():
            assert f" Did you mean {option_of_ours}?" in refusal(partial(read, values_with(name, 1))), name
    listed = refusal(lambda: read(values_with("trails", 3))).partition("The options are: ")[2].partition(", and ")[0]
    assert len(set(listed.split(", ")) & {each.name for each in fields(Config)}) == MOST_LISTED


def test_values_at_the_edge_are_taken() -> None:
    config = read(values_with("finetune", {"patience": None, "batch_size": 2}) | {"dataset": {"separator": ";"}})
    assert (config.finetune.patience, config.finetune.batch_size, config.dataset.separator) == (None, 2, ";")
    assert read(values_with("corruption.rate", 1)).corruption["rate"] == 1
    for size in (1, "auto"):
        assert read(values_with("trainer.trials_per_stack", size)).trainer.trials_per_stack == size


@pytest.mark.parametrize("overrides", ["", "pretrain=vime", "method=cotrain cotrain=subtab", "network=ft_transformer"])
def test_a_configuration_survives_being_stored(overrides: str) -> None:
    config = config_of(*overrides.split())

    assert read(asdict(config)) == config


def test_reading_fills_in_the_options_of_parts() -> None:
    values = asdict(config_of())
    del values["corruption"]["rate"], values["cotrain"]["corruption"]["rate"], values["network"]["encoder"]

    assert read(values) == config_of()
