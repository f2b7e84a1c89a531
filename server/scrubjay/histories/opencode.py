"""Reads OpenCode's and Kilo's sessions: a database of sessions, messages and message parts, or files."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from scrubjay.histories.disk import Disk, columns, embedded
from scrubjay.histories.stored import Fields, Session, Stored, instant, seconds, texts
from scrubjay.transcripts.book import Book, words
from scrubjay.transcripts.json_lines import dicts, mapping, string


def stored(host: str, disk: Disk, path: str, at: float) -> Iterator[Stored]:
    """List the sessions of a file of OpenCode, or of a fork."""
    if path.endswith(".json"):
        yield Stored(host, path, at, partial(_from_files, host, disk, path))
        return
    database = disk.database(path)
    for table, read in (("session", _from_rows), ("session_v2", _from_rows_of_v2)):
        names = columns(database, table)
        if not {"id", "time_updated"} <= names:
            continue
        condition = "WHERE parent_id IS NULL" if "parent_id" in names else ""
        for row in database.execute(f"SELECT * FROM {table} {condition}").fetchall():
            changed = seconds(row["time_updated"]) or at
            yield Stored(host, path, changed, partial(_session, host, database, dict(row), read))


def _session(
    host: str,
    database: sqlite3.Connection,
    row: Fields,
    read: Callable[[Book, sqlite3.Connection, str], None],
) -> list[Session]:
    book = Book()
    read(book, database, row["id"])
    _set_title(book, row.get("title"))
    return [Session(host, str(row["id"]), string(row.get("directory")) or None, book.close())]


def _from_rows(book: Book, database: sqlite3.Connection, session_id: str) -> None:
    parts: dict[str, list[Any]] = {}
    for row in database.execute(
        "SELECT message_id, data FROM part WHERE session_id = ? ORDER BY message_id, id", (session_id,)
    ):
        parts.setdefault(row["message_id"], []).append(embedded(row["data"]))
    for row in database.execute(
        "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id", (session_id,)
    ):
        _add_message(book, row["id"], embedded(row["data"]), parts.get(row["id"], []))


def _from_rows_of_v2(book: Book, database: sqlite3.Connection, session_id: str) -> None:
    for row in database.execute(
        "SELECT id, type, data FROM session_message WHERE session_id = ? ORDER BY seq", (session_id,)
    ):
        data = embedded(row["data"])
        content = [{"type": "text", "text": data.get("text")}, *dicts(data.get("content"))]
        _add_message(book, row["id"], {**data, "role": row["type"]}, content)


def _add_message(book: Book, message_id: str, message: Fields, parts: list[Any]) -> None:
    parts = [each for each in dicts(parts) if not (each.get("synthetic") or each.get("ignored"))]
    at = mapping(message.get("time")).get("created")
    if message.get("role") == "user":
        book.add_prompt(words(parts, message.get("files")), message_id, None, instant(at))
    elif message.get("role") == "assistant" and message.get("summary") is True:
        book.set_recap(texts(parts))
    elif message.get("role") == "assistant":
        for part in parts:  # in order, because a turn whose last part calls a tool is not complete
            if part.get("type") == "tool":
                state, call_id = mapping(part.get("state")), part.get("callID") or part.get("id")
                book.add_tool_call(part.get("tool") or part.get("name"), state.get("input"), call_id)
                book.add_tool_result(call_id, state.get("output") or state.get("error"))
            else:
                book.add_answer(texts([part]))
        if mapping(message.get("error")).get("name") == "MessageAbortedError":
            book.interrupted()


def _set_title(book: Book, title: object) -> None:
    """Set a session's title, unless it is a placeholder (`New session - <time>`) that a model replaces."""
    if not string(title).startswith(("New session - ", "Child session - ")):
        book.set_title(title)


def _from_files(host: str, disk: Disk, path: str) -> list[Session]:
    about = mapping(disk.json(path))
    session_id = string(about.get("id"))
    if not session_id or about.get("parentID"):
        return []
    storage = os.path.dirname(os.path.dirname(os.path.dirname(path)))
    book = Book()
    for message in _documents(disk, os.path.join(storage, "message", session_id)):
        message_id = string(message.get("id"))
        _add_message(book, message_id, message, _documents(disk, os.path.join(storage, "part", message_id)))
    _set_title(book, about.get("title"))
    return [Session(host, session_id, string(about.get("directory")) or None, book.close())]


def _documents(disk: Disk, folder: str) -> list[Fields]:
    """Return the JSON objects in a folder, in the order of their ids, which grow with time.

    A file that is half written has no object.
    """
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    return [disk.object(os.path.join(folder, name)) for name in names if name.endswith(".json")]
