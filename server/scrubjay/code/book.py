"""Stores the anchors of a home in a separate small SQLite file.

Anchors are not columns of the records: one process writes each anchor after its record, and they are about
repositories on this machine. A record without code has an empty anchor, so that it is not examined again.
"""

import json
import os
import sqlite3
from collections.abc import Collection, Iterable, Mapping
from contextlib import closing
from typing import Any

from scrubjay.code.anchors import Anchor, File

_TABLE = (
    "CREATE TABLE IF NOT EXISTS anchors (id TEXT PRIMARY KEY, at TEXT, branch TEXT, files TEXT) WITHOUT ROWID"
)


class Book:
    """The anchors of a home, by the ids of their records. A damaged file is removed; git can restore it."""

    def __init__(self, path: str) -> None:
        self._path = path

    def recorded_ids(self) -> set[str]:
        """Return the ids of all records with an anchor."""
        return {row[0] for row in self._rows("SELECT id FROM anchors")}

    def get(self, ids: Collection[str]) -> dict[str, Anchor]:
        """Return the anchors of these records, except records outside every repository."""
        return self._anchors(f"id IN ({','.join('?' * len(ids))}) AND at IS NOT NULL", ids)

    def about(self, paths: Iterable[str]) -> dict[str, Anchor]:
        """Return the anchors of all records that name one of these files."""
        quoted_paths = [json.dumps(path, ensure_ascii=False) for path in paths]
        return self._anchors(" OR ".join(["instr(files, ?)"] * len(quoted_paths)) or "FALSE", quoted_paths)

    def on_branch(self, branch: str) -> list[str]:
        """Return the ids of the records made on a branch."""
        return [row[0] for row in self._rows("SELECT id FROM anchors WHERE branch = ?", [branch])]

    def _anchors(self, condition: str, parameters: Collection[str]) -> dict[str, Anchor]:
        rows = self._rows(f"SELECT * FROM anchors WHERE {condition}", parameters)
        return {row[0]: _anchor(*row[1:]) for row in rows}

    def _rows(self, query: str, parameters: Collection[str] = ()) -> list[Any]:
        if not os.path.exists(self._path):
            return []
        with closing(self._open()) as book:
            return book.execute(query, list(parameters)).fetchall()

    def put(self, anchors: Mapping[str, Anchor | None]) -> None:
        """Add or replace anchors; the anchor of a record outside every repository is None."""
        if anchors:
            with closing(self._open()) as book, book:
                rows = [_row(*entry) for entry in anchors.items()]
                book.executemany("INSERT OR REPLACE INTO anchors VALUES (?, ?, ?, ?)", rows)

    def remove(self, ids: Iterable[str]) -> None:
        """Remove anchors from the disk."""
        if os.path.exists(self._path):
            with closing(self._open()) as book:
                with book:
                    book.executemany("DELETE FROM anchors WHERE id = ?", [(each,) for each in ids])
                book.execute("VACUUM")

    def _open(self) -> sqlite3.Connection:
        try:
            return self._connect()
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):  # such as a full disk, which is no damage
                raise
            os.remove(self._path)
            return self._connect()

    def _connect(self) -> sqlite3.Connection:
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
        book = sqlite3.connect(self._path)
        book.execute("PRAGMA secure_delete = ON")
        book.execute(_TABLE)
        return book


def _row(record_id: str, anchor: Anchor | None) -> tuple[str, str | None, str | None, str | None]:
    if anchor is None:
        return record_id, None, None, None
    files = [
        [file.path, file.digest, int(file.is_in_text), *([dict(file.symbols)] if file.symbols else [])]
        for file in anchor.files
    ]
    files_json = json.dumps(files, ensure_ascii=False, separators=(",", ":")) if files else None
    return record_id, anchor.commit, anchor.branch, files_json


def _anchor(commit: str, branch: str | None, files: str | None) -> Anchor:
    parsed_files = (
        File(path, digest, tuple(more[0].items()) if more else (), bool(is_in_text))
        for path, digest, is_in_text, *more in json.loads(files or "[]")
    )
    return Anchor(commit, branch, tuple(parsed_files))
