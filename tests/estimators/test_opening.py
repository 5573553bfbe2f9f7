"""A model's folder: what `save` writes and replaces, and what a folder from elsewhere may not do."""

import json
import os
import shutil
from collections.abc import Callable
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from scarf_lightning.errors import UsageError
from scarf_lightning.estimators import load_model
from scarf_lightning.results.records import read_sealed, sealed
from scarf_lightning.version import __version__
from tests.estimators.conftest import OfACell

Change = Callable[[Path], object]
FILES = ["model.json", "preprocessing.safetensors", "weights.safetensors"]
BIAS = "head.layers.0.bias"


@pytest.fixture
def folder(scarf: OfACell, tmp_path: Path) -> Path:
    """A saved model of two trials and two classes."""
    scarf.model.save(tmp_path / "model")
    return tmp_path / "model"


def resealed(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change what ``model.json`` says, and give it the sizes, hashes and seal that belong to it."""
    content = read_sealed(folder / "model.json")
    for name in ("weights.safetensors", "preprocessing.safetensors"):
        if (folder / name).is_file() and not (folder / name).is_symlink():
            data = (folder / name).read_bytes()
            content["files"][name], content["hashes"][name] = len(data), sha256(data).hexdigest()
    change(content)
    (folder / "model.json").write_text(sealed(content))


class TestSave:
    def test_arrays_and_json_are_written_into_a_new_an_empty_and_a_models_folder(
        self, scarf: OfACell, tmp_path: Path
    ) -> None:
        (tmp_path / "empty").mkdir()
        for name in ("new", "new", "empty"):
            scarf.model.save(tmp_path / name)
            assert sorted(file.name for file in (tmp_path / name).iterdir()) == FILES
            json.loads((tmp_path / name / "model.json").read_text())
        assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "new"]
        shutil.move(tmp_path / "new", tmp_path / "carried")
        carried = load_model(tmp_path / "carried")
        np.testing.assert_array_equal(carried.predict_proba(scarf.rows), scarf.model.predict_proba(scarf.rows))

    @pytest.mark.parametrize(
        ("prepare", "sentence"),
        [
            (lambda place: (place / "notes.txt").write_text("mine"), r"model holds notes\.txt, which is not part of"),
            (lambda place: (place / "sub").mkdir(), "model holds sub, which is not part of a model"),
            (lambda place: (place / "model.json").write_text("{}"), r"model holds model\.json, which is not part"),
            (lambda place: (place / "model.json").write_text('{"a": ' * 10_000), r"model holds model\.json, which"),
        ],
    )
    def test_nobody_elses_file_is_removed(self, prepare: Change, sentence: str, scarf: OfACell, folder: Path) -> None:
        prepare(folder)
        before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
        with pytest.raises(UsageError, match=sentence):
            scarf.model.save(folder)
        assert {path: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before
        assert [path.name for path in folder.parent.iterdir()] == ["model"]

    @pytest.mark.parametrize("step", range(4))
    def test_an_interrupt_leaves_the_old_model_or_the_new_one(
        self, step: int, scarf: OfACell, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rename, n_renamed, n_interrupts = Path.rename, count(), 0

        def interrupted(path: Path, target: Path) -> Path:
            if next(n_renamed) == step:
                raise KeyboardInterrupt
            return rename(path, target)

        with monkeypatch.context() as patched:
            patched.setattr(Path, "rename", interrupted)
            try:
                scarf.model.save(folder)
            except KeyboardInterrupt:
                n_interrupts += 1
        assert n_interrupts == (step < 3)
        assert [file.name for file in folder.parent.iterdir()] == ["model"]
        assert load_model(folder).trials == [0, 1]


@pytest.mark.parametrize("file", FILES)
def test_a_file_that_is_damaged_or_missing_is_named(file: str, folder: Path) -> None:
    content = bytearray((folder / file).read_bytes())
    content[-9] ^= 1
    for left, sentence in (
        (content, rf"model cannot be used: {file} is (damaged|torn); copy it again"),
        (content[:20], rf"model cannot be used: {file} is torn"),
        (None, file),
    ):
        (folder / file).unlink() if left is None else (folder / file).write_bytes(left)
        with pytest.raises(UsageError, match=sentence):
            load_model(folder)


def at(*path: Any, value: Any = None) -> Callable[[dict[str, Any]], object]:
    """Put a value in a place of what ``model.json`` says; None removes the place."""

    def change(content: dict[str, Any]) -> None:
        node: Any = content
        for step in path[:-1]:
            node = node[step]
        if value is None:
            del node[path[-1]]
        else:
            node[path[-1]] = value

    return change


CRAFTED: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (
        at("model", "classes", value=["a", "b", "c"]),
        r"head\.layers\.1\.bias is \(1, 2\), and in the described network \(1, 3\)",
    ),
    (at("model", "classes", value="ab"), "model.classes=ab: it takes a list"),
    (at("model", "trials", value=[0]), "for 1 networks of 7 columns"),
    (at("model", "trials", value=[0, -1]), "trials must be numbers from 0"),
    (at("model", "version", value=5), f"another version .*; load it there, or fit it again with {__version__}"),
    (at("model", "network", value="transformer"), "name=transformer is unknown"),
    (at("model", "encoder", "width", value=100_000), r"is \(1, 16\), and in the described network \(1, 100000\)"),
    (at("model", "encoder", "width", value="${oc.env:HOME}"), r"network\.encoder\.width=.*: it takes a whole number"),
    (at("model", "head", "colour", value="red"), "model.head.colour is not an option"),
    (at("model", "columns"), "model.columns is missing"),
    (at("model", "columns", 0, "indicators", value=10**12), "cannot have 1000000000000 indicators"),
    (at("model", "rules", 0, "rule", value="os.system"), "model.rules.rule=os.system is unknown"),
    (at("model"), "model=null: it takes options by name, as in"),
    (at("files", "../model/weights.safetensors", value=3), "which is not a file of its folder"),
    (at("files", "weights.safetensors"), "it has no weights.safetensors"),
]


class TestAFolderFromElsewhere:
    """Its seals are right, and what it says is not."""

    @pytest.mark.parametrize(("change", "sentence"), CRAFTED, ids=[sentence for _, sentence in CRAFTED])
    def test_a_false_description_is_refused_in_a_sentence(
        self, change: Callable[[dict[str, Any]], object], sentence: str, folder: Path
    ) -> None:
        resealed(folder, change)
        with pytest.raises(UsageError, match=sentence) as raised:
            load_model(folder)
        assert "\n" not in str(raised.value)

    @pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero"), Path.mkdir])
    @pytest.mark.parametrize("file", ["weights.safetensors", "model.json"])
    def test_what_is_no_regular_file_is_not_read(self, file: str, make: Change, folder: Path) -> None:
        (folder / file).unlink()
        make(folder / file)
        with pytest.raises(UsageError, match=rf"{file} (is|cannot be) "):
            load_model(folder)

    @pytest.mark.parametrize(
        ("file", "change", "sentence"),
        [
            ("preprocessing", lambda arrays: arrays.pop("fill"), "missing .* 'fill'"),
            ("preprocessing", lambda arrays: arrays.update(fill=arrays["fill"][:, 1:]), "fill has the shape"),
            ("preprocessing", lambda arrays: arrays.update(scale=arrays["scale"] * np.inf), "NaN|infinite"),
            ("weights", lambda arrays: arrays.pop(BIAS), "head.layers.0.bias is missing"),
            (
                "weights",
                lambda arrays: arrays.update(more=np.zeros(2)),
                r"more is \(\), and in the described network missing",
            ),
            ("weights", lambda arrays: arrays.update({BIAS: np.array(["a"] * 2).view(np.uint8)}), "array"),
        ],
    )
    def test_arrays_of_another_network_are_refused(
        self, file: str, change: Callable[[dict[str, Any]], object], sentence: str, folder: Path
    ) -> None:
        arrays = load_file(folder / f"{file}.safetensors")
        change(arrays)
        save_file(arrays, folder / f"{file}.safetensors")
        resealed(folder, lambda content: None)
        with pytest.raises(UsageError, match=sentence):
            load_model(folder)

    def test_a_network_of_a_plugin_is_imported_only_if_it_is_allowed(self, folder: Path) -> None:
        resealed(folder, at("model", "plugins", value=["some_module"]))
        with pytest.raises(UsageError, match=r"The model .* needs the module some_module; allow its import"):
            load_model(folder)
        with pytest.raises(UsageError, match="plugins names some_module: No module"):
            load_model(folder, plugins=["some_module"])
