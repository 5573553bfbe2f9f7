"""Imports of heavy packages."""

import gc

import pytest

from scarf_lightning.importing import without_garbage_collection


def test_nothing_is_collected_while_packages_are_imported() -> None:
    frozen = gc.get_freeze_count()
    try:
        with without_garbage_collection():
            assert not gc.isenabled()
            found = [[] for _ in range(100)]

        assert gc.isenabled()
        assert gc.get_freeze_count() >= frozen + len(found)
    finally:
        gc.unfreeze()


def test_it_is_collected_again_if_an_import_fails() -> None:
    with pytest.raises(ModuleNotFoundError), without_garbage_collection():
        raise ModuleNotFoundError

    assert gc.isenabled()
    gc.unfreeze()
