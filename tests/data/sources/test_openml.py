import contextlib
import gzip
import hashlib
import http.server
import logging
import os
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.data.sources import open_source
from scarf_lightning.data.sources import openml as module
from scarf_lightning.data.sources.openml import OpenMLSource
from scarf_lightning.errors import UsageError

ID = 7
ROWS = 12
PUBLIC = Path("org", "openml", "www", "datasets", str(ID))


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


class Server:
    """OpenML on a loopback port, answering from a table of pages."""

    def __init__(self) -> None:
        self.pages: dict[str, tuple[int, bytes]] = {}
        self.requests: list[str] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.requests.append(f"{self.command} {self.path}")
                status, body = outer.pages.get(self.path, (404, b""))
                compressed = self.path.startswith("/api")
                body = gzip.compress(body) if compressed else body
                self.send_response(status)
                if compressed:
                    self.send_header("Content-Encoding", "gzip")
                self.send_header("Content-Length", str(len(body)))
                self.send_header("ETag", '"tag"')
                self.send_header("Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT")
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(body)

            do_HEAD = do_GET  # noqa: N815

            def log_message(self, *args: Any) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def folder(self, root: Path) -> Path:
        return root.joinpath(*reversed(self.host.removeprefix("http://").split(".")), "datasets", str(ID))

    def offer(self, *, parquet: bytes | None = None, **options: Any) -> None:
        self.pages[f"/api/v1/xml/data/{ID}"] = 200, description(self.host, **options).encode()
        self.pages["/data/tiny.arff"] = 200, arff().encode()
        if parquet is not None:
            self.pages[f"/datasets/dataset_{ID}.pq"] = 200, parquet

    def answer_error(self, status: int, code: int, message: str) -> None:
        error = f"<oml:code>{code}</oml:code><oml:message>{message}</oml:message>"
        page = f'<oml:error xmlns:oml="http://openml.org/openml">{error}</oml:error>'
        self.pages[f"/api/v1/xml/data/{ID}"] = status, page.encode()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    running = Server()
    monkeypatch.setattr(module, "SERVER", f"{running.host}/api/v1/xml")
    yield running
    running.close()


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


def one_sentence(error: pytest.ExceptionInfo[UsageError]) -> str:
    text = str(error.value)
    assert text.endswith(".")
    assert "\n" not in text
    assert ". " not in text
    return text


class TestCachedDataset:
    @pytest.mark.parametrize("data", ["parquet", "arff"])
    def test_loads_without_a_connection(self, tmp_path: Path, no_network: None, data: str) -> None:
        fill(tmp_path / "cache", data=data)

        table = OpenMLSource(ID, tmp_path / "cache").load()

        assert table.name == "tiny"
        assert table.source == f"openml:{ID}"
        assert table.dataset_id == ID
        # row identifies, note is ignored, empty is always missing
        assert [column.name for column in table.columns] == ["size", "colour"]
        assert table.columns[1].categories == ("blue", "red")
        assert table.target.names == ("false", "true")
        np.testing.assert_array_equal(table.labels, frame()["defect"].astype(int))
        np.testing.assert_array_equal(table.values[:, 0], frame()["size"])
        np.testing.assert_array_equal(table.values[:, 1], [np.nan, *[1, 0] * 5, 1])

    def test_parquet_and_arff_give_the_same_table(self, tmp_path: Path, no_network: None) -> None:
        fill(tmp_path / "parquet")
        fill(tmp_path / "arff", data="arff")

        hashes = {OpenMLSource(ID, tmp_path / name).load().hash for name in ("parquet", "arff")}

        assert len(hashes) == 1

    def test_name_of_ones_own(self, tmp_path: Path, no_network: None) -> None:
        fill(tmp_path / "cache")
        assert OpenMLSource(ID, tmp_path / "cache", dataset_name="mine").load().name == "mine"

    @pytest.mark.parametrize("data", ["parquet", "arff"])
    def test_cache_is_left_untouched(self, tmp_path: Path, no_network: None, data: str) -> None:
        fill(tmp_path / "cache", data=data)
        before = snapshot(tmp_path / "cache")

        OpenMLSource(ID, tmp_path / "cache").load()

        assert snapshot(tmp_path / "cache") == before

    def test_read_only_cache(self, tmp_path: Path, no_network: None) -> None:
        folder = fill(tmp_path / "cache")
        writable = [*folder.iterdir(), folder, folder.parent]
        for path in writable:
            path.chmod(0o555)
        try:
            assert OpenMLSource(ID, tmp_path / "cache").load().n_rows == ROWS
        finally:
            for path in writable:
                path.chmod(0o755)

    def test_pickles_of_the_client_are_not_read(self, tmp_path: Path, no_network: None) -> None:
        folder = fill(tmp_path / "cache", data="arff")
        (folder / "dataset.pkl.py3").write_bytes(b"not a pickle")
        assert OpenMLSource(ID, tmp_path / "cache").load().n_rows == ROWS

    def test_boolean_and_unused_category_in_a_feature(self, tmp_path: Path, no_network: None) -> None:
        table = frame().assign(flag=[i % 2 == 0 for i in range(ROWS)])
        table["defect"] = pd.Categorical(["b", "c"] * 6, categories=["a", "b", "c"], ordered=True)
        fill(tmp_path / "cache", table=table)

        loaded = OpenMLSource(ID, tmp_path / "cache").load()

        assert loaded.target.names == ("b", "c")
        assert loaded.columns[-1].categories == ("false", "true")

    def test_in_the_clients_own_folder(self, home: Path, no_network: None, monkeypatch: pytest.MonkeyPatch) -> None:
        elsewhere = home.parent / "elsewhere"
        folder = fill(elsewhere)
        monkeypatch.setenv("OPENML_CACHE_DIR", str(elsewhere))

        source = OpenMLSource(ID)

        assert source.load().n_rows == ROWS
        assert source.files() == (folder / "description.xml", folder / f"dataset_{ID}.pq")

    def test_open_source(self, tmp_path: Path, no_network: None) -> None:
        fill(tmp_path / "cache")
        source = open_source("openml", id=ID, name=None, openml_cache=str(tmp_path / "cache"))
        assert source.key == f"openml-{ID}"
        assert source.load().target.n_outputs == 2


class TestUnusableDataset:
    def test_no_default_target(self, tmp_path: Path, no_network: None) -> None:
        fill(tmp_path / "cache", target=None)
        with pytest.raises(UsageError, match=f"dataset {ID} has no default target") as error:
            OpenMLSource(ID, tmp_path / "cache").load()
        one_sentence(error)

    @pytest.mark.parametrize("target", ["note", "size,defect"])
    def test_target_that_is_not_one_column(self, tmp_path: Path, no_network: None, target: str) -> None:
        fill(tmp_path / "cache", target=target)
        with pytest.raises(UsageError, match=f"no default target '{target}'") as error:
            OpenMLSource(ID, tmp_path / "cache").load()
        one_sentence(error)

    def test_a_split_by_what_is_no_feature(self, tmp_path: Path, no_network: None) -> None:
        fill(tmp_path / "cache")
        split = {"name": "group", "column": "defect"}
        source = open_source("openml", id=ID, name=None, openml_cache=str(tmp_path / "cache"), split=split)
        with pytest.raises(
            UsageError, match=r"names 'defect', which is no feature .*; they are: size, colour, empty"
        ) as e:
            source.load()
        one_sentence(e)

    def test_sparse_arff(self, tmp_path: Path, no_network: None) -> None:
        fill(tmp_path / "cache", data="arff", format="Sparse_ARFF")
        with pytest.raises(UsageError, match="sparse ARFF") as error:
            OpenMLSource(ID, tmp_path / "cache").load()
        one_sentence(error)

    @pytest.mark.parametrize("data", ["parquet", "arff"])
    def test_damaged_in_the_middle(self, tmp_path: Path, no_network: None, data: str) -> None:
        folder = fill(tmp_path / "cache", data=data)
        path = next(folder.glob("dataset*"))
        content = bytearray(path.read_bytes())
        content[4:-4] = b"\xff" * (len(content) - 8)
        path.write_bytes(content)

        with pytest.raises(UsageError, match=r"cannot be read \(.*\); delete") as error:
            OpenMLSource(ID, tmp_path / "cache").load()

        assert str(folder) in one_sentence(error)
        assert path.read_bytes() == content


class TestIntegrity:
    """A cached copy is held to what OpenML published of it."""

    def refusal(self, cache: Path) -> str:
        with pytest.raises(UsageError, match="cannot be read") as error:
            OpenMLSource(ID, cache).load()
        text = one_sentence(error)
        assert f"delete {cache / PUBLIC} to download them again" in text
        return text

    @pytest.mark.parametrize("n_lines", [1, 2])
    def test_arff_cut_at_the_end_of_a_line(self, tmp_path: Path, no_network: None, n_lines: int) -> None:
        file = fill(tmp_path / "cache", data="arff") / "dataset.arff"
        file.write_text("".join(file.read_text().splitlines(keepends=True)[:-n_lines]))
        assert "dataset.arff is not the file whose checksum" in self.refusal(tmp_path / "cache")

    def test_one_digit_of_an_arff(self, tmp_path: Path, no_network: None) -> None:
        file = fill(tmp_path / "cache", data="arff") / "dataset.arff"
        file.write_text(file.read_text().replace("0.5,", "0.6,", 1))
        assert "checksum" in self.refusal(tmp_path / "cache")

    def test_line_ends_that_the_client_writes_on_windows(self, tmp_path: Path, no_network: None) -> None:
        file = fill(tmp_path / "cache", data="arff") / "dataset.arff"
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
        assert OpenMLSource(ID, tmp_path / "cache").load().n_rows == ROWS

    @pytest.mark.parametrize("page", ["<" + description(), "<oml:data_set_description></oml:data_set_description>"])
    def test_damaged_xml(self, tmp_path: Path, no_network: None, page: str) -> None:
        (fill(tmp_path / "cache") / "description.xml").write_text(page)
        assert "description.xml is not XML as OpenML writes it" in self.refusal(tmp_path / "cache")

    @pytest.mark.parametrize(
        "entities",
        [
            '<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">',
            '<!ENTITY c SYSTEM "file:///etc/hostname">',
        ],
    )
    def test_entities_in_a_cached_description(self, tmp_path: Path, no_network: None, entities: str) -> None:
        file = fill(tmp_path / "cache") / "description.xml"
        file.write_text(with_entities(file.read_text(), entities))
        assert "entities are disabled" in self.refusal(tmp_path / "cache")

    def test_entities_in_a_downloaded_description(self, tmp_path: Path, server: Server) -> None:
        server.offer()
        page = with_entities(description(server.host), '<!ENTITY c "ha">')
        server.pages[f"/api/v1/xml/data/{ID}"] = 200, page.encode()
        with pytest.raises(UsageError, match="entities are disabled") as error:
            OpenMLSource(ID, tmp_path / "cache").load()
        one_sentence(error)
        assert not (tmp_path / "cache").exists()


def with_entities(text: str, entities: str) -> str:
    return f"<!DOCTYPE d [{entities}]>" + text.replace(">tiny<", ">&c;<", 1)


class TestDownload:
    @pytest.mark.parametrize("has_parquet", [True, False])
    def test_then_no_further_connection(
        self, tmp_path: Path, server: Server, parquet: bytes, has_parquet: bool
    ) -> None:
        server.offer(parquet=parquet if has_parquet else None)
        source = OpenMLSource(ID, tmp_path / "cache")
        assert source.files() == ()

        first = source.load()

        folder = server.folder(tmp_path / "cache")
        data = folder / (f"dataset_{ID}.pq" if has_parquet else "dataset.arff")
        assert set(folder.iterdir()) == {folder / "description.xml", data}  # no pickle, nothing half-written
        assert source.files() == (folder / "description.xml", data)
        server.requests.clear()
        assert source.load().hash == first.hash
        assert server.requests == []

    def test_into_a_cache_that_cannot_be_written(
        self, tmp_path: Path, server: Server, parquet: bytes, caplog: pytest.LogCaptureFixture
    ) -> None:
        server.offer(parquet=parquet)
        (tmp_path / "file").touch()

        table = OpenMLSource(ID, tmp_path / "file" / "cache").load()

        assert table.n_rows == ROWS
        assert caplog.text.count("could not be kept in the cache") == 1

    def test_interrupted_while_it_is_kept(
        self, tmp_path: Path, server: Server, parquet: bytes, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupt(*args: Any) -> None:
            raise KeyboardInterrupt

        server.offer(parquet=parquet)
        monkeypatch.setattr(Path, "replace", interrupt)
        with pytest.raises(KeyboardInterrupt):
            OpenMLSource(ID, tmp_path / "cache").load()
        assert list(server.folder(tmp_path / "cache").iterdir()) == []

    def test_stumps_are_replaced(self, tmp_path: Path, server: Server, parquet: bytes) -> None:
        server.offer(parquet=parquet)
        folder = server.folder(tmp_path / "cache")
        folder.mkdir(parents=True)
        (folder / "description.xml").write_text(description()[:100])
        (folder / f"dataset_{ID}.pq").write_bytes(parquet[:100])

        assert OpenMLSource(ID, tmp_path / "cache").load().n_rows == ROWS

        assert (folder / f"dataset_{ID}.pq").read_bytes() == parquet
        assert (folder / "description.xml").read_text() == description(server.host)

    def test_unknown_id(self, tmp_path: Path, server: Server) -> None:
        server.answer_error(412, 111, "Unknown dataset")
        with pytest.raises(UsageError, match=f"OpenML dataset {ID} does not exist") as error:
            OpenMLSource(ID, tmp_path / "cache").load()
        one_sentence(error)
        assert not (tmp_path / "cache").exists()

    def test_private_dataset(self, tmp_path: Path, server: Server) -> None:
        server.answer_error(412, 112, "No access granted")
        with pytest.raises(UsageError, match="OpenML does not give dataset 7: No access granted") as error:
            OpenMLSource(ID, tmp_path / "cache").load()
        one_sentence(error)

    @pytest.mark.parametrize("status", [200, 511])
    def test_log_in_page(self, tmp_path: Path, server: Server, status: int) -> None:
        server.pages[f"/api/v1/xml/data/{ID}"] = status, b"<html><body>Log in</body></html>"
        with pytest.raises(UsageError, match="log-in page") as error:
            OpenMLSource(ID, tmp_path / "cache").load()
        one_sentence(error)

    def test_download_that_differs_from_its_checksum(
        self, tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        server.offer(md5_checksum="0" * 32)
        with pytest.raises(UsageError, match="Checksum of downloaded file"):
            OpenMLSource(ID, tmp_path / "cache").load()
        assert not (tmp_path / "cache").exists()


class TestNoServer:
    def test_nothing_cached(self, tmp_path: Path, refused: str, monkeypatch: pytest.MonkeyPatch) -> None:
        started = time.monotonic()
        with pytest.raises(UsageError) as error:
            OpenMLSource(ID, tmp_path / "cache").load()

        text = one_sentence(error)
        assert f"OpenML dataset {ID} is not in the cache {tmp_path / 'cache'}" in text
        assert "connect to the network, or set paths.openml" in text
        assert time.monotonic() - started < 6
        assert not (tmp_path / "cache").exists()

    @pytest.mark.parametrize("kept", ["description.xml", f"dataset_{ID}.pq"])
    def test_partly_cached(self, tmp_path: Path, refused: str, monkeypatch: pytest.MonkeyPatch, kept: str) -> None:
        source = OpenMLSource(ID, tmp_path / "cache")
        made = fill(tmp_path / "made", host=refused)
        folder = module._locations(source.cache, "datasets", ID)[1]
        folder.mkdir(parents=True)
        (made / kept).rename(folder / kept)
        (folder / "features.xml").write_text("<features/>")
        before = snapshot(folder)

        with pytest.raises(UsageError) as error:
            source.load()

        text = one_sentence(error)
        assert f"OpenML dataset {ID} is incomplete or damaged in {folder}" in text
        assert "set paths.openml" in text
        assert snapshot(folder) == before
        assert source.files() == ()

    def test_data_cut_to_nothing(self, tmp_path: Path, refused: str, monkeypatch: pytest.MonkeyPatch) -> None:
        source = OpenMLSource(ID, tmp_path / "cache")
        made = fill(tmp_path / "made", host=refused, data="arff")
        folder = module._locations(source.cache, "datasets", ID)[1]
        folder.parent.mkdir(parents=True)
        made.rename(folder)
        (folder / "dataset.arff").write_bytes(b"")

        with pytest.raises(UsageError, match="incomplete or damaged"):
            source.load()

    def test_the_client_is_not_asked_where_no_server_answers(
        self, tmp_path: Path, refused: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("openml.datasets.get_dataset", lambda *_, **__: pytest.fail("it would wait for long"))

        with pytest.raises(UsageError, match=r"cannot be reached; connect to the network"):
            OpenMLSource(ID, tmp_path / "cache").load()

    @pytest.mark.parametrize("page", ["<html/>", "<oml:data_set_description/>"])
    def test_a_cached_description_of_something_else(self, tmp_path: Path, refused: str, page: str) -> None:
        source = OpenMLSource(ID, tmp_path / "cache")
        made = fill(tmp_path / "made", host=refused, data="arff")
        folder = module._locations(source.cache, "datasets", ID)[1]
        folder.parent.mkdir(parents=True)
        made.rename(folder)
        (folder / "description.xml").write_text(page)

        with pytest.raises(UsageError, match=r"incomplete or damaged|description\.xml is not XML as OpenML writes it"):
            source.load()

    def test_stump(self, tmp_path: Path, refused: str, monkeypatch: pytest.MonkeyPatch) -> None:
        source = OpenMLSource(ID, tmp_path / "cache")
        made = fill(tmp_path / "made", host=refused)
        folder = module._locations(source.cache, "datasets", ID)[1]
        folder.parent.mkdir(parents=True)
        made.rename(folder)
        data = folder / f"dataset_{ID}.pq"
        data.write_bytes(data.read_bytes()[:-50])
        before = snapshot(folder)

        with pytest.raises(UsageError, match="incomplete or damaged"):
            source.load()

        assert snapshot(folder) == before

    def test_silent_server(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "TIMEOUT", 0.2)
        with socket.create_server(("127.0.0.1", 0)) as silent:
            host = f"http://127.0.0.1:{silent.getsockname()[1]}"
            monkeypatch.setattr(module, "SERVER", f"{host}/api/v1/xml")
            with pytest.raises(UsageError, match=r"did not answer within 0\.2 s") as error:
                OpenMLSource(ID, tmp_path / "cache").load()
        one_sentence(error)

    def test_silent_parquet_store(self, tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "TIMEOUT", 1.0)
        with socket.create_server(("127.0.0.1", 0)) as silent:
            server.offer(parquet_url=f"http://127.0.0.1:{silent.getsockname()[1]}/datasets/dataset_{ID}.pq")
            assert OpenMLSource(ID, tmp_path / "cache").load().n_rows == ROWS  # from the ARFF


class TestGlobalState:
    @pytest.mark.parametrize("succeeds", [True, False])
    def test_is_restored(
        self,
        tmp_path: Path,
        refused: str,
        monkeypatch: pytest.MonkeyPatch,
        capfd: pytest.CaptureFixture[str],
        succeeds: bool,
    ) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import openml
            import requests
            import urllib3
        monkeypatch.setattr(openml.config, "server", "https://example.invalid/api/v1/xml")
        monkeypatch.setattr(openml.config, "retry_policy", "robot")
        monkeypatch.setattr(openml.config, "show_progress", True)
        monkeypatch.setenv("OPENML_SKIP_PARQUET", "true")
        monkeypatch.setattr(logging.root, "handlers", [])
        if succeeds:
            monkeypatch.setattr(module, "SERVER", "https://www.openml.org/api/v1/xml")
            fill(tmp_path / "cache")

        def state() -> list[Any]:
            return [
                openml.config.get_config_as_dict(),
                dict(os.environ),
                list(logging.root.handlers),
                logging.root.level,
                list(logging.getLogger("openml").handlers),
                list(warnings.filters),
                requests.Session.request,
                urllib3.PoolManager.urlopen,
            ]

        before = state()
        with contextlib.nullcontext() if succeeds else pytest.raises(UsageError):
            OpenMLSource(ID, tmp_path / "cache").load()

        assert state() == before
        assert capfd.readouterr() == ("", "")

    def test_warnings_of_the_client_are_not_shown(
        self, tmp_path: Path, no_network: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import openml
        get_dataset = openml.datasets.get_dataset

        def noisy(*args: Any, **kwargs: Any) -> Any:
            warnings.warn("this will change", FutureWarning, stacklevel=2)
            return get_dataset(*args, **kwargs)

        fill(tmp_path / "cache")
        monkeypatch.setattr(openml.datasets, "get_dataset", noisy)
        assert OpenMLSource(ID, tmp_path / "cache").load().n_rows == ROWS

    def test_home_directory_is_left_alone(self, tmp_path: Path, home: Path) -> None:
        fill(tmp_path / "cache")
        program = (
            "from pathlib import Path; from scarf_lightning.data.sources.openml import OpenMLSource; "
            f"print(OpenMLSource({ID}, Path({str(tmp_path / 'cache')!r})).load().n_rows)"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert (done.stdout, done.stderr) == (f"{ROWS}\n", "")
        assert list(home.rglob("*")) == []


class TestFiles:
    def test_needs_no_client(self, tmp_path: Path) -> None:
        folder = fill(tmp_path / "cache")
        program = (
            "import sys; from pathlib import Path; from scarf_lightning.data.sources.openml import OpenMLSource; "
            f"print(*OpenMLSource({ID}, Path({str(tmp_path / 'cache')!r})).files()); "
            "print('openml' in sys.modules)"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert done.stdout.split() == [str(folder / "description.xml"), str(folder / f"dataset_{ID}.pq"), "False"]

    def test_arff_where_the_client_is_told_to_skip_parquet(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = fill(tmp_path / "cache")
        (folder / "dataset.arff").write_text(arff())
        source = OpenMLSource(ID, tmp_path / "cache")
        assert source.files()[1].suffix == ".pq"
        monkeypatch.setenv("OPENML_SKIP_PARQUET", "true")
        assert source.files()[1].suffix == ".arff"

    @pytest.mark.parametrize("variable", [None, "OPENML_CACHE_DIR", "XDG_CACHE_HOME"])
    def test_default_cache_is_the_clients(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str | None
    ) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import openml
        if variable:
            monkeypatch.setenv(variable, str(tmp_path / "set"))
        assert module._default_cache() == openml.config._resolve_default_cache_dir().expanduser()

    def test_default_cache_from_the_clients_settings(self, home: Path) -> None:
        settings = home / ".config" / "openml" / "config"
        settings.parent.mkdir(parents=True)
        settings.write_text("apikey = abc\ncachedir = ~/mine\n")
        assert module._default_cache() == home / "mine"

    def test_settings_without_a_cache_change_nothing(self, home: Path) -> None:
        before = module._default_cache()
        settings = home / ".config" / "openml" / "config"
        settings.parent.mkdir(parents=True)
        settings.write_text("apikey = abc\n")
        assert module._default_cache() == before


def test_a_fault_of_ours_is_not_hidden(tmp_path: Path, no_network: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import openml

    def faulty(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("a fault")

    fill(tmp_path / "cache")
    monkeypatch.setattr(openml.OpenMLDataset, "get_data", faulty)
    with pytest.raises(RuntimeError, match="a fault"):
        OpenMLSource(ID, tmp_path / "cache").load()
