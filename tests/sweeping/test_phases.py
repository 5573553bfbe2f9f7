from pathlib import Path
from typing import Any

import pytest

from scarf_lightning.config.schema import DatasetSettings
from scarf_lightning.results import KnownData, note_data
from scarf_lightning.settings import FinetuneSettings, FitSettings, NetworkSettings, PretrainSettings
from scarf_lightning.sweeping.cell import Cell
from scarf_lightning.sweeping.phases import TYPICAL_SIZE, expected_epochs, pretraining, size, supervised
from tests.cells import results_in, some_cell

ENCODER = {"width": 256, "depth": 4, "final_relu": True}
FULL = {"name": "full"}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A folder in which a table of 1,000 rows, 30 columns and 3 classes is known."""
    (tmp_path / "t.csv").touch()
    cell = cell_of(tmp_path)
    note_data(cell.results, cell.source, KnownData("t", 1000, 30, 3))
    return tmp_path


def cell_of(results: Path, **chosen: Any) -> Cell:
    dataset = DatasetSettings("csv", path=str(results / "t.csv"), target="y", name="t")
    return some_cell(**{"dataset": dataset, "regime": FULL, "paths": results_in(results), "pretrain": "scarf"} | chosen)


def times(results: Path, **chosen: Any) -> tuple[float, float]:
    """How many times as long as by default pre-training and fine-tuning are expected to take."""
    cells = cell_of(results), cell_of(results, **chosen)
    (pre, by_default), (fine, fine_by_default) = (
        (phase(cells[1]), phase(cells[0])) for phase in (pretraining, supervised)
    )
    assert pre is not None
    assert by_default is not None
    return pre.rule / by_default.rule, fine.rule / fine_by_default.rule


class TestEpochs:
    def test_by_default_they_are_the_typical_ones(self) -> None:
        assert expected_epochs(FitSettings(), 11, 1000) == 11

    def test_without_patience_they_are_known(self) -> None:
        assert expected_epochs(FitSettings(patience=None, max_epochs=77), 11, 1000) == 77

    def test_they_grow_with_patience_and_with_the_epochs_between_validations(self) -> None:
        assert expected_epochs(FitSettings(patience=11), 11, 1000) == 33
        assert expected_epochs(FitSettings(validate_every=4), 11, 1000) == 44

    def test_there_are_at_most_and_at_least_so_many(self) -> None:
        assert expected_epochs(FitSettings(max_epochs=5), 11, 1000) == 5
        assert expected_epochs(FitSettings(min_epochs=50), 11, 1000) == 50

    def test_a_small_table_trains_until_it_has_made_its_steps(self) -> None:
        """Seventy of a hundred rows are trained on: an epoch of batches of 128 is one step, of batches of 35 two."""
        assert expected_epochs(FitSettings(min_steps=100), 11, 100) == 100
        assert expected_epochs(FitSettings(min_steps=100, batch_size=35), 11, 100) == 50


class TestTimes:
    def test_as_many_times_as_there_are_epochs(self, results: Path) -> None:
        assert times(results, pretrain=PretrainSettings(patience=7)) == (2, 1)
        assert times(results, finetune=FinetuneSettings(patience=1)) == (1, 0.5)

    def test_each_try_trains(self, results: Path) -> None:
        assert times(results, tune=5) == pytest.approx((5, 5))

    def test_an_epoch_goes_through_the_rows_that_keep_a_label(self, results: Path) -> None:
        quarter = {"regime": {"name": "semi25", "labelled": 0.25, "labelled_validation": 1.0}}
        assert times(results, **quarter) == (1, 0.25)
        assert times(results, **quarter, finetune=FinetuneSettings(epoch="training_rows")) == (1, 1)
        assert times(results, regime={"name": "few", "labels": 70}) == pytest.approx((1, 0.1))
        assert times(results, regime={"name": "few", "labels": 5000}) == (1, 1)

    @pytest.mark.parametrize("name", ["resnet", "ft_transformer"])
    def test_other_networks_take_longer(self, name: str, results: Path) -> None:
        pre, fine = times(results, network=NetworkSettings(name=name))

        assert pre == pytest.approx(fine)
        assert pre > 1

    def test_so_do_wider_and_deeper_ones(self, results: Path) -> None:
        def encoder(**other: int) -> tuple[float, float]:
            return times(results, network=NetworkSettings(encoder=ENCODER | other))

        assert encoder() == (1, 1)
        assert encoder(width=64) < encoder(depth=2) < (1, 1) < encoder(depth=8) < encoder(width=512)

    def test_a_plugins_network_without_a_size_costs_what_it_says(
        self, results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.syspath_prepend(tmp_path)
        (tmp_path / "network_of_seven.py").write_text(
            "from dataclasses import dataclass\nfrom typing import ClassVar\n"
            "from scarf_lightning.networks import Network\n\n\n@dataclass\nclass Planted(Network):\n"
            '    name: ClassVar[str] = "planted"\n    typical_cost: ClassVar[float] = 7.0\n'
        )
        assert times(results, network=NetworkSettings(name="planted"), plugins=["network_of_seven"]) == (7, 7)

    def test_trees_grow_for_each_class_and_know_no_epochs(self, results: Path) -> None:
        asked = {"method": {"name": "xgboost"}, "pretrain": "none"}
        phase = supervised(cell_of(results, **asked))

        assert (phase.network, phase.times) == (None, 3)
        assert supervised(cell_of(results, **asked, finetune=FinetuneSettings(patience=99))) == phase

    def test_without_pretraining_there_is_none(self, results: Path) -> None:
        assert pretraining(cell_of(results, pretrain="none")) is None


class TestSize:
    def test_of_data_that_were_loaded_it_is_known(self, results: Path) -> None:
        assert size(cell_of(results)) == (1000, 30, 3)

    @pytest.mark.parametrize(
        ("name", "number", "published"), [("phoneme", 1489, (5404, 5, 2)), ("adult", 1590, (48842, 14, 2))]
    )
    def test_of_the_papers_it_is_published(
        self, name: str, number: int, published: tuple[int, int, int], tmp_path: Path
    ) -> None:
        cell = some_cell(dataset=DatasetSettings("openml", number, name), paths=results_in(tmp_path))

        assert size(cell) == published

    def test_of_others_it_is_typical(self, tmp_path: Path) -> None:
        cell = some_cell(dataset=DatasetSettings("openml", 999_999), paths=results_in(tmp_path))

        assert size(cell) == TYPICAL_SIZE
