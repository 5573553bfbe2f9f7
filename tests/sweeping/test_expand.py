import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.results import fingerprint, identity
from tests.cells import DATA_HASH
from tests.composing import CONF, cells_of


def overrides(*arguments: str) -> list[tuple[str, ...]]:
    return [cell.overrides for cell in cells_of(*arguments)]


def refusal(*arguments: str) -> list[str]:
    """The sentences, a line each, that a command line is refused with."""
    with pytest.raises(UsageError) as caught:
        cells_of(*arguments)
    sentences = str(caught.value).split("\n")
    assert all(sentence.endswith(".") for sentence in sentences)
    return sentences


def test_a_plain_run_is_one_cell() -> None:
    (cell,) = cells_of()

    assert cell.overrides == ()
    assert cell.label == "defaults"
    assert cell.config.dataset.source == "wdbc"


def test_overrides_are_kept_and_applied_as_they_were_given() -> None:
    (cell,) = cells_of("trials=3", "corruption=mean", "corruption.rate=0.3", "~seed")

    assert cell.overrides == ("trials=3", "corruption=mean", "corruption.rate=0.3", "~seed")
    assert cell.label == "trials=3 corruption=mean corruption.rate=0.3 ~seed"
    assert (cell.config.trials, cell.config.corruption) == (3, {"name": "mean", "rate": 0.3})
    assert cell.config.seed == 0


def test_several_axes_make_their_product_the_last_one_fastest() -> None:
    cells = cells_of("corruption=mean,marginal", "seed=1", "scaling=minmax,none")

    assert [cell.overrides for cell in cells] == [
        ("corruption=mean", "seed=1", "scaling=minmax"),
        ("corruption=mean", "seed=1", "scaling=none"),
        ("corruption=marginal", "seed=1", "scaling=minmax"),
        ("corruption=marginal", "seed=1", "scaling=none"),
    ]
    assert [(cell.config.corruption["name"], cell.config.scaling["name"]) for cell in cells] == [
        ("mean", "minmax"),
        ("mean", "none"),
        ("marginal", "minmax"),
        ("marginal", "none"),
    ]
    assert {cell.config.seed for cell in cells} == {1}


@pytest.mark.parametrize(
    ("argument", "folders"),
    [
        ("paths.results='a,b'", ["a,b"]),
        ('paths.results="a,b"', ["a,b"]),
        (r"paths.results=a\,b", ["a,b"]),
        ("paths.results='a,b',c", ["a,b", "c"]),
        ("paths.results='a b','c, d'", ["a b", "c, d"]),
        ("paths.results=choice('a,b',c)", ["a,b", "c"]),
    ],
)
def test_a_comma_in_quotes_separates_nothing(argument: str, folders: list[str]) -> None:
    assert [cell.config.paths.results for cell in cells_of(argument)] == folders


def test_a_comma_in_brackets_or_braces_separates_nothing() -> None:
    (cell,) = cells_of("network.encoder={width:8,depth:2}")

    assert (cell.config.network.encoder.width, cell.config.network.encoder.depth) == (8, 2)
    assert cell.config.network.encoder.final_relu
    assert refusal("seed=[1,2]")[0].startswith("seed: ")


def test_a_pattern_stands_for_the_options_that_it_fits() -> None:
    fitting = sorted(file.stem for file in (CONF / "dataset").glob("cc18-mfeat-*.yaml"))
    assert len(fitting) > 2

    cells = cells_of("dataset=glob(cc18-mfeat-*)")

    assert [cell.overrides for cell in cells] == [(f"dataset={name}",) for name in fitting]
    assert [f"cc18-{cell.config.dataset.name}" for cell in cells] == fitting


def test_a_pattern_may_leave_options_out() -> None:
    assert overrides("scaling=glob(*, exclude=m*)") == [("scaling=none",), ("scaling=zscore",)]


def test_an_option_may_be_forced() -> None:
    (cell,) = cells_of("++finetune.patience=null")

    assert cell.config.finetune.patience is None


@pytest.mark.parametrize("values", ["interval(0, 1)", "tag(wide, interval(0, 1))"])
def test_an_interval_has_no_values_to_train(values: str) -> None:
    (sentence,) = refusal(f"finetune.learning_rate={values}", "trials=0")

    assert sentence.startswith("finetune.learning_rate=")
    assert "finetune.learning_rate=A,B" in sentence


def test_pretrain_none_is_one_cell_whatever_the_corruption_is() -> None:
    cells = cells_of("pretrain=none,scarf", "corruption=marginal,mean")
    names = [fingerprint(identity(cell.config, DATA_HASH)) for cell in cells]

    assert len(cells) == 4
    assert len(set(names)) == 3
    assert {cell.config.pretrain.name for cell, name in zip(cells, names, strict=True) if names.count(name) > 1} == {
        "none"
    }


@pytest.mark.parametrize(
    ("argument", "key"),
    [
        ("corruption=mean", "corruption"),
        ("corruption=mean,marginal", "corruption"),
        ("corruption.rate=0.3", "corruption.rate"),
        ("++corruption.rate=0.3", "corruption.rate"),
        ("loss=infonce", "loss"),
        ("pretrain.max_epochs=3", "pretrain.max_epochs"),
        ("network.pretrain_head.width=8", "network.pretrain_head.width"),
    ],
)
def test_an_option_that_no_cell_uses_is_refused(argument: str, key: str) -> None:
    assert refusal("pretrain=none", argument) == [
        f"{key} is set, but no cell of this run uses it: nothing is pre-trained with pretrain=none. "
        "Leave it out, or choose another pretrain."
    ]


def test_all_options_that_no_cell_uses_are_listed() -> None:
    sentences = refusal("corruption=mean", "loss.temperature=0.5", "pretrain=none", "seed=3")

    assert [sentence.partition(" ")[0] for sentence in sentences] == ["corruption", "loss.temperature"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("pretrain=none,scarf", "corruption=mean"),
        ("pretrain=none", "network.encoder.width=8", "finetune.max_epochs=3", "seed=1", "regime=semi25"),
        ("pretrain=none", "pretrain.name=none"),
    ],
)
def test_an_option_that_some_cell_uses_is_taken(arguments: tuple[str, ...]) -> None:
    assert cells_of(*arguments)


@pytest.mark.parametrize(
    ("argument", "start"),
    [
        ("trails=3", "trails is not an option; the options are: trials, seed, "),
        ("+trails=3", "trails is not an option; the options are: "),
        ("~trails", "Could not delete from config. 'trails' does not exist"),
        ("trials=abc", "trials: Value 'abc' "),
        ("trials=2.5", "trials: Value '2.5' "),
        ("trials=null", "trials: "),
        ("trials=0", "trials must be at least 1, not 0."),
        ("corruption=means", "corruption=means is not an option; the options of corruption are: marginal, "),
        ("dataset=cc18-adlut", "dataset=cc18-adlut is not an option; the options of dataset are: cc18-Bioresponse, "),
        ("corruption.rat=0.5", "corruption.rat is not an option; the options of corruption are: "),
        ("network.encoder.depht=3", "network.encoder.depht is not an option; the options of network.encoder are: "),
        ("network.encoder={depht:3}", "network.encoder.depht is not an option; the options of network.encoder are: "),
        ("network.encoder.depth=0", "network.encoder.depth must be at least 1, not 0."),
        ("finetune.learning_rate=-1", "finetune.learning_rate must be greater than 0, not -1.0."),
        ("pretrain.name=scarfs", "pretrain.name=scarfs is unknown; the options are: none, scarf"),
    ],
)
def test_what_is_wrong_is_one_sentence_that_names_the_option(argument: str, start: str) -> None:
    (sentence,) = refusal(argument)

    assert sentence.startswith(start)


def test_all_wrong_cells_are_listed_together_each_by_its_overrides() -> None:
    assert refusal("trials=0,1", "network.head.depth=0,2", "seed=-1") == [
        "trials=0 network.head.depth=0 seed=-1: network.head.depth must be at least 1, not 0.",
        "trials=0 network.head.depth=2 seed=-1: trials must be at least 1, not 0.",
        "trials=1 network.head.depth=0 seed=-1: network.head.depth must be at least 1, not 0.",
        "trials=1 network.head.depth=2 seed=-1: seed must be at least 0, not -1.",
    ]


def test_one_wrong_cell_among_good_ones_refuses_all() -> None:
    assert refusal("corruption=mean,means,marginal")[0].startswith(
        "corruption=means: corruption=means is not an option"
    )
    assert refusal("seed=1,-1") == ["seed=-1: seed must be at least 0, not -1."]


@pytest.mark.parametrize(
    "argument",
    ["corruption=null", "~dataset", "~corruption", "seed=${foo}", "dataset.source=???", "dataset=glob(nothing*)"],
)
def test_odd_overrides_are_refused_for_what_they_are(argument: str) -> None:
    with pytest.raises(UsageError) as caught:
        cells_of(argument)
    assert argument.strip("~").partition("=")[0].split(".")[0] in str(caught.value)
    assert "pretrain=none" not in str(caught.value)
