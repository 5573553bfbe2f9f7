"""Which modules are mutated, which tests stand guard over each, and mutants that are always made."""

import ast
from pathlib import Path

from tests.mutants.operators import Mutant

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "scarf_lightning"

MUTATED = (
    "data", "corruption", "losses", "networks", "pretexts", "engine", "methods", "results", "config", "sweeping",
    "report/statistics", "randomness.py", "roster.py", "metrics.py", "settings.py",
)  # fmt: skip
"""Folders and modules of the package."""

STRATEGIES = ("corruption/test_strategies", "engine/test_pretext_tasks")
PRETEXTS = ("engine/test_pretext_tasks", "engine/test_pretrain", "engine/test_stack_contract")
STACKS = ("engine/test_finetune", "engine/test_pretrain", "engine/test_stack_contract")
READING = ("data/reading/test_reading_columns", "data/reading/test_numbers", "data/sources/test_ugly_tables")
CONFIG = ("config/test_typed", "config/test_registry", "config/test_conf_folder")
DEFAULTS = ("config/test_search_space", "config/test_conf_folder")

GUARDS: dict[str, tuple[str, ...]] = {
    "data/scaling.py": ("data/test_scaling", "data/test_preprocessing"),
    "data/splits.py": ("data/test_splits", "data/sources/test_openml_task"),
    "data/trials.py": ("data/test_trials", "data/test_splits", "data/test_datamodule"),
    "data/split_columns.py": ("data/test_splits", "data/sources/test_file_source"),
    "data/reading/columns.py": ("data/reading/test_reading_columns", "data/sources/test_ugly_tables"),
    "data/reading/reader.py": ("data/reading/test_reader",),
    "data/reading/rules.py": ("data/reading/test_reader", "data/reading/test_reading_columns"),
    "data/reading/": READING,
    "data/sources/base.py": ("data/sources/test_file_source", "data/sources/test_openml_source", "sweeping/test_run"),
    "data/sources/file.py": ("data/sources/test_file_source",),
    "data/sources/file_formats.py": ("data/sources/test_file_source",),
    "data/sources/openml.py": ("data/sources/test_openml_source",),
    "data/sources/openml_integrity.py": ("data/sources/test_openml_source",),
    "data/sources/openml_client.py": ("data/sources/test_openml_task", "data/sources/test_openml_source"),
    "data/sources/rows.py": ("data/reading/test_reader",),
    "data/sources/__init__.py": ("data/sources/test_file_source", "data/sources/test_openml_source"),
    "corruption/base.py": ("corruption/test_strategies", "corruption/test_selection", *DEFAULTS),
    "corruption/": STRATEGIES,
    "losses/base.py": ("losses/test_every_loss", "losses/test_infonce"),
    "losses/similarity.py": ("losses/test_infonce", "losses/test_discrimination"),
    "networks/dropout.py": ("networks/test_dropout", "engine/test_lifting"),
    "networks/numeric.py": ("networks/test_numeric", "networks/test_mlp_plr", "networks/test_mlp_ple", *DEFAULTS),
    **{
        f"networks/{name}.py": (f"networks/test_{name}", *DEFAULTS)
        for name in ("mlp", "mlp_ple", "mlp_plr", "resnet", "ft_transformer")
    },
    "networks/base.py": ("networks/test_initialisation", "networks/test_mlp", "networks/test_dropout"),
    "pretexts/vime.py": ("pretexts/test_vime", *PRETEXTS),
    "pretexts/subtab.py": ("pretexts/test_subtab", *PRETEXTS),
    "pretexts/": PRETEXTS,
    "engine/networks.py": ("networks/test_mlp_ple", *STACKS),
    "engine/stack.py": ("networks/test_mlp_ple", "engine/test_watching", *STACKS),
    "engine/base.py": ("engine/test_early_stopping", "engine/test_base", *STACKS),
    "engine/pretext_task.py": PRETEXTS,
    "engine/cotrain.py": ("engine/test_pretext_tasks", "methods/test_every_method"),
    "engine/rows.py": ("data/test_device_table", "corruption/test_strategies", *STACKS),
    "engine/encoder.py": ("corruption/test_strategies", "methods/test_soft_targets", "data/test_device_table"),
    "engine/setup.py": ("methods/test_soft_targets", "methods/test_probe", *STACKS),
    "engine/lifting.py": ("engine/test_lifting", "engine/test_vmapped"),
    "engine/exactness.py": ("engine/test_hardware", "test_rounding"),
    "engine/finetune.py": ("engine/test_finetune", "engine/test_base", "engine/test_watching"),
    "engine/": STACKS,
    "methods/mixup.py": ("methods/test_soft_targets",),
    "methods/distill.py": ("methods/test_soft_targets", "methods/test_every_method"),
    "methods/dropout.py": ("methods/test_soft_targets", "methods/test_probe", "methods/test_every_method"),
    "methods/label_smoothing.py": ("methods/test_soft_targets", "methods/test_every_method"),
    "methods/base.py": ("methods/test_control", "methods/test_ragged", "methods/test_every_method"),
    "methods/cotrain.py": ("engine/test_pretext_tasks", "methods/test_every_method"),
    "methods/scarf_augment.py": ("engine/test_pretext_tasks", "methods/test_every_method"),
    "methods/bitempered.py": ("methods/test_soft_targets", "methods/test_every_method"),
    "methods/deep_knn.py": ("methods/test_ragged", "methods/test_every_method"),
    "methods/self_train.py": ("methods/test_ragged", "methods/test_every_method"),
    "methods/tri_train.py": ("methods/test_ragged", "methods/test_every_method"),
    **dict.fromkeys(
        [f"methods/{name}.py" for name in ("rival", "logistic", "random_forest", "catboost", "tabm")],
        ("methods/test_rivals", *DEFAULTS),
    ),
    "methods/xgboost.py": ("methods/test_xgboost", *DEFAULTS),
    "methods/probe.py": ("methods/test_probe", *DEFAULTS),
    "methods/": ("methods/test_ragged",),
    "sweeping/launching.py": ("sweeping/test_run",),
    "results/records.py": ("results/test_records", "results/test_store"),
    "results/stack_record.py": ("training/test_tuning", "results/test_store"),
    "results/store.py": ("results/test_store", "results/test_predictions"),
    "results/one_cell.py": ("results/test_one_cell", "results/test_predictions"),
    "results/files.py": ("results/test_files", "results/test_store"),
    "config/schema.py": ("config/test_schema", *CONFIG, "results/test_identity", "config/test_combinations"),
    "config/axes.py": (*CONFIG, "console/test_tables"),
    "config/hydra.py": ("running/test_in_process",),
    "config/options_page.py": ("config/test_reference",),
    "config/search_space.py": ("config/test_search_space", "training/test_tuning"),
    "config/parts.py": ("config/test_parts", "config/test_search_space"),
    "config/": CONFIG,
    "sweeping/progress.py": ("sweeping/test_sweep_progress",),
    "report/statistics/comparisons.py": ("report/statistics/test_wins", "report/statistics/test_gains"),
    "report/statistics/scores.py": ("report/statistics/test_score_array",),
    "settings.py": CONFIG,
}
"""Tests of a module, or of all in a folder, where its mirror is missing or guards it in part; quick ones first."""

NAMED = (
    ("data/preprocessing.py", "np.finfo(np.float64).tiny", "1e-8"),
    ("data/regimes.py", "max(1, round(share * len(labels)))", "max(1, int(share * len(labels)))"),
    ("data/regimes.py", "round(self.noise * len(labels))]", "int(self.noise * len(labels))]"),
    ("methods/xgboost.py", "self._features(lesson.stack, data.labelled)",
     "self._features(lesson.stack, data.train[:, : data.labelled.shape[1]])"),
    ("methods/tri_train.py", "VOTE_SHARE = 0.8", "VOTE_SHARE = 0.9"),
    ("report/statistics/gains.py", "alpha: float = 0.20", "alpha: float = 0.05"),
    ("report/statistics/significance.py", "ROUNDING = 1e-12", "ROUNDING = 1e-10"),
    ("randomness.py", ">> 1", ">> 2"),
    ("results/store.py", "stored.rows.setdefault(row[\"trial\"], row)", "stored.rows[row[\"trial\"]] = row"),
    ("engine/early_stopping.py", ") / len(self.active)", ")"),
)  # fmt: skip
"""Module, a text that occurs once in it, and what takes its place. Each is a fault that was once missed."""

EQUIVALENT = (
    # Rows are evaluated each by itself: a batch's size decides about speed and memory alone.
    ("data/datamodule.py", "EVALUATION_ROWS = 1024", "EVALUATION_ROWS = 512"),
    # Of an archive of several files none is read.
    ("data/sources/text_format.py", "archive.namelist()[0]", "archive.namelist()[-1]"),
    # The divisor is 1, or -1 for a number in parentheses.
    ("data/reading/numbers.py", "100 * divisor", "100 / divisor"),
    # Where nothing is chosen, nothing is copied either.
    ("engine/early_stopping.py", "if not chosen.any():\n            return", "if not chosen.any():\n            pass"),
    # Written in a trial's first epoch, whatever it was.
    ("engine/early_stopping.py", "self.diverged = np.zeros(", "self.diverged = np.ones("),
    # Another shape that the kernels are tried with.
    ("engine/exactness.py", "(2, 16), (16, 9), (16, 16), (256, 256)]", "(2, 15), (16, 9), (16, 16), (256, 256)]"),
    # The networks are built alike, and all their parameters are replaced.
    ("engine/lifting.py", "self.network = deepcopy(networks[0])", "self.network = deepcopy(networks[-1])"),
    # Only the width of what comes out is looked at.
    ("engine/networks.py", "torch.zeros(2, self.columns.n_encoded)", "torch.ones(2, self.columns.n_encoded)"),
    # The default is what a probe has, which marks no value as missing.
    (
        "engine/setup.py",
        "def encoder(self, *, dropout: float | None = None, learns_missing_values: bool = False)",
        "def encoder(self, *, dropout: float | None = None, learns_missing_values: bool = True)",
    ),
    # Whether a metric is defined is asked of the labels, with any guess.
    ("engine/stack.py", "1 / self.table.n_classes)", "0 / self.table.n_classes)"),
    # A trial's rows have one dimension.
    ("losses/infonce.py", "- positive).mean(dim=-1)", "- positive).mean(dim=0)"),
    # The smallest number to a power of at least one is zero.
    ("losses/bitempered.py", "* (labels > 0)", "* (labels > -1)"),
    # A stack of one trial.
    ("methods/xgboost.py", "np.asarray(stack.encoded(rows)[0])", "np.asarray(stack.encoded(rows)[-1])"),
    # A few letters more of a random name.
    ("results/claims.py", "uuid4().hex[:8]", "uuid4().hex[:9]"),
    # The arrays of all stacks have the same names.
    ("results/stack_record.py", "for name in records[0].preprocessing", "for name in records[-1].preprocessing"),
    # What such an override begins with is the name of no section, for which it is composed with all others too.
    ("sweeping/composer.py", 'o[0] in "+~"', 'o[-1] in "+~"'),
    ("sweeping/composer.py", '"@" in o.partition("=")[0]', '"@" in o.partition("=")[-1]'),
    # Means that do not differ have p = 1, which no level exceeds.
    ("report/statistics/wins.py", 'compared["difference"] < 0', 'compared["difference"] <= 0'),
    # The end of the function.
    ("networks/base.py", "        return\n", "        pass\n"),
)
"""Module, a text that occurs once in it, and what says the same in its place. A mutant that does this is not judged."""


def modules() -> list[str]:
    """All mutated modules, by their paths in the package."""
    found = [
        path
        for part in MUTATED
        for path in ([PACKAGE / part] if part.endswith(".py") else (PACKAGE / part).rglob("*.py"))
    ]
    return sorted(path.relative_to(PACKAGE).as_posix() for path in found)


def guards(module: str) -> tuple[str, ...]:
    """Test files of a module, from the root: the table's entry, else its mirror, else the table's for its folder."""
    room, name = Path(module).parent, Path(module).stem
    mirror = (room / f"test_{name}").as_posix()
    if module in GUARDS:
        found = GUARDS[module]
    elif (ROOT / "tests" / f"{mirror}.py").exists():
        found = (mirror,)
    else:
        found = GUARDS.get(f"{room}/", ())
    return tuple(f"tests/{test}.py" for test in found)


def named_mutants(module: str, source: str) -> list[Mutant]:
    return [Mutant.named(module, source, before, after) for file, before, after in NAMED if file == module]


def is_equivalent(mutant: Mutant, source: str) -> bool:
    """Whether the mutant does what one of `EQUIVALENT` does."""

    def meaning(of: Mutant) -> str:
        return ast.dump(ast.parse(of.apply(source)))

    known = [Mutant.named(file, source, before, after) for file, before, after in EQUIVALENT if file == mutant.file]
    return any(meaning(mutant) == meaning(each) for each in known)
