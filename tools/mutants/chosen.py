"""Which modules are mutated, which tests stand guard over each, and mutants that are always made."""

import ast
from functools import cache
from pathlib import Path

from tools.mutants.operators import Mutant

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "scarf_lightning"

MUTATED = (
    "data", "corruption", "losses", "networks", "pretexts", "engine", "methods", "results", "options", "sweeping",
    "training", "verdicts", "randomness.py", "metrics.py", "forks.py", "estimators/parameters.py",
)  # fmt: skip
"""Folders and modules of the package."""

STRATEGIES = ("corruption/test_strategies", "engine/test_pretext_task")
PRETEXTS = ("pretexts/test_pretext", "engine/test_pretext_task", "engine/test_pretrain", "engine/test_stack_contract")
STACKS = ("engine/test_stack_modules", "engine/test_pretrain", "engine/test_stack_contract")
READING = ("data/reading/test_inference", "data/reading/test_numbers", "data/sources/test_ugly_tables")
OPTIONS = ("options/test_checking", "options/test_axes", "options/test_reference", "results/test_identity")
DEFAULTS = ("options/test_reference",)

GUARDS: dict[str, tuple[str, ...]] = {
    "data/parts.py": ("data/test_splits",),
    "data/splits.py": ("data/test_splits", *DEFAULTS, "data/sources/test_openml_task", "data/sources/test_file"),
    "data/untyped.py": ("data/test_untyped", "data/sources/test_file"),
    "data/targets/classes.py": ("data/targets/test_classes", "data/test_table", "data/sources/test_file"),
    "data/targets/": ("data/targets/test_number", "data/targets/test_classes", "data/sources/test_file"),
    "data/columns.py": (
        "data/test_columns",
        "data/test_table",
        "data/test_preprocessing",
        "data/reading/test_inference",
    ),
    "data/table.py": ("data/test_table", "data/sources/test_weights"),
    "data/reading/reader.py": ("data/reading/test_reader", "data/sources/test_refusals"),
    "data/reading/rules.py": ("data/reading/test_rules", "data/reading/test_reader", "data/reading/test_inference"),
    "data/reading/dates.py": ("data/reading/test_inference", "data/reading/test_reader"),
    "data/reading/": READING,
    "data/sources/": ("data/sources/test_refusals",),
    "data/sources/source.py": (
        "data/sources/test_source",
        "data/sources/test_evidence",
        "data/sources/test_openml",
        "sweeping/test_run",
    ),
    "data/sources/file.py": ("data/sources/test_file", "data/sources/test_weights"),
    "data/sources/text_file.py": ("data/sources/test_text_file", "data/sources/test_formats", "data/sources/test_file"),
    "data/sources/documents.py": ("data/sources/test_documents", "data/sources/test_formats"),
    "data/sources/arrow_file.py": ("data/sources/test_file", "data/sources/test_formats"),
    "data/sources/column_options.py": ("data/sources/test_refusals", "data/sources/test_file"),
    "data/sources/data_file.py": ("data/sources/test_text_file", "data/sources/test_file"),
    "data/sources/file_access.py": ("data/sources/test_file", "data/sources/test_formats"),
    "data/sources/weights.py": ("data/sources/test_weights", "data/sources/test_refusals"),
    "data/sources/formats.py": ("data/sources/test_formats", "data/sources/test_file", "data/reading/test_reader"),
    "data/sources/openml.py": ("data/sources/test_openml", "data/sources/test_openml_task"),
    "data/sources/__init__.py": ("data/sources/test_file", "data/sources/test_openml"),
    "data/trials.py": ("data/test_trials", "data/test_splits", "data/test_datamodule"),
    "corruption/": STRATEGIES,
    "losses/": ("losses/test_loss", "losses/test_supervised", "losses/test_every_loss"),
    "networks/mlp.py": ("networks/test_mlp", *DEFAULTS),
    "networks/residual.py": ("networks/test_residual", *DEFAULTS),
    "networks/layers.py": ("networks/test_layers", "data/test_preprocessing"),
    "networks/": ("networks/test_network", "networks/test_layers", "engine/test_lifting"),
    "pretexts/others.py": ("pretexts/test_others", *PRETEXTS),
    "pretexts/binning.py": ("pretexts/test_more_pretexts",),
    "pretexts/switching.py": ("pretexts/test_more_pretexts",),
    "pretexts/target_aware.py": ("pretexts/test_more_pretexts",),
    "pretexts/": PRETEXTS,
    "engine/stack.py": (
        "engine/test_stack",
        "networks/test_mlp",
        "methods/test_fine_tuning",
        "engine/test_probing",
        *STACKS,
    ),
    "engine/stack_modules.py": (
        "engine/test_stack_modules",
        "engine/test_fit",
        "engine/test_captured",
        *STACKS,
        "lightning/test_plain_lightning",
    ),
    "engine/fit.py": ("engine/test_fit", "engine/test_captured"),
    "engine/pretext_task.py": (
        "data/test_device_table",
        "corruption/test_strategies",
        "pretexts/test_more_pretexts",
        *PRETEXTS,
    ),
    "engine/encoder.py": (
        "corruption/test_strategies",
        "methods/test_fine_tuning",
        "networks/test_mlp",
        "networks/test_realmlp",
    ),
    "engine/loop.py": ("engine/test_fit",),
    "engine/stopping.py": ("engine/test_fit",),
    "engine/": STACKS,
    "methods/method.py": ("training/test_trained_stack",),
    "methods/rivals.py": ("methods/test_rivals", *DEFAULTS),
    "methods/fine_tuning.py": ("methods/test_fine_tuning", *STACKS),
    "methods/": ("methods/test_fine_tuning", "methods/test_pseudo_labels", "methods/test_every_method"),
    "sweeping/chunks.py": ("sweeping/test_chunks", "sweeping/test_run"),
    "sweeping/configuration_files.py": ("cli/test_second_entrances",),
    "sweeping/overrides.py": (
        "sweeping/test_overrides",
        "sweeping/test_expand",
        "options/test_gate",
        "cli/test_second_entrances",
    ),
    "sweeping/run.py": ("sweeping/test_run", "training/test_cell_loop"),
    "sweeping/expand.py": ("sweeping/test_expand", "cli/test_second_entrances"),
    "sweeping/": ("sweeping/test_expand", "sweeping/test_run"),
    "results/": ("results/test_store", "results/test_loading"),
    "results/identity.py": ("results/test_identity", "options/test_plugins"),
    "results/records.py": ("results/test_records", "results/test_store"),
    "results/store.py": ("results/test_store", "results/test_predictions", "training/test_tuning"),
    "results/loading.py": (
        "results/test_loading",
        "results/test_loading_cells",
        "results/test_versions",
        "results/test_predictions",
    ),
    "results/files.py": ("results/test_files", "results/test_records", "results/test_store"),
    "options/option.py": ("options/test_option", "options/test_conf_files"),
    "options/building.py": ("options/test_building", "options/test_combinations"),
    "options/checking.py": ("options/test_checking", "options/test_run_settings", "options/test_axes"),
    "options/config.py": ("options/test_config", "options/test_checking", "options/test_combinations"),
    "options/run_settings.py": ("options/test_run_settings", "loggers/test_other_loggers"),
    "options/logger_classes.py": ("loggers/test_other_loggers",),
    "options/settings.py": (
        "options/test_settings",
        "options/test_checking",
        "options/test_combinations",
        "engine/test_hardware",
    ),
    "options/combinations.py": ("options/test_combinations", "results/test_identity"),
    "options/reference.py": ("options/test_reference", "options/test_conf_files"),
    "options/": OPTIONS,
    "training/cell_loop.py": ("training/test_cell_loop", "loggers/test_training_logs"),
    "training/trained_stack.py": ("training/test_trained_stack",),
    "training/cell_training.py": (
        "training/test_cell_training",
        "training/test_trained_stack",
        "training/test_stack_sizes",
    ),
    "training/": (
        "training/test_cell_loop",
        "training/test_tuning",
        "training/test_kept_predictions",
        "training/test_pretraining",
    ),
    "verdicts/centres.py": ("verdicts/test_centres",),
    "verdicts/compare.py": ("verdicts/test_compare",),
    "verdicts/frame.py": ("verdicts/test_frame", "verdicts/test_compare", "verdicts/test_factors"),
    "verdicts/frame_columns.py": ("verdicts/test_compare",),
    "verdicts/judging.py": ("verdicts/test_judging",),
    "verdicts/trial_rows.py": ("verdicts/test_trial_rows", "reporting/test_trials_of_cells"),
    "verdicts/": (
        "verdicts/test_examples",
        "verdicts/test_calibration",
        "verdicts/test_verdict",
    ),
    "randomness.py": ("test_randomness",),
    "metrics.py": ("test_metrics",),
}
"""Tests of a module, in place of its mirror, and of all modules in a folder; quick ones first."""

NAMED = (
    ("data/preprocessing.py", "np.finfo(np.float64).tiny", "1e-8"),
    ("data/trials.py", "round(self.labelled * len(labels))", "int(self.labelled * len(labels))"),
    ("data/trials.py", "round(self.noise * len(labels))]", "int(self.noise * len(labels))]"),
    ("methods/rivals.py", "encoded(rows).squeeze(0) for rows in (data.labelled,",
     "encoded(rows).squeeze(0) for rows in (data.train[:, : data.labelled.shape[1]],"),
    ("methods/pseudo_labels.py", "VOTE_SHARE = 0.8", "VOTE_SHARE = 0.9"),
    ("verdicts/pairs.py", "alpha: float = 0.20", "alpha: float = 0.05"),
    ("verdicts/pairs.py", "ROUNDING = 1e-12", "ROUNDING = 1e-10"),
    ("randomness.py", ">> 1", ">> 2"),
    ("results/store.py", "stored.rows.setdefault(row[\"trial\"], row)", "stored.rows[row[\"trial\"]] = row"),
    ("engine/loop.py", "(now - self._lap_began) / len(during)", "now - self._lap_began"),
    ("verdicts/pairs.py", 'significant & (compared["difference"] > 0)',
     'significant & (compared["difference"] > 1)'),
    ("data/reading/dates.py", "known = [text for text in texts if not is_missing(text)]", "known = list(texts)"),
    ("data/reading/rules.py", "isinstance(value, (bool, np.bool_)) or not isinstance(value, NUMBERS)",
     "not isinstance(value, NUMBERS)"),
    ("data/trials.py", 'fit_on == "train"', 'fit_on == "all"'),
    ("engine/lifting.py", "requires_grad=parameter.requires_grad", "requires_grad=True"),
    ("verdicts/answers.py", "n_open -= int(is_claimed)", "n_open -= 1"),
    ("verdicts/judging.py", 'return "" if self.labels is None else self.name', 'return ""'),
    ("verdicts/verdict.py", "if verdict.parts is not None:\n        return verdict.parts.error",
     "if True:\n        return verdict.parts.error"),
    ("forks.py", "prctl(PARENT_DEATH_SIGNAL, signal.SIGTERM)", "prctl(signal.SIGTERM, PARENT_DEATH_SIGNAL)"),
    ("estimators/parameters.py", "if option not in PARAMETERS:", "if option in PARAMETERS:"),
    ("parents=True, exist_ok=True", "exist_ok=True"),
    ("sweeping/folders.py", '[] if self.trials is None else [f"trials={self.trials}"]', "[]"),
)  # fmt: skip
"""Module, a text that occurs once in it, and what takes its place. Each is a fault that was once missed."""

REFACTORED = (
    # Every competitor of a page is corrected alone: Holm's family is taken apart.
    ("reporting/comparisons.py", "return self.name if is_alone else super().family", "return super().family"),
    # Test rows leak into the fitted scaling, because the option is not passed on.
    ("training/cell_training.py", "fit_on=self.config.fit_on,", 'fit_on="all",'),
    # The mean of a stack is taken over its trials instead of its rows.
    ("losses/loss.py", "return is_wrong.float().mean(dim=-1)", "return is_wrong.float().mean(dim=0)"),
    # Dropout is left on when the network predicts.
    ("networks/layers.py", "if not self.training or is_off:", "if is_off:"),
    # The network that predicts has the weights of the last epoch, and those of the best are not restored.
    ("engine/fit.py", "    load_state(module, loop.kept.tensors)\n", ""),
    # Two fits of a trial share their random streams.
    ("methods/pseudo_labels.py", "stack.labelled(), self, number=1", "stack.labelled(), self"),
    # A claim of exactly the oldest age is taken from its holder.
    ("results/claims.py", "return now - stamp > STALE_AFTER or", "return now - stamp >= STALE_AFTER or"),
    # An option that decides numbers is no part of the identity.
    ("options/combinations.py",
     '    yield "precision", config.trainer.precision, config.trainer.precision != precision\n', ""),
    # An argument is not passed on, so that its default counts.
    ("sweeping/run.py", "make_plan(todo, plan.sizes)", "make_plan(todo)"),
    # Two arguments change places, and a difference changes its sign.
    ("verdicts/factors.py", "return combined(ones, contrast.weight), reference, size",
     "return reference, combined(ones, contrast.weight), size"),
)  # fmt: skip
"""Faults of a refactoring: those that are made while code is moved or unfolded, one in each of ten rooms. Module, a
text that occurs once in it, and what takes its place. The module's mirror alone must find each."""

EQUIVALENT = (
    # A mean on a bound is that of rows which are all on it, and has no error.
    ("verdicts/verdict.py", "not 0 < share < 1", "not 0 <= share < 1"),
    # The last chunk has no other to be sorted among.
    ("sweeping/run.py", "workers([Chunk(ended, 0.0)])", "workers([Chunk(ended, 1.0)])"),
    # A trial that has epochs has one at least.
    ("results/index.py", "most_epochs: int = 0", "most_epochs: int = 1"),
    # Rows are evaluated each by itself: a batch's size decides about speed and memory alone.
    ("data/datamodule.py", "EVALUATION_ROWS = 1024", "EVALUATION_ROWS = 512"),
    # Numbers are looked at one by one, and none is refused.
    ("data/reading/rules.py", "not is_numeric(column) or pd.api.types.is_complex_dtype(column.dtype)", "True"),
    # Values are hashed one after the other, however many at once.
    ("data/table.py", "ROWS_AT_A_TIME = 1 << 16", "ROWS_AT_A_TIME = 1 << 15"),
    # The bytes of a file are searched in pieces of any size.
    ("data/sources/text_file.py", "CHUNK = 1 << 20", "CHUNK = 1 << 19"),
    # Two functions that find the same numbers, of which one is faster.
    ("data/reading/inference.py", "are_whole(known[:1000])", "are_whole(known[:])"),
    # Numbers that are asked for are read, or refused.
    ("data/reading/inference.py", "is_forced=True)\n        if read:", "is_forced=True)\n        if True:"),
    # A column's features are missing in the same rows.
    ("data/reading/rules.py", "column.notna().to_numpy() & features[0]", "column.notna().to_numpy() & features[-1]"),
    ("data/reading/reader.py", "if features[0].is_missing.all():", "if features[-1].is_missing.all():"),
    # Without a text, no row picks a number.
    ("data/reading/rules.py", "np.empty((0, width))", "np.empty((1, width))"),
    # An array of 64-bit numbers stays one.
    ("data/copies.py", "np.uint64(0x9E3779B97F4A7C15)", "0x9E3779B97F4A7C15"),
    # A single one is asked for.
    ("data/sources/file.py", "most_common(1)[0]", "most_common(1)[-1]"),
    # All frames have the columns of the first.
    ("data/sources/file.py", "reindex(columns=frames[0].columns)", "reindex(columns=frames[-1].columns)"),
    # The client's default.
    ("data/sources/openml.py", "                    download_features_meta_data=False,\n", ""),
    # Columns of whole numbers are read again as text, which decides.
    ("data/sources/text_file.py", "    return False\n\n\ndef _beginning", "    return True\n\n\ndef _beginning"),
    # A single label is a whole number of them.
    ("data/trials.py", "self.labels > 1 and", "self.labels >= 1 and"),
    # These are the columns that are read.
    ("data/sources/arrow_file.py", "file.read(columns=some).select(some)", "file.read(columns=some)"),
    # Of an archive of several files none is read.
    ("data/sources/file_access.py", "archive.namelist()[0]", "archive.namelist()[-1]"),
    # The divisor is 1, or -1 for a number in parentheses.
    ("data/reading/numbers.py", "100 * divisor", "100 / divisor"),
    # Another shape that the kernels are tried with.
    ("engine/hardware.py", "(2, 16), (16, 9), (16, 16), (256, 256)]", "(2, 15), (16, 9), (16, 16), (256, 256)]"),
    ("engine/hardware.py", "(5, 16), (16, 9), (256, 5)", "(5, 16), (17, 9), (256, 5)"),
    # Any numbers will do.
    ("engine/hardware.py", "torch.Generator().manual_seed(0)", "torch.Generator().manual_seed(1)"),
    # One layer and batch fewer that the kernels are tried with.
    (
        "engine/hardware.py",
        "in _inputs(dtype, MIXED_LAYERS if is_mixed else LAYERS):",
        "in list(_inputs(dtype, MIXED_LAYERS if is_mixed else LAYERS))[:-1]:",
    ),
    # The last module of a network has no children.
    ("engine/lifting.py", "in list(self.network.modules()):", "in list(list(self.network.modules()))[:-1]:"),
    # The networks are built alike, and all their parameters are replaced.
    ("engine/lifting.py", "self.network = deepcopy(networks[0])", "self.network = deepcopy(networks[-1])"),
    # Only the width of what comes out is looked at.
    ("engine/encoder.py", "torch.zeros(2, self.columns.n_encoded)", "torch.ones(2, self.columns.n_encoded)"),
    # Whether a metric is defined is asked of the labels, with any guess.
    ("data/targets/classes.py", "1 / self.n_outputs)", "0 / self.n_outputs)"),
    # The last is `object`, which has no name.
    ("data/targets/target.py", "in cls.__mro__:", "in list(cls.__mro__)[:-1]:"),
    # Where no group fits into a part, no group has one unit, and none can be reserved.
    ("data/copies.py", "max(initial=1)", "max(initial=0)"),
    # A sequence of layers gives them one by one.
    ("networks/realmlp.py", "= module.children()", "= module"),
    # A file that is not there has no choices.
    (
        "sweeping/composer.py",
        "if loaded is None or choices is None:\n                    return set()",
        "if choices is None:\n                    return set()",
    ),
    # A trial's rows have one dimension.
    ("losses/loss.py", "- positive).mean(dim=-1)", "- positive).mean(dim=0)"),
    # The smallest number to a power of at least one is zero.
    ("losses/supervised.py", "* (labels > 0)", "* (labels > -1)"),
    # Cells of a run have their overrides in one order.
    ("sweeping/cell.py", "for override in cells[0] if", "for override in cells[1] if"),
    # It waits for the queue without a pause.
    ("sweeping/slurm.py", "            time.sleep(0.5)\n", "            pass\n"),
    # Scikit-learn reads tensors too.
    ("methods/pseudo_labels.py", "rows)[0].cpu().numpy()", "rows)[0].cpu()"),
    # A stack of one trial.
    ("methods/rivals.py", "np.asarray(stack.encoded(rows)[0])", "np.asarray(stack.encoded(rows)[-1])"),
    ("methods/rivals.py", "features: Floats = stack.raw(rows)[0]", "features: Floats = stack.raw(rows)[-1]"),
    # A few letters more of a random name.
    ("results/claims.py", "uuid4().hex[:8]", "uuid4().hex[:9]"),
    # The arrays of all stacks have the same names.
    ("results/store.py", "for name in records[0].preprocessing", "for name in records[-1].preprocessing"),
    # The files of chunks may be in the results folder of any cell.
    ("sweeping/chunks.py", "chunks[0].cells[0].results", "chunks[-1].cells[0].results"),
    # Means that do not differ have p = 1, which no level exceeds.
    ("verdicts/pairs.py", 'compared["difference"] < 0', 'compared["difference"] <= 0'),
    # A two-sided test has the same p-value, whichever sample comes first.
    ("verdicts/pairs.py", "paired_test(a, b, test_to_train", "paired_test(b, a, test_to_train"),
    # The default of NumPy from 2.3 on.
    ("verdicts/pairs.py", "np.take_along_axis(raw, order, axis=-1)", "np.take_along_axis(raw, order)"),
    # A shape without the trials, of however many.
    ("engine/stack.py", "self.trials[:1], learns", "self.trials[:2], learns"),
    # All columns have as many rows.
    ("data/table.py", "len(columns[0]), len(columns)", "len(columns[-1]), len(columns)"),
    # Scikit-learn is installed.
    ("data/sources/source.py", "spec is None or spec.origin", "spec is None and spec.origin"),
    # A bound itself was looked at before.
    ("options/option.py", "self.low < value < self.high", "self.low <= value < self.high"),
    ("options/option.py", "self.low < value < self.high", "self.low < value <= self.high"),
    # A sign is 1 or -1.
    ("verdicts/frame.py", "dtype=np.float64) * metric.sign", "dtype=np.float64) / metric.sign"),
    # Any division gives floats.
    ("verdicts/frame.py", "np.asarray(differences, dtype=np.float64)", "np.asarray(differences)"),
    # There is one table.
    ("verdicts/frame.py", "_table_verdict(tables[0]", "_table_verdict(tables[-1]"),
    # Where predictions are not known after all, the verdict is that of the resampled t-test, which takes longer.
    ("verdicts/frame.py", "may_have_rows or first.split.name in FIXED_SPLITS", "True"),
    ("verdicts/frame.py", "table.second.rows, table.base.rows)", "table.second.rows)"),
    ("verdicts/frame.py", "may_have_rows = all(", "may_have_rows = any("),
    # They tested the same rows.
    ("verdicts/frame.py", "rows=tested[0].rows", "rows=tested[-1].rows"),
    ("verdicts/frame.py", "(each.rows, tested[0].rows)", "(each.rows, tested[-1].rows)"),
    # Any start will do.
    ("verdicts/frame.py", "np.zeros(len(tested[0].rows)", "np.ones(len(tested[0].rows)"),
    ("verdicts/frame.py", "np.zeros(len(tested[0]", "np.zeros(len(tested[-1]"),
    # Levels are floats.
    ("verdicts/answers.py", "np.array(levels, dtype=np.float64).T", "np.array(levels).T"),
    # Only the type is looked at.
    ("options/option.py", "LARGEST[type(value + 0)]", "LARGEST[type(value + 1)]"),
    # The ends of functions.
    ("networks/network.py", 'stream."""\n        return\n', 'stream."""\n        pass\n'),
    ("networks/network.py", 'does f."""\n        return\n', 'does f."""\n        pass\n'),
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


def mirror(module: str) -> str:
    """The test file of a module's own room, from the folder of tests and without its ending."""
    path = Path(module)
    return (path.parent / f"test_{path.stem}").as_posix()


def guards(module: str) -> tuple[str, ...]:
    """Test files of a module, from the root: the table's entry, or else its mirror; then the table's for its folder."""
    has_mirror = (ROOT / "tests" / f"{mirror(module)}.py").exists()
    own = GUARDS.get(module, (mirror(module),) if has_mirror else ())
    of_folder = GUARDS.get(f"{Path(module).parent}/", ())
    has_example = ">>> " in (PACKAGE / module).read_text(encoding="utf-8")
    examples = ("test_docstring_examples",) if has_example else ()
    return tuple(f"tests/{test}.py" for test in dict.fromkeys((*own, *of_folder, *examples)))


def guards_of(mutant: Mutant) -> tuple[str, ...]:
    """Test files that may find a mutant: its module's guards, or for a fault of a refactoring the mirror alone."""
    if mutant in refactored_mutants():
        return (f"tests/{mirror(mutant.file)}.py",)
    return guards(mutant.file)


@cache
def refactored_mutants() -> list[Mutant]:
    """The mutants of `REFACTORED`."""
    mutants = []
    for module, before, after in REFACTORED:
        source = (PACKAGE / module).read_text(encoding="utf-8")
        mutants.append(Mutant.named(module, source, before, after))
    return mutants


def named_mutants(module: str, source: str) -> list[Mutant]:
    return [Mutant.named(module, source, before, after) for file, before, after in NAMED if file == module]


def is_equivalent(mutant: Mutant, source: str) -> bool:
    """Whether the mutant does what one of `EQUIVALENT` does."""

    def meaning(of: Mutant) -> str:
        return ast.dump(ast.parse(of.apply(source)))

    known = [Mutant.named(file, source, before, after) for file, before, after in EQUIVALENT if file == mutant.file]
    return any(meaning(mutant) == meaning(each) for each in known)
