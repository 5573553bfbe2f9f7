from dataclasses import replace
from pathlib import Path

from scarf_lightning.config.schema import CacheSettings, DatasetSettings
from scarf_lightning.results import CellStore, KnownData, PretrainingStore, fingerprint, identity, note_data
from scarf_lightning.settings import TrainerSettings
from scarf_lightning.sweeping.cell import Cell, distinct
from tests.cells import DATA_HASH, WDBC, results_in, some_cell


def test_a_cell_is_labelled_by_what_asks_for_it() -> None:
    assert some_cell("seed=1", "sweeps=some", "plan=true", "force=true", "corruption=mean").label == (
        "seed=1 corruption=mean"
    )
    assert some_cell("sweeps=some").label == some_cell().label == "defaults"


def test_equal_cells_have_one_key_before_their_data_are_known() -> None:
    mean = {"name": "mean", "rate": 0.6}

    assert some_cell(pretrain="none").key == some_cell("x", pretrain="none", corruption=mean, trials=9).key
    assert some_cell().key != some_cell(corruption=mean).key
    assert some_cell().key != some_cell(dataset=DatasetSettings("openml", 1510, "wdbc")).key


def test_a_pretraining_is_shared_by_methods_and_regimes_and_by_nothing_else() -> None:
    same = [
        some_cell(),
        some_cell(method={"name": "mixup", "alpha": 0.2}),
        some_cell(method={"name": "cotrain"}),
        some_cell(regime={"name": "full"}),
        some_cell(trials=30),
    ]
    other = [
        some_cell(seed=1),
        some_cell(pretrain="scarf_ae"),
        some_cell(scaling={"name": "none"}),
        some_cell(fit_on="train"),
        some_cell(corruption={"name": "mean", "rate": 0.6}),
        some_cell(dataset=DatasetSettings("openml", 1489, "phoneme")),
        some_cell(trainer=TrainerSettings(precision="64-true")),
    ]

    assert len({cell.pretraining_key for cell in same}) == 1
    assert len({cell.pretraining_key for cell in (same[0], *other)}) == 1 + len(other)
    assert some_cell(pretrain="none").pretraining_key is None


def test_stores_are_known_once_the_data_are(tmp_path: Path) -> None:
    cell = some_cell(paths=results_in(tmp_path), cache=CacheSettings(3.0))
    assert (cell.data(), cell.store(), cell.pretraining()) == (None, None, None)

    note_data(cell.results, cell.source, WDBC)

    store, pretraining = cell.store(), cell.pretraining()
    assert cell.data() == WDBC
    assert store is not None
    assert pretraining is not None
    assert store.identity["data"] == pretraining.identity["data"] == WDBC.hash
    assert (store.results, pretraining.results, pretraining.max_gb) == (cell.results, cell.results, 3.0)
    assert Cell((), replace(cell.config, pretrain=some_cell(pretrain="none").config.pretrain)).pretraining() is None


def test_a_cell_as_columns() -> None:
    axes = some_cell(pretrain="none").axes()

    assert (axes["dataset"], axes["regime"], axes["method"], axes["pretrain"]) == ("wdbc", "semi25", "control", "none")
    assert "corruption" not in axes


def test_equal_cells_in_one_results_folder_count_once_with_the_most_trials(tmp_path: Path) -> None:
    cells = [
        some_cell("a", trials=2),
        some_cell("b", trials=5),
        some_cell("c", trials=3),
        some_cell("as many as b", trials=5),
        some_cell("d", seed=1),
        some_cell("e", paths=results_in(tmp_path)),
    ]

    assert [cell.overrides for cell in distinct(cells)] == [("b",), ("d",), ("e",)]


def test_a_rate_that_selects_no_feature_is_the_cell_without_corruption(tmp_path: Path) -> None:
    """Of 9 columns a rate of 0.1 selects none; so they have one store, and one pre-training."""
    paths = results_in(tmp_path)
    few = some_cell(corruption={"name": "marginal", "rate": 0.1}, paths=paths)
    none = some_cell(corruption={"name": "none"}, selection={"name": "exact"}, paths=paths)
    usual = some_cell(paths=paths)
    for n_columns, is_one in ((9, True), (10, False)):
        note_data(few.results, few.source, KnownData(DATA_HASH, 569, n_columns, 2, n_columns))
        stores = {name_of(each.store()) for each in (few, none)}
        pretrainings = {name_of(each.pretraining()) for each in (few, none)}
        assert len(stores) == len(pretrainings) == (1 if is_one else 2)
        assert name_of(usual.store()) == fingerprint(identity(usual.config, DATA_HASH))


def test_of_data_whose_encoded_width_is_not_known_nothing_is_guessed(tmp_path: Path) -> None:
    cell = some_cell(corruption={"name": "mean", "rate": 0.1}, paths=results_in(tmp_path))
    note_data(cell.results, cell.source, KnownData(DATA_HASH, 569, 9, 2))
    assert name_of(cell.store()) == fingerprint(identity(cell.config, DATA_HASH))


def name_of(store: CellStore | PretrainingStore | None) -> str:
    assert store is not None
    return store.fingerprint
