"""W&B's server on the loopback, as far as a run asks it: it takes what wandb-core sends and keeps it.

Like W&B's own, it has one run of each id, resumes it where it stands, and takes lines of a file by their place in it.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Condition, Thread
from typing import Any

from tests.loggers.wandb_files import Row, Run

USER = {"id": "user", "entity": "someone", "username": "someone", "email": "", "flags": "{}", "teams": {"edges": []}}
PATIENCE = 60.0
"""Seconds in which what a test waits for has long come."""


class WandbServer(ThreadingHTTPServer):
    """What it was sent, and how it fails.

    Attributes:
        runs: by their ids; of their history the rows as they came.
        jobs: what each of them is of.
        opened: the ids of the runs that were asked for, in order.
        views: workspaces as they were saved, by their ids.
        files: what was uploaded, by ``<run>/<path>`` and ``artifact/<path>``.
        unknown: operations it has no answer to.
        refuses: the status of every answer whose path has the text in it: ``(500, "file_stream")``.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server_port}"
        self.runs: dict[str, Run] = {}
        self.jobs: dict[str, str] = {}
        self.opened: list[str] = []
        self.views: dict[str, Row] = {}
        self.files: dict[str, bytes] = {}
        self.unknown: list[str] = []
        self.refuses: tuple[int, str] | None = None
        self.changed = Condition()

    def wait_for(self, happened: Callable[[], bool]) -> None:
        """Wait until something has come."""
        with self.changed:
            assert self.changed.wait_for(happened, PATIENCE)

    def answer_of(self, operation: str, asked: Row) -> Row | None:
        """What a GraphQL operation is answered; None of an unknown one."""
        answers: dict[str, Callable[[Row], Row]] = {
            "Viewer": lambda _: {"viewer": USER},
            "GetDefaultEntity": lambda _: {"viewer": USER},
            "ServerFeaturesQuery": lambda _: {"serverInfo": {"features": []}},
            "UpsertView2": self._upsert_view,
            "View": self._view,
            "RunResumeStatus": self._resume,
            "UpsertBucket": self._upsert,
            "CreateRunFiles": self._run_files,
            "ArtifactType": lambda _: {"project": {"artifact": None}},
            "CreateArtifact": lambda _: {
                "createArtifact": {"artifact": {"id": "artifact", "state": "PENDING", "artifactSequence": {}}}
            },
            "CreateArtifactManifest": lambda _: {
                "createArtifactManifest": {"artifactManifest": {"id": "manifest", "file": self._place("manifest")}}
            },
            "CreateArtifactFiles": self._artifact_files,
            "CommitArtifact": lambda _: {"commitArtifact": {"artifact": {"id": "artifact", "digest": ""}}},
        }
        return answers[operation](asked) if operation in answers else None

    def take_lines(self, run: Run, sent: Row) -> None:
        """A part of a run's stream."""
        for name, part in sent.get("files", {}).items():
            lines = [json.loads(line) for line in part["content"]]
            if name == "wandb-history.jsonl":
                run.history[part["offset"] :] = lines
            elif name == "wandb-summary.json":
                run.summary = lines[-1]
        if sent.get("complete"):
            run.exit_code = sent["exitcode"]

    def _resume(self, asked: Row) -> Row:
        self.opened.append(asked["name"])
        run = self.runs.get(asked["name"])
        stands = None if run is None else self._bucket(run) | _described(run)
        return {"model": _project(asked) | {"bucket": stands}}

    def _upsert(self, asked: Row) -> Row:
        is_first = asked["name"] not in self.runs
        run = self.runs.setdefault(asked["name"], Run(id=asked["name"]))
        run.name, run.group = asked["displayName"] or run.name, asked["groupName"] or run.group
        run.tags, run.notes = asked["tags"] or run.tags, asked["notes"] or run.notes
        self.jobs[run.id] = asked["jobType"] or self.jobs[run.id]
        run.config = {name: of["value"] for name, of in json.loads(asked["config"]).items()} if asked["config"] else {}
        return {"upsertBucket": {"bucket": self._bucket(run) | {"project": _project(asked)}, "inserted": is_first}}

    def _upsert_view(self, asked: Row) -> Row:
        id = asked.get("id") or f"view {len(self.views)}"
        self.views[id] = asked
        return {"upsertView": {"view": {"id": id, "name": asked["name"]}, "inserted": "id" not in asked}}

    def _view(self, asked: Row) -> Row:
        nodes = []
        for id, view in self.views.items():
            if asked["viewName"] in view["name"]:
                nodes.append({"node": {"id": id, **view}})
        return {"project": {"allViews": {"edges": nodes}}}

    def _bucket(self, run: Run) -> Row:
        config = json.dumps({name: {"value": value} for name, value in run.config.items()})
        return {"id": run.id, "name": run.id, "displayName": run.name, "config": config} | {
            "historyLineCount": len(run.history)
        }

    def _run_files(self, asked: Row) -> Row:
        files = [{"name": name, **self._place(f"{asked['run']}/{name}")} for name in asked["files"]]
        return {"createRunFiles": {"runID": asked["run"], "uploadHeaders": [], "files": files}}

    def _artifact_files(self, asked: Row) -> Row:
        names = [file["name"] for file in asked["input"]["artifactFiles"]]
        nodes = [
            {"storagePath": name, "artifact": {"id": "artifact"}} | self._place(f"artifact/{name}") for name in names
        ]
        return {"createArtifactFiles": {"files": {"edges": [{"node": node} for node in nodes]}}}

    def _place(self, path: str) -> Row:
        """Where a file is to be put."""
        return {"id": path, "uploadUrl": f"{self.address}/storage/{path}", "uploadHeaders": []}


class Handler(BaseHTTPRequestHandler):
    """Requests, each in a thread of its own."""

    server: WandbServer

    def do_POST(self) -> None:
        sent, server = self.rfile.read(int(self.headers["Content-Length"])), self.server
        if server.refuses is not None and server.refuses[1] in self.path:
            self._answer({"errors": [{"message": "the loopback refuses"}]}, server.refuses[0])
            return
        with server.changed:
            answer = self._answer_to(sent)
            server.changed.notify_all()
        self._answer(answer)

    do_PUT = do_POST  # noqa: N815 - called by this name

    def log_message(self, *_: object) -> None: ...

    def _answer_to(self, sent: bytes) -> Row:
        server = self.server
        if stored := re.fullmatch("/storage/(.*)", self.path):
            server.files[stored[1]] = sent
            return {}
        request: Row = json.loads(sent)
        if stream := re.fullmatch(r"/files/[^/]+/[^/]+/([^/]+)/file_stream", self.path):
            server.take_lines(server.runs[stream[1]], request)
            return {}
        found = re.search(r"(?:query|mutation)\s+(\w+)", request["query"])
        operation = found[1] if found else request["query"]
        data = server.answer_of(operation, request.get("variables") or {})
        if data is None:
            server.unknown.append(operation)
            return {"errors": [{"message": f"{operation} is unknown"}]}
        return {"data": data}

    def _answer(self, content: Row, status: int = 200) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def wandb_server() -> Iterator[WandbServer]:
    """A server while the block runs."""
    with WandbServer() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def _described(run: Run) -> Row:
    """What a resumed run is told of itself."""
    return {
        "summaryMetrics": json.dumps(run.summary),
        "historyTail": json.dumps([json.dumps(row) for row in run.history[-1:]]),
        "eventsTail": "[]",
        "logLineCount": 0,
        "eventsLineCount": 0,
        "tags": run.tags,
        "notes": run.notes,
        "wandbConfig": json.dumps({"t": 1}),
    }


def _project(asked: Row) -> Row:
    entity: dict[str, Any] = {"id": "entity", "name": asked["entity"] or USER["entity"]}
    return {"id": "project", "name": asked["project"], "entity": entity}
