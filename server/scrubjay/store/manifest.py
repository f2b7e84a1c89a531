"""Reads a table's newest manifest, which names the files that the table uses; LanceDB has no call for this.

A manifest ends with the position of its message, a protobuf message of Lance's file format (`table.proto`,
format 2). Field 6 of the message is the position of the section on indexes. Other parts name unused files.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from scrubjay.home.files import open_regular

_INDEX_SECTION = 6
_MAGIC = b"LANC"


@dataclass(frozen=True)
class Manifest:
    """One version of a table. A torn manifest, or one in another format, uses no file but its own."""

    name: str
    message: bytes = b""
    indexes: bytes = b""

    def uses(self, file: str) -> bool:
        """Return True if the table uses a file; `file` is relative to the table's folder."""
        part, _, name = file.partition("/")
        try:
            if part == "data":
                return name.encode() in self.message
            if part == "_deletions":  # fragment number, version read, random number
                return _varint(int(name.partition(".")[0].rpartition("-")[2])) in self.message
            if part == "_indices":
                return UUID(name.partition("/")[0]).bytes in self.indexes
        except ValueError:  # not a file of LanceDB's
            return False
        return part == "_versions" and name == self.name


def newest_manifest(folder: str) -> str | None:
    """Return the path of the newest manifest in a table's folder, or None if it has none."""
    try:
        names = os.listdir(os.path.join(folder, "_versions"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    # Names count down from 2^64, so the smallest is the newest version.
    newest = min((name for name in names if name.endswith(".manifest")), default=None)
    return newest and os.path.join(folder, "_versions", newest)


def is_whole(path: str) -> bool:
    """Return True if the manifest is complete, judging by its last bytes."""
    with open_regular(path, own=False) as file:
        return file.read().endswith(_MAGIC)


def read_manifest(path: str) -> Manifest:
    """Read a manifest. Raises OSError if the disk refuses."""
    with open_regular(path, own=False) as file:
        data = file.read()
    name = os.path.basename(path)
    if not data.endswith(_MAGIC):
        return Manifest(name)
    try:
        message = _section(data, *struct.unpack("<q", data[-16:-8]))
        positions = [value for field, value in _fields(message) if field == _INDEX_SECTION]
        return Manifest(name, message, _section(data, positions[0]) if positions else b"")
    except (struct.error, IndexError, ValueError):
        return Manifest(name)


def _section(data: bytes, position: int) -> bytes:
    (size,) = struct.unpack_from("<I", data, position)
    return data[position + 4 : position + 4 + size]


def _fields(message: bytes) -> Iterator[tuple[int, int]]:
    """Yield (number, value) for each field of a protobuf message; for a field of bytes, yield their size."""
    position = 0
    while position < len(message):
        tag, position = _read_varint(message, position)
        kind = tag & 7
        if kind not in (0, 1, 2, 5):
            raise ValueError(f"a field of kind {kind}")
        value, position = (
            (0, position + {1: 8, 5: 4}[kind]) if kind in (1, 5) else _read_varint(message, position)
        )
        yield tag >> 3, value
        position += value if kind == 2 else 0


def _read_varint(message: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[position]
        value, shift, position = value | (byte & 127) << shift, shift + 7, position + 1
        if not byte & 128:
            return value, position


def _varint(value: int) -> bytes:
    encoded = b""
    while value > 127:
        encoded, value = encoded + bytes([value & 127 | 128]), value >> 7
    return encoded + bytes([value])
