"""Overrides as a user writes them, and as Hydra reads them."""

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from scarf_lightning.errors import UsageError
from scarf_lightning.sweeping.overrides import (
    check_choices,
    overrides_of,
    overrides_of_file,
    spelled_out,
)
from tests.composing import request_of


def test_the_command_line_of_a_sweep_is_kept_as_it_was_given() -> None:
    given = ["regime=full,few", "regime.labels=40", "trials=2"]
    assert list(request_of(*given).arguments) == given

    given = ["sweeps=quick", "pretrain.max_epochs=2", "dataset.drop=[a,b]", "regime=choice(full,few)", "loss=glob(*)"]
    assert spelled_out(given) == given


def test_a_file_may_be_named_in_the_place_of_a_dataset() -> None:
    for asked, spelled in (
        ("dataset.path=a.csv trials=2", "dataset.path=a.csv trials=2 dataset=csv"),
        ("trials=2 dataset=b/a.tsv.gz", "trials=2 dataset=csv dataset.path=b/a.tsv.gz"),
        ("dataset=csv dataset.path=a.csv", "dataset=csv dataset.path=a.csv"),
        ("dataset=cc18-car", "dataset=cc18-car"),
        ("", ""),
    ):
        assert spelled_out(asked.split()) == spelled.split()


def test_names_of_columns_and_files_need_no_quotes() -> None:
    for argument, value in {
        "dataset.target=Größe": "Größe", "dataset.target='Größe'": "Größe",
        "dataset.target=sepal length (cm)": "sepal length (cm)", "dataset.path=it's (1).csv": "it's (1).csv",
        "dataset.path=(a)[1]": "(a)[1]", "dataset.path=[1](a": "[1](a",
        "dataset.drop=[Größe, Preis (€),'a,b']": ["Größe", "Preis (€)", "a,b"], "dataset.drop=[a,b]": ["a", "b"],
        "corruption.rate=0.3": 0.3,
    }.items():  # fmt: skip
        override = OverridesParser.create().parse_override(spelled_out([argument])[0])

        assert override.value() == value


@pytest.mark.parametrize("target", ["plan", "plan = b", "2020", "null", "it's", "größe"])
def test_a_file_is_chosen_with_any_name(target: str) -> None:
    asked = overrides_of_file("my table, (1).csv", target)

    parsed = {each.key_or_group: each.value() for each in OverridesParser.create().parse_overrides(asked)}
    assert (parsed["dataset.target"], parsed["dataset.path"]) == (target, "my table, (1).csv")
    assert overrides_of_file("a.csv", "plan") == ["dataset.path=a.csv", "dataset.target=plan", "dataset=csv"]


@pytest.mark.parametrize(
    ("argument", "sentence"),
    [
        ("corruption=3", "corruption=3: corruption is chosen by name; --help lists the names."),
        ("+loss=null", "+loss=null: loss is chosen by name; --help lists the names."),
        ("loss@cotrain.loss=3", "loss@cotrain.loss=3: loss is chosen by name; --help lists the names."),
        ("corruption=[mean,marginal]", "corruption=[mean,marginal]: name one option, or try each of them with "),
        ("loss=[]", "loss=[]: loss is chosen by name; --help lists the names."),
    ],
)
def test_an_axis_is_chosen_by_one_name(argument: str, sentence: str) -> None:
    with pytest.raises(UsageError) as error:
        check_choices(["trials=3", "corruption=mean,marginal", argument])

    assert str(error.value).startswith(sentence)


def test_several_files_may_choose_loggers_together() -> None:
    check_choices(["logger=[csv,wandb]"])


@pytest.mark.parametrize("argument", ["~", "my option=3", "corruption rate=0.3", "a&b=1"])
def test_what_is_no_name_of_an_option_is_refused(argument: str) -> None:
    with pytest.raises(UsageError, match=r" is no name of an option; write OPTION=VALUE\.$"):
        spelled_out(["trials=3", argument])


@pytest.mark.parametrize("word", ["pretrain = none", "pretrain =none"])
def test_a_blank_before_a_sign_of_equality_is_refused_with_what_to_write(word: str) -> None:
    with pytest.raises(UsageError, match=r"^A blank stands before a sign of equality: write pretrain=none\.$"):
        overrides_of(word, ())
    assert overrides_of("pretrain= none", ()) == ["pretrain= none"]
