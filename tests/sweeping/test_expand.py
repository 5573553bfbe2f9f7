from pathlib import Path
from typing import Any

import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.results import columns
from scarf_lightning.sweeping.cell import distinct
from tests.composing import CONF, cells_of, config_of, request_of


def refusal(*arguments: str) -> list[str]:
    """The sentences, a line each, that a command line is refused with."""
    with pytest.raises(UsageError) as caught:
        cells_of(*arguments)
    sentences = str(caught.value).split("\n")
    assert all(sentence.endswith((".", "?")) for sentence in sentences)
    return sentences


@pytest.mark.parametrize(
    ("asked", "label"), [("", "defaults"), *[("trials=3 corruption=mean corruption.rate=0.3 ~seed",) * 2]]
)
def test_a_plain_run_is_one_cell_of_its_overrides(asked: str, label: str) -> None:
    (cell,) = cells_of(*asked.split())

    assert (cell.overrides, cell.label, cell.config.dataset.source) == (tuple(asked.split()), label, "wdbc")
    if asked:
        assert (cell.config.trials, cell.config.corruption) == (3, {"name": "mean", "keep": None, "rate": 0.3})
        assert cell.config.seed == 0


def test_several_axes_make_their_product_the_last_one_fastest() -> None:
    request = request_of("corruption=mean,marginal", "seed=1", "scaling=minmax,none")

    product = [("mean", "minmax"), ("mean", "none"), ("marginal", "minmax"), ("marginal", "none")]
    assert [cell.overrides for cell in request.cells] == [
        (f"corruption={corruption}", "seed=1", f"scaling={scaling}") for corruption, scaling in product
    ]
    assert [(cell.config.corruption["name"], cell.config.scaling["name"]) for cell in request.cells] == product
    assert {cell.config.seed for cell in request.cells} == {1}
    assert request.usual == columns(config_of()), "several cells are told from the one without overrides"
    assert request_of("corruption=mean").usual == {}, "one cell is told from none"


def test_a_comma_in_quotes_brackets_or_braces_separates_nothing() -> None:
    for values, folders in (
        ("'a,b'", ["a,b"]), ('"a,b"', ["a,b"]), (r"a\,b", ["a,b"]), ("'a,b',c", ["a,b", "c"]),
        ("'a b','c, d'", ["a b", "c, d"]), ("choice('a,b',c)", ["a,b", "c"]),
    ):  # fmt: skip
        assert [cell.config.paths.results for cell in cells_of(f"paths.results={values}")] == folders
    (cell,) = cells_of("network.encoder={width:8,depth:2}")
    assert (cell.config.network.encoder["width"], cell.config.network.encoder["depth"]) == (8, 2)
    assert refusal("seed=[1,2]") == ["seed=[1, 2]: it takes a whole number."]


def test_an_axis_that_takes_several_may_be_swept_in_lists_and_no_other() -> None:
    both, one = cells_of("logger=[csv,wandb],csv")

    assert (both.config.logger.views, one.config.logger.views) == (["wandb", "csv"], ["csv"])
    assert refusal("scaling=[minmax,none],zscore") == [
        "scaling=[minmax,none]: name one option, or try each of them with scaling=minmax,none."
    ]


def test_a_pattern_stands_for_the_options_that_it_fits() -> None:
    fitting = sorted(file.stem for file in (CONF / "dataset").glob("cc18-mfeat-*.yaml"))
    assert len(fitting) > 2

    cells = cells_of("dataset=glob(cc18-mfeat-*)")

    assert [cell.overrides for cell in cells] == [(f"dataset={name}",) for name in fitting]
    assert [f"cc18-{cell.config.dataset.name}" for cell in cells] == fitting


UNUSED = " is set, but no cell of this run uses it ("


@pytest.mark.parametrize(
    ("asked", "start"),
    [
        ("dataset=glob(cc81-*)", "dataset=glob(cc81-*) matches no option."),
        ("finetune.learning_rate=interval(0,1) trials=0", "finetune.learning_rate="),
        ("pretrain=none corruption=mean", f"corruption{UNUSED}pretrain=none, method=control"),
        ("pretrain=none corruption.rate=0.3", f"corruption.rate{UNUSED}pretrain=none, method=control"),
        ("pretrain=add_noise_ae selection.name=shared", f"selection.name{UNUSED}"),
        ("cotrain.corruption.rate=0.3", f"cotrain.corruption.rate{UNUSED}"),
        ("method=cotrain pretrain=none corruption=mean", f"corruption{UNUSED}"),
        ("method=scarf_augment network.pretrain_head.width=8", f"network.pretrain_head.width{UNUSED}"),
        ("corruption@cotrain.corruption=mean", f"cotrain.corruption{UNUSED}"),
        ("loss@cotrain.loss=barlow_twins", f"cotrain.loss{UNUSED}"),
        ("loss@cotrain.loss=barlow_twins,infonce", f"cotrain.loss{UNUSED}"),
        ("trails=3", "trails is not an option. Did you mean trials? The options are: "),
        ("+trails=3", "trails is not an option. Did you mean trials? The options are: "),
        ("~trails", "Could not delete from config. 'trails' does not exist"),
        ("trials=abc", "trials=abc: it takes a whole number."),
        ("trials=null", "trials=null: it takes a whole number."),
        ("trials=0", "trials=0: it takes a number in [1, 10000]."),
        (
            "dataset=cc18-adlut",
            "dataset=cc18-adlut is not an option. Did you mean cc18-adult? The options of dataset are: csv, diabetes, "
            "openml, wdbc, cc18-Bioresponse, ",
        ),
        (
            "dataset=iris",
            "dataset=iris is not an option. For a file of yours: dataset=csv dataset.path=FILE. The options of dataset "
            "are: csv, diabetes, openml, wdbc, ",
        ),
        (
            "dataset=my/data.xls",
            "dataset=my/data.xls is not an option. For a file of yours: dataset=csv dataset.path=FILE.",
        ),
        ("corruption=[mean,marginal]", "corruption=[mean,marginal]: name one option, or try each of them with corr"),
        ("method=control,[mixup,dropout]", "method=[mixup,dropout]: name one option, or try each of them with meth"),
        ("corruption.rat=0.5", "corruption.rat is not an option. Did you mean rate? The options of corruption are: "),
        ("network.encoder={depht:3}", "network.encoder.depht is not an option. Did you mean depth? The options of"),
        ("network.head.depth=0", "network.head.depth=0: it takes a number in [1, 1000]."),
        ("finetune.learning_rate=-1", "finetune.learning_rate=-1.0: it takes a number in (0, 1e12]."),
        ("pretrain.name=scarfs", "pretrain.name=scarfs is unknown. Did you mean scarf? The options are: none, "),
        ("corruption=mean,marginal seed=1,2 fit_on=some", "fit_on=some is unknown. Its values are: all, train."),
        ("seed=1,-1", "seed=-1: it takes a number in [0, inf)."),
        ("corruption=mean,means", "corruption=means is not an option"),
        ("corruption=gaussian corruption.rate=0.3", "corruption.rate is not an option. The options of corruption are: "
         "name, keep, sigma."),
        ("corruption.rate=0.3 corruption=none", "corruption.rate is not an option. The options of corruption are: "
         "name."),
        ("pretrain=vime,scarf pretrain.alphx=1", "pretrain.alphx is not an option. "),
        ("method=scarf_augment pretrain=scarf", "method=scarf_augment does not go with pretrain=scarf: it is never "
         "pre-trained; use none."),
        *((f"{name}={values}", f"{name}={values}: {name} is one for the whole run; give it one value.")
          for name, values in (("sweeps", "a,b"), ("trials", "1,2"), ("plan", "true,false"), ("force", "true,false"),
                               ("chunk.minutes", "1,2"), ("chunk.max_jobs", "1,2"))),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_sentence_that_names_the_option(asked: str, start: str) -> None:
    (sentence,) = refusal(*asked.split())

    assert sentence.startswith(start)
    assert UNUSED not in start or sentence.endswith("); leave it out, or choose what uses it.")


def test_an_interval_has_no_values_to_train() -> None:
    (sentence,) = refusal("finetune.learning_rate=tag(wide, interval(0, 1))", "trials=0")

    assert sentence.startswith("finetune.learning_rate=")
    assert "finetune.learning_rate=A,B" in sentence


def test_all_that_is_wrong_is_listed_together_up_to_ten_combinations() -> None:
    unused = refusal("corruption=mean", "loss.temperature=0.5", "pretrain=none", "seed=3")
    assert [sentence.partition(" ")[0] for sentence in unused] == ["corruption", "loss.temperature"]

    assert refusal("network.head.depth=0,2", "seed=-1,1") == [
        "network.head.depth=0: it takes a number in [1, 1000].",
        "seed=-1: it takes a number in [0, inf).",
    ]

    *first, last = refusal(f"seed={','.join(str(-seed) for seed in range(1, 13))}")
    assert (len(first), last) == (10, "2 more mistakes are not shown.")


NO_LIST = "dataset.drop=5: it takes a list, as in [a,b]."


def test_an_option_that_cells_refused_for_another_reason_have_is_not_unknown() -> None:
    assert refusal("dataset.drop=5", "regime=full,few", "regime.labels=20") == [NO_LIST]


def test_an_option_is_set_where_the_chosen_part_has_it() -> None:
    for axis in ("corruption=gaussian,marginal", "pretrain=add_noise_ae,scarf_ae"):
        without, with_it = request_of(axis, "corruption.rate=0.3").cells
        assert without.config.corruption == {"name": "gaussian", "keep": None, "sigma": 0.5}
        assert with_it.config.corruption == {"name": "marginal", "keep": None, "rate": 0.3}
        assert not any(override.startswith("corruption.rate") for override in without.overrides)
        assert "corruption.rate=0.3" in with_it.overrides

    asked = ["pretrain=vime,subtab", "pretrain.alpha=1.5,3", "pretrain.n_subsets=5"]
    configs = [cell.config.pretrain for cell in request_of(*asked).cells]
    assert [(each.name, each.options.get("alpha"), each.options.get("n_subsets")) for each in configs] == [
        ("vime", 1.5, None), ("vime", 3.0, None), ("subtab", None, 5)
    ]  # fmt: skip


def test_an_option_in_a_sweep_may_be_null_refer_to_another_and_be_a_group() -> None:
    asked = ["pretrain=none,scarf", "network.encoder.width=${finetune.batch_size}", "network.head={width:16,depth:1}"]
    cells = request_of(*asked, "pretrain.patience=null").cells
    for cell in cells:
        assert cell.config.network.encoder["width"] == cell.config.finetune.batch_size
        assert (cell.config.network.head.width, cell.config.network.head.depth) == (16, 1)
    assert {cell.config.pretrain.name: cell.config.pretrain.patience for cell in cells}["scarf"] is None


def test_of_a_product_the_cells_that_cannot_be_are_left_out_by_name() -> None:
    request = request_of("method=control,xgboost", "pretrain=none,scarf")

    chosen = [(cell.config.method["name"], cell.config.pretrain.name) for cell in request.cells]
    assert chosen == [("control", "none"), ("control", "scarf"), ("xgboost", "none")]
    assert request.left_out == ("method=xgboost does not go with pretrain=scarf: it is never pre-trained; use none.",)


def slow(argument: str) -> Any:
    return pytest.param(argument, marks=pytest.mark.slow)


class TestSweepFiles:
    FILE = """
title: Some figure
paper: Figure 3
trials: 7
cells:
  - dataset: wdbc
    corruption: [marginal, mean]
  - dataset: cc18-phoneme
    pretrain: [none, scarf]
    corruption: marginal
"""

    @pytest.fixture
    def sweeps(self, tmp_path: Path) -> Path:
        (tmp_path / "some.yaml").write_text(self.FILE)
        return tmp_path

    def axes(self, sweeps: Path, *arguments: str) -> list[tuple[str | None, str, str, int]]:
        cells = request_of(*arguments, sweeps=sweeps).cells
        return [
            (c.config.dataset.name, c.config.pretrain.name, c.config.corruption["name"], c.config.trials) for c in cells
        ]

    def test_a_sweep_is_the_union_of_its_blocks_and_is_kept_with_them(
        self, sweeps: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        expected = [
            ("wdbc", "scarf", "marginal", 7),
            ("wdbc", "scarf", "mean", 7),
            ("phoneme", "none", "marginal", 7),
            ("phoneme", "scarf", "marginal", 7),
        ]
        request = request_of("sweeps=some", "force=true", sweeps=sweeps)

        assert self.axes(sweeps, "sweeps=some") == expected
        assert request.cells[0].label == "dataset=wdbc corruption=marginal trials=7", "which does not name the sweep"
        assert (request.sweep.title, request.sweep.paper) == ("Some figure", "Figure 3")
        assert request_of("sweeps=null", sweeps=sweeps).sweep is None

        (sweeps / "other.yaml").write_text("title: Other\ncells:\n  - dataset: wdbc\n")
        assert self.axes(sweeps, "sweeps=other", "sweeps=some") == expected, "of two sweeps the last one counts"

        (sweeps / "elsewhere").mkdir()
        monkeypatch.chdir(sweeps / "elsewhere")
        assert self.axes(sweeps, "sweeps=some") == self.axes(Path("nowhere"), "sweeps=../some.yaml") == expected

    def test_what_the_command_line_says_of_an_axis_replaces_it_in_every_block(self, sweeps: Path) -> None:
        assert self.axes(sweeps, "sweeps=some", "dataset=cc18-wilt,cc18-wdbc", "trials=2", "corruption=mean") == [
            (dataset, pretrain, "mean", 2) for pretrain in ("scarf", "none", "scarf") for dataset in ("wilt", "wdbc")
        ]
        cells = request_of("sweeps=some", "seed=1,2", sweeps=sweeps).cells
        assert [cell.config.seed for cell in cells] == [1, 2] * 4, "no block has it"

    @pytest.mark.parametrize(
        "argument", ["corruption.rate=0.3", slow("++corruption.rate=0.3"), slow("~corruption.rate")]
    )
    def test_an_option_is_not_its_group(self, argument: str, sweeps: Path) -> None:
        assert len(request_of("sweeps=some", argument, sweeps=sweeps).cells) == 4

    def test_equal_cells_of_a_block_count_once_with_the_largest_number_of_trials(self, sweeps: Path) -> None:
        (sweeps / "some.yaml").write_text("title: T\ncells: [{seed: 1, trials: [3, 9, 4]}]\n")
        (cell,) = distinct(request_of("sweeps=some", sweeps=sweeps).cells)
        assert cell.config.trials == 9

    def test_all_that_is_wrong_in_a_file_is_listed(self, sweeps: Path) -> None:
        (sweeps / "some.yaml").write_text("title: T\ncells: [{corruption: [mean, maen]}, {sede: 1}]\n")

        with pytest.raises(UsageError) as caught:
            request_of("sweeps=some", sweeps=sweeps)

        first, second = str(caught.value).split("\n")
        assert first.startswith("corruption=maen is not an option. Did you mean mean? The options of ")
        assert second.startswith("sede is not an option. Did you mean seed? The options are: ")

    def test_narrowing_a_sweep_leaves_out_what_does_not_go_with_it_and_says_so(self, sweeps: Path) -> None:
        """What does not go together in the file itself is refused."""
        (sweeps / "some.yaml").write_text("title: T\ncells: [{regime: semi25, method: [control, self_train]}]\n")

        request = request_of("sweeps=some", "regime=full", sweeps=sweeps)

        assert [cell.config.method["name"] for cell in request.cells] == ["control"]
        assert [sentence.partition(" does not go with ")[0] for sentence in request.left_out] == ["method=self_train"]
        assert request_of("sweeps=some", sweeps=sweeps).left_out == ()

        (sweeps / "some.yaml").write_text("title: T\ncells: [{method: [control, self_train]}]\n")
        with pytest.raises(UsageError, match="method=self_train does not go with regime=full"):
            request_of("sweeps=some", sweeps=sweeps)


class TestNumbersOfLabels:
    """A sweep may name numbers of labels for tables of several sizes; each table gets those that it has."""

    @pytest.fixture
    def sweep(self, tmp_path: Path) -> str:
        file = tmp_path / "mine.yaml"
        file.write_text("title: T\ncells: [{regime: few, regime.labels: [20, 90, 0.5, 400], pretrain: none}]\n")
        return f"sweeps={file}"

    def test_those_beyond_a_bundled_table_are_left_out(self, sweep: str) -> None:
        request = request_of(sweep, "dataset=diabetes")

        assert [cell.config.regime["labels"] for cell in request.cells] == [20, 90, 0.5]
        assert request.left_out == ("400 labels; diabetes has 442, a fifth of them for testing.",)

    def test_rows_of_a_file_count_that_have_a_label(self, sweep: str, tmp_path: Path) -> None:
        file = tmp_path / "t.csv"
        lines = [f"{i % 7},{i % 5}.5,{'ab'[i % 2] if i < 60 else ''}\n" for i in range(600)]
        file.write_text("x,y,name\n" + "".join(lines))

        request = request_of(sweep, f"dataset={file}", "dataset.target=name")

        assert [cell.config.regime["labels"] for cell in request.cells] == [20, 0.5]

    def test_a_table_that_nobody_has_counted_keeps_all(self, sweep: str) -> None:
        assert len(request_of(sweep, "dataset=cc18-adult").cells) == 4

    def test_labels_of_the_command_line_are_tried(self) -> None:
        (cell,) = cells_of("regime=few", "regime.labels=400", "dataset=diabetes", "pretrain=none")
        assert cell.config.regime["labels"] == 400

    def test_a_sweep_without_a_cell_is_refused(self, tmp_path: Path) -> None:
        file = tmp_path / "mine.yaml"
        file.write_text("title: T\ncells: [{regime: few, regime.labels: [4000], pretrain: none}]\n")
        with pytest.raises(UsageError, match="4000 labels; wdbc has 569, a fifth of them for testing"):
            request_of(f"sweeps={file}")


class TestMethodsForOtherTargets:
    """A sweep may name methods for different kinds of target; each dataset gets those that serve its own."""

    def test_the_kind_of_a_file_is_found_out(self, tmp_path: Path) -> None:
        file = tmp_path / "t.csv"
        file.write_text("x,name,price\n" + "".join(f"{i % 7},{'ab'[i % 2]},{i}.5\n" for i in range(60)))
        for target, linear in (("price", "ridge"), ("name", "logistic")):
            of_file = ("dataset=csv", f"dataset.path={file}", f"dataset.target={target}")
            methods = [cell.config.method["name"] for cell in cells_of(*of_file, "method=control,logistic,ridge")]
            assert methods == ["control", linear]

    def test_the_command_line_hears_of_what_it_named(self) -> None:
        request = request_of("dataset=wdbc,diabetes", "method=logistic,ridge")

        assert [cell.config.method["name"] for cell in request.cells] == ["logistic", "ridge"]
        assert request.left_out == (
            "method=ridge does not go with dataset.target_kind=classes: it fits numbers; logistic is its counterpart.",
            "method=logistic does not go with dataset.target_kind=number: it fits probabilities of classes; ridge is "
            "its counterpart.",
        )

    def test_nothing_is_loaded_where_one_kind_is_served_by_all(self) -> None:
        assert len(cells_of("dataset=csv", "dataset.path=gone.csv", "dataset.target=y", "method=control,ridge")) == 2


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ("dataset.path=a/x.csv,b/x.csv dataset.target=y", ["x (a/x.csv, y)", "x (b/x.csv, y)"]),
        ("dataset.path=a/x.csv dataset.target=y,z", ["x (a/x.csv, y)", "x (a/x.csv, z)"]),
        ("dataset.path=a/x.csv dataset.target=y seed=0,1 dataset.drop=null,[a]", [None] * 4),
        ("dataset.path=a/x.csv,b/y.csv dataset.target=y", [None, None]),
        ("dataset.name=mine dataset.path=a.csv,b.csv dataset.target=y", ["mine (a.csv, y)", "mine (b.csv, y)"]),
    ],
)
def test_tables_of_one_name_get_their_files_and_targets(asked: str, names: list[str | None]) -> None:
    cells = cells_of("dataset=csv", *asked.split())
    assert [cell.config.dataset.name for cell in cells] == names
    assert all(name is None or cell.axes()["dataset"] == name for cell, name in zip(cells, names, strict=True))
