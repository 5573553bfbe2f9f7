"""What stands in `conf/` against what the code knows. Nothing here lists options: files and classes are found."""

from collections.abc import Iterator
from dataclasses import MISSING, asdict, fields
from pathlib import Path
from typing import Any

import pytest

from scarf_lightning.config import Config, build_parts, read
from scarf_lightning.config.axes import BASES
from scarf_lightning.config.facts import Facts, facts
from scarf_lightning.config.registry import options
from scarf_lightning.config.schema import CotrainSettings, LoggerSettings, PathSettings, ViewsSettings
from scarf_lightning.data.sources import open_source
from scarf_lightning.errors import UsageError
from scarf_lightning.settings import ACCELERATORS, FinetuneSettings, NetworkSettings, PretrainSettings, TrainerSettings
from scarf_lightning.sweeping.cell import Cell
from tests.composing import (
    CONF,
    GROUPS,
    asking_for,
    cells_of,
    composed,
    config_of,
    names,
    serves,
    with_a_loss,
    yaml,
)

SUITE = "cc18-"
PARTS = ("corruption", "selection", "loss", "views", "pretext", "weight")
"""Fields that hold what another axis names."""
NO_FACTS = Facts({}, {}, {})
UNNAMED = {"dataset", "network", "trainer"}
"""Groups whose files hold settings only; those of all others name what they are."""
NAMED = [group for group in GROUPS if group not in UNNAMED]
EXAMPLES = {"id": 31, "path": "table.csv", "target": "kind"}
"""Of what a dataset's file leaves to the user."""
GLOBAL = "# @package _global_\n"
BY_DATA = "by_data"
"""The folder of what stands for another option of its group, which the data decide."""
NEVER_SCALED = {4134, 28, 1468}
NOT_IN_THE_PAPER = {554, 40927, 40996}


def files(group: str) -> list[Path]:
    return sorted((CONF / group).glob("*.yaml"))


def own(file: Path) -> dict[str, Any]:
    """What a file says of its own group; of other groups it may choose an option, and nothing more."""
    content = yaml(file)
    content.pop("defaults", None)
    if not file.read_text().startswith(GLOBAL):
        return content
    of_group: dict[str, Any] = content[file.parent.name]
    return of_group


def own_options(file: Path) -> list[str]:
    """What a pre-training calls its own, beyond what all of them have."""
    return [name for name in own(file) if name in facts("pretrain").get(file.stem, NO_FACTS).fields]


def of_groups(*groups: str) -> list[Any]:
    """Every option of these groups but those of the suite, which are composed together below."""
    found = [(group, file) for group in groups for file in files(group) if not file.stem.startswith(SUITE)]
    return [pytest.param(group, file, id=f"{group}={file.stem}") for group, file in found]


@pytest.mark.parametrize(("group", "file"), of_groups(*GROUPS))
def test_every_option_composes_and_builds(group: str, file: Path) -> None:
    config = config_of(*asking_for(group, file.stem))

    build_parts(config)

    content = own(file)
    chosen = asdict(config)[group]
    if group in ("pretrain", "cotrain"):
        chosen |= chosen["options"]
    assert {key: chosen[key] for key in content} == content


@pytest.mark.parametrize(("group", "file"), of_groups(*NAMED))
def test_an_option_is_named_after_its_file(group: str, file: Path) -> None:
    assert own(file)["task" if group == "cotrain" else "name"] == file.stem


def test_every_group_is_in_the_defaults_and_every_file_in_a_group() -> None:
    defaults = yaml(CONF / "train.yaml")["defaults"]
    chosen = [group for entry in defaults if isinstance(entry, dict) for group in entry if "override" not in group]

    assert sorted(chosen) == GROUPS
    others = (CONF, CONF / "hydra" / "launcher")
    ours = [file for file in CONF.glob("**/*.yaml") if file.parent not in others and file.parent.name != BY_DATA]
    assert sorted(file.parent.name for file in ours) == sorted(group for group in GROUPS for _ in files(group))


@pytest.mark.parametrize("axis", BASES)
def test_every_class_has_a_file_and_every_file_a_class(axis: str) -> None:
    assert [name for name in names(axis) if name != "none" or axis != "pretrain"] == sorted(options(axis))


def defaults_of(cls: type[Any]) -> dict[str, Any]:
    """The options of a class at their defaults; a field without one is a part, not an option."""
    return {f.name: f.default for f in fields(cls) if f.default is not MISSING and f.name not in PARTS}


@pytest.mark.parametrize(("axis", "file"), of_groups(*BASES))
def test_a_file_holds_its_classs_options_and_their_defaults(axis: str, file: Path) -> None:
    if file.stem == "none" and axis == "pretrain":
        assert own(file) == {"name": "none"}
        return
    cls = options(axis)[file.stem]
    content = own(file)
    if axis == "network":
        content = {"name": content["name"]} | content["encoder"]
    if axis == "pretrain":
        content = {name: content[name] for name in ("name", *own_options(file))}

    assert content == {"name": cls.name} | defaults_of(cls)
    assert {key: type(value) for key, value in content.items()} == {
        "name": str,
        **{key: type(value) for key, value in defaults_of(cls).items()},
    }


def test_every_task_of_co_training_has_a_file() -> None:
    assert names("cotrain") == sorted(n for n, found in facts("pretrain").items() if found.variables["can_cotrain"])


def test_every_loss_has_a_task_and_every_task_a_loss() -> None:
    pairs = [(loss, task) for loss in options("loss") for task in with_a_loss() if serves(loss, task)]
    assert {loss for loss, _ in pairs} == set(options("loss"))
    assert {task for _, task in pairs} == set(with_a_loss())


@pytest.mark.parametrize("file", files("cotrain"), ids=lambda file: file.stem)
def test_a_task_of_co_training_is_the_pretraining_of_its_name(file: Path) -> None:
    """Corruption and loss are the same, in groups of its own."""
    cotrain, pretraining = config_of(f"cotrain={file.stem}").cotrain, config_of(f"pretrain={file.stem}")

    assert cotrain.corruption == pretraining.corruption
    assert cotrain.options == pretraining.pretrain.options
    if file.stem in with_a_loss():
        assert cotrain.loss == pretraining.loss


@pytest.mark.parametrize(("group", "file"), of_groups(*GROUPS))
def test_an_option_changes_nothing_but_its_group_and_what_it_overrides(group: str, file: Path) -> None:
    overridden = [
        key.removeprefix("override /")
        for entry in yaml(file).get("defaults", [])
        if isinstance(entry, dict)
        for key in entry
        if key.startswith("override /")
    ]
    default, chosen = asdict(config_of()), asdict(config_of(f"{group}={file.stem}"))

    assert {key for key in default if chosen[key] != default[key]} <= {group, *overridden}


def settings_of(phase: str) -> dict[str, Any]:
    """What `train.yaml` says of a phase; its batch size is that of both."""
    main = yaml(CONF / "train.yaml")
    assert main[phase]["batch_size"] == "${batch_size}"
    return {**main[phase], "batch_size": main["batch_size"]}


@pytest.mark.parametrize(
    ("content", "defaults"),
    [
        pytest.param(lambda: settings_of("finetune"), FinetuneSettings, id="finetune"),
        pytest.param(lambda: {**yaml(CONF / "network" / "mlp.yaml"), "encoder": {}}, NetworkSettings, id="network=mlp"),
        pytest.param(lambda: yaml(CONF / "trainer" / "auto.yaml"), TrainerSettings, id="trainer=auto"),
        pytest.param(lambda: yaml(CONF / "logger" / "none.yaml"), LoggerSettings, id="logger=none"),
        pytest.param(
            lambda: {"corruption": {}, "loss": {}, "options": {}} | own(CONF / "cotrain" / "scarf.yaml"),
            CotrainSettings,
            id="cotrain=scarf",
        ),
        pytest.param(lambda: yaml(CONF / "views" / "one.yaml"), ViewsSettings, id="views=one"),
        pytest.param(
            lambda: {"options": {}} | settings_of("pretrain") | yaml(CONF / "pretrain" / "scarf.yaml"),
            PretrainSettings,
            id="pretrain=scarf",
        ),
    ],
)
def test_settings_in_the_files_are_the_defaults_of_the_code(content: Any, defaults: Any) -> None:
    assert content() == asdict(defaults())


def test_top_level_settings_are_the_defaults_of_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENML_CACHE_DIR", raising=False)
    config = config_of()
    defaults = Config.__dataclass_fields__

    for option in ("trials", "seed", "fit_on", "impute_on"):
        assert getattr(config, option) == defaults[option].default
    assert config.paths == PathSettings()


def test_the_openml_cache_is_the_one_that_the_environment_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENML_CACHE_DIR", "elsewhere")

    assert read(composed()).paths.openml == "elsewhere"


@pytest.mark.parametrize("file", files("trainer"), ids=lambda file: file.stem)
def test_a_trainer_is_the_default_one_on_the_device_of_its_name(file: Path) -> None:
    assert file.stem in ACCELERATORS
    assert yaml(file) == asdict(TrainerSettings(accelerator=file.stem))


def test_an_option_of_a_group_can_be_set_alone() -> None:
    config = config_of("corruption=mean", "corruption.rate=0.3", "network.encoder.depth=2", "finetune.patience=null")

    assert config.corruption == {"name": "mean", "rate": 0.3}
    assert config.network.encoder == {"width": 256, "depth": 2, "final_relu": True}
    assert config.finetune.patience is None
    assert config.pretrain.patience == PretrainSettings().patience


def test_composing_leaves_nothing_of_hydra_behind() -> None:
    assert set(composed()) == {field.name for field in fields(Config)}


@pytest.mark.parametrize(("group", "file"), of_groups("dataset"))
def test_a_dataset_opens_when_what_it_leaves_to_the_user_is_given(group: str, file: Path) -> None:
    content = own(file)
    lacking = [option for option in EXAMPLES if option in content and content[option] is None]
    (cell,) = cells_of(f"{group}={file.stem}", *(f"dataset.{option}={EXAMPLES[option]}" for option in lacking))

    source = open_source(**vars(cell.config.dataset), openml_cache=None)

    assert source.name == content["source"]
    for option in lacking:
        with pytest.raises(UsageError, match=rf"dataset\.{option}="):
            open_source(**vars(cell.config.dataset) | {option: None}, openml_cache=None)


class TestSuite:
    """The 69 datasets of the paper."""

    @pytest.fixture(scope="class")
    def suite(self) -> Iterator[list[Cell]]:
        return cells_of(f"dataset=glob({SUITE}*)")

    def test_holds_the_papers_69_datasets(self, suite: list[Cell]) -> None:
        ids = [cell.config.dataset.id for cell in suite]

        assert len(suite) == len(files("dataset")) - len({"wdbc", "openml", "csv"}) == 69
        assert len(set(ids)) == 69
        assert None not in ids
        assert not set(ids) & NOT_IN_THE_PAPER
        assert {cell.config.dataset.source for cell in suite} == {"openml"}

    def test_every_one_opens(self, suite: list[Cell]) -> None:
        for dataset in (cell.config.dataset for cell in suite):
            source = open_source(**vars(dataset), openml_cache=None)

            assert (source.name, source.key) == ("openml", f"openml-{dataset.id}")

    def test_files_are_named_after_their_datasets(self, suite: list[Cell]) -> None:
        assert [cell.overrides for cell in suite] == [(f"dataset={SUITE}{cell.config.dataset.name}",) for cell in suite]

    def test_ids_and_names_belong_together(self, suite: list[Cell]) -> None:
        golden = {
            6: "letter", 11: "balance-scale", 46: "splice", 188: "eucalyptus", 300: "isolet", 1461: "bank-marketing",
            1510: "wdbc", 1590: "adult", 4134: "Bioresponse", 23517: "numerai28.6", 40923: "Devnagari-Script",
            41027: "jungle_chess_2pcs_raw_endgame_complete",
        }  # fmt: skip
        known = {cell.config.dataset.id: cell.config.dataset.name for cell in suite}

        assert {number: known.get(number) for number in golden} == golden

    def test_three_datasets_are_not_scaled_and_nothing_else_differs(self, suite: list[Cell]) -> None:
        unscaled = {cell.config.dataset.id for cell in suite if cell.config.scaling == {"name": "none"}}
        others = [cell.config.scaling for cell in suite if cell.config.dataset.id not in NEVER_SCALED]
        default = asdict(config_of())

        assert unscaled == NEVER_SCALED
        assert all(scaling == default["scaling"] == {"name": "zscore"} for scaling in others)
        for cell in suite:
            rest = {key: value for key, value in asdict(cell.config).items() if key not in ("dataset", "scaling")}
            assert rest == {key: default[key] for key in rest}

    @pytest.mark.parametrize("order", [1, -1])
    def test_the_command_line_decides_on_scaling(self, order: int) -> None:
        overrides = ["dataset=cc18-optdigits", "scaling=minmax"][::order]

        config = read(composed(*overrides))

        assert config.dataset.id == 28
        assert config.scaling == {"name": "minmax"}
