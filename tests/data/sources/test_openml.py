import hashlib
import http.server
import socket
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, ClassVar
from xml.sax.saxutils import escape

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.data import sources as module
from scarf_lightning.data.sources import OpenMLSource, open_source
from scarf_lightning.errors import UsageError
from tests.composing import ROOT

ID = 7
ROWS = 12
PUBLIC = Path("org", "openml", "www", "datasets", str(ID))


@pytest.fixture
def client(home: Path) -> Any:
    """OpenML's own, which looks into the home directory when it is imported."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import openml
    return openml


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory of the test's own, no settings of the client's, and no proxy in between."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "OPENML_CACHE_DIR", "OPENML_SKIP_PARQUET"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("no_proxy", "*")
    return folder


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any attempt to connect fails the test: nothing handles an AssertionError."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError(f"connection to {args}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def frame() -> pd.DataFrame:
    """One column of each kind. Category ``unused`` does not occur; ``note`` is ignored, ``row`` identifies."""
    return pd.DataFrame(
        {
            "row": [f"r{i}" for i in range(ROWS)],
            "size": [np.nan, *np.linspace(0.5, 3, ROWS - 1)],
            "colour": pd.Categorical([None, *["red", "blue"] * 5, "red"], categories=["red", "unused", "blue"]),
            "note": np.arange(ROWS, dtype="uint8"),
            "empty": np.full(ROWS, np.nan),
            "defect": [i % 3 == 0 for i in range(ROWS)],
        }
    )


def description(host: str = "https://openml.invalid", target: str | None = "defect", **entries: str) -> str:
    given = {
        "id": str(ID),
        "name": "tiny",
        "version": "1",
        "format": "ARFF",
        "url": f"{host}/data/tiny.arff",
        "parquet_url": f"{host}/datasets/dataset_{ID}.pq",
        **({"default_target_attribute": target} if target else {}),
        "row_id_attribute": "row",
        "ignore_attribute": "note",
        "md5_checksum": hashlib.md5(arff().encode()).hexdigest(),
        **entries,
    }
    body = "".join(f"<oml:{name}>{escape(text)}</oml:{name}>" for name, text in given.items())
    namespace = 'xmlns:oml="http://openml.org/openml"'
    return f"<oml:data_set_description {namespace}>{body}</oml:data_set_description>\n"


def arff() -> str:
    rows = frame().astype(object).where(frame().notna(), "?")
    rows["defect"] = rows["defect"].map({True: "true", False: "false"})
    return "\n".join(
        [
            "@relation tiny",
            "@attribute row string",
            "@attribute size real",
            "@attribute colour {red,unused,blue}",
            "@attribute note integer",
            "@attribute empty real",
            "@attribute defect {true,false}",
            "@data",
            *(",".join(map(str, row)) for row in rows.itertuples(index=False)),
            "",
        ]
    )


def fill(root: Path, *, data: str = "parquet", table: pd.DataFrame | None = None, **options: Any) -> Path:
    """A cache as the client lays it out; returns the dataset's folder."""
    folder = root / PUBLIC
    folder.mkdir(parents=True)
    (folder / "description.xml").write_text(description(**options))
    if data == "parquet":
        (frame() if table is None else table).to_parquet(folder / f"dataset_{ID}.pq")
    elif data == "arff":
        (folder / "dataset.arff").write_text(arff())
    return folder


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(file.relative_to(folder)): (file.read_bytes(), file.stat().st_mtime_ns)
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


class Handler(http.server.SimpleHTTPRequestHandler):
    """OpenML on a loopback port, from a folder of pages."""

    requests: ClassVar[list[str]] = []

    def end_headers(self) -> None:
        self.send_header("ETag", '"tag"')
        super().end_headers()

    def log_message(self, *args: Any) -> None:
        self.requests.append(self.path)


class Server:
    """The pages, and where the client keeps what it downloads."""

    def __init__(self, pages: Path, host: str) -> None:
        self.pages, self.host = pages, host

    def folder(self, root: Path) -> Path:
        return root.joinpath(*reversed(self.host.removeprefix("http://").split(".")), "datasets", str(ID))

    def offer(self, *, parquet: bytes | None = None, **options: Any) -> None:
        self.put(f"api/v1/xml/data/{ID}", description(self.host, **options).encode())
        self.put("data/tiny.arff", arff().encode())
        if parquet is not None:
            self.put(f"datasets/dataset_{ID}.pq", parquet)

    def put(self, name: str, content: bytes) -> None:
        (self.pages / name).parent.mkdir(parents=True, exist_ok=True)
        (self.pages / name).write_bytes(content)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    handler = partial(Handler, directory=str(tmp_path / "pages"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        host = f"http://127.0.0.1:{running.server_port}"
        monkeypatch.setattr(module, "SERVER", f"{host}/api/v1/xml")
        folders = reversed(host.removeprefix("http://").split("."))
        monkeypatch.setattr(module, "CACHED", "/".join([*folders, "datasets"]))
        threading.Thread(target=running.serve_forever, args=(0.01,)).start()
        yield Server(tmp_path / "pages", host)
        running.shutdown()


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        host = f"http://127.0.0.1:{probe.getsockname()[1]}"
    monkeypatch.setattr(module, "SERVER", f"{host}/api/v1/xml")
    return host


@pytest.fixture
def parquet(tmp_path: Path) -> bytes:
    path = tmp_path / "made.parquet"
    frame().to_parquet(path)
    return path.read_bytes()


def refusal(cache: Path, match: str = "") -> str:
    """The one sentence that the dataset is refused with."""
    with pytest.raises(UsageError, match=match) as error:
        OpenMLSource(ID, cache).load()
    text = str(error.value)
    assert text.endswith(".")
    assert "\n" not in text
    assert ". " not in text
    return text


@pytest.mark.usefixtures("no_network")
class TestCachedDataset:
    @pytest.mark.parametrize("data", ["parquet", "arff"])
    def test_loads_without_a_connection_and_unpickles_nothing(self, tmp_path: Path, data: str) -> None:
        folder = fill(tmp_path / "cache", data=data)
        before = snapshot(folder)
        # The client would take its own pickle before the file.
        pickled = folder / ("dataset.pkl.py3" if data == "arff" else f"dataset_{ID}.pkl.py3")
        pickled.write_bytes(b"not a pickle")
        source = open_source("openml", id=ID, name=None, openml_cache=str(tmp_path / "cache"))

        table = source.load()

        assert (source.key, table.name, table.source, table.dataset_id) == ("openml-7", "tiny", "openml:7", ID)
        # row identifies, note is ignored, empty is always missing
        assert [column.name for column in table.columns] == ["size", "colour"]
        assert table.columns[1].categories == ("blue", "red")
        assert table.target.names == ("false", "true")
        np.testing.assert_array_equal(table.labels, frame()["defect"].astype(int))
        np.testing.assert_array_equal(table.values[:, 0], frame()["size"])
        np.testing.assert_array_equal(table.values[:, 1], [np.nan, *[1, 0] * 5, 1])
        assert OpenMLSource(ID, tmp_path / "cache", dataset_name="mine").load().name == "mine"
        pickled.unlink()
        assert snapshot(folder) == before
        fill(tmp_path / "other", data="arff" if data == "parquet" else "parquet")
        assert OpenMLSource(ID, tmp_path / "other").load().hash == table.hash

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            ({"target": None}, f"dataset {ID} has no target ''"),
            ({"target": "note"}, "has no target 'note'"),
            ({"target": "size,defect"}, "has no target 'size,defect'"),
            ({"data": "arff", "format": "Sparse_ARFF"}, "sparse ARFF"),
        ],
    )
    def test_an_unusable_dataset_is_refused(self, tmp_path: Path, options: dict[str, Any], sentence: str) -> None:
        fill(tmp_path / "cache", **options)
        refusal(tmp_path / "cache", sentence)


@pytest.mark.usefixtures("no_network")
def test_a_cached_copy_that_is_damaged_is_refused(tmp_path: Path) -> None:
    path = fill(tmp_path / "cache") / f"dataset_{ID}.pq"
    content = path.read_bytes()
    path.write_bytes(content[:4] + b"\xff" * (len(content) - 8) + content[-4:])
    refusal(tmp_path / "cache", rf"cannot be read \(.*\); .* {tmp_path / 'cache'}, delete a damaged copy there")


class TestDownload:
    @pytest.mark.parametrize("has_parquet", [True, False])
    def test_then_no_other_connection(self, tmp_path: Path, server: Server, parquet: bytes, has_parquet: bool) -> None:
        server.offer(parquet=parquet if has_parquet else None)
        source, folder = OpenMLSource(ID, tmp_path / "cache"), server.folder(tmp_path / "cache")
        data = folder / (f"dataset_{ID}.pq" if has_parquet else "dataset.arff")
        assert source.stamps() == ()

        first = source.load()

        assert first.n_rows == ROWS
        assert {file for file in folder.iterdir() if file.suffix != ".py3"} == {folder / "description.xml", data}
        assert source.files() == (folder / "description.xml", data)
        assert (folder / "description.xml").read_text() == description(server.host)
        assert not has_parquet or data.read_bytes() == parquet
        Handler.requests.clear()
        assert source.load().hash == first.hash
        assert Handler.requests == []

    def test_what_the_server_answers_in_place_of_a_description(self, tmp_path: Path, server: Server) -> None:
        server.put(f"api/v1/xml/data/{ID}", b"<html><body>Log in</body></html>")
        refusal(tmp_path / "cache", f"^OpenML dataset {ID} cannot be read")
        assert not server.folder(tmp_path / "cache").exists()

    def test_download_that_differs_from_its_checksum(self, tmp_path: Path, server: Server) -> None:
        server.offer(md5_checksum="0" * 32)
        with pytest.raises(UsageError, match="Checksum of downloaded file"):
            OpenMLSource(ID, tmp_path / "cache").load()
        assert not server.folder(tmp_path / "cache").exists()


@pytest.mark.usefixtures("refused")
def test_a_server_that_cannot_be_reached(tmp_path: Path) -> None:
    assert "can be reached" in refusal(tmp_path / "cache", f"^OpenML dataset {ID} cannot be read")


class TestFiles:
    def test_looking_for_finished_cells_imports_nothing_heavy(self, tmp_path: Path) -> None:
        folder = fill(tmp_path / "cache")
        program = (
            "import sys; from scarf_lightning.data.sources import open_source; "
            f"source = open_source('openml', id={ID}, name=None, openml_cache={str(tmp_path / 'cache')!r}); "
            "file = open_source('csv', name=None, openml_cache=None, path='t.csv', target='y'); "
            "heavy = {'openml', 'pandas', 'pyarrow', 'torch'} & set(sys.modules); "
            "print(*source.files(), file.label, file.key[:4], file.stamps(), heavy)"
        )
        done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
        files = (folder / "description.xml", folder / f"dataset_{ID}.pq")
        assert done.stdout.split() == [*map(str, files), "t", "csv-", "()", "set()"]

    @pytest.mark.parametrize("variable", [None, "OPENML_CACHE_DIR", "XDG_CACHE_HOME"])
    def test_default_cache_is_the_clients(
        self, tmp_path: Path, client: Any, monkeypatch: pytest.MonkeyPatch, variable: str | None
    ) -> None:
        if variable:
            monkeypatch.setenv(variable, str(tmp_path / "set"))
        assert module.root_of(None) == client.config._resolve_default_cache_dir().expanduser()
