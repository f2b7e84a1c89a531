"""Reads the threads of Zed's own agent: a database of documents, most of them compressed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from functools import partial
from typing import Any

from scrubjay.histories.disk import Disk, columns, parsed
from scrubjay.histories.stored import Fields, Session, Stored, instant, seconds, texts
from scrubjay.transcripts.book import Book, words
from scrubjay.transcripts.json_lines import dicts, mapping, string

# Old databases lack the last three.
_COLUMNS = {"id", "updated_at", "created_at", "folder_paths", "parent_id"}


def stored(host: str, disk: Disk, path: str, at: float) -> Iterator[Stored]:
    """List the threads of a database, without those of subagents."""
    database = disk.database(path)
    selected = sorted(columns(database, "threads") & _COLUMNS)
    if not {"id", "updated_at"} <= set(selected):
        return
    for row in map(dict, database.execute(f"SELECT rowid, {', '.join(selected)} FROM threads").fetchall()):
        if not row.get("parent_id"):
            yield Stored(
                host, path, seconds(row["updated_at"]) or at, partial(_thread, host, disk, database, row)
            )


def _thread(host: str, disk: Disk, database: sqlite3.Connection, row: Fields) -> list[Session]:
    query = "SELECT data_type, data FROM threads WHERE rowid = ?"
    kind, data = database.execute(query, (row["rowid"],)).fetchone()
    raw = data if isinstance(data, bytes) else str(data).encode()
    document = mapping(parsed(disk.inflate(raw) if kind == "zstd" else raw))
    messages = document.get("messages")
    started_at = row.get("created_at") or row["updated_at"]  # messages have no times
    book = Book()
    for message in messages if isinstance(messages, list) else []:
        _add_message(book, mapping(message), started_at)
    book.set_title(document.get("title") or document.get("summary"))
    folder = string(row.get("folder_paths")).partition("\n")[0]
    return [Session(host, str(row["id"]), folder or None, book.close())]


def _add_message(book: Book, message: Fields, at: object) -> None:
    user, agent = mapping(message.get("User")), mapping(message.get("Agent"))
    if user:
        prompt = "".join(map(_typed, dicts(user.get("content")))).strip()
        book.add_prompt(prompt or words(user.get("content")), user.get("id"), None, instant(at))
    elif agent:
        for block in dicts(agent.get("content")):
            use = mapping(block.get("ToolUse"))
            book.add_tool_call(use.get("name"), use.get("input"))
        book.add_answer(_texts(agent.get("content")))
    elif message.get("role") == "user":  # before 0.3.0
        book.add_prompt(texts(message.get("segments")), None, None, instant(at))
    elif message.get("role") == "assistant":
        book.add_answer(texts(message.get("segments")))


def _typed(block: Fields) -> str:
    """Return what the user typed in a block; a mention of a file or a symbol is its name."""
    for target in mapping(mapping(block.get("Mention")).get("uri")).values():
        name = string(mapping(target).get("name")) or string(mapping(target).get("url"))
        name = name or string(mapping(target).get("abs_path")).rpartition("/")[2]
        return f"@{name}" if name else ""
    return string(block.get("Text"))


def _texts(content: Any) -> str:
    return "\n\n".join(filter(None, (string(block.get("Text")) for block in dicts(content))))
