"""Reads the chats of VS Code's Copilot: for each session a JSON document, or the log of its changes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from scrubjay.histories.cursor import folder_of, workspace_folder
from scrubjay.histories.disk import Disk, parsed
from scrubjay.histories.stored import Fields, Session, instant
from scrubjay.transcripts.book import Book, words
from scrubjay.transcripts.json_lines import dicts, mapping, string

_SET, _PUSH, _DELETE = 1, 2, 3  # kinds of changes; 0 sets the whole document


def sessions(host: str, disk: Disk, path: str) -> list[Session]:
    """Return the session in a file."""
    document = mapping(_replayed(disk.lines(path)) if path.endswith(".jsonl") else disk.json(path))
    book = Book()
    for request in dicts(document.get("requests")):
        message, attached = request.get("message"), mapping(request.get("variableData")).get("variables")
        book.add_prompt(
            words(message, attached),
            request.get("requestId"),
            None,
            instant(request.get("timestamp") or document.get("creationDate")),
        )
        response = request.get("response")
        pieces: list[str] = []
        for part in response if isinstance(response, list) else [response]:
            if isinstance(part, str):
                pieces.append(part)
            elif isinstance(part, dict) and part.get("kind") == "toolInvocationSerialized":
                book.add_answer("".join(pieces))  # what follows the call is a paragraph of its own
                pieces.clear()
                command = mapping(mapping(part.get("toolSpecificData")).get("commandLine"))
                book.add_tool_call(part.get("toolId"), {"command": command.get("original")})
            elif isinstance(part, dict):
                pieces.append(_text_of(part))
        book.add_answer("".join(pieces))
        if request.get("isCanceled") is True:
            book.interrupted()
    book.set_title(document.get("customTitle"))
    session_id = string(document.get("sessionId")) or os.path.basename(path).rpartition(".")[0]
    folder = workspace_folder(disk, os.path.dirname(path)) or folder_of(document.get("workingDirectory"))
    return [Session(host, session_id, folder, book.close())]


def _text_of(part: Fields) -> str:
    """Return the text of a part of an answer; a reference to code is its name, as the reader saw it."""
    kind, reference = part.get("kind"), mapping(part.get("inlineReference"))
    if kind == "inlineReference":
        uri = mapping(reference.get("uri")) or reference
        name = string(part.get("name")) or string(reference.get("name"))
        name = name or os.path.basename(string(uri.get("path")))
        return f"`{name}`" if name else ""
    if kind not in (None, "markdownContent", "markdownVuln"):
        return ""
    value = part.get("value") or part.get("content")
    return string(mapping(value).get("value")) or string(value)


def _replayed(lines: Iterable[bytes]) -> Any:
    """Return the document that a log of changes results in; invalid and incomplete changes are skipped."""
    document: Any = {}
    for line in lines:
        try:
            entry = mapping(parsed(line))
            if entry.get("kind") == 0:
                document = entry.get("v")
            else:
                _change(document, entry)
        except (ValueError, LookupError, TypeError):
            continue
    return document


def _change(document: Any, entry: Fields) -> None:
    *path, last_step = entry["k"]
    for step in path:
        document = document[step]
    kind, value = entry.get("kind"), entry.get("v")
    if kind == _SET:
        if isinstance(document, list) and last_step == len(document):
            document.append(value)
        else:
            document[last_step] = value
    elif kind == _PUSH:
        target = document[last_step] if isinstance(document, list) else document.setdefault(last_step, [])
        if isinstance(entry.get("i"), int):
            del target[entry["i"] :]
        target.extend(value or ())
    elif kind == _DELETE:
        del document[last_step]
