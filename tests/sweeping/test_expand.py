"""From a command line to cells: which there are, how swept values are combined, and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.results import columns
from scarf_lightning.sweeping.expand import combined
from tests.composing import CONF, cells_of, config_of, request_of
from tests.storing import write_csv


def refusal(*arguments: str) -> list[str]:
    """The sentences, a line each, that a command line is refused with."""
    with pytest.raises(UsageError) as caught:
        cells_of(*arguments)
    sentences = str(caught.value).split("\n")
    assert all(sentence.endswith((".", "?")) for sentence in sentences)
    return sentences


def slow(case: Any) -> Any:
    return pytest.param(case, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("arguments", "label"), [("", "defaults"), *[("trials=3 corruption=mean corruption.rate=0.3 ~seed",) * 2]]
)
def test_a_plain_run_is_one_cell_of_its_overrides(arguments: str, label: str) -> None:
    (cell,) = cells_of(*arguments.split())

    assert (cell.overrides, cell.label, cell.config.dataset.source) == (tuple(arguments.split()), label, "wdbc")
    if arguments:
        assert (cell.config.trials, cell.config.corruption) == (3, {"name": "mean", "keep": None, "rate": 0.3})
        assert cell.config.seed == 0


def test_several_axes_make_their_product_the_last_one_fastest() -> None:
    request = request_of("corruption=mean,marginal", "seed=1", "scaling=minmax,none")

    product = [("mean", "minmax"), ("mean", "none"), ("marginal", "minmax"), ("marginal", "none")]
    assert [cell.overrides for cell in request.cells] == [
        (f"corruption={corruption}", "seed=1", f"scaling={scaling}") for corruption, scaling in product
    ]
    assert [(cell.config.corruption["name"], cell.config.scaling["name"]) for cell in request.cells] == product
    assert request.usual == columns(config_of()), "several cells are told from the one without overrides"
    assert list(request.arguments) == ["corruption=mean,marginal", "seed=1", "scaling=minmax,none"]


@pytest.mark.parametrize(
    ("values", "folders"),
    [
        ("'a,b'", ["a,b"]), (r"a\,b", ["a,b"]), ("'a,b',c", ["a,b", "c"]), ("'a b','c, d'", ["a b", "c, d"]),
        ("choice('a,b',c)", ["a,b", "c"]),
    ],
)  # fmt: skip
def test_a_comma_in_quotes_or_brackets_separates_nothing(values: str, folders: list[str]) -> None:
    assert [cell.config.paths.results for cell in cells_of(f"paths.results={values}")] == folders


def test_an_axis_that_takes_several_may_be_swept_in_lists() -> None:
    both, one = cells_of("logger=[csv,wandb],csv", "seed=0,1", "vary=pairs")
    assert (both.config.logger.views, one.config.logger.views) == (["wandb", "csv"], ["csv"])


def test_a_pattern_stands_for_the_options_that_it_fits() -> None:
    fitting = sorted(file.stem for file in (CONF / "dataset").glob("cc18-mfeat-*.yaml"))
    assert len(fitting) > 2
    assert [cell.overrides for cell in cells_of("dataset=glob(cc18-mfeat-*)")] == [(f"dataset={n}",) for n in fitting]


UNUSED = " is set, but no cell of this run uses it; leave it out"


@pytest.mark.parametrize(
    ("arguments", "start"),
    [
        ("trials=5,10", "trials=5,10: one value"),
        ("dataset=glob(cc81-*)", "dataset=glob(cc81-*): name values, fewer than 100000"),
        ("finetune.learning_rate=interval(0,1)", "finetune.learning_rate=interval(0,1): name values"),
        ("pretrain=none corruption=mean", f"corruption{UNUSED}"),
        ("pretrain=add_noise_ae selection.name=shared", f"selection.name{UNUSED}"),
        ("loss@cotrain.loss=barlow_twins,infonce", f"cotrain.loss{UNUSED}"),
        ("+trails=3", "trails is not an option. Did you mean trials? The options are: "),
        ("~trails", "Could not delete from config. 'trails' does not exist"),
        ("trials=abc", "trials=abc: it takes a whole number."),
        ("dataset=cc18-adlut", "dataset=cc18-adlut is not an option. Did you mean cc18-adult? The options of dataset "
         "are: cc18-"),
        ("dataset=iris", "dataset=iris is not an option. For a file of yours: dataset=csv dataset.path=FILE."),
        ("corruption=[mean,marginal]", "corruption=[mean,marginal]: corruption is chosen by name, "),
        ("method=control,[mixup,dropout]", "method=[mixup,dropout]: method is chosen by name"),
        ("corruption.rat=0.5", "corruption.rat is not an option. Did you mean rate? The options of corruption are: "),
        ("network.encoder={depht:3}", "network.encoder.depht is not an option. Did you mean depth? The options of"),
        ("corruption=mean,marginal seed=1,2 fit_on=some", "fit_on=some is unknown. Its values are: all, train."),
        ("seed=1,-1", "seed=-1: it takes a number in [0, inf)."),
        ("corruption=gaussian corruption.rate=0.3", "corruption.rate is not an option. The options of corruption are: "
         "name, keep, sigma."),
        ("dataset.drop=5 regime=full,few regime.labels=20", "dataset.drop=5: it takes a list, as in [a,b]."),
        ("method=scarf_augment pretrain=scarf", "method=scarf_augment does not go with pretrain=scarf: it is never "
         "pre-trained; use none."),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_sentence_that_names_the_option(arguments: str, start: str) -> None:
    (sentence,) = refusal(*arguments.split())
    assert sentence.startswith(start)


def test_all_that_is_wrong_is_listed_together_up_to_ten_combinations() -> None:
    unused = refusal("corruption=mean", "loss.temperature=0.5", "pretrain=none", "seed=3")
    assert [sentence.partition(" ")[0] for sentence in unused] == ["corruption", "loss.temperature"]

    assert len(refusal(f"seed={','.join(str(-seed) for seed in range(1, 13))}")) == 10


def test_an_option_is_set_where_the_chosen_part_has_it() -> None:
    without, with_it = cells_of("corruption=gaussian,marginal", "corruption.rate=0.3")
    assert without.config.corruption == {"name": "gaussian", "keep": None, "sigma": 0.5}
    assert with_it.config.corruption == {"name": "marginal", "keep": None, "rate": 0.3}
    assert (without.overrides, with_it.overrides) == (
        ("corruption=gaussian",), ("corruption=marginal", "corruption.rate=0.3")
    )  # fmt: skip

    arguments = ["pretrain=vime,subtab", "pretrain.alpha=1.5,3", "pretrain.n_subsets=5"]
    configs = [cell.config.pretrain for cell in request_of(*arguments).cells]
    assert [(each.name, each.options.get("alpha"), each.options.get("n_subsets")) for each in configs] == [
        ("vime", 1.5, None), ("vime", 3.0, None), ("subtab", None, 5)
    ]  # fmt: skip


def test_of_a_product_the_cells_that_cannot_be_are_left_out_by_name() -> None:
    request = request_of("method=control,xgboost", "pretrain=none,scarf")

    chosen = [(cell.config.method["name"], cell.config.pretrain.name) for cell in request.cells]
    assert chosen == [("control", "none"), ("control", "scarf"), ("xgboost", "none")]
    assert request.left_out == ["method=xgboost does not go with pretrain=scarf: it is never pre-trained; use none."]


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
        configs = [cell.config for cell in request_of(f"sweeps={sweeps}/some.yaml", *arguments).cells]
        return [(each.dataset.name, each.pretrain.name, each.corruption["name"], each.trials) for each in configs]

    def test_a_sweep_is_the_union_of_its_blocks_and_is_kept_with_them(self, sweeps: Path) -> None:
        expected = [
            ("wdbc", "scarf", "marginal", 7),
            ("wdbc", "scarf", "mean", 7),
            ("phoneme", "none", "marginal", 7),
            ("phoneme", "scarf", "marginal", 7),
        ]
        request = request_of(f"sweeps={sweeps}/some.yaml", "force=true")

        assert self.axes(sweeps) == expected
        assert request.cells[0].label == "trials=7 dataset=wdbc corruption=marginal", "which does not name the sweep"
        assert (request.sweep.title, request.sweep.paper) == ("Some figure", "Figure 3")
        assert request_of("sweeps=null").sweep is None

    def test_what_the_command_line_says_of_an_axis_replaces_it_in_every_block(self, sweeps: Path) -> None:
        assert self.axes(sweeps, "dataset=cc18-wilt,cc18-wdbc", "trials=2", "corruption=mean") == [
            (dataset, pretrain, "mean", 2) for pretrain in ("scarf", "none") for dataset in ("wilt", "wdbc")
        ]
        cells = request_of(f"sweeps={sweeps}/some.yaml", "seed=1,2").cells
        assert [cell.config.seed for cell in cells] == [1, 2] * 4, "no block has it"

    @pytest.mark.parametrize(
        "argument", ["corruption.rate=0.3", slow("++corruption.rate=0.3"), slow("~corruption.rate")]
    )
    def test_an_option_is_not_its_group(self, argument: str, sweeps: Path) -> None:
        assert len(request_of(f"sweeps={sweeps}/some.yaml", argument).cells) == 4

    def test_trials_of_a_block_replace_those_of_the_file(self, sweeps: Path) -> None:
        (sweeps / "some.yaml").write_text("title: T\ntrials: 7\ncells: [{seed: [1, 2]}, {seed: 3, trials: 3}]\n")
        cells = request_of(f"sweeps={sweeps}/some.yaml").cells
        assert [cell.config.trials for cell in cells] == [7, 7, 3]

    def test_equal_cells_of_a_block_count_once_with_the_largest_number_of_trials(self, sweeps: Path) -> None:
        (sweeps / "some.yaml").write_text("title: T\ncells: [{seed: 1, trials: [3, 9, 4]}]\n")
        (cell,) = request_of(f"sweeps={sweeps}/some.yaml").cells
        assert cell.config.trials == 9

    def test_all_that_is_wrong_in_a_file_is_listed(self, sweeps: Path) -> None:
        (sweeps / "some.yaml").write_text("title: T\ncells: [{corruption: [mean, maen]}, {sede: 1}]\n")

        (wrong,) = refusal(f"sweeps={sweeps}/some.yaml")
        assert wrong.startswith("corruption=maen is not an option. Did you mean mean? The options of ")

        (sweeps / "some.yaml").write_text("title: T\ncells: [{sede: 1}, {sead: 1}]\n")
        first, second = refusal(f"sweeps={sweeps}/some.yaml")
        assert first.startswith("sede is not an option. Did you mean seed? The options are: ")
        assert second.startswith("sead is not an option. Did you mean seed? The options are: ")

    def test_narrowing_a_sweep_leaves_out_what_does_not_go_with_it_and_says_so(self, sweeps: Path) -> None:
        (sweeps / "some.yaml").write_text("title: T\ncells: [{regime: semi25, method: [control, self_train]}]\n")

        request = request_of(f"sweeps={sweeps}/some.yaml", "regime=full")

        assert [cell.config.method["name"] for cell in request.cells] == ["control"]
        assert [sentence.partition(" does not go with ")[0] for sentence in request.left_out] == ["method=self_train"]

        (sweeps / "some.yaml").write_text("title: T\ncells: [{method: [self_train]}]\n")
        assert refusal(f"sweeps={sweeps}/some.yaml")[0].startswith("method=self_train does not go with regime=full")


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
        assert request.left_out == ["regime.labels=400 is more than the 354 training rows with a label."]
        assert refusal(sweep, "regime.labels=4000")[0].startswith("regime.labels=4000 is more than the 398 training")

    def test_rows_of_a_file_count_that_have_a_label(self, sweep: str, tmp_path: Path) -> None:
        file = tmp_path / "t.csv"
        lines = [f"{i % 7},{i % 5}.5,{'ab'[i % 2] if i < 60 else ''}\n" for i in range(600)]
        file.write_text("x,y,name\n" + "".join(lines))

        request = request_of(sweep, f"dataset.path={file}", "dataset.target=name")

        assert [cell.config.regime["labels"] for cell in request.cells] == [20, 0.5]

    def test_a_table_that_nobody_has_counted_keeps_all(self, sweep: str) -> None:
        assert len(request_of(sweep, "dataset=cc18-adult").cells) == 4


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
        assert [sentence.partition(": ")[0] for sentence in request.left_out] == [
            "method=ridge does not go with dataset.target_kind=classes",
            "method=logistic does not go with dataset.target_kind=number",
        ]

    def test_nothing_is_loaded_where_one_kind_is_served_by_all(self) -> None:
        assert len(cells_of("dataset=csv", "dataset.path=gone.csv", "dataset.target=y", "method=control,ridge")) == 2


@pytest.mark.parametrize(
    ("arguments", "n_cells"),
    [
        ("dataset.path=a/x.csv,b/x.csv dataset.target=y", 0),
        ("dataset.path=a/x.csv dataset.target=y,z", 0),
        ("dataset.name=mine dataset.path=a.csv,b.csv dataset.target=y", 0),
        ("dataset.path=a/x.csv dataset.target=y seed=0,1 dataset.drop=null,[a]", 4),
        ("dataset.path=a/x.csv,b/y.csv dataset.target=y", 2),
    ],
)
def test_tables_of_one_name_are_refused(arguments: str, n_cells: int) -> None:
    if n_cells:
        assert len(cells_of("dataset=csv", *arguments.split())) == n_cells
    else:
        assert "have one name" in refusal("dataset=csv", *arguments.split())[0]


ABLATION = (
    "corruption=marginal,mean,joint",
    "loss=infonce,barlow_twins",
    "scaling=zscore,minmax",
    "pretrain=scarf,none",
)


def settings(*arguments: str) -> list[str]:
    """The chosen values of `ABLATION`'s axes, a cell each."""
    cells = []
    for cell in cells_of(*arguments):
        config = cell.config
        names = (config.corruption["name"], config.loss["name"], config.scaling["name"], config.pretrain.name)
        cells.append(" ".join(names))
    return cells


class TestVary:
    @pytest.mark.parametrize(
        ("vary", "numbers"), [("all", (1, 3, 9, 4)), ("one", (1, 3, 5, 3)), ("pairs", (1, 3, 3, 2))]
    )
    def test_no_cell_is_made_twice_and_the_first_values_are_the_first_cell(
        self, vary: str, numbers: tuple[int, ...]
    ) -> None:
        for lengths, number in zip(((1, 1), (3, 1), (3, 3), (2, 1, 2)), numbers, strict=True):
            axes = {str(axis): [f"{axis}={value}" for value in range(n)] for axis, n in enumerate(lengths)}
            made = list(combined(axes, vary))
            assert len(set(made)) == len(made) == number
            assert made[0] == tuple(values[0] for values in axes.values())

    def test_one_at_a_time_the_first_values_are_the_base_and_each_other_value_a_cell(self) -> None:
        assert settings(*ABLATION, "vary=one", "max_cells=6") == [
            "marginal infonce zscore scarf", "mean infonce zscore scarf", "joint infonce zscore scarf",
            "marginal barlow_twins zscore scarf", "marginal infonce minmax scarf", "marginal infonce zscore none",
        ]  # fmt: skip

    def test_each_dataset_has_a_base_of_its_own(self) -> None:
        arguments = ("dataset=wdbc,diabetes", "corruption=marginal,mean", "seed=1,2", "vary=one")
        cells = [
            (cell.config.dataset.source, cell.config.corruption["name"], cell.config.seed)
            for cell in cells_of(*arguments)
        ]
        star = [("marginal", 1), ("mean", 1), ("marginal", 2)]
        assert cells == [(dataset, *values) for dataset in ("wdbc", "diabetes") for values in star]

    def test_pairs_take_the_nth_values_together_and_a_single_value_goes_with_all(self) -> None:
        arguments = ("corruption=marginal,mean", "loss=infonce,barlow_twins", "scaling=minmax", "vary=pairs")
        assert settings(*arguments) == ["marginal infonce minmax scarf", "mean barlow_twins minmax scarf"]

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ((*ABLATION[:2], "vary=pairs"), "each axis has as many, or one"),
            (("vary=pair",), "vary=pair is unknown. Did you mean pairs"),
        ],
    )
    def test_what_cannot_be_combined_is_refused(self, arguments: tuple[str, ...], words: str) -> None:
        assert words in refusal(*arguments)[0]

    def test_each_block_of_a_file_has_its_own_and_the_command_line_replaces_it(self, tmp_path: Path) -> None:
        file = tmp_path / "mine.yaml"
        axes = "corruption: [marginal, mean], loss: [infonce, barlow_twins]"
        file.write_text(
            f"title: T\ncells: [{{vary: one, {axes}}}, {{vary: pairs, seed: 1, {axes}}}, {{seed: 2, {axes}}}]\n"
        )
        assert [len(settings(f"sweeps={file}", *more)) for more in ((), ("vary=all",), ("vary=pairs",))] == [9, 12, 6]


@pytest.mark.parametrize(
    ("arguments", "number"),
    [
        ("sweeps=relative_gains", "5001 cells or more, and max_cells=5000;"),
        # Its values would not fit into memory.
        ("seed=range(0,1000000000000)", "name values, fewer than 100000"),
        (f"{' '.join(ABLATION)} vary=one max_cells=5", "max_cells=5;"),
        # wdbc has thirty columns.
        ("dataset.drop=null,each corruption=mean,marginal max_cells=61", "62 cells or more, and max_cells=61;"),
    ],
)
def test_a_run_of_more_cells_than_max_cells_is_refused_before_it_is_expanded(arguments: str, number: str) -> None:
    (sentence,) = refusal(*arguments.split())
    assert number in sentence


def test_seeds_that_are_swept_are_told_from_trials() -> None:
    (note,) = request_of("seed=0,1,2").notes
    assert note.startswith("Each seed is a cell of its own.")
    assert request_of("seed=3").notes == []


class TestEach:
    def test_it_is_every_column_that_the_table_has_features_of(self, tmp_path: Path) -> None:
        """Of a date, which makes several features, a constant, and a name that needs quotes."""
        random = np.random.default_rng(0)
        days = pd.Timestamp("2019-01-01") + pd.to_timedelta(random.integers(0, 900, 60), "D")
        frame = pd.DataFrame(
            {"day": days.strftime("%Y-%m-%d"), "same": 1, "a,b": random.normal(size=60), "city": list("xyz") * 20}
        )
        arguments = write_csv(tmp_path, frame, pd.Series(np.where(frame["a,b"] > 0, "yes", "no")))
        cells = cells_of(*arguments, "pretrain=none", "dataset.drop=null,each")
        assert [cell.config.dataset.drop for cell in cells] == [None, ["day"], ["a,b"], ["city"]]

    @pytest.mark.slow
    def test_it_serves_the_lists_of_pre_training_and_of_its_corruption(self) -> None:
        assert [cell.config.pretrain.drop for cell in cells_of("pretrain.drop=each")][:2] == [["V1"], ["V2"]]
        assert len(cells_of("corruption.keep=each")) == 30
