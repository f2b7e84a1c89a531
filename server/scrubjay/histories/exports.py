"""Reads the data exports of claude.ai and ChatGPT: conversations as JSON, mostly in a zip."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from scrubjay.histories.disk import MAX_FILE, Disk, parsed
from scrubjay.histories.facts import paragraphs
from scrubjay.histories.stored import Fields, Session, Stored, instant, seconds, texts
from scrubjay.transcripts.book import Book, joined, words
from scrubjay.transcripts.json_lines import dicts, mapping, string

ON_THE_WEB = ("claude-ai", "chatgpt")  # conversations there have no folder
_PASTED = ("", "paste.txt", None)  # how claude.ai names a long text that the user pasted
# ChatGPT writes a source or a name into an answer as a mark: its kind and fields between private characters.
_MARK = re.compile(r"\s?\ue200([^\ue200\ue201]*)\ue201")
_NAME = re.compile(r"(?:^|[/\\])conversations[^/\\]*\.json\Z")  # large exports have several


def stored(
    read: Callable[[str, Fields], Session], host: str, disk: Disk, path: str, at: float
) -> Iterator[Stored]:
    """List the conversations in a file; `read` converts one into a session."""
    for document in _documents(disk, path):
        for conversation in dicts(document if isinstance(document, list) else [document]):
            changed_at = seconds(conversation.get("updated_at") or conversation.get("update_time")) or at
            yield Stored(host, path, changed_at, partial(_read, read, host, conversation))


def _read(read: Callable[[str, Fields], Session], host: str, conversation: Fields) -> list[Session]:
    return [read(host, conversation)]


def _documents(disk: Disk, path: str) -> Iterator[Any]:
    if not path.endswith(".zip"):
        yield disk.json(path)
        return
    try:
        with zipfile.ZipFile(path) as archive:
            for item in archive.infolist():
                if _NAME.search(item.filename):
                    if item.file_size > MAX_FILE:
                        raise ValueError(f"{item.filename} is too large")
                    yield parsed(archive.read(item))
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise ValueError(f"{os.path.basename(path)} is not a complete zip file: {error}") from error


def claude_ai(host: str, conversation: Fields) -> Session:
    """Read a conversation of claude.ai."""
    book = Book()
    for message in dicts(conversation.get("chat_messages")):
        content = message.get("content")
        # If there is content, `text` also has "This block is not supported on your current device yet."
        text = texts(content) if content else string(message.get("text"))
        if message.get("sender") == "human":
            attachments = message.get("attachments")
            pasted = (each for each in dicts(attachments) if each.get("file_name") in _PASTED)
            text = paragraphs(text, *(string(each.get("extracted_content")) for each in pasted))
            prompt = words(text, message.get("files"), attachments)
            book.add_prompt(prompt, message.get("uuid"), None, instant(message.get("created_at")))
        else:
            book.add_answer(text)
    book.set_title(conversation.get("name"))
    return Session(host, string(conversation.get("uuid")), None, book.close())


def chatgpt(host: str, conversation: Fields) -> Session:
    """Read the branch of a ChatGPT conversation that was shown last."""
    book = Book()
    nodes = {
        key: node for key, node in mapping(conversation.get("mapping")).items() if isinstance(node, dict)
    }
    for node in branch(nodes, conversation.get("current_node")):
        message = mapping(node.get("message"))
        metadata = mapping(message.get("metadata"))
        parts = mapping(message.get("content")).get("parts")
        text = joined(parts)  # a part that was spoken has its text in an object
        role = mapping(message.get("author")).get("role")
        if metadata.get("is_visually_hidden_from_conversation") or message.get("recipient", "all") != "all":
            continue
        if role == "user":
            pictures = [{"type": each.get("content_type")} for each in dicts(parts)]
            book.add_prompt(
                text or words(pictures, metadata.get("attachments")),
                message.get("id"),
                None,
                instant(message.get("create_time") or conversation.get("create_time")),
            )
        elif role == "assistant":
            book.add_answer(_MARK.sub(_shown, text))
    book.set_title(conversation.get("title"))
    session_id = string(conversation.get("id")) or string(conversation.get("conversation_id"))
    return Session(host, session_id, None, book.close())


def _shown(mark: re.Match[str]) -> str:
    """Return what the reader saw in place of a mark: the name of a thing or a link, nothing for a source."""
    kind, *fields = mark[1].split("\ue202")
    if kind == "entity" and fields:
        fields = fields[0].split('"')[3:4]  # ["city","Lagos","in Nigeria"]
    elif kind != "url":
        return ""
    space = mark[0][: mark[0].index("\ue200")]
    return space + "".join(fields[:1])


def branch(nodes: Mapping[str, Fields], last: object) -> list[Fields]:
    """Return the nodes from the first to `last`; if `nodes` lacks `last`, all nodes by time."""
    nodes_to_last: dict[str, Fields] = {}
    while isinstance(last, str) and last in nodes and last not in nodes_to_last:
        nodes_to_last[last] = nodes[last]
        last = nodes[last].get("parent")
    return list(nodes_to_last.values())[::-1] or sorted(nodes.values(), key=_created)


def _created(node: Fields) -> float:
    return seconds(mapping(node.get("message")).get("create_time")) or 0.0
