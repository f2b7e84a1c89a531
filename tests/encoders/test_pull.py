"""The explicit download, against a hub on the loopback address that serves one small repository."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

COMMIT = "0123456789abcdef0123456789abcdef01234567"
WITHOUT_EXPORT = {
    "config.json": b'{"model_type": "bert"}',
    "model.safetensors": b"weights",
    "pytorch_model.bin": b"a pickle",
    "1_Pooling/config.json": b'{"pooling_mode_cls_token": true}',
    "modeling.py": b"raise SystemExit('code of a model must not run')",
    "openvino/model.xml": b"for another runtime",
}
EXPORTED = WITHOUT_EXPORT | {
    "tokenizer.json": b"{}",
    "onnx/model.onnx": b"an export",
    "onnx/model.onnx_data": b"its weights",
    "onnx/model_quantized.onnx": b"another export",
}
FILES = {"small": WITHOUT_EXPORT, "exported": EXPORTED}


class _Hub(BaseHTTPRequestHandler):
    """The part of the hub's interface that a snapshot download uses."""

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        model = next((name for name in FILES if f"/org/{name}" in path), "small")
        files, about = FILES[model], f"/api/models/org/{model}"
        if path in (about, f"{about}/revision/main", f"{about}/revision/{COMMIT}"):
            facts = {"id": f"org/{model}", "sha": COMMIT, "siblings": [{"rfilename": name} for name in files]}
            self._answer(200, json.dumps(facts).encode())
        elif path.startswith(f"{about}/tree/"):
            tree = [
                {"type": "file", "path": name, "size": len(data), "oid": _etag(data)}
                for name, data in files.items()
            ]
            self._answer(200, json.dumps(tree).encode())
        elif path.startswith(f"{about}/revision/"):
            self._answer(404, b"{}", {"X-Error-Code": "RevisionNotFound"})
        elif (name := path.removeprefix(f"/org/{model}/resolve/{COMMIT}/")) in files:
            self._answer(200, files[name], {"ETag": f'"{_etag(files[name])}"', "X-Repo-Commit": COMMIT})
        else:
            self._answer(404, b"{}", {"X-Error-Code": "RepoNotFound"})

    do_HEAD = do_GET

    def _answer(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Keep the test's output clean."""


def _etag(data: bytes) -> str:
    return hashlib.sha1(data).hexdigest()


@pytest.fixture
def hub() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def _pull(arguments: str, home: Path, endpoint: str, **environment: str) -> str:
    """The result of `pull(...)` in a process of its own: its folder and commit, or its error message."""
    code = f"""
from scrubjay.encoders.hub import pull
from scrubjay.errors import EncoderError
try:
    folder = pull({arguments})
    print(folder.name, sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()))
except EncoderError as error:
    print(error)
"""
    inherited = {
        name: value for name, value in os.environ.items() if not name.lower().endswith(("_proxy", "_offline"))
    }
    env = {
        **inherited,
        "HF_HOME": str(home),
        "HF_ENDPOINT": endpoint,
        "HF_HUB_DISABLE_XET": "1",
        **environment,
    }
    env.setdefault("HF_HUB_OFFLINE", "0")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.long
def test_a_pull_fetches_what_is_needed_and_pins_the_commit(tmp_path: Path, hub: str) -> None:
    expected = f"{COMMIT} ['1_Pooling/config.json', 'config.json', 'model.safetensors']"
    assert _pull("'org/small'", tmp_path, hub) == expected
    assert _pull(f"'org/small', {COMMIT!r}", tmp_path, hub) == expected


def test_a_pull_fetches_an_export_to_onnx_instead_of_the_weights_for_torch(tmp_path: Path, hub: str) -> None:
    assert _pull("'org/exported'", tmp_path, hub) == (
        f"{COMMIT} ['1_Pooling/config.json', 'config.json', 'onnx/model.onnx', 'onnx/model.onnx_data', "
        "'tokenizer.json']"
    )


@pytest.mark.long
def test_a_pulled_model_is_found_without_a_connection(tmp_path: Path, hub: str) -> None:
    _pull("'org/small'", tmp_path, hub)
    code = """
from scrubjay.encoders.opening import find
for name in ("org/small", "org/small@main", "org/small@" + "0123456789abcdef0123456789abcdef01234567"):
    folder = find(name)
    print(folder.reference, folder.path.name)
"""
    env = {**os.environ, "HF_HOME": str(tmp_path), "HF_ENDPOINT": "http://127.0.0.1:9"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=env)
    assert done.stdout.splitlines() == [f"org/small@{COMMIT} {COMMIT}"] * 3, done.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("'org/none'", "The model org/none is not on the hub, or is private."),
        ("'org/small', 'v9'", "The model org/small@v9 has no such revision."),
        ("'not an id'", "The model not an id could not be downloaded: "),
    ],
)
def test_a_missing_hub_model_is_reported(tmp_path: Path, hub: str, arguments: str, sentence: str) -> None:
    assert _pull(arguments, tmp_path, hub).startswith(sentence)


@pytest.mark.long
def test_an_unreachable_hub_and_an_offline_process_are_reported(tmp_path: Path) -> None:
    nowhere = "http://127.0.0.1:9"
    assert "Check the network" in _pull("'org/small'", tmp_path, nowhere)
    assert "HF_HUB_OFFLINE forbids connections" in _pull("'org/small'", tmp_path, nowhere, HF_HUB_OFFLINE="1")
