"""The training of an estimator whose user chooses nothing about it: rules by the number of labels.

With few labels, or with rows that lack one, pre-training is tried. With more it is seldom used, and trying it takes
most of the time. ``study/recipe.md`` says how that rule was chosen, and by which figures.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Default:
    """A training without pre-training, from a number of labels on.

    Attributes:
        fewest: labels.
        options: choices of axes and other options, by their names on the command line.
        name: of the training in words, for ``choice_``.
    """

    fewest: int
    options: Mapping[str, Any]
    name: str


MOST = Default(
    fewest=2000, options={"recipe": "realmlp_s", "pretrain": "none"}, name="RealMLP-TD-S without pre-training"
)
MANY = Default(
    fewest=700,
    options={"recipe": "realmlp_s", "pretrain": "none", "finetune.max_epochs": 64},
    name="64 epochs of RealMLP-TD-S without pre-training",
)
SOME = Default(fewest=400, options={"pretrain": "none"}, name="folds of the labels without pre-training")


def default_for(n_labels: int) -> Default | None:
    """The training with so many labels; None with few, where pre-training is tried.

    >>> default_for(700).options["recipe"]
    'realmlp_s'
    """
    for default in (MOST, MANY, SOME):
        if n_labels >= default.fewest:
            return default
    return None
