"""Views of validation rows: drawn once or every time, they are the same numbers."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from scarf_lightning.corruption.marginal import Marginal
from scarf_lightning.corruption.missing import Missing
from scarf_lightning.corruption.selection import Bernoulli
from scarf_lightning.data.table import Table
from scarf_lightning.engine import static_views
from scarf_lightning.engine.fitting import Fit
from scarf_lightning.engine.pretext_task import PretextTask
from scarf_lightning.engine.static_views import StaticViews
from scarf_lightning.losses.discrimination import Discrimination
from scarf_lightning.losses.reconstruction import Reconstruction
from scarf_lightning.pretexts import Pretext, Views
from scarf_lightning.pretexts.vime import Vime
from scarf_lightning.settings import PretrainSettings
from tests.stacks import MakeStack, task

SETTINGS = PretrainSettings(max_epochs=20, batch_size=8, patience=0)
"""Of twenty validation rows it makes three mini-batches; trials leave at different times."""


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    """The raw rows that views are made of, each time."""
    calls: list[Tensor] = []
    make = PretextTask.validation_views

    def counted(pretext_task: PretextTask, raw: Tensor, *args: object, **options: object) -> StaticViews:
        calls.append(raw)
        return make(pretext_task, raw, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(PretextTask, "validation_views", counted)
    return calls


@pytest.mark.parametrize(
    "make_task",
    [
        task,
        lambda: task(views="both"),
        lambda: task(loss=Reconstruction()),
        lambda: task(loss=Discrimination()),
        lambda: Vime(Marginal(), Bernoulli()),
    ],
    ids=["one view", "both views", "auto-encoder", "discriminative", "vime"],
)
def test_keeping_views_changes_no_number(
    make_task: Callable[[], Pretext],
    patients: Table,
    make_stack: MakeStack,
    made: list[Tensor],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def train() -> Fit:
        return make_stack(patients, range(6)).pretrain(SETTINGS, make_task())

    kept = train()
    assert len(made) == 3, "once, though trials left"
    assert len(set(kept.epochs)) > 1
    monkeypatch.setattr(static_views, "MOST_BYTES", 0)
    drawn_again = train()

    assert len(made) == 3 + 3 * kept.epochs.max()
    assert drawn_again.curves == kept.curves
    for name, weight in drawn_again.weights.items():
        assert torch.equal(weight, kept.weights[name])


def test_the_limit_is_of_all_mini_batches_together(
    patients: Table, make_stack: MakeStack, made: list[Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten passes and the clean rows: 11 x 20 rows of six numbers and six indicators, in float32, of two trials."""
    encoded = make_stack(patients, [0]).encoded(make_stack(patients, [0]).data.train).shape[2]
    size = 2 * 11 * 20 * encoded * 4
    for limit, times in ((size, 1), (size - 1, 4)):
        made.clear()
        monkeypatch.setattr(static_views, "MOST_BYTES", limit)
        settings = PretrainSettings(max_epochs=4, batch_size=8, patience=None)
        make_stack(patients, range(2)).pretrain(settings, task())
        assert len(made) == 3 * times


def test_views_with_learned_values_are_made_anew(patients: Table, make_stack: MakeStack, made: list[Tensor]) -> None:
    settings = PretrainSettings(max_epochs=4, batch_size=8, patience=None)
    make_stack(patients, range(2)).pretrain(settings, task(Missing()))
    assert len(made) == 3 * 4


def test_what_stands_in_several_places_is_kept_once() -> None:
    clean = torch.arange(24.0).view(3, 4, 2)
    noisy = [clean + 1, clean + 2]
    views = StaticViews.of_passes([Views((clean, each), (clean,)) for each in noisy])

    assert (views.parts, views.inputs[0] is clean, views.inputs[1].shape) == ((1, 2), True, (3, 8, 2))
    assert views.n_bytes == 4 * 24 * 3
    left = views.of(torch.tensor([2, 0]))
    assert torch.equal(left.inputs[0], clean[[2, 0]])
    assert torch.equal(left.inputs[1], torch.cat(noisy, dim=1)[[2, 0]])
    assert left.parts == views.parts
    assert left.targets[0][0] is left.targets[1][0] is left.inputs[0]
    assert left.n_bytes == 4 * 16 * 3
