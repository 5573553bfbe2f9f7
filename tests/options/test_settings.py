"""The sections of a cell's options: how long a phase trains, and what ends it."""

import math

from scarf_lightning.options.settings import FinetuneSettings, FitSettings


def test_a_phase_lasts_from_its_smallest_number_of_steps_to_its_largest() -> None:
    assert FitSettings(max_epochs=200).epochs(8) == (0, 200)
    assert FitSettings(min_steps=100, max_steps=300).epochs(8) == (13, 38)
    assert FitSettings(min_steps=300, max_epochs=20).epochs(1) == (300, 300), "more epochs than max_epochs"
    assert FitSettings(max_epochs=20, max_steps=90).scheduled_epochs(9) == 10


def test_patience_counts_the_validations_that_are_allowed() -> None:
    assert FitSettings(patience=3).stops_after == 4
    assert FitSettings(patience=None).stops_after == math.inf
    assert FitSettings(monitor="none").stops_after == math.inf


def test_without_validation_the_last_weights_are_kept() -> None:
    assert FitSettings().keeps_best
    assert not FitSettings(restore_best=False).keeps_best
    assert not FitSettings().unwatched().keeps_best


def test_few_rows_have_a_fixed_length_and_no_validation() -> None:
    settings = FinetuneSettings(fixed_below=100, fixed_steps=300, min_steps=400, metric="auroc")
    assert settings.fit_to_rows(100) is settings
    fixed = settings.fit_to_rows(99)
    assert fixed.epochs(1) == (0, 300)
    assert (settings.watched_metric, fixed.watched_metric) == ("auroc", None)
    assert FinetuneSettings(metric="auroc", patience=None, restore_best=False).watched_metric is None
