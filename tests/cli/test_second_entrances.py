"""What comes in by a preset, a sweep file, a list of words or a path: it works, or one sentence of ours refuses it."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hydra.errors import HydraException

import scarf_lightning
from scarf_lightning.cli import commands
from scarf_lightning.errors import UsageError
from scarf_lightning.sweeping.compose import Composer, usage_error
from scarf_lightning.sweeping.expand import expand
from tests.composing import _composer
from tests.processes import here

# Each composes a configuration, most of a second: together a tenth of the fast tests' time.
pytestmark = pytest.mark.slow

TABLE = ("dataset=csv", "dataset.path=t.csv", "dataset.target=y")
GLOBAL = "# @package _global_\n"
OF_HYDRA = ("hydra.cc", "Traceback", "Exception", "EOF", "Error parsing", "full_key", " struct")
"""Words of other programs, which no sentence of ours has."""


@pytest.fixture
def in_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with a table ``t.csv``, a folder and a pipe."""
    monkeypatch.chdir(tmp_path)
    draws = np.random.default_rng(0).normal(size=60).round(3)
    pd.DataFrame({"a": draws, "b": draws[::-1], "y": np.where(draws > 0, "yes", "no")}).to_csv("t.csv", index=False)
    Path("folder").mkdir()
    os.mkfifo("pipe.csv")
    return tmp_path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Composer]:
    """A folder of ``--config-dir``, with a composer that reads it."""
    place = tmp_path_factory.mktemp("cd")
    (place / "experiment").mkdir()
    return place, Composer((), place)


def assert_said(sentence: str, expected: str) -> None:
    """One sentence, with these words in it and none of other programs."""
    assert expected in sentence
    assert "\n" not in sentence
    assert sentence[-1] in ".?" or sentence.endswith("_global_")
    assert not [word for word in OF_HYDRA if word in sentence], sentence


def assert_cells(composer: Composer, override: str, expected: int | str) -> None:
    """So many cells, or a sentence with these words."""
    if isinstance(expected, int):
        assert len(expand([override], composer).cells) == expected
        return
    # A command answers an error of Hydra's by the same function.
    with pytest.raises((UsageError, HydraException)) as refused:
        expand([override], composer)
    assert_said(str(usage_error(refused.value)), expected)


PRESETS: dict[str, tuple[str, int | str]] = {
    "whole": (GLOBAL + "trials: 1\n", 1),
    "lines of Windows": (GLOBAL.replace("\n", "\r\n") + "trials: 1\r\n", 1),
    "a launcher": (GLOBAL + "defaults:\n  - override /hydra/launcher: joblib\n", 1),
    "a reference": (GLOBAL + "trials: 3\nseed: ${trials}\n", 1),
    "axes": (GLOBAL + "hydra: {sweeper: {params: {pretrain: 'none,scarf'}}}\n", "params"),
    "how values are combined": (GLOBAL + "vary: one\n", "vary and max_cells belong on the command line"),
    "a key twice": (GLOBAL + "trials: 1\ntrials: 2\n", "found duplicate key trials"),
    "a merge": (GLOBAL + "finetune: &it {ties: last, batch_size: 64}\npretrain:\n  <<: *it\n", 1),
    "the environment": (GLOBAL + "trials: 1\nseed: ${oc.decode:${oc.env:NOWHERE,3}}\n", 1),
    "a tab": (GLOBAL + "trials: 1\n\tmax_epochs: 2\n", "found character '\\t' that cannot start any"),
    "an open bracket": (GLOBAL + "trials: [1\n", "expected ',' or ']', but got"),
    "another encoding": ("# @package _global_\nmetric: \udce9\n", "can't decode byte"),
    "no": (GLOBAL + "defaults:\n  - override /pretrain: no\n", "Unsupported item value in defaults : bool."),
    "no header": ("trials: 1\n", "a file whose first line is # @package _global_."),
    "a header in one word": ("# @package_global_\ntrials: 1\n", "Expected header format"),
    "defaults that are no list": (GLOBAL + "defaults: 3\n", "defaults must be a list"),
    "no such choice": (GLOBAL + "defaults:\n  - override /pretrain: scraf\n", "Did you mean scarf?"),
    "no such option": (GLOBAL + "trails: 1\n", "trails is not an option. Did you mean trials?"),
    "a wrong value": (GLOBAL + "trials: many\n", "trials=many: it takes a whole number."),
    "a sweep": (GLOBAL + "sweeps: quick\n", "vary and max_cells belong on the command line"),
}
"""Presets, with the number of their cells or words of the sentence."""


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset(name: str, folder: tuple[Path, Composer]) -> None:
    place, composer = folder
    text, expected = PRESETS[name]
    # A composer remembers what it has composed, so each preset has a name of its own.
    preset = f"{list(PRESETS).index(name)}x"
    (place / "experiment" / f"{preset}.yaml").write_bytes(text.encode("utf-8", "surrogateescape"))

    assert_cells(composer, f"+experiment={preset}", expected)


def test_presets_are_swept_and_the_command_line_replaces_their_options(folder: tuple[Path, Composer]) -> None:
    place, composer = folder
    for name, seed in (("one", 1), ("two", 2)):
        (place / "experiment" / f"{name}.yaml").write_text(f"{GLOBAL}seed: {seed}\ntrials: 3\n")
    request = expand(["+experiment=one,two", "trials=2"], composer)
    assert [(each.config.seed, each.config.trials) for each in request.cells] == [(1, 2), (2, 2)]


SWEEP = "title: x\ntrials: 1\ncells:\n  - "
FILES: dict[str, tuple[str, int | str]] = {
    "whole": (SWEEP + "{pretrain: [none, scarf]}\n", 2),
    "values in a text": (SWEEP + "{pretrain: 'none, scarf'}\n", 2),
    "a key twice": (SWEEP + "{pretrain: none}\ntrials: 2\n", "found duplicate key trials"),
    "no": (SWEEP + "{pretrain: [no]}\n", "pretrain=false: pretrain is chosen by name"),
    "a tilde": (SWEEP + "{~loss: [none]}\n", "loss"),
    "an alias": ("title: x\ncells: &a\n  - pretrain: *a\n", "is no sweep: "),
    "a module": (
        SWEEP + "{plugins: [[os]]}\n",
        "s.yaml is no sweep: 'plugins' is no axis; a sweep file only names cells",
    ),
    "a launcher": (SWEEP + "{hydra/launcher: [joblib]}\n", "'hydra/launcher' is no axis"),
    "a logger": (SWEEP + "{+logger.mine._target_: [os.X]}\n", "'+logger.mine._target_' is no axis"),
    "another place": (SWEEP + "{loss@hydra.job: [infonce]}\n", "'loss@hydra.job' is no axis"),
    "the results": (SWEEP + "{paths: {results: elsewhere}}\n", "'paths' is no axis"),
    "the environment": (SWEEP + "{recipe: ['${oc.env:HOME}']}\n", "${...} looks a value up"),
    "the environment, disguised": (
        SWEEP + "{network: {encoder: {width: ['$\\\\{x:1\\\\}']}}}\n",
        "${...} looks a value up",
    ),
    "a plus": (SWEEP + "{+seed: [1]}\n", "An item is already at 'seed'"),
    "two words": (SWEEP + "{pretrain: none, scarf}\n", "scarf is not an option."),
    "a text": ("hello", "s.yaml is no sweep: hello is not an option."),
}


@pytest.mark.parametrize("name", FILES)
def test_a_sweep_file(name: str, in_table: Path) -> None:
    text, expected = FILES[name]
    Path("s.yaml").write_text(text)

    assert_cells(_composer(), "sweeps=s.yaml", expected)


WORDS: dict[str, str] = {
    "pretrain=none, scarf": "'pretrain=none,' is no option; write OPTION=VALUE or OPTION=A,B without blanks",
    "-cn other": "This program has one configuration",
    "--config-dir": "--config-dir/-cd: expected one argument.",
    "--config-dir nowhere": "--config-dir: there is no folder nowhere;",
    "--config-dir t.csv": "--config-dir: there is no folder t.csv;",
    "quick": "'quick' is no option; write OPTION=VALUE or OPTION=A,B without blanks, or sweeps=NAME.",
    "pretrain = none": "'pretrain' is no option; write OPTION=VALUE",
    "a+b=1": "'a+b=1' is no option; write OPTION=VALUE",
    "results=x": "results is not an option. Did you mean paths.results? The options are: ",
    "experiment=x": "experiment is not an option. A preset: --config-dir FOLDER +experiment=NAME, a file whose first",
    "model=x": "model is not an option. Did you mean network=NAME, or method=NAME? The options are",
    "gpus=2": "gpus is not an option. Did you mean trainer=cuda, or trainer.device=NUMBER? The options are",
    "hparams_search=optuna": "hparams_search is not an option. For a search: hydra/sweeper=optuna. The options are",
    "ckpt_path=last.ckpt": "ckpt_path is not an option. Repeat a command: it goes on where it ended. The options are",
    "early_stopping=3": "Did you mean pretrain.patience or finetune.patience? The options are",
    "debug=true": "debug=true: debug is chosen by name",
    "callbacks=x": "Lightning's callbacks go with a Trainer of your own",
    "seed=${hydra:job.num}": "seed",
    "+trials=3": "An item is already at 'trials'",
    "~loss": "~loss: loss is chosen by name",
    "hydra.sweeper.params=3": "hydra.sweeper.params",
    "sweeps=folder/": "folder is no sweep: folder cannot be read: it is not a file.",
    "sweeps=https://example.org/s.yaml": "sweeps=https://example.org/s.yaml: there is no such file.",
}
"""Words after ``scarf train TABLE``, and words of the sentence."""


@pytest.mark.parametrize("words", WORDS)
def test_words_of_a_command_line(words: str, in_table: Path) -> None:
    ran = here(commands.train, *TABLE, "plan=true", *words.split(" "), cwd=in_table)

    assert ran.returncode == 2
    assert_said(ran.stderr.strip(), WORDS[words])


@pytest.mark.parametrize(
    ("words", "n_cells"),
    [
        (["pretrain=none, scarf"], 2),
    ],
)  # fmt: skip
def test_words_that_work_from_python_and_on_the_command_line(words: list[str], n_cells: int, in_table: Path) -> None:
    assert len(scarf_lightning.plan([*TABLE, *words])) == n_cells
    ran = here(commands.train, *TABLE, "plan=true", *words, cwd=in_table)
    assert (ran.returncode, f"{n_cells} cell{'s' if n_cells > 1 else ''}: " in ran.stdout) == (0, True), ran.stderr
