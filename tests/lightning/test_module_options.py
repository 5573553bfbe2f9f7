"""Options of modules: how they may be written, and when they are refused."""

from collections.abc import Callable
from functools import partial

import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.lightning import CotrainModule, FinetuneModule, PretrainModule, TableDataModule
from scarf_lightning.lightning.modules import PlainModule

MEAN = ("corruption=mean", "corruption.rate=0.3", "network.encoder.width=64")
NESTED = {"corruption": {"name": "mean", "rate": 0.3}, "network": {"encoder": {"width": 64}}}


@pytest.mark.parametrize(
    "make",
    [
        partial(PretrainModule, " ".join(MEAN)),
        partial(PretrainModule, list(MEAN)),
        partial(PretrainModule, **NESTED),
        partial(PretrainModule, MEAN[:2], **{"network.encoder.width": 64}),
    ],
)
def test_options_are_text_list_or_keywords(make: Callable[[], PlainModule]) -> None:
    module = make()
    assert module.options == MEAN
    assert dict(module.hparams) == {"options": list(MEAN)}


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (partial(PretrainModule, "corruption=maen"), r"corruption=maen is not an option.*Did you mean mean\?"),
        (partial(PretrainModule, corruption={"name": "mean", "rate": 3}), r"rate=3.*: it takes a number in \(0, 1\]"),
        (partial(PretrainModule, "mean"), "'mean' is no option. Options are keywords, corruption='mean', .*; a text"),
        (partial(PretrainModule, NESTED), r"'corruption' is no option.*which a dictionary gives as \*\*options"),
        (partial(PretrainModule, ["pretrain.patience=3"]), "arguments and callbacks decide"),
        (partial(PretrainModule, scaling="minmax"), "scaling=minmax is for the table; give it to the data module"),
        (partial(PretrainModule, pretrain="none"), "pretrain=none trains nothing"),
        (partial(PretrainModule, method="mixup"), "has no effect on a pre-training"),
        (partial(PretrainModule, data=[1]), "PretrainModule makes its networks for a table; give it "),
        (partial(FinetuneModule, method="cotrain"), "has its own module: CotrainModule"),
        (partial(CotrainModule, workers=3), "train.py takes it"),
        (partial(TableDataModule, "f.csv", "y", scaling="minmx"), "Did you mean minmax"),
    ],
)
def test_wrong_options_are_refused_when_a_module_is_made(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        make()
