"""Tables that do not change: the hash of a table is part of the identity of every result on it."""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from scarf_lightning.data.sources import DiabetesSource, FileSource, OpenMLSource, WdbcSource

N = 240
CACHE = os.environ.get("OPENML_CACHE_DIR")
needs_cache = pytest.mark.skipif(not CACHE, reason="OPENML_CACHE_DIR names no cache of OpenML's tables")


def digest(hashes: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(hashes, sort_keys=True).encode()).hexdigest()[:16]


def in_file(frame: pd.DataFrame, target: str, path: Path) -> str:
    frame.to_csv(path, index=False)
    return FileSource(path, target).load().hash


def plain_frames() -> dict[str, pd.DataFrame]:
    """Numbers, categories and gaps as files have them, with targets of both kinds."""
    random = np.random.default_rng(0)
    numbers = pd.DataFrame(random.normal(size=(N, 3)).round(3), columns=["a", "b", "c"])
    gaps = numbers.where(random.random(numbers.shape) < 0.9)
    classes = pd.Series(random.choice(["no", "yes"], N), name="y")
    texts = {
        "colour": random.choice(["red", "light green", "blue"], N),
        "member": random.choice([True, False], N),
        "answer": random.choice(["yes", "no", ""], N),
        "level": random.choice(["1", "2", "10", "many"], N),
        "postcode": random.choice(["01067", "80331", "50667"], N),
        "count": random.integers(0, 40, N),
        "day": pd.date_range("2020-02-01 06:00", periods=N, freq="31h").strftime("%Y-%m-%d %H:%M"),
        "tag": pd.date_range("1999-12-31", periods=N, freq="9D").strftime("%d.%m.%Y"),
        "share": [f"{share} %" for share in random.integers(0, 100, N)],
        "price": [f"${price:,.2f}" for price in random.uniform(0, 5000, N)],
        "mark": random.choice(["1.5", "2.5", "3", "?"], N),
        "key": [f"k{i}" for i in range(N)],
        "row": range(N),
        "same": "x",
        "name": [f"road {i % 130} b" for i in range(N)],
        "said": [f"the {i % 170} of all things are one and {i % 9}" for i in range(N)],
    }
    return {
        "numbers": numbers.assign(y=classes),
        "gaps": gaps.assign(y=classes.where(random.random(N) < 0.8)),
        "quantity": gaps.assign(y=random.normal(size=N).round(4)),
        "digits": numbers.assign(y=random.integers(0, 3, N)),
        "texts": pd.DataFrame(texts).assign(y=classes),
    }


def test_bundled_tables_are_the_same() -> None:
    hashes = {source.name: source.load().hash for source in (WdbcSource(), DiabetesSource())}
    assert digest(hashes) == "30e0beaf91b5cbd1"


def test_files_of_scikit_learn_are_the_same_tables(tmp_path: Path) -> None:
    bunches = {"iris": load_iris, "wine": load_wine, "cancer": load_breast_cancer, "digits": load_digits}
    hashes = {}
    for name, bunch in bunches.items():
        hashes[name] = in_file(bunch(as_frame=True).frame, "target", tmp_path / "t.csv")
    assert digest(hashes) == "cbfd4d3528f30589"


def test_plain_files_are_the_same_tables(tmp_path: Path) -> None:
    hashes = {name: in_file(frame, "y", tmp_path / "t.csv") for name, frame in plain_frames().items()}
    assert digest(hashes) == "783d7a92d71c5ff0"


@needs_cache
def test_tables_of_openml_are_the_same_by_the_client_and_as_files(tmp_path: Path) -> None:
    """The 39 datasets of CC18 in the cache that this was written with."""
    shutil.copytree(CACHE or "", tmp_path / "cache")
    by_client, as_files = {}, {}
    for folder in sorted((tmp_path / "cache/org/openml/www/datasets").iterdir()):
        by_client[folder.name] = OpenMLSource(int(folder.name), cache=tmp_path / "cache").load().hash
        description = (folder / "description.xml").read_text()
        target = re.search(r"<oml:default_target_attribute>(.*)</oml:", description)
        assert target
        frame = pd.read_parquet(folder / f"dataset_{folder.name}.pq")
        as_files[folder.name] = in_file(frame, target[1], tmp_path / "t.csv")
    assert (digest(by_client), digest(as_files)) == ("c0792b6b4b66bb97", "046a7e9fbb8abbec")
