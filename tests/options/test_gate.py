"""The gate: who wrote a text decides how far its options reach, whichever door it comes in by."""

import itertools
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException

import scarf_lightning
from scarf_lightning.cli import commands
from scarf_lightning.errors import UsageError
from scarf_lightning.options.gate import RIGHTS, Gate, Origin, Reach, reaches
from scarf_lightning.sweeping.composer import Composer, composing
from scarf_lightning.sweeping.expand import expand
from scarf_lightning.sweeping.hydra import checked_files
from scarf_lightning.sweeping.overrides import check_written
from tests.composing import SWEEPS, _composer
from tests.processes import here

EVIL = "import pathlib\n\npathlib.Path('PWNED').write_text('x')\n\nclass X: pass\n"
"""A module that shows that it was imported."""
HEADER = "# @package _global_\n"

OPTIONS: dict[str, tuple[str, Any, Reach]] = {
    "a plugin": ("plugins", ["evil"], Reach.IMPORT),
    "a class": ("finetune._target_", "evil.X", Reach.IMPORT),
    "a class in a dictionary": ("finetune", {"_target_": "evil.X"}, Reach.IMPORT),
    "a class of Hydra's": ("hydra.callbacks.mine._target_", "evil.X", Reach.IMPORT),
    "a logger": ("logger.mine._target_", "evil.X", Reach.LOGGER),
    "a logger in a dictionary": ("logger.mine", {"_target_": "evil.X", "save_dir": "elsewhere"}, Reach.LOGGER),
    "a folder of a logger": ("logger.csv.save_dir", "elsewhere", Reach.LOGGER),
    "a server": ("logger.mlflow.tracking_uri", "sqlite:///elsewhere", Reach.LOGGER),
    "an upload": ("logger.wandb.mode", "online", Reach.LOGGER),
    "the results": ("paths.results", "elsewhere", Reach.FOLDER),
    "the cache of OpenML": ("paths.openml", "elsewhere", Reach.FOLDER),
    "a folder of Hydra's": ("hydra.sweep.dir", "elsewhere", Reach.MACHINE),
    "a log of Hydra's": ("hydra/job_logging", "default", Reach.MACHINE),
    "the environment of jobs": ("hydra.job.env_set.PATH", "elsewhere", Reach.MACHINE),
    "a line of shell": ("hydra.launcher.setup", ["touch PWNED"], Reach.MACHINE),
    "an option of sbatch": ("hydra.launcher.sbatch", ["-o elsewhere"], Reach.MACHINE),
    "a database": ("hydra.sweeper.storage", "sqlite:///elsewhere", Reach.MACHINE),
    "a package of options": ("hydra.searchpath", ["pkg://evil"], Reach.MACHINE),
    "a launcher": ("hydra/launcher", "joblib", Reach.JOBS),
    "a variable": ("recipe", "${oc.env:HOME}", Reach.LOOK_UP),
    "the clock": ("recipe", "${now:%H}", Reach.LOOK_UP),
    "a reference": ("trials", "${seed}", Reach.REFER),
    "cells of a job": ("chunk.file", "evil.json", Reach.MACHINE),
    "cells once more": ("force", True, Reach.AGAIN),
    "an estimator": ("method.estimator", "sklearn.svm.SVC", Reach.ESTIMATOR),
}
"""Options that reach beyond the numbers of a cell: name, value and reach."""
NAMES = map("x{}".format, itertools.count())
"""Names of files: a composer reads a file once."""


@pytest.fixture
def in_evil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working folder with a module that must not be imported; nothing is imported or written there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "evil.py").write_text(EVIL)
    yield tmp_path
    sys.modules.pop("evil", None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Composer]:
    """A folder of ``--config-dir``, with a composer that reads it."""
    place = tmp_path_factory.mktemp("cd")
    with composing((), place) as composer:
        pass
    # Hydra is closed again, for the commands of other tests.
    return place, composer


def written(place: Path, file: str, content: Any, header: str = "") -> str:
    """Write a file of YAML, and return its path."""
    path = place / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(header + (content if isinstance(content, str) else yaml.safe_dump(content)))
    return str(path)


def nested(option: str, value: Any) -> dict[str, Any]:
    """An option as the sections of a file."""
    for part in reversed(option.replace("hydra/", "hydra.").split(".")):
        value = {part: value}
    return dict(value)


def of_sweep(file: str, name: str, value: Any) -> None:
    written(Path(), file, {"title": "x", "cells": [{"pretrain": ["none"], name: [value]}]})


def by_a_sweep(name: str, value: Any) -> None:
    of_sweep("s.yaml", f"+{name}" if name.startswith("logger.") else name, value)
    expand(["sweeps=s.yaml"], _composer(), SWEEPS)


def by_text_in_a_sweep(name: str, value: Any) -> None:
    """As text of a block's value, in the notation of the command line."""
    as_text = value if isinstance(value, str) else json.dumps(value).replace('"', "").replace(" ", "")
    of_sweep("s.yaml", f"++{name}", as_text)
    expand(["sweeps=s.yaml"], _composer(), SWEEPS)


def by_a_plan(name: str, value: Any) -> None:
    of_sweep("s.yaml", name, value)
    scarf_lightning.plan("sweeps=s.yaml")


def by_a_report(name: str, value: Any) -> None:
    of_sweep("s.yaml", name, value)
    said_by(commands.report, "sweeps=s.yaml")


def by_train(name: str, value: Any) -> None:
    of_sweep("s.yaml", name, value)
    said_by(commands.train, "sweeps=s.yaml", "plan=true")


def said_by(command: Callable[[], int], *arguments: str) -> None:
    """Run a command; what it refuses is raised as the sentence that it prints."""
    ran = here(command, *arguments, cwd=Path.cwd())
    assert "Traceback" not in ran.stderr
    if ran.returncode:
        assert ran.returncode == 2
        raise UsageError(ran.stderr.strip())


OF_SWEEPS = (by_a_sweep, by_text_in_a_sweep)
OF_COMMANDS = (by_a_plan, by_a_report, by_train)


def refused(act: Callable[[], Any], file: str, place: Path) -> None:
    """The act is refused by a sentence that names the file, and nothing was imported or written."""
    there = {path.name for path in place.iterdir()} | {"s.yaml", "__pycache__"}
    with pytest.raises(UsageError, match="may not; take it out of the file and give it on the command line") as caught:
        act()
    # Cells that are concerned may stand before it.
    assert file in str(caught.value), caught.value
    assert "\n" not in str(caught.value)
    assert "evil" not in sys.modules
    assert {path.name for path in place.iterdir()} <= there


@pytest.mark.parametrize("door", OF_SWEEPS)
@pytest.mark.parametrize("option", OPTIONS)
def test_a_sweep_file_reaches_no_further_than_the_numbers_of_its_cells(
    door: Callable[[str, Any], None], option: str, in_evil: Path
) -> None:
    name, value, reach = OPTIONS[option]
    if reach in RIGHTS[Origin.SWEEP]:
        # The option goes with another method, so that it is refused later, in another sentence.
        with pytest.raises(UsageError, match="not an option"):
            door(name, value)
    else:
        refused(lambda: door(name, value), "sweeps=s.yaml sets ", in_evil)


@pytest.mark.slow
@pytest.mark.parametrize("door", OF_COMMANDS)
@pytest.mark.parametrize("option", ["a plugin", "a logger", "a variable"])
def test_every_command_asks_the_gate_of_a_sweep_file(
    door: Callable[[str, Any], None], option: str, in_evil: Path
) -> None:
    name, value, _ = OPTIONS[option]
    refused(lambda: door(f"+{name}" if option == "a logger" else name, value), "sweeps=s.yaml sets ", in_evil)


def experiment(place: Path, content: Any, header: str = HEADER) -> str:
    """Write an experiment, and return the choice of it."""
    file = next(NAMES)
    written(place, f"experiment/{file}.yaml", content, header)
    return f"+experiment={file}"


def preset(place: Path, name: str, value: Any) -> str:
    return experiment(place, nested(name, value))


def axis_file(place: Path, name: str, value: Any) -> str:
    """A file of an axis that sets more than its section."""
    file = next(NAMES)
    written(place, f"scaling/{file}.yaml", nested(name, value) | {"scaling": {"name": "zscore"}}, HEADER)
    return f"scaling={file}"


def dotted(place: Path, name: str, value: Any) -> str:
    """A file whose header puts its options below a section."""
    package, _, last = name.replace("/", ".").rpartition(".")
    return experiment(place, {last: value}, f"# @package {package or '_global_'}\n")


def by_another_file(place: Path, name: str, value: Any) -> str:
    """A file that another one puts at the top."""
    part = next(NAMES)
    written(place, f"part/{part}.yaml", nested(name, value))
    return experiment(place, {"defaults": [{"/part@_global_": part}]})


def by_a_space(place: Path, name: str, value: Any) -> str:
    """A space of a sweep, in Hydra's own place for one."""
    text = value if isinstance(value, str) else json.dumps(value).replace('"', "")
    return experiment(place, {"hydra": {"sweeper": {"params": {f"+{name}": text}}}})


@pytest.mark.slow
@pytest.mark.parametrize("door", [preset, axis_file, dotted, by_another_file, by_a_space])
@pytest.mark.parametrize("option", OPTIONS)
def test_a_file_of_a_config_dir_chooses_loggers_and_jobs_and_reaches_no_further(
    door: Callable[[Path, str, Any], str], option: str, in_evil: Path, folder: tuple[Path, Composer]
) -> None:
    place, composer = folder
    name, value, reach = OPTIONS[option]
    chosen = door(place, name, value)

    def act() -> None:
        with checked_files():
            expand([chosen, "trials=1"], composer, SWEEPS)

    if reach in RIGHTS[Origin.CONFIGURATION]:
        # What is allowed may still be no option, or not go with another one.
        with suppress(UsageError, HydraException):
            act()
        assert not (in_evil / "PWNED").exists(), "no file imports code by being read"
    else:
        refused(act, str(place), in_evil)


@pytest.mark.parametrize(
    "entry",
    [
        {"override /hydra/job_logging": "default"}, {"/hydra/callbacks": "mine"}, "/hydra/callbacks/mine",
        {"/part@hydra.job": "y"}, {"/part@_global_.paths": "y"}, {"/part@chunk": "y"}, {"scaling": "${oc.env:HOME}"},
    ],
    ids=str,
)  # fmt: skip
def test_an_entry_of_a_defaults_list_reaches_no_further(
    entry: Any, in_evil: Path, folder: tuple[Path, Composer]
) -> None:
    place, composer = folder
    written(place, "part/y.yaml", {"file": "evil.json"})
    chosen = experiment(place, {"defaults": [entry]})
    with checked_files():
        refused(lambda: expand([chosen], composer, SWEEPS), str(place), in_evil)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        (commands.train, ["+experiment=x", "plan=true"]),
        (commands.report, ["sweeps=quick", "+experiment=x"]),
        (commands.train, ["scaling=zscore,x", "plan=true"]),
        (None, ["+experiment=x"]),
        (None, ["scaling=zscore,x"]),
    ],
)
def test_every_command_asks_the_gate_of_a_config_dir(
    command: Callable[[], int] | None, arguments: list[str], in_evil: Path
) -> None:
    content = {"plugins": ["evil"], "scaling": {"name": "zscore"}}
    for file in ("experiment/x.yaml", "scaling/x.yaml"):
        written(Path("cd"), file, content, HEADER)

    def act() -> None:
        if command is None:
            scarf_lightning.plan(arguments, config_dir="cd")
        else:
            said_by(command, "--config-dir", "cd", *arguments)

    refused(act, "cd/", in_evil)


def test_the_class_of_a_logger_in_a_config_dir_is_imported_when_it_is_chosen(in_evil: Path) -> None:
    """The one class that a file names: whoever names the folder chooses loggers by it."""
    section = {"_target_": "evil.X", "save_dir": "logs", "key": "${oc.env:HOME}"}
    written(Path("cd"), "logger/mine.yaml", {"mine": section})
    with pytest.raises(UsageError, match=r"^logger.mine._target_=evil.X is no logger of Lightning's; "):
        scarf_lightning.run("logger=mine", "pretrain=none", "trials=1", config_dir="cd", verbose=False)
    assert (in_evil / "PWNED").exists()


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("origin", [Origin.TYPED, Origin.PYTHON])
def test_whoever_types_an_option_may_set_any(option: str, origin: Origin) -> None:
    name, value, reach = OPTIONS[option]
    assert {found for _, found in reaches(tuple(name.replace("/", ".").split(".")), value)} >= {reach}
    Gate(origin, "").check(name, value)


def test_a_plugin_that_is_typed_is_imported(in_evil: Path) -> None:
    scarf_lightning.plan("pretrain=none", "plugins=[evil]")
    assert (in_evil / "PWNED").exists()


@pytest.mark.parametrize(
    "line",
    [
        "+logger.mine={_target_:'evil.X'}", "++plugins=[evil]", "plugins=[evil],[]", "plugins=choice([evil])",
        "loss@plugins=infonce", "loss@hydra.job=infonce", "trials=$\\{oc.env:HOME\\}", "trials='${oc.env:HOME}'",
        "network={encoder:{width:'${x:1}'}}", "trials=1,${seed}", "hydra.job={chdir:true}", "paths={results:a}",
        "trials=tag(a,choice('${x}'))", "trials=sort(a,${seed})",
    ],
)  # fmt: skip
def test_no_spelling_of_an_override_passes_the_gate(line: str) -> None:
    override = OverridesParser.create().parse_override(line)
    with pytest.raises(UsageError, match=r"^a\.yaml sets "):
        check_written(Gate(Origin.SWEEP, "a.yaml"), [override])


@pytest.mark.parametrize(
    "line",
    [
        "pretrain=scarf,none", "corruption.rate=0.3,0.6", "network={encoder:{width:8}}", "logger=csv", "regime=few",
        "dataset.path=a$.csv", "chunk.minutes=3", "plugins=[]", "dataset=glob(cc18-*)", "seed=range(1,5)",
    ],
)  # fmt: skip
def test_what_decides_numbers_alone_passes(line: str) -> None:
    check_written(Gate(Origin.RESULTS, "a.log"), [OverridesParser.create().parse_override(line)])
