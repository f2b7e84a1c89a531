"""Reads a table's newest manifest: the files it uses, with the fragment or index of each.

LanceDB has no call for this. A manifest ends with the position of its message, a protobuf message of Lance's
file format (`table.proto`, format 2): field 2 is a fragment, field 6 the position of the section on indexes.
Other parts, such as the transaction that made it, name files that are no longer used.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from scrubjay.home.files import open_regular

_FRAGMENT, _INDEX_SECTION, _NUMBER = 2, 6, 1  # fields
_DATA_FILE, _DELETION_FILE = 2, 3  # fields of a fragment
_MAGIC = b"LANC"


@dataclass(frozen=True)
class Manifest:
    """One version of a table: its fragments and indexes from the manifest, empty if that is torn."""

    path: str
    fragments: dict[int, bytes]  # by their number
    indexes: bytes
    files: tuple[str, ...] = ()  # of the fragments, relative to the table's folder

    def fragment_of(self, file: str) -> int | None:
        """Return the number of the fragment that uses a file below the table's folder, or None."""
        part, _, name = file.partition("/")
        if part == "data":
            sign = name.encode()
        elif part == "_deletions":  # fragment number, version read, random number
            sign = _varint(int(name.partition(".")[0].rpartition("-")[2]))
        else:
            return None
        return next((number for number, message in self.fragments.items() if sign in message), None)

    def index_of(self, file: str) -> str | None:
        """Return the id of the index that uses a file below the table's folder, or None."""
        part, _, rest = file.partition("/")
        index = rest.partition("/")[0]
        return index if part == "_indices" and UUID(index).bytes in self.indexes else None


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


def read_manifest(path: str) -> Manifest:
    """Read a manifest; a torn one, or one in another format, uses no files."""
    with open_regular(path, own=False) as file:
        data = file.read()
    fragments: dict[int, bytes] = {}
    indexes, files = b"", tuple[str, ...]()
    if data.endswith(_MAGIC):
        try:
            (place,) = struct.unpack("<q", data[-16:-8])
            for number, value in _fields(_message(data, place)):
                if number == _FRAGMENT and isinstance(value, bytes):
                    fragments[_number(value)] = value
                elif number == _INDEX_SECTION and isinstance(value, int):
                    indexes = _message(data, value)
            files = tuple(file for fragment in fragments.values() for file in _files(fragment))
        except (struct.error, IndexError, ValueError):
            return Manifest(path, {}, b"")
    return Manifest(path, fragments, indexes, files)


def _files(fragment: bytes) -> Iterator[str]:
    """Yield the files of a fragment: its columns, and its list of deleted rows."""
    for field, value in _fields(fragment):
        if not isinstance(value, bytes):
            continue
        parts = dict(_fields(value)) if field in (_DATA_FILE, _DELETION_FILE) else {}
        if field == _DATA_FILE and isinstance(path := parts.get(1), bytes):
            yield f"data/{path.decode()}"
        elif field == _DELETION_FILE:
            ending = "bin" if parts.get(1) else "arrow"
            yield f"_deletions/{_number(fragment)}-{parts.get(2, 0)!s}-{parts.get(3, 0)!s}.{ending}"


def _number(fragment: bytes) -> int:
    """Return a fragment's number, which protobuf omits if it is 0."""
    numbers = (value for field, value in _fields(fragment) if field == _NUMBER)
    return next((value for value in numbers if isinstance(value, int)), 0)


def _message(data: bytes, place: int) -> bytes:
    (size,) = struct.unpack("<I", data[place : place + 4])
    return data[place + 4 : place + 4 + size]


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield (number, value) for each field of a protobuf message."""
    at = 0
    while at < len(message):
        tag, at = _read_varint(message, at)
        kind = tag & 7
        if kind == 0:
            value, at = _read_varint(message, at)
            yield tag >> 3, value
            continue
        size, at = {1: (8, at), 5: (4, at)}.get(kind) or _read_varint(message, at)
        if kind not in (1, 2, 5):
            raise ValueError(f"a field of kind {kind}")
        yield tag >> 3, message[at : at + size]
        at += size


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
