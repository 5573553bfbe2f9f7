"""The exceptions whose messages are written for the user, with the exit status of a command that ends by one; and the
sentences of such messages.
"""

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from importlib.util import find_spec
from typing import ClassVar


class UsageError(ValueError):
    """Bad input: one sentence that names the column, file or option and says what to do."""

    status: ClassVar[int] = 2


class NoSubjectError(UsageError):
    """A report names neither ``sweeps=`` nor ``results=``."""

    def __init__(self) -> None:
        super().__init__("Name what the report is of: sweeps=NAME, or results=FOLDER.")


class UnfinishedError(RuntimeError):
    """Some cells of a sweep failed. The message has each reason once, with the cells that it holds for; results of the
    others are kept."""

    status: ClassVar[int] = 1


class RecordWarning(UserWarning):
    """A record of the store that cannot be used, in a sentence for the user, who needs no line of our source."""


NO_MEMORY = ("OutOfMemoryError", "can't allocate memory", "std::bad_alloc", "bad allocation")
"""What errors of libraries say where memory is lacking."""
EXTRAS = {
    "arff": "openml",
    "wandb_workspaces": "wandb",
    "matplotlib": "report",
    "jinja2": "report",
    "openpyxl": "xlsx",
    "hydra_plugins.hydra_joblib_launcher": "joblib",
    "hydra_plugins.hydra_optuna_sweeper": "optuna",
}
"""Extras of another name than the package that they bring, by the module of that package."""
HABITS = {
    "experiment": "A preset: --config-dir FOLDER +experiment=NAME, a file whose first line is # @package _global_.",
    "model": "Did you mean network=NAME, or method=NAME?",
    "patience": "Did you mean pretrain.patience or finetune.patience?",
    "results": "Did you mean paths.results?",
    "early_stopping": "Did you mean pretrain.patience or finetune.patience?",
    "datamodule": "Did you mean dataset?",
    "batch": "Did you mean batch_size?",
    "seed_everything": "Did you mean seed?",
    "gpus": "Did you mean trainer=cuda, or trainer.device=NUMBER?",
    "devices": "Did you mean trainer.device=NUMBER, or workers=NUMBER?",
    "ckpt_path": "Repeat a command: it goes on where it ended.",
    "hparams_search": "For a search: hydra/sweeper=optuna.",
    "logger": "For a class of Lightning's: +logger.mine._target_=CLASS.",
    "callbacks": "Lightning's callbacks go with a Trainer of your own: scarf_lightning.lightning.",
}
"""Sections that other projects have, and what there is here in place of them and of what they hold."""
MOST_LISTED = 20
"""Names that a sentence lists at most."""
SYNONYMS = {
    "gpu": "cuda", "recall": "balanced_accuracy", "roc_auc": "auroc", "matthews": "mcc", "cross_entropy": "log_loss",
    "mse": "rmse", "pearson": "spearman", "output": "out", "folder": "out", "bs": "batch_size", "lr": "learning_rate",
    "eps": "epsilon", "epochs": "max_epochs", "n_epochs": "max_epochs", "hidden": "width", "hidden_size": "width",
    "units": "width", "layers": "depth", "n_layers": "depth", "random_state": "seed", "n_trials": "trials",
    "n_jobs": "workers", "num_workers": "workers",
}  # fmt: skip
"""What other tools call our parts, metrics and options."""


def require(package: str, what: str) -> None:
    """Make sure that a package of an extra is installed. Call it before the package is imported.

    Args:
        package: its module; the extra that brings it has its name, or is in `EXTRAS`.
        what: what needs it, with which the message begins: ``method=xgboost``, or a file.

    Raises:
        UsageError: it is not installed; the message has the command that installs it.
    """
    # The package is looked for, not imported: an import may take seconds.
    if find_spec(package) is None:
        extra = EXTRAS.get(package, package)
        raise UsageError(
            f"{what} needs the package {package.rpartition('.')[2]}: pip install '.[{extra}]' in a clone brings it."
        )


def require_report(what: str) -> None:
    """Make sure that a report can be drawn and written.

    Raises:
        UsageError: as by `require`.
    """
    for package in ("matplotlib", "jinja2"):
        require(package, what)


def explained(error: BaseException) -> str | None:
    """A sentence on an error that is no fault of the code: of the input, of the operating system, or of the memory."""
    if isinstance(error, UsageError):
        return str(error)
    if isinstance(error, OSError):
        return system_error_sentence(error)
    # Libraries have errors of their own for a lack of memory, which are no MemoryError.
    message = f"{type(error).__name__} {error}"
    if isinstance(error, MemoryError) or any(words in message for words in NO_MEMORY):
        return (
            "It needs more memory than there is; take smaller networks or batches, fewer trials at once "
            "(trainer.trials_per_stack), or a smaller table."
        )
    return None


def system_error_sentence(error: OSError) -> str:
    """A sentence on what the operating system refused, such as a full disk or a folder without rights."""
    reason = error.strerror or str(error) or type(error).__name__
    return f"{reason}." if error.filename is None else f"{error.filename}: {reason}."


def counted(n: float, thing: str) -> str:
    """A number with a noun: ``1 cell``, ``2 cells``, ``2,070 cells``, ``0.5 points``.

    >>> counted(1, "cell"), counted(2070, "cell"), counted(2.0, "point"), counted(0.5, "point")
    ('1 cell', '2,070 cells', '2 points', '0.5 points')
    """
    if n == 1:
        return f"1 {thing}"
    number = f"{round(n, 6):,}".removesuffix(".0")
    return f"{number} {thing}s"


def capitalised(text: str) -> str:
    """A text that begins a sentence: its first letter is a capital, unless it begins with an override.

    >>> capitalised("log-loss of XGBoost"), capitalised("pretrain=scarf helps")
    ('Log-loss of XGBoost', 'pretrain=scarf helps')
    """
    return text if "=" in text.split(" ")[0] else text[:1].upper() + text[1:]


def enumeration(items: Sequence[str]) -> str:
    """Items as a list in a sentence.

    >>> enumeration(["a"]), enumeration(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    *first, last = items
    return f"{', '.join(first)} and {last}" if first else last


def unknown_name(
    fault: str,
    name: str,
    known: Iterable[str],
    where: str,
    *,
    hint: str | None = None,
    full_list: str = "",
    write: Callable[[str], str] = str,
) -> str:
    """A refusal of a name that does not exist: the fault, what may be meant, and last the names that there are.

    Args:
        fault: a sentence without its full stop.
        name: the unknown name.
        known: the names that there are, of which the first are listed.
        where: the subject of the list, as "the options of loss".
        hint: a question or sentence; None asks about the known name that is most like ``name``.
        full_list: a command that lists all names, if there is one.
        write: how a name is written, such as ``repr`` for one that may hold a comma.

    >>> unknown_name("loss=infonse is unknown", "infonse", ["infonce", "barlow_twins"], "the losses")
    'loss=infonse is unknown. Did you mean infonce? The losses are: infonce, barlow_twins.'
    """
    names = list(dict.fromkeys(known))
    question = did_you_mean(name, names, write) if hint is None else hint
    name_list = ", ".join(map(write, names[:MOST_LISTED])) or "none"
    if len(names) > MOST_LISTED:
        name_list += f", and {len(names) - MOST_LISTED:,} more" + (f"; {full_list} lists them" if full_list else "")
    return " ".join(filter(None, (f"{fault}.", question, f"{capitalised(where)} are: {name_list}.")))


def did_you_mean(name: str, known: Iterable[str], write: Callable[[str], str] = str) -> str:
    """A question that offers the known name most like this one, or its synonym; empty if there is none."""
    options = list(known)
    # Capitals make no difference.
    originals = {each.casefold().strip(): each for each in options}
    neighbours = get_close_matches(name.casefold().strip(), originals, n=1, cutoff=0.7)
    # Other tools may use the name for it.
    matches = [each for each in options if each in (name, SYNONYMS.get(name.lower()))] or [
        originals[each] for each in neighbours
    ]
    return f"Did you mean {write(matches[0])}?" if matches else ""
