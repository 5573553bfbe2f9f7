from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import pytest
from omegaconf import OmegaConf

from scarf_lightning.config import Config, read
from scarf_lightning.config.typed import explain, typed
from scarf_lightning.errors import UsageError
from tests.composing import changed, composed, names


@dataclass
class Inner:
    width: int = 3

    def __post_init__(self) -> None:
        if self.width < 1:
            raise ValueError(f"width must be at least 1, not {self.width}")


@dataclass
class Middle:
    inner: Inner = field(default_factory=Inner)
    note: str | None = None


@dataclass
class Outer:
    middle: Middle = field(default_factory=Middle)
    choice: dict[str, Any] = field(default_factory=dict)
    ratio: float = 0.5
    flag: bool = True
    either: int | str = "auto"


@dataclass
class Bare:
    pass


def refusal(act: Callable[[], Any]) -> str:
    """The one sentence that an act is refused with; a near name may be suggested after it."""
    with pytest.raises(UsageError) as caught:
        act()
    sentence, _, near = str(caught.value).partition(" Did you mean ")
    assert not near or near.endswith("?")
    assert "\n" not in sentence
    assert sentence.endswith(".")
    assert not sentence.endswith("..")
    return sentence


def test_what_is_given_takes_its_type_and_the_rest_its_default() -> None:
    given = {"ratio": 2, "middle": {"inner": {"width": 7}}, "either": 4, "choice": {"name": "a", "rate": 0.5}}

    value = typed(Outer, OmegaConf.create(given))

    expected = Outer(Middle(Inner(7)), {"name": "a", "rate": 0.5}, 2.0, True, 4)
    assert value == expected
    assert type(value.ratio) is float
    assert type(value.choice) is dict


def test_an_optional_value_may_be_null() -> None:
    assert typed(Middle, OmegaConf.create({"note": None})).note is None


def test_the_node_is_not_changed() -> None:
    node = OmegaConf.create({"ratio": 1})

    typed(Outer, node)

    assert node == {"ratio": 1}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"ratoi": 1}, "ratoi is not an option; the options are: middle, choice, ratio, flag, either."),
        ({"middle": {"nte": 1}}, "middle.nte is not an option; the options of middle are: inner, note."),
        (
            {"middle": {"inner": {"wdth": 1}}},
            "middle.inner.wdth is not an option; the options of middle.inner are: width.",
        ),
        ({"middle": {"inner": {"width": 0}}}, "middle.inner.width must be at least 1, not 0."),
    ],
)
def test_an_unknown_option_or_a_value_out_of_range_is_named_with_its_path(given: dict[str, Any], sentence: str) -> None:
    assert refusal(lambda: typed(Outer, OmegaConf.create(given))) == sentence


@pytest.mark.parametrize(
    ("option", "given", "shown"),
    [
        ("ratio", {"ratio": "much"}, "much"),
        ("flag", {"flag": "perhaps"}, "perhaps"),
        ("either", {"either": 1.5}, "1.5"),
        ("ratio", {"ratio": None}, "None"),
        ("middle.inner.width", {"middle": {"inner": {"width": "wide"}}}, "wide"),
        ("middle.inner.width", {"middle": {"inner": {"width": 2.5}}}, "2.5"),
    ],
)
def test_a_wrong_type_is_named_with_its_path_and_value(option: str, given: dict[str, Any], shown: str) -> None:
    sentence = refusal(lambda: typed(Outer, OmegaConf.create(given)))

    assert sentence.startswith((f"{option}:", f"{option} "))
    assert shown in sentence


def test_the_place_of_the_node_stands_before_the_option() -> None:
    def named(given: dict[str, Any]) -> str:
        return refusal(lambda: typed(Inner, OmegaConf.create(given), "network.encoder"))

    assert named({"width": 0}) == "network.encoder.width must be at least 1, not 0."
    assert named({"width": "x"}).startswith("network.encoder.width: ")
    unknown = "network.encoder.wdth is not an option; the options of network.encoder are: width."
    assert named({"wdth": 1}) == unknown


def test_a_schema_without_options_says_so() -> None:
    sentence = refusal(lambda: typed(Bare, OmegaConf.create({"rate": 1}), "method"))

    assert sentence == "method.rate is not an option; the options of method are: none."


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("trials", 0, "trials must be at least 1, not 0."),
        ("seed", -1, "seed must be at least 0, not -1."),
        ("fit_on", "test", "fit_on must be one of all, train, not test."),
        ("impute_on", "test", "impute_on must be one of all, train, not test."),
        ("dataset.separator", ";;", "dataset.separator must be one character, not ';;'."),
        ("network.head.depth", 0, "network.head.depth must be at least 1, not 0."),
        ("network.head.width", 0, "network.head.width must be at least 1, not 0."),
        ("network.bias_init", "ones", "network.bias_init must be one of zeros, pytorch, not ones."),
        ("finetune.batch_size", 1, "finetune.batch_size must be at least 2, not 1."),
        ("trials", 10**5, "trials must be at most 10000, not 100000."),
        ("pretrain.learning_rate", 1e300, "pretrain.learning_rate must be at most 1e12, not 1e+300."),
        ("finetune.epsilon", 1e300, "finetune.epsilon must be at most 1e12, not 1e+300."),
        ("pretrain.validation_passes", 10**22, f"pretrain.validation_passes must be at most 10000, not {10**22}."),
        ("finetune.batch_size", 10**10, "finetune.batch_size must be at most 1000000000, not 10000000000."),
        ("finetune.max_epochs", 10**7, "finetune.max_epochs must be at most 1000000, not 10000000."),
        ("pretrain.patience", 10**7, "pretrain.patience must be at most 1000000, not 10000000."),
        ("network.head.width", 10**6, "network.head.width must be at most 100000, not 1000000."),
        ("network.head.depth", 10**4, "network.head.depth must be at most 1000, not 10000."),
        ("trainer.threads", 10**5, "trainer.threads must be at most 4096, not 100000."),
        ("trainer.trials_per_stack", 10**5, "trainer.trials_per_stack must be at most 10000, not 100000."),
        ("finetune.learning_rate", 0, "finetune.learning_rate must be greater than 0, not 0.0."),
        ("finetune.learning_rate", float("nan"), "finetune.learning_rate must be a finite number, not nan."),
        ("finetune.epsilon", -1, "finetune.epsilon must be greater than 0, not -1.0."),
        ("finetune.max_epochs", 0, "finetune.max_epochs must be at least 1, not 0."),
        ("finetune.patience", -1, "finetune.patience must be at least 0, not -1."),
        ("finetune.monitor", "accuracy", "finetune.monitor must be one of loss, error, not accuracy."),
        ("pretrain.patience_rule", "met", "pretrain.patience_rule must be one of exceeded, reached, not met."),
        ("pretrain.validation_passes", 0, "pretrain.validation_passes must be at least 1, not 0."),
        ("trainer.accelerator", "tpu", "trainer.accelerator must be one of auto, cpu, cuda, not tpu."),
        ("views.name", "three", "views.name must be one of one, both, not three."),
        ("cotrain.weight", 0, "cotrain.weight must be greater than 0, not 0.0."),
        (
            "cotrain.wieght",
            1,
            "cotrain.wieght is not an option; the options of cotrain are: task, weight, corruption, loss, options.",
        ),
        ("trainer.threads", 0, "trainer.threads must be at least 1, not 0."),
        ("trainer.trials_per_stack", 0, "trainer.trials_per_stack must be at least 1, not 0."),
        ("trainer.trials_per_stack", "many", "trainer.trials_per_stack must be a number or auto, not many."),
        ("paths.reslts", "here", "paths.reslts is not an option; the options of paths are: results, openml."),
    ],
)
def test_what_the_schema_does_not_allow_is_refused(option: str, value: Any, sentence: str) -> None:
    assert refusal(lambda: read(changed(option, value))) == sentence


@pytest.mark.parametrize("option", ["trials", "seed", "finetune.max_epochs", "trainer.threads", "dataset.id"])
@pytest.mark.parametrize("value", [2.5, 2.0, "many", True])
def test_a_whole_number_is_asked_for(option: str, value: Any) -> None:
    sentence = refusal(lambda: read(changed(option, value)))

    assert sentence.startswith((f"{option}: ", f"{option} "))
    assert str(value) in sentence


def test_an_unknown_top_level_option_is_refused_with_all_that_there_are() -> None:
    sentence = refusal(lambda: read(changed("trails", 3)))

    start = "trails is not an option; the options are: "
    assert sentence.startswith(start)
    known = sentence.removeprefix(start).removesuffix(".").split(", ")
    assert sorted(known) == sorted(field.name for field in fields(Config))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("trials", 1),
        ("seed", 0),
        ("finetune.patience", None),
        ("finetune.patience", 0),
        ("finetune.batch_size", 2),
        ("finetune.max_epochs", 1),
        ("network.head.depth", 1),
        ("dataset.separator", ";"),
        ("trainer.trials_per_stack", 1),
        ("trainer.trials_per_stack", "auto"),
    ],
)
def test_values_at_the_edge_are_taken(option: str, value: Any) -> None:
    taken = OmegaConf.select(OmegaConf.structured(read(changed(option, value))), option)

    assert taken == value


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        (
            "corruption=means",
            f"corruption=means is not an option; the options of corruption are: {', '.join(names('corruption'))}.",
        ),
        ("trails=3", "trails is not an option; the options are: sweeps, plan, force, "),
        (
            "network.encoder.depht=3",
            "network.encoder.depht is not an option; the options of network.encoder are: width, depth, final_relu.",
        ),
    ],
)
def test_what_hydra_refuses_is_explained_by_the_options_there_are(override: str, sentence: str) -> None:
    with pytest.raises(Exception, match=r"means|trails|depht") as caught:
        composed(override)

    explained = explain(caught.value)
    assert explained.startswith(sentence)
    assert "hydra" not in explained
    assert "\n" not in explained


def test_any_other_error_keeps_its_words_and_its_cause() -> None:
    error = ValueError("Could not read it.")
    assert explain(error) == "Could not read it."
    error.__cause__ = OSError("The disk is full.")
    assert explain(error) == "Could not read it. The disk is full."


@pytest.mark.parametrize(
    "node", [*(field.name for field in fields(Config) if is_dataclass(field.type)), "network.head"]
)
def test_settings_cannot_name_code(node: str) -> None:
    with pytest.raises(UsageError, match=rf"^{node}\._target_ is not an option; the options of {node} are: "):
        read(changed(f"{node}._target_", "os.system"))


def test_a_value_in_place_of_a_group_is_named() -> None:
    with pytest.raises(UsageError, match=r"^paths is a group of options \(results, openml\); it cannot be 3\.$"):
        read(changed("paths", 3))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_that_are_none_are_refused(value: float) -> None:
    with pytest.raises(UsageError, match=r"^loss\.temperature must be a finite number"):
        read(changed("loss.temperature", value))
