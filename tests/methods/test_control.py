from dataclasses import replace

import numpy as np

from scarf_lightning.data.regimes import Semi25
from scarf_lightning.data.table import Table
from scarf_lightning.methods import SupervisedPhase
from scarf_lightning.methods.control import Control
from scarf_lightning.settings import FitSettings
from tests.stacks import MakeStack

SETTINGS = FitSettings(max_epochs=5, batch_size=46)


def test_it_learns(patients: Table, make_stack: MakeStack) -> None:
    stack = make_stack(patients, range(3), width=128)
    outcome = Control().run(stack, SupervisedPhase(FitSettings(batch_size=46)))
    accuracy = (outcome.probabilities.argmax(axis=2) == patients.labels[stack.data.test]).mean()
    assert accuracy > 0.6, "three classes, well apart"


def test_test_labels_reach_no_fit(patients: Table, make_stack: MakeStack) -> None:
    """Changing the labels of the test rows, or of the unlabelled ones, changes nothing that is predicted."""
    stack = make_stack(patients, [0], regime=Semi25())
    expected = Control().run(stack, SupervisedPhase(SETTINGS)).probabilities
    seen = np.concatenate([stack.data.labelled[0], stack.data.validation[0]])
    planted = (patients.labels + 1) % 3
    planted[seen] = patients.labels[seen]
    outcome = Control().run(replace(stack, table=replace(patients, labels=planted)), SupervisedPhase(SETTINGS))
    assert np.array_equal(outcome.probabilities, expected)
