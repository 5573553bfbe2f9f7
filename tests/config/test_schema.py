from typing import Any

import pytest

from tests.cells import some_config


@pytest.mark.parametrize(
    ("options", "alike"),
    [
        ({}, True),
        ({"fit_on": "all", "impute_on": "all"}, True),
        ({"fit_on": "train"}, False),
        ({"fit_on": "train", "impute_on": "all"}, False),
        ({"fit_on": "all", "impute_on": "train"}, False),
        ({"fit_on": "train", "impute_on": "train"}, False),
    ],
)
def test_trials_are_preprocessed_alike_where_nothing_is_of_their_own_training_rows(
    options: dict[str, Any], alike: bool
) -> None:
    assert some_config(**options).preprocesses_alike is alike
