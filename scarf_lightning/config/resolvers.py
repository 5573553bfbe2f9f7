"""What a choice in `conf/` may depend on: functions that its interpolations call."""

from omegaconf import DictConfig, OmegaConf

NEVER_SCALED = {28: 28, 1468: 9981, 4134: 9910}
"""OpenML datasets that the paper does not scale (section 4, "Dataset pre-processing"), with the task of each."""


def scaling_of(dataset: DictConfig) -> str:
    """The paper's scaling of the data of this configuration."""
    is_unscaled = dataset.get("id") in NEVER_SCALED or dataset.get("task") in NEVER_SCALED.values()
    return "none" if is_unscaled else "zscore"


def split_of(dataset: DictConfig) -> str:
    """The split of data that are an OpenML task, or not."""
    return "random" if dataset.get("task") is None else "task"


def register_resolvers() -> None:
    """Make them known to every configuration that is composed afterwards."""
    for function in (scaling_of, split_of):
        OmegaConf.register_new_resolver(f"scarf.{function.__name__}", function, replace=True)
