import itertools
from dataclasses import asdict, replace
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scarf_lightning.errors import UsageError
from scarf_lightning.options import read
from scarf_lightning.options.run_settings import ChunkSettings
from scarf_lightning.options.settings import DatasetSettings
from scarf_lightning.results import Rows
from scarf_lightning.sweeping.cell import Cell, State, SurveyedCell
from scarf_lightning.sweeping.chunks import (
    JOBS_A_CORE,
    SECONDS_OF_JOBLIB,
    Chunk,
    make_chunks,
    read_chunk,
    written,
)
from scarf_lightning.sweeping.plan import Group, Size, make_plan
from tests.cells import some_cell

DATASETS = {1489: "phoneme", 1590: "adult", 11: "balance-scale"}
SIZES = {"phoneme": Size(5404, 5), "adult": Size(48_842, 14), "balance-scale": Size(625, 4)}


def cell(dataset: int, pretrain: str, method: str, seed: int = 0) -> Cell:
    """Labelled by its axes."""
    axes = {"id": dataset, "pretrain": pretrain, "method": method, "seed": seed}
    return some_cell(
        *(f"{axis}={value}" for axis, value in axes.items()),
        dataset=DatasetSettings("openml", dataset, DATASETS[dataset]),
        pretrain=pretrain,
        method={"name": method},
        seed=seed,
    )


def groups(cells: list[Cell]) -> list[Group]:
    """Of a plan in which all cells wait."""
    sizes = {each.source.key: SIZES[str(each.config.dataset.name)] for each in cells}
    return make_plan([SurveyedCell(each, State.WAITING, Rows.of([])) for each in cells], sizes).groups


def labels(chunks: list[Chunk]) -> list[list[str]]:
    return [[each.label for each in chunk.cells] for chunk in chunks]


ANY_CELL = st.builds(
    cell,
    st.sampled_from(sorted(DATASETS)),
    st.sampled_from(["none", "scarf", "scarf_ae"]),
    st.sampled_from(["control", "dropout", "distill"]),
    st.integers(0, 2),
)
SETTINGS = st.builds(
    ChunkSettings,
    minutes=st.one_of(st.none(), st.floats(0, 60)),
    max_jobs=st.one_of(st.none(), st.integers(1, 6)),
)
CELLS = st.lists(ANY_CELL, max_size=20, unique_by=lambda each: each.label)


@given(cells=CELLS, settings=SETTINGS, launcher=st.sampled_from(["basic", "joblib", "slurm"]))
def test_cells_that_share_a_pretraining_share_a_chunk_longest_first(
    cells: list[Cell], settings: ChunkSettings, launcher: str
) -> None:
    chunks = make_chunks(groups(cells), settings, launcher)

    assert sorted(itertools.chain(*labels(chunks))) == sorted(each.label for each in cells)
    where = [(each.pretraining_key, n) for n, chunk in enumerate(chunks) for each in chunk.cells]
    assert len({key for key, _ in where if key}) == len({pair for pair in where if pair[0]})
    assert all(chunk.cells for chunk in chunks)
    assert settings.max_jobs is None or len(chunks) <= settings.max_jobs
    expected = [sum(group.seconds for group in groups(chunk.cells)) for chunk in chunks]
    assert [chunk.seconds for chunk in chunks] == pytest.approx(expected)
    assert chunks == sorted(chunks, key=lambda chunk: -chunk.seconds)


def test_by_default_a_chunk_is_a_pretraining_and_a_cell_without_one_is_alone() -> None:
    cells = [cell(11, p, m) for m in ("control", "dropout") for p in ("none", "scarf", "scarf_ae")]

    chunks = make_chunks(groups(cells), ChunkSettings(), "unknown")

    expected = [[cells[0].label], [cells[3].label], *([cells[n].label, cells[n + 3].label] for n in (1, 2))]
    assert sorted(labels(chunks)) == sorted(expected)


def test_a_slurm_job_is_worth_its_place_in_the_queue_twenty_minutes() -> None:
    cells = [cell(11, "none", "control", seed) for seed in range(60)]
    each_a_minute = [Group(group.cells, [60.0]) for group in groups(cells)]

    assert [len(chunk.cells) for chunk in make_chunks(each_a_minute, ChunkSettings(), "slurm")] == [20, 20, 20]
    assert len(make_chunks(groups(cells[:12]), ChunkSettings(), "slurm")) == 1
    for launcher, settings in (("unknown", ChunkSettings()), ("slurm", ChunkSettings(minutes=0))):
        assert len(make_chunks(groups(cells[:12]), settings, launcher)) == 12


def test_a_job_of_joblib_is_worth_its_start_and_each_core_has_some() -> None:
    with patch("scarf_lightning.sweeping.chunks.usable_cores", return_value=2):
        many = make_chunks(groups([cell(11, "none", "control", n) for n in range(1200)]), ChunkSettings(), "joblib")
        few = make_chunks(groups([cell(11, "none", "control", n) for n in range(8)]), ChunkSettings(), "joblib")

    one = few[0].seconds
    assert all(SECONDS_OF_JOBLIB <= each.seconds < SECONDS_OF_JOBLIB + one for each in many[:-1])
    assert [len(each.cells) for each in few] == [1] * (2 * JOBS_A_CORE)


def test_what_trains_one_after_the_other_is_one_job() -> None:
    cells = [cell(n, "none", "control", seed) for n in DATASETS for seed in range(3)]

    (chunk,) = make_chunks(groups(cells), ChunkSettings(), "basic")

    assert chunk.cells == cells, "in the order in which they were asked for"
    assert len(make_chunks(groups(cells), ChunkSettings(minutes=0), "basic")) == len(cells)


def test_work_is_dealt_out_evenly() -> None:
    """One long group beside many short ones: the short ones are joined with each other."""
    cells = [cell(1590, "scarf", "control"), *(cell(11, "none", "control", seed) for seed in range(6))]

    long, short = make_chunks(groups(cells), ChunkSettings(max_jobs=2), "joblib")

    assert (labels([long]), len(short.cells)) == ([[cells[0].label]], 6)


def with_defaults(cell: Cell) -> Cell:
    """With the options that `some_cell` leaves out, as a job reads it."""
    return replace(cell, config=read(asdict(cell.config)))


class TestFiles:
    def test_a_chunk_comes_back_as_it_was_written_and_its_file_is_removed(self, tmp_path: Path) -> None:
        chunks = [
            Chunk([cell(11, "scarf", m) for m in ("control", "dropout")], 1.0),
            Chunk([cell(1489, "none", "control")], 2.0),
            Chunk([replace(cell(11, "scarf", "control"), overrides=("x=1", "y='a b'"), is_alone=True)], 0.0),
        ]

        with written(chunks, tmp_path) as files:
            for file, chunk in zip(files, chunks, strict=True):
                after = read_chunk(str(file))
                assert [with_defaults(each) for each in chunk.cells] == after
                for one, other in zip(chunk.cells, after, strict=True):
                    assert (one.key, one.pretraining_key, one.label) == (other.key, other.pretraining_key, other.label)
                assert file.is_absolute()
        assert list(tmp_path.iterdir()) == []

        with pytest.raises(KeyboardInterrupt), written([Chunk([some_cell()], 0.0)], tmp_path):
            raise KeyboardInterrupt
        assert list(tmp_path.iterdir()) == [], "an exception removes them too"

    def test_those_of_another_sweep_stay(self, tmp_path: Path) -> None:
        with written([Chunk([some_cell()], 0.0)], tmp_path) as (other,):
            with written([Chunk([some_cell()], 0.0)], tmp_path):
                pass
            assert other.exists()

    def test_a_job_that_no_sweeper_started_says_so(self) -> None:
        with pytest.raises(UsageError, match=r"a job needs chunk\.file, which our sweeper sets"):
            read_chunk(None)
