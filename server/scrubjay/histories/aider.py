"""Reads Aider's chats: a page of Markdown in each project."""

from __future__ import annotations

import hashlib
import os
import re
from datetime import datetime

from scrubjay.histories.disk import Disk
from scrubjay.histories.stored import Session, instant
from scrubjay.transcripts.book import Book

_STARTED = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")


def sessions(host: str, disk: Disk, path: str) -> list[Session]:
    """Return the chats on a page. Times are local; each turn has the time of its chat."""
    folder = os.path.dirname(os.path.abspath(path))
    books: dict[str, Book] = {}
    book = Book()
    prompt: list[str] = []
    answer: list[str] = []
    chat_time: str | None = None
    in_code_block = False

    def close() -> None:
        question, reply = "\n".join(prompt).strip(), "\n".join(answer).strip()
        if reply or not question.startswith("/"):  # a prompt with a slash is a command of aider
            book.add_prompt(question, None, None, instant(chat_time))
            book.add_answer(reply)
        prompt.clear()
        answer.clear()

    for raw in disk.lines(path):
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        if answer and line.startswith("```"):
            in_code_block = not in_code_block
        started = _STARTED.match(line)
        if started:
            in_code_block = False
            close()
            chat_time = datetime.fromisoformat(started[1]).astimezone().isoformat()
            book = books.setdefault(started[1], Book())
        elif line.startswith("#### ") and not in_code_block:
            if answer:
                close()
            prompt.append(line[5:].replace("<blank>", ""))
        elif prompt and (in_code_block or not line.startswith(">")):  # aider quotes its own messages
            answer.append(line)
    close()
    found = []
    for started_at, book in books.items():
        name = hashlib.sha256(f"{folder}\n{started_at}".encode("utf-8", "replace")).hexdigest()[:24]
        found.append(Session(host, f"aider-{name}", folder, book.close()))
    return found
