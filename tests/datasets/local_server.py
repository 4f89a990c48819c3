"""A real HTTP server on this machine that misbehaves on request, and can pass for OpenML."""

from __future__ import annotations

import hashlib
import io
import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pandas as pd

from understudy.datasets.download import Patience
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


def serve_unannounced(body: bytes) -> Behaviour:
    """No length at all, as HTTP/1.0 allows: only a checksum can tell that the end is missing."""

    def behave(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.end_headers()
        request.wfile.write(body)
        request.close_connection = True

    return behave


def serve_slowly(body: bytes, *, silence: float = 0.0, trickle: float = 0.0) -> Behaviour:
    """Say nothing for `silence` seconds, then send the body, a byte every `trickle` seconds if that is not zero."""

    def behave(request: BaseHTTPRequestHandler) -> None:
        time.sleep(silence)
        request.send_response(200)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        if not trickle:
            request.wfile.write(body)
            return
        for byte in body:
            request.wfile.write(bytes([byte]))
            request.wfile.flush()
            time.sleep(trickle)

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

    def offer(
        self,
        entry: DatasetInfo,
        *,
        parquet: bytes | None = None,
        arff: bytes | None = None,
        target: str = "class",
        **changes: Any,
    ) -> None:
        """Describe `entry` as OpenML does, with links to OpenML itself, and serve the files given."""
        assert entry.openml is not None
        number = entry.openml.id
        description: dict[str, Any] = {
            "id": str(number),
            "name": entry.openml.name,
            "format": "ARFF",
            "default_target_attribute": target,
            "url": f"https://api.openml.org/data/v1/download/{number}/file.arff",
        }
        if parquet is not None:
            description["parquet_url"] = f"https://data.openml.org/datasets/{number}/dataset_{number}.pq"
            self.on(f"/datasets/{number}/dataset_{number}.pq", serve(parquet))
        if arff is not None:
            description["md5_checksum"] = hashlib.md5(arff).hexdigest()
            self.on(f"/data/v1/download/{number}/file.arff", serve(arff))
        answer = {"data_set_description": description | changes}
        self.on(f"/api/v1/json/data/{number}", serve(json.dumps(answer).encode()))

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


def parquet(frame: Any) -> bytes:
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    return buffer.getvalue()


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


def in_form(form: str, frame: Any) -> dict[str, Any]:
    return {form: parquet(frame) if form == "parquet" else arff(frame)}


class Pauses(list[float]):
    """The pauses that a download would have made."""

    def patience(self, attempts: int = 4, timeout: float = 5.0) -> Patience:
        return Patience(attempts=attempts, pause=1.0, timeout=timeout, sleep=self.append)
