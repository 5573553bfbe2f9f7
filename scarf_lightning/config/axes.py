"""The axes of an ablation, once: their classes, what the help says of them, and the order in which tables show them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Axis:
    """A group of `conf/`.

    Attributes:
        name: of the group.
        meaning: what is chosen by it.
        base: `module:Class` whose subclasses are its options; None where these are settings alone.
        column: what its choice is called in results; None for what is no part of what a cell is.
    """

    name: str
    meaning: str
    base: str | None = None
    column: str | None = None


def _of_a_cell(name: str, meaning: str, base: str | None = None) -> Axis:
    return Axis(name, meaning, base and f"scarf_lightning.{base}", name)


AXES = (
    _of_a_cell("dataset", "the table; cc18-NAME is one of the paper's 69, csv a file of yours"),
    _of_a_cell("split", "which rows train, validate and test", "data.splits:Splitting"),
    _of_a_cell("regime", "which labels training sees", "data.regimes:Regime"),
    _of_a_cell("scaling", "of numeric columns", "data.scaling:Scaling"),
    _of_a_cell("encoding", "of categorical columns", "data.encoding:Encoding"),
    _of_a_cell("pretrain", "the self-supervised phase", "pretexts:Pretext"),
    _of_a_cell("corruption", "what takes the place of a selected feature", "corruption:Corruption"),
    _of_a_cell("selection", "which features are selected", "corruption:Selection"),
    _of_a_cell("views", "how many of a row's two views are corrupted"),
    _of_a_cell("loss", "of the pretext task", "losses:Loss"),
    _of_a_cell("method", "the supervised phase", "methods:Method"),
    Axis("cotrain", "the task that method=cotrain adds", column="cotrain.task"),
    _of_a_cell("network", "f, g and h", "networks:Network"),
    Axis("trainer", "hardware"),
    Axis("logger", "where curves are shown, beside the results"),
    Axis("hydra/launcher", "what starts jobs: basic is one after the other, joblib every core"),
)

BASES = {axis.name: axis.base for axis in AXES if axis.base is not None}
"""For each axis of classes the one whose subclasses are its options. Looking them up imports torch."""

COLUMNS = tuple(axis.column for axis in AXES if axis.column is not None)
"""The axes' columns in results, in the order of tables."""

OF_THE_RUN = (
    "sweeps", "plan", "force", "keep_weights", "keep_predictions_mb", "trials", "objective", "trainer", "logger",
    "paths", "cache", "chunk", "hydra",
)  # fmt: skip
"""Options of how, where and what of a cell is trained and kept; the others decide what it is."""
