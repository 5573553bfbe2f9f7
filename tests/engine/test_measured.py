"""The timing of precisions on this processor, and the file that keeps it."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from scarf_lightning.engine import measured
from scarf_lightning.engine.measured import bfloat16_time
from scarf_lightning.machine import processor


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the measurements are kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    measured._kept_bfloat16_time.cache_clear()
    yield tmp_path / "scarf-lightning" / "processors.json"
    measured._kept_bfloat16_time.cache_clear()


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Steps take a tick of a clock in float32 and two in bfloat16; the first of each takes a hundred."""
    steps, ticks = list[bool](), [0.0]

    def step(*_: object, in_bfloat16: bool) -> None:
        ticks[0] += 100 if in_bfloat16 not in steps else 1 + in_bfloat16
        steps.append(in_bfloat16)

    monkeypatch.setattr(measured, "_step", step)
    monkeypatch.setattr(measured.time, "perf_counter", lambda: ticks[0])
    return steps


def test_the_fastest_steps_are_compared_and_the_ratio_is_kept_for_this_processor(timed: list[bool], file: Path) -> None:
    assert bfloat16_time() == 2.0
    assert timed == [False, True] * measured.N_TIMES

    (key,) = json.loads(file.read_text(encoding="utf-8"))
    assert key == f"{processor()}, {torch.get_num_threads()} threads, torch {torch.__version__}"
    assert [each.name for each in file.parent.iterdir()] == [file.name]

    measured._kept_bfloat16_time.cache_clear()  # as in another process
    assert bfloat16_time() == 2.0
    assert len(timed) == 2 * measured.N_TIMES


def test_other_numbers_of_threads_are_timed_by_themselves(timed: list[bool], file: Path) -> None:
    bfloat16_time()
    before = torch.get_num_threads()
    torch.set_num_threads(before + 1)
    try:
        bfloat16_time()
    finally:
        torch.set_num_threads(before)

    assert len(json.loads(file.read_text(encoding="utf-8"))) == 2


@pytest.mark.parametrize("content", ["", "[1]", '{"a": "b"}', "\x00"])
def test_a_damaged_file_is_written_anew_or_measured_without_one(content: str, timed: list[bool], file: Path) -> None:
    file.parent.write_text("a file", encoding="utf-8")
    assert bfloat16_time() == 2.0
    measured._kept_bfloat16_time.cache_clear()
    file.parent.unlink()
    file.parent.mkdir()
    file.write_text(content, encoding="utf-8")
    assert bfloat16_time() == 2.0
    assert list(json.loads(file.read_text(encoding="utf-8")).values()) == [2.0]


def test_a_new_machine_has_no_folder_for_caches_yet(
    timed: list[bool], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(file.parent / "not" / "there"))
    assert bfloat16_time() == 2.0
    assert len(list((file.parent / "not").glob("there/scarf-lightning/processors.json"))) == 1


def test_a_user_without_a_home_has_no_file(timed: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", refuse)
    assert bfloat16_time() == 2.0


def test_a_pipe_in_the_place_of_the_file_is_not_read(timed: list[bool], file: Path) -> None:
    file.parent.mkdir()
    os.mkfifo(file)
    assert bfloat16_time() == 2.0


def test_a_file_that_cannot_be_replaced_leaves_nothing_beside_it(timed: list[bool], file: Path) -> None:
    file.mkdir(parents=True)
    assert bfloat16_time() == 2.0
    assert list(file.parent.iterdir()) == [file]


def test_a_step_computes_products_in_the_precision_that_is_asked_for() -> None:
    x, layers = measured._inputs()
    seen = set[torch.dtype]()
    weight, bias = layers[0]
    weight.register_hook(lambda gradient: seen.add(gradient.dtype))

    for in_bfloat16 in (False, True):
        with torch.autocast("cpu", torch.bfloat16, enabled=in_bfloat16):
            seen.add(torch.baddbmm(bias, x, weight).dtype)
        measured._step(x, layers[:1], in_bfloat16=in_bfloat16)

    assert seen == {torch.float32, torch.bfloat16}
