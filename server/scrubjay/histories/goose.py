"""Reads Goose's sessions: a database, or (before 1.10) a file of JSON lines for each session."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from functools import partial

from scrubjay.histories.disk import Disk, columns, embedded, parsed
from scrubjay.histories.stored import Fields, Session, Stored, instant, seconds, texts
from scrubjay.transcripts.book import Book, words
from scrubjay.transcripts.json_lines import dicts, mapping, string

_HIDDEN = ("sub_agent", "hidden")  # types of sessions without a person


def stored(host: str, disk: Disk, path: str, at: float) -> Iterator[Stored]:
    """List the sessions of a file. A session moved into the database is listed twice, with the same id."""
    if path.endswith(".jsonl"):
        yield Stored(host, path, at, partial(_from_lines, host, disk, path))
        return
    database = disk.database(path)
    if {"id", "working_dir", "updated_at"} <= columns(database, "sessions"):
        for row in map(dict, database.execute("SELECT * FROM sessions").fetchall()):
            if row.get("session_type") not in _HIDDEN:
                changed = seconds(row["updated_at"]) or at
                yield Stored(host, path, changed, partial(_from_rows, host, database, row))


def _from_rows(host: str, database: sqlite3.Connection, session: Fields) -> list[Session]:
    query = "SELECT * FROM messages WHERE session_id = ? ORDER BY created_timestamp, id"
    book = Book()
    for row in map(dict, database.execute(query, (session["id"],))):
        if embedded(row.get("metadata_json")).get("userVisible") is not False:
            content = parsed(row["content_json"])
            _add_message(book, row["role"], content, row.get("message_id"), row["created_timestamp"])
    book.set_title(session.get("name") or session.get("description"))
    return [Session(host, str(session["id"]), string(session["working_dir"]) or None, book.close())]


def _from_lines(host: str, disk: Disk, path: str) -> list[Session]:
    lines = iter(disk.lines(path))
    about = embedded(next(lines, b""))
    book = Book()
    for line in map(embedded, lines):
        _add_message(book, line.get("role"), line.get("content"), line.get("id"), line.get("created"))
    book.set_title(about.get("description"))
    session_id = string(about.get("id")) or os.path.basename(path).removesuffix(".jsonl")
    return [Session(host, session_id, string(about.get("working_dir")) or None, book.close())]


def _add_message(book: Book, role: object, content: object, key: object, at: object) -> None:
    if role == "user":
        for block in dicts(content):
            book.add_tool_result(block.get("id"), mapping(block.get("toolResult")).get("value"))
        book.add_prompt(words(content), key, None, instant(at))
    elif role == "assistant":
        book.add_answer(texts(content))
        for block in dicts(content):
            if block.get("type") == "toolRequest":
                call = mapping(mapping(block.get("toolCall")).get("value"))
                book.add_tool_call(call.get("name"), call.get("arguments"), block.get("id"))
