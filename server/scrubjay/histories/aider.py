"""Aider's chats: a page of Markdown in each project."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from datetime import datetime
from functools import partial

from scrubjay.histories.disk import Disk
from scrubjay.histories.stored import Session, Stored, instant
from scrubjay.transcripts.book import Book

HOST = "aider"
FILE = ".aider.chat.history.md"
_STARTED = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")
DEEP = 3  # folders below a place in which a page is looked for: a project's page lies at its top


def stored(disk: Disk, path: str, at: float) -> Iterator[Stored]:
    """Name what a page holds."""
    yield Stored(HOST, path, at, partial(_sessions, disk, path))


def _sessions(disk: Disk, path: str) -> list[Session]:
    """Return the chats on a page. Times are local; each turn has the time of its chat."""
    folder = os.path.dirname(os.path.abspath(path))
    books: dict[str, Book] = {}
    book = Book()
    prompt: list[str] = []
    answer: list[str] = []
    at: str | None = None
    fenced = False  # within a block of code

    def close() -> None:
        asked, answered = "\n".join(prompt).strip(), "\n".join(answer).strip()
        if answered or not asked.startswith("/"):  # else it was for aider itself
            book.said(asked, None, None, instant(at))
            book.answered(answered)
        prompt.clear()
        answer.clear()

    for raw in disk.lines(path):
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        if answer and line.startswith("```"):
            fenced = not fenced
        started = _STARTED.match(line)
        if started:
            fenced = False
            close()
            at = datetime.fromisoformat(started[1]).astimezone().isoformat()
            book = books.setdefault(started[1], Book())
        elif line.startswith("#### ") and not fenced:
            if answer:
                close()
            prompt.append(line[5:].replace("<blank>", ""))
        elif prompt and (fenced or not line.startswith(">")):  # else it is a note of aider itself
            answer.append(line)
    close()
    return [
        Session(HOST, f"aider-{_digest(folder, begun)}", folder, book.close())
        for begun, book in books.items()
    ]


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode("utf-8", "replace")).hexdigest()[:24]
