"""Records as lines of text and back: the format of `scrubjay export`. Knows JSON lines; does not know the store or any file by name.

    {"format": "scrubjay-export", "version": 1, "scrubjay": "0.1.0", "exported_at": "...", "counts": {"turns": 2, ...}}
    {"kind": "turn", "id": "turn_...", "scope": "...", "session_id": "...", "turn": 0, "user": "...", ...}
    {"kind": "memory", "id": "mem_...", "content": "...", "version": 2, "parent_ids": ["mem_..."], ...}
    {"kind": "document", "id": "doc_...", "title": "...", "content": "...", ...}

UTF-8, one object a line. A field without a value is left out, instants are ISO 8601 with their zone. Turns come first, then memories, then
documents, each in the order in which they were made. The counts tell a whole file from one that was cut off between two lines.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

from scrubjay.errors import InputError
from scrubjay.models.exchange import FORMAT, FORMAT_VERSION, Header, header_of, record_of, values_of
from scrubjay.models.records import AnyRecord

LONGEST_LINE = 400_000_000  # bytes: a document of 50 MB, every character of it escaped


class Numbered(NamedTuple):
    """A record, the line it stands in (from 1), and the bytes read so far."""

    line: int
    record: AnyRecord
    read: int


def first_line(header: Header) -> bytes:
    """The header as the first line of an export."""
    return _line(header.model_dump(mode="json", exclude_none=True))


def line_of(record: AnyRecord) -> bytes:
    """A record as a line of an export."""
    return _line(values_of(record))


def read_header(file: BinaryIO) -> Header:
    """The header of the export that begins here.

    Raises:
        InputError: this is no export, or one of a newer format.
    """
    try:
        values = json.loads(file.readline(100_000).decode("utf-8-sig"))
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise InputError(f"This is no export of Scrubjay: its first line does not say {FORMAT}.")
    version = values.get("version")
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise InputError(
            f"This export was written by a newer Scrubjay ({str(values.get('scrubjay'))[:40]}, format {str(version)[:20]}; "
            f"this one reads format {FORMAT_VERSION}). Upgrade Scrubjay."
        )
    return header_of(values)


def read_records(file: BinaryIO, header: Header) -> Iterator[Numbered]:
    """The records behind a header, one after another; at the end their number is compared with the header's.

    Raises:
        InputError: a line is damaged, or lines are missing; the sentence names the line.
    """
    number, found, read = 1, 0, 0
    while raw := file.readline(LONGEST_LINE):
        number += 1
        read += len(raw)
        if raw.strip():
            found += 1
            yield Numbered(number, _record(raw, number), read)
    if found != header.counts.total:
        what = "was cut off" if found < header.counts.total else "was altered"
        raise InputError(
            f"The export {what}: its first line promises {header.counts.total:,} records, and line {number:,} ends it after {found:,}."
        )


def _record(raw: bytes, number: int) -> AnyRecord:
    try:
        values = json.loads(raw.decode())
    except (ValueError, RecursionError):
        raise InputError(f"Line {number:,} is cut off or damaged: it is not JSON in UTF-8.") from None
    if not isinstance(values, dict):
        raise InputError(f"Line {number:,} is damaged: it holds a {type(values).__name__} and no record.")
    try:
        return record_of(values)
    except InputError as error:
        raise InputError(f"Line {number:,} holds no record that can be kept: {error}") from error


def _line(values: dict[str, Any]) -> bytes:
    return json.dumps(values, ensure_ascii=False).encode() + b"\n"
