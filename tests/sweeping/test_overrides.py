"""Overrides as a user writes them, and as Hydra reads them."""

import re
from typing import Any

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from scarf_lightning.errors import UsageError
from scarf_lightning.sweeping.overrides import overrides_of_options, parsed, spelled_out, swept, taken_out


def test_what_hydra_reads_is_kept_as_it_was_given() -> None:
    given = ["sweeps=quick", "pretrain.max_epochs=2", "dataset.drop=[a,b]", "regime=choice(full,few)", "loss=glob(*)"]
    assert spelled_out(given) == given


def test_a_file_may_be_named_in_the_place_of_a_dataset() -> None:
    for asked, spelled in (
        ("dataset.path=a.csv trials=2", "dataset.path=a.csv trials=2 dataset=csv"),
        ("trials=2 dataset=b/a.tsv.gz", "trials=2 dataset.path=b/a.tsv.gz dataset=csv"),
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
def test_a_text_is_read_as_it_was_written(target: str) -> None:
    asked = overrides_of_options({"dataset": {"path": "my table, (1).csv", "target": target}})
    assert [each.value() for each in parsed(asked)] == ["my table, (1).csv", target]


@pytest.mark.parametrize(
    ("values", "argument"),
    [
        (["mean", "marginal"], "mean,marginal"),
        ("glob(cc18-*)", "glob(cc18-*)"),
        ([None, 3, 1e-3, True], "null,3,0.001,true"),
        ([["a", "b"], [], [["c"]]], "[a,b],[],[[c]]"),
        (["b c", ["it's", "true"]], "'b c',['it\\'s','true']"),
        ({"device": "cpu", "early": None}, "{device:cpu,early:null}"),
        ([{"c": 1, "d": ["a", "b"]}, {}], "{c:1,d:[a,b]},{}"),
    ],
)
def test_an_axis_is_written_as_on_the_command_line(values: Any, argument: str) -> None:
    assert swept(values) == argument


@pytest.mark.parametrize(
    "argument",
    ["corruption=3", "+loss=null", "loss@cotrain.loss=3", "corruption=[mean,marginal]", "loss=[]", "~corruption"],
)
def test_an_axis_is_chosen_by_name(argument: str) -> None:
    with pytest.raises(UsageError, match=rf"^{re.escape(argument)}: \w+ is chosen by name"):
        parsed(["trials=3", "corruption=mean,marginal", argument])


def test_loggers_are_chosen_together_and_a_dictionary_sets_options() -> None:
    assert len(parsed(["logger=[csv,wandb]", "corruption={rate:0.3}", "dataset=glob(cc18-*)"])) == 3


@pytest.mark.parametrize("argument", ["hydra.run.dir=a", "hydra.job.chdir=true"])
def test_options_of_hydras_own_are_refused_that_would_lose_results(argument: str) -> None:
    with pytest.raises(UsageError, match=rf"^{argument}: leave it out, for paths\.results=FOLDER"):
        parsed([argument])
    assert parsed(["hydra.job.chdir=false"])


@pytest.mark.parametrize("argument", ["~", "my option=3", "a&b=1", "=3", "quick", "marginal"])
def test_what_is_no_option_is_refused(argument: str) -> None:
    with pytest.raises(UsageError, match=r" is no option; write OPTION=VALUE or OPTION=A,B without blanks"):
        spelled_out(["trials=3", argument])


def test_an_option_of_a_report_is_taken_out() -> None:
    assert taken_out(["metric=auroc", "dataset=wdbc", "seed=0,1"], ["metric"]) == (
        {"metric": "auroc"}, ["dataset=wdbc", "seed=0,1"]
    )  # fmt: skip
    with pytest.raises(UsageError, match="out=a,b: one value"):
        taken_out(["out=a,b"], ["out"])
