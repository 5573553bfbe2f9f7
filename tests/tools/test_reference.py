"""The files of `conf/` and the reference of options, which both follow the classes. The reference is complete."""

from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from omegaconf import OmegaConf

from scarf_lightning.data.sources import open_source
from scarf_lightning.options import BASES, Config, options_of, part, parts
from scarf_lightning.options.axes import TARGET
from scarf_lightning.options.option import Option, members_of
from scarf_lightning.options.settings import FinetuneSettings, PretrainSettings
from tests.composing import CONF, GROUPS, cells_of, composed, config_of, names, names_an_estimator, yaml
from tools.reference import DESCRIBED, choices, common_options

SUITE = "cc18-"
BY_ANOTHER = ("by_data", "by_pretrain")
"""Folders of files that stand for another option of their group, which the data or the pre-training decide."""
NAMING = {"name", "task", "source", "recipe"}
"""Keys by which a file says which option it is; these may equal a default."""
NEVER_SCALED = {4134, 28, 1468}


def files(group: str) -> list[Path]:
    return [file for file in sorted((CONF / group).glob("*.yaml")) if not file.stem.startswith(SUITE)]


def own(file: Path) -> dict[str, Any]:
    """What a file says of its own group."""
    content = {key: value for key, value in yaml(file).items() if key != "defaults"}
    is_global = file.read_text(encoding="utf-8").startswith("# @package _global_")
    of_group: dict[str, Any] = content[file.parent.name] if is_global else content
    return of_group


EVERY_FILE = [pytest.param(group, file, id=f"{group}={file.stem}") for group in GROUPS for file in files(group)]


def test_every_group_is_in_the_defaults_and_every_file_in_a_group() -> None:
    defaults = yaml(CONF / "train.yaml")["defaults"]
    chosen = [group for entry in defaults if isinstance(entry, dict) for group in entry if "override" not in group]
    assert sorted(chosen) == GROUPS
    ours = {file.parent for file in CONF.glob("**/*.yaml") if file.parent.name not in BY_ANOTHER}
    of_hydra = {CONF / "hydra" / "launcher", CONF / "hydra" / "help"}
    assert ours == {CONF, *of_hydra, *(CONF / group for group in GROUPS)}


@pytest.mark.parametrize("axis", BASES)
def test_every_part_has_a_choice_with_a_meaning_and_files_are_called_by_their_parts(axis: str) -> None:
    found = {choice.name: choice for choice in choices(axis)}

    assert set(found) == set(names(axis)) == set(parts(axis)) | ({"none"} if axis == "pretrain" else set())
    of_parts = [file for file in files(axis) if not names_an_estimator(file)]
    assert [own(file)["name"] for file in of_parts] == [file.stem for file in of_parts]
    assert all(choice.meaning for choice in found.values())
    meanings = {name: [each.meaning for each in options_of(part(axis, name)).values()] for name in parts(axis)}
    assert {name for name, of_part in meanings.items() if not all(" " in str(meaning) for meaning in of_part)} == set()


def test_every_file_of_co_training_names_a_task() -> None:
    """A task without a file is chosen by ``cotrain.task``."""
    assert set(names("cotrain")) <= {name for name, cls in parts("pretrain").items() if cls.can_cotrain}
    assert [own(file)["task"] for file in files("cotrain")] == names("cotrain")


def of_settings(cls: type[Any]) -> dict[str, Option]:
    """The options of a class, and of the groups in it by dotted name."""
    options = dict(options_of(cls))
    for name, kind in get_type_hints(cls).items():
        if is_dataclass(kind):
            options |= {f"{name}.{inner}": each for inner, each in of_settings(kind).items()}  # type: ignore[arg-type]
    return options


@pytest.mark.parametrize("file", files("recipe"), ids=lambda file: file.stem)
def test_a_recipe_sets_what_differs_from_the_other_one(file: Path) -> None:
    """From the paper's, the paper's from the practical one, and one that begins with another from that."""
    begins_with = [each for each in yaml(file).get("defaults", []) if isinstance(each, str) and each != "_self_"]
    other = begins_with[0] if begins_with else "practical" if file.stem == "paper" else "paper"
    usual = flat(asdict(config_of(f"recipe={other}")))
    own_options = flat({key: value for key, value in yaml(file).items() if key not in NAMING | {"recipe"}})

    assert [name for name, value in own_options.items() if usual.get(name, "not set") == value] == []
    assert yaml(file)["recipe"] == file.stem


def flat(options: dict[str, Any], before: str = "") -> dict[str, Any]:
    """Nested options by their dotted names."""
    found = {}
    for name, value in options.items():
        found |= flat(value, f"{before}{name}.") if isinstance(value, dict) else {f"{before}{name}": value}
    return found


@pytest.mark.slow
def test_the_papers_recipe_splits_every_row_by_itself() -> None:
    for rule, overrides, copies in (
        ("random", (), "apart"),
        ("random", ("recipe=practical",), "together"),
        ("stratified", (), "apart"),
        ("stratified", ("recipe=practical",), "together"),
        ("stratified", ("split.copies=together",), "together"),
    ):
        assert config_of(f"split={rule}", *overrides).split == {"name": rule, "copies": copies}


@pytest.mark.slow
@pytest.mark.parametrize(("group", "file"), EVERY_FILE)
def test_every_file_composes_and_changes_only_its_group(group: str, file: Path) -> None:
    entries = [entry for entry in yaml(file).get("defaults", []) if isinstance(entry, dict)]
    may_change = {group, *(key.removeprefix("override /").partition("/")[0] for entry in entries for key in entry)}
    if "recipe" in may_change:
        may_change |= {"fit_on", "finetune", "split", "regime", "encoding", "pretrain", "network", "scaling"}
    if group == "debug":
        may_change = {"trials", "workers", "max_epochs", "pretrain", "finetune"}

    default, chosen = asdict(config_of()), asdict(config_of(f"{group}={file.stem}"))

    assert {key for key in default if chosen[key] != default[key]} <= may_change


def test_the_defaults_of_a_run_are_those_of_the_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENML_CACHE_DIR", raising=False)
    config = config_of()

    assert (config.finetune, config.pretrain) == (FinetuneSettings(), PretrainSettings())
    for name, each in options_of(Config).items():
        assert getattr(config, name) == each.default, name
    assert set(composed()) == {each.name for each in fields(Config)}


def test_an_option_of_a_group_can_be_set_alone() -> None:
    config = config_of("corruption=mean", "corruption.rate=0.3", "network.encoder.depth=2", "finetune.patience=null")

    assert config.corruption == {"name": "mean", "keep": None, "rate": 0.3}
    assert config.network.encoder == {"width": 256, "depth": 2}
    assert (config.finetune.patience, config.pretrain.patience) == (None, PretrainSettings().patience)


def every_option() -> dict[str, Option]:
    return common_options() | {
        name: each for axis in DESCRIBED for choice in choices(axis) for name, each in choice.options.items()
    }


def test_every_option_of_a_run_is_in_it() -> None:
    known = set(every_option())
    for section, value in OmegaConf.to_container(composed(), resolve=True).items():
        options = [f"{section}.{name}" for name in value] if isinstance(value, dict) else [str(section)]
        of_a_group = {f"{option}.{inner}" for option in options for inner in ("name", "width", "mode", "write")}
        chosen = {
            f"{axis}.{key}" for axis in DESCRIBED for key in (TARGET, "name", "task", "corruption", "loss", "encoder")
        }
        assert {option for option in options if option not in known | chosen} <= {
            name.rpartition(".")[0] for name in of_a_group & known
        }


def test_every_default_is_one_of_its_choices_and_every_number_has_its_bounds() -> None:
    options = every_option()
    of_choices = {name: each for name, each in options.items() if each.choices and isinstance(each.default, str)}
    assert [name for name, each in of_choices.items() if each.default not in each.choices] == []
    numbers = {name: each for name, each in options.items() if {*members_of(each.hint)} & {int, float}}
    assert len(numbers) > 50
    assert [name for name, each in numbers.items() if each.limits is None] == []


def test_the_suite_has_the_papers_69_datasets_and_only_three_are_not_scaled() -> None:
    suite = cells_of(f"dataset=glob({SUITE}*)")
    datasets = [cell.config.dataset for cell in suite]

    assert len({each.id for each in datasets}) == len(datasets) == 69
    assert not {each.id for each in datasets} & {554, 40927, 40996}, "which the paper leaves out"
    assert [cell.overrides for cell in suite] == [(f"dataset={SUITE}{each.name}",) for each in datasets]
    assert {each.id: each.name for each in datasets}.items() >= {1510: "wdbc", 1590: "adult", 6: "letter"}.items()
    assert {cell.config.dataset.id for cell in suite if cell.config.scaling["name"] == "none"} == NEVER_SCALED
    for each in datasets:
        source = open_source(**vars(each), openml_cache=None)
        assert (source.name, source.key) == ("openml", f"openml-{each.id}")
