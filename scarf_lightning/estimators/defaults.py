"""What `ScarfClassifier` trains where its user chooses nothing about the training: a rule by the number of labels.

With few labels, or with rows that lack one, pre-training is tried. With more, trying it takes most of the time and is
seldom worth it. ``study/recipe.md`` says how the rule was chosen, and by which figures.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Default:
    """A training from a number of labels on.

    Attributes:
        fewest: labels.
        options: choices of axes and other options, by their names on the command line.
        n_trials: the networks that vote.
        said: the training in words, for ``choice_``; nothing if pre-training is tried.
    """

    fewest: int
    options: Mapping[str, Any]
    n_trials: int
    said: str


TRIED = Default(fewest=0, options={}, n_trials=3, said="")
"""Networks of ``recipe=practical``, with pre-training if that helps."""
BY_LABELS = (
    Default(
        fewest=1000,
        options={
            "recipe": "realmlp_s",
            "pretrain": "none",
            "finetune.max_epochs": 128,
        },
        n_trials=1,
        said="RealMLP-TD-S without pre-training",
    ),
    Default(
        fewest=400,
        options={"pretrain": "none", "finetune.fixed_steps": 150},
        n_trials=3,
        said="a short training without pre-training",
    ),
    TRIED,
)
"""From many labels to few."""


def default_for(n_labels: int) -> Default:
    """The training with so many labels.

    >>> default_for(1000).options["recipe"]
    'realmlp_s'
    """
    return next(each for each in BY_LABELS if n_labels >= each.fewest)
