"""Reads a table's newest manifest, which names the files that the table uses.

LanceDB has no call for this. A manifest ends with the position of its message, a protobuf message of Lance's
file format (`table.proto`, format 2), whose field 6 is the position of the section on indexes. Other parts,
such as the transaction that made it, name files that are no longer used.
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
    """One version of a table; a torn manifest, or one in another format, uses only its own file."""

    name: str
    message: bytes = b""
    indexes: bytes = b""

    def uses(self, file: str) -> bool:
        """Return True if the table uses a file, given relative to its folder."""
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
    """Return the path of the newest manifest in a table's folder, or None."""
    try:
        names = os.listdir(os.path.join(folder, "_versions"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    manifests = [name for name in names if name.endswith(".manifest")]
    if not manifests:
        return None
    # V2 names count down from 2^64, so that the smallest name is the newest version.
    is_v2 = all(len(name) > 20 for name in manifests)
    newest = min(manifests) if is_v2 else max(manifests, key=lambda name: int(name.split(".")[0]))
    return os.path.join(folder, "_versions", newest)


def is_whole(path: str) -> bool:
    """Return False if a manifest ends before its last bytes."""
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
        places = [value for field, value in _fields(message) if field == _INDEX_SECTION]
        return Manifest(name, message, _section(data, places[0]) if places else b"")
    except (struct.error, IndexError, ValueError):
        return Manifest(name)


def _section(data: bytes, place: int) -> bytes:
    (size,) = struct.unpack_from("<I", data, place)
    return data[place + 4 : place + 4 + size]


def _fields(message: bytes) -> Iterator[tuple[int, int]]:
    """Yield (number, value) for each field of a protobuf message; the value of bytes is their size."""
    at = 0
    while at < len(message):
        tag, at = _read_varint(message, at)
        kind = tag & 7
        if kind not in (0, 1, 2, 5):
            raise ValueError(f"a field of kind {kind}")
        value, at = (0, at + {1: 8, 5: 4}[kind]) if kind in (1, 5) else _read_varint(message, at)
        yield tag >> 3, value
        at += value if kind == 2 else 0


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if not byte & 128:
            return value, at


def _varint(value: int) -> bytes:
    encoded = b""
    while value > 127:
        encoded, value = encoded + bytes([value & 127 | 128]), value >> 7
    return encoded + bytes([value])
