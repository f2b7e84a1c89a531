"""Reads the files of other programs, which may be running, without changing, locking or adding any."""

from __future__ import annotations

import io
import json
import os
import shutil
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from scrubjay.home.files import BEGINNING, LONGEST_LINE, last_lines, open_regular, read_regular
from scrubjay.transcripts.json_lines import mapping

MAX_FILE = 2**31  # bytes; the largest file that is read whole
MAX_BODY = 2**28  # bytes of a decompressed text
_EVERYTHING = 2**62
_STEP = 2**20  # bytes that are decompressed at once
_TRIES = 3  # attempts to copy a database while its program writes


class Disk:
    """The files of other programs. Use it as a context manager, which removes its copies at the end.

    A database whose journal is not empty is copied into `scratch` with the journal and read there, because
    reading it in place would need the locks of the program that has it open.
    """

    def __init__(self, scratch: str) -> None:
        self._scratch = scratch
        self._open: dict[str, sqlite3.Connection] = {}
        self._copies: list[str] = []

    def __enter__(self) -> Disk:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for connection in self._open.values():
            connection.close()
        for copy in self._copies:
            for suffix in ("", "-wal", "-shm", "-journal"):
                with suppress(FileNotFoundError):
                    os.unlink(copy + suffix)

    def lines(self, path: str) -> Iterator[bytes]:
        """Yield the lines of a file, cut to their beginning if over 8 MiB. .zst files are decompressed."""
        if not path.endswith(".zst"):
            yield from last_lines(path, _EVERYTHING)
            return
        with open_regular(path) as file:
            for line in b"".join(islice(_inflated(file), MAX_FILE // _STEP)).split(b"\n"):
                yield line if len(line) <= LONGEST_LINE else line[:BEGINNING]

    def json(self, path: str) -> Any:
        """Return the JSON in a file. Raises ValueError if it is not JSON, OSError if it cannot be read."""
        return parsed(read_regular(path, MAX_FILE))

    def object(self, path: str) -> dict[str, Any]:
        """Return the JSON object in a file, or {} if the file has other contents or cannot be read."""
        try:
            return mapping(self.json(path))
        except (OSError, ValueError):
            return {}

    def inflate(self, body: bytes) -> bytes:
        """Decompress a text with zstd, up to its damage or to 256 MiB."""
        return b"".join(islice(_inflated(io.BytesIO(body)), MAX_BODY // _STEP))

    def database(self, path: str) -> sqlite3.Connection:
        """Open a SQLite database for reading. Raises OSError or sqlite3.Error if that is impossible."""
        if path not in self._open:
            open_regular(path).close()
            if any(_size(path + suffix) for suffix in ("-wal", "-journal")):
                uri = f"{Path(self._copy(path)).as_uri()}?mode=rw"
            else:
                uri = f"{Path(path).absolute().as_uri()}?mode=ro&immutable=1"
            connection = sqlite3.connect(uri, uri=True)
            connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            connection.row_factory = sqlite3.Row
            self._open[path] = connection
        return self._open[path]

    def _copy(self, path: str) -> str:
        """Copy a database and its journals in a consistent state; return the path of the copy."""
        copy = os.path.join(self._scratch, f"history-{uuid.uuid4().hex}")
        self._copies.append(copy)
        for _ in range(_TRIES):
            version = _version_of(path)
            for suffix in ("", "-journal", "-wal"):
                if _size(path + suffix):
                    _copy_file(path + suffix, copy + suffix)
            if _version_of(path) == version:
                return copy
        raise OSError(f"{path} keeps changing; close the program that writes it, and repeat this")


def columns(database: sqlite3.Connection, table: str) -> set[str]:
    """Return the names of a table's columns; an empty set if the table does not exist."""
    return {row["name"] for row in database.execute("SELECT name FROM pragma_table_info(?)", (table,))}


def parsed(raw: str | bytes | None) -> Any:
    """Parse JSON that may contain bytes that are not UTF-8. Raises ValueError if it is not JSON."""
    try:
        text = raw.decode(json.detect_encoding(raw), "replace") if isinstance(raw, bytes) else raw
        return json.loads(text or "")
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def embedded(value: Any) -> dict[str, Any]:
    """Return the JSON object in a text, such as a value of a database; {} for anything else."""
    try:
        return mapping(parsed(value))
    except (ValueError, TypeError):
        return {}


def files_below(place: str, fits: Callable[[str], bool], deep: int = 20) -> Iterator[tuple[str, float]]:
    """Yield each file whose path fits, with its last change in seconds since 1970.

    The search covers `place` itself and at most `deep` folders below it.
    """
    if os.path.isfile(place):
        if fits(place):
            yield place, os.stat(place).st_mtime
        return
    deepest = place.rstrip(os.sep).count(os.sep) + deep
    for folder, folders, names in os.walk(place):
        folders[:] = sorted(folders) if folder.count(os.sep) < deepest else []
        for name in sorted(names):
            path = os.path.join(folder, name)
            if fits(path):
                with suppress(OSError):
                    yield path, os.stat(path).st_mtime


def _inflated(file: BinaryIO) -> Iterator[bytes]:
    """Yield what zstd compressed, in pieces; the last frame of a file may be unfinished."""
    import pyarrow as pa  # only for its codec

    with suppress(OSError), pa.CompressedInputStream(file, "zstd") as stream:
        while piece := stream.read(_STEP):
            yield bytes(piece)


def _size(path: str) -> int:
    with suppress(OSError):
        return os.stat(path).st_size
    return 0


def _version_of(path: str) -> tuple[int, int]:
    stat = os.stat(path)
    return stat.st_mtime_ns, stat.st_size


def _copy_file(source: str, target: str) -> None:
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "wb") as copy, open_regular(source) as file:
        shutil.copyfileobj(file, copy, 1 << 20)
