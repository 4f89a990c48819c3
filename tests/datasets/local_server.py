"""A real HTTP server on this machine that misbehaves on request, and can pass for OpenML."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pandas as pd

from understudy.datasets.registry import DatasetInfo

Behaviour = Callable[[BaseHTTPRequestHandler], None]


def serve(body: bytes, **headers: str) -> Behaviour:
    def behave(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(body)

    return behave


def serve_status(code: int, **headers: str) -> Behaviour:
    def behave(request: BaseHTTPRequestHandler) -> None:
        request.send_response(code)
        for name, value in {"Content-Length": "0", **headers}.items():
            request.send_header(name.replace("_", "-"), value)
        request.end_headers()

    return behave


def serve_truncated(body: bytes, keep: int) -> Behaviour:
    """Announce the whole body, send part of it, hang up."""

    def behave(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body[:keep])
        request.close_connection = True

    return behave


def serve_silence(until: threading.Event) -> Behaviour:
    """Say nothing until told to; then hang up."""

    def behave(request: BaseHTTPRequestHandler) -> None:
        until.wait()
        request.close_connection = True

    return behave


def serve_endlessly(begin: bytes) -> Behaviour:
    """Announce a large file, send its beginning, and never the rest."""

    def behave(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Length", str(1 << 30))
        request.end_headers()
        request.wfile.write(begin)
        request.wfile.flush()
        request.rfile.read()  # until the other side hangs up

    return behave


class Server:
    """Answers each path with its behaviours in turn, the last one again and again."""

    def __init__(self) -> None:
        self.routes: dict[str, list[Behaviour]] = {}
        self.asked: list[str] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.asked.append(self.path)
                behaviours = server.routes.get(self.path, [serve_status(404)])
                behave = behaviours.pop(0) if len(behaviours) > 1 else behaviours[0]
                try:
                    behave(self)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def on(self, path: str, *behaviours: Behaviour) -> str:
        self.routes[path] = list(behaviours)
        return self.url + path

    def offer(self, entry: DatasetInfo, frame: Any, *, target: str = "class", **changes: Any) -> str:
        """Describe `entry` as OpenML does, with links to OpenML itself, and serve `frame`; the file's path."""
        assert entry.openml is not None
        number, body = entry.openml.id, arff(frame)
        description: dict[str, Any] = {
            "id": str(number),
            "name": entry.openml.name,
            "version": "1",
            "status": "active",
            "description": "A table.",
            "format": "ARFF",
            "url": f"https://api.openml.org/data/v1/download/{number}/file.arff",
            "md5_checksum": hashlib.md5(body).hexdigest(),
        }
        features = [
            {
                "index": str(index),
                "name": name,
                "data_type": "numeric" if pd.api.types.is_numeric_dtype(frame[name]) else "nominal",
                "is_target": str(name == target).lower(),
                "is_ignore": "false",
                "is_row_identifier": "false",
                "number_of_missing_values": "0",
            }
            for index, name in enumerate(frame)
        ]
        qualities = [{"name": "NumberOfInstances", "value": str(len(frame))}]
        for path, answer in {
            f"{number}": {"data_set_description": description | changes},
            f"features/{number}": {"data_features": {"feature": features}},
            f"qualities/{number}": {"data_qualities": {"quality": qualities}},
        }.items():
            self.on(f"/api/v1/json/data/{path}", serve(json.dumps(answer).encode()))
        self.on(f"/data/v1/download/{number}/file.arff", serve(body))
        return f"/data/v1/download/{number}/file.arff"

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


def arff(frame: Any) -> bytes:
    """As OpenML writes it: text is nominal, quoted where it has spaces, and missing values are question marks."""

    def cell(value: Any) -> str:
        if value is None or value != value:
            return "?"
        return f"'{value}'" if isinstance(value, str) and " " in value else str(value)

    def kind(values: Any) -> str:
        if pd.api.types.is_numeric_dtype(values):
            return "NUMERIC"
        return "{" + ",".join(cell(value) for value in values.dropna().unique()) + "}"

    header = [f"@ATTRIBUTE {name} {kind(frame[name])}" for name in frame]
    body = [",".join(cell(value) for value in row) for row in frame.itertuples(index=False)]
    return "\n".join(["@RELATION data", *header, "@DATA", *body, ""]).encode()
