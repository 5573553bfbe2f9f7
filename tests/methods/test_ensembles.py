"""Bagging beside a loop over single networks, and the samples that its members learn from."""

import numpy as np

from scarf_lightning.data.table import Table
from scarf_lightning.methods import SupervisedPhase
from scarf_lightning.methods.ensembles import Bagging
from scarf_lightning.methods.fine_tuning import Control
from scarf_lightning.options.settings import FinetuneSettings
from scarf_lightning.randomness import Purpose
from tests.stacks import MakeStack

SETTINGS = FinetuneSettings(max_epochs=2, batch_size=46)


def test_predictions_are_the_mean_of_single_networks_on_samples_of_the_rows(
    patients: Table, make_stack: MakeStack
) -> None:
    outcome = Bagging(members=3).run(make_stack(patients, [0, 1], precision="64-true"), SupervisedPhase(SETTINGS))
    for position, trial in enumerate((0, 1)):
        stack = make_stack(patients, [trial], precision="64-true")
        predictions = []
        for member in range(3):
            drawn = stack.streams.numpy(trial, Purpose.BOOTSTRAP, member).integers(139, size=139)
            examples = stack.examples(stack.data.labelled[:, drawn], stack.data.labels[:, drawn])
            _, classifier = stack.finetune(SETTINGS, examples, supervision=Control(), number=member)
            predictions.append(stack.predict(classifier, stack.data.test)[0])
        np.testing.assert_allclose(outcome.predictions[position], np.mean(predictions, axis=0), rtol=1e-9)
    assert outcome.fits.tolist() == [3, 3]
    assert outcome.seconds.shape == (2,)
