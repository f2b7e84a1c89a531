"""Stores of other programs, small and synthetic: of assistants, one per host and version, each with a session of two
turns (`histories_made.toml`), and of other memory products (`memory_stores.toml`).
"""

from __future__ import annotations

import json
import sqlite3
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa

ASKED = ("Why is the pool exhausted?", "Which port does staging use?")
ANSWERED = ("The poller leaks rows; close them in poll().", "Staging listens on port 5433.")
AT = ("2026-03-01T09:00:00+00:00", "2026-03-01T09:05:00+00:00")
MS = (1772355600000, 1772355900000)  # the same times
SESSION = "0199a1b2-0000-4000-8000-000000000001"
FOLDER = "/w/api"

_HERE = Path(__file__).parent
HISTORIES, MEMORIES = (
    tomllib.loads((_HERE / name).read_text("utf-8")) for name in ("histories_made.toml", "memory_stores.toml")
)


def make(name: str, folder: Path, transcript: str = "/gone/.claude/projects/-w-api/s1.jsonl") -> Path:
    """Write the files of a store below a folder; return the last of them. A palace names the `transcript`."""
    for place, text in (HISTORIES | MEMORIES)[name]["files"].items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        text = text.replace("{folder}", str(folder)).replace("{transcript}", transcript)
        if path.suffix in (".db", ".vscdb", ".sqlite3"):
            database(path, text)
        elif path.suffix == ".zst":
            path.write_bytes(_compressed(text))
        elif path.suffix == ".zip":
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("users.json", "[]")
                archive.writestr("conversations.json", text)
        else:
            path.write_text(text, encoding="utf-8")
    return path


def lines(path: Path, *entries: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    return path


def document(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def database(path: Path, script: str) -> Path:
    """A database of SQLite, by a script that may call `zstd` with a text."""
    connection = sqlite3.connect(path)
    connection.create_function("zstd", 1, _compressed)
    connection.executescript(f"PRAGMA synchronous = OFF; BEGIN; {script} COMMIT;")
    connection.close()
    return path


def _compressed(text: str) -> bytes:
    packed = pa.BufferOutputStream()
    with pa.CompressedOutputStream(packed, "zstd") as stream:
        stream.write(text.encode())
    return packed.getvalue().to_pybytes()
