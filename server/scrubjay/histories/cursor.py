"""Reads Cursor's chats: a table of keys and values in `state.vscdb`, and files of its command line."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from functools import partial
from urllib.parse import urlsplit
from urllib.request import url2pathname

from scrubjay.histories.disk import Disk, columns, embedded, files_below
from scrubjay.histories.stored import Fields, Session, Stored, instant, seconds
from scrubjay.transcripts.book import Book, words
from scrubjay.transcripts.json_lines import dicts, mapping, string

_STORE = "state.vscdb"
_USER = 1  # the type of a bubble that the user wrote
_NEW_LINES = ("paragraph", "listitem", "linebreak")
_OLD_CHATS = "workbench.panel.aichat.view.aichat.chatdata"
_COMPOSERS = "composer.composerData"


def stored(host: str, disk: Disk, path: str, at: float) -> Iterator[Stored]:
    """List the chats of a store."""
    database = disk.database(path)
    if columns(database, "cursorDiskKV"):
        yield from _composers(host, disk, database, path, at)
    if columns(database, "ItemTable"):
        yield from _tabs(host, disk, database, path, at)


def folder_of(uri: object) -> str | None:
    """Return the folder that a `file:` URI names; None for a folder on another machine.

    >>> folder_of("file:///w/a%20b"), folder_of("vscode-remote://ssh/w")
    ('/w/a b', None)
    """
    parts = urlsplit(string(uri))
    return url2pathname(parts.path) or None if parts.scheme == "file" else None


def workspace_folder(disk: Disk, neighbour: str) -> str | None:
    """Return the folder of the workspace whose storage has this file; None unless it has one folder."""
    about = disk.object(os.path.join(os.path.dirname(neighbour), "workspace.json"))
    return folder_of(about.get("folder"))


def _composers(host: str, disk: Disk, database: sqlite3.Connection, path: str, at: float) -> Iterator[Stored]:
    folders: dict[str, str] | None = None
    rows = database.execute(
        "SELECT key, value FROM cursorDiskKV WHERE key >= 'composerData:' AND key < 'composerData;'"
    )
    for key, value in rows:
        composer = embedded(value)
        composer_id = key.partition(":")[2]
        if not composer_id or mapping(composer.get("subagentInfo")):
            continue
        if folders is None:
            folders = _folders(disk, path)
        changed = seconds(composer.get("lastUpdatedAt")) or seconds(composer.get("createdAt")) or at
        folder = folders.get(composer_id)
        yield Stored(
            host, path, changed, partial(_read_composer, host, database, composer_id, composer, folder)
        )


def _read_composer(
    host: str, database: sqlite3.Connection, composer_id: str, composer: Fields, folder: str | None
) -> list[Session]:
    bubbles: Fields = {string(each.get("bubbleId")): each for each in dicts(composer.get("conversation"))}
    bubbles |= mapping(composer.get("conversationMap"))
    prefix = f"bubbleId:{composer_id}:"
    rows = database.execute(
        "SELECT key, value FROM cursorDiskKV WHERE key >= ? AND key < ?", (prefix, prefix[:-1] + ";")
    )
    bubbles |= {key[len(prefix) :]: embedded(value) for key, value in rows}
    order = [each.get("bubbleId") for each in dicts(composer.get("fullConversationHeadersOnly"))]
    book = Book()
    for bubble_id in map(string, order or bubbles):
        bubble = mapping(bubbles.get(bubble_id))
        folder = folder or string(bubble.get("workspaceProjectDir")) or None
        at = bubble.get("createdAt") or bubble.get("timestamp") or composer.get("createdAt")
        _add_bubble(book, bubble, bubble_id, at)
    book.set_title(composer.get("name"))
    return [Session(host, composer_id, folder, book.close())]


def _add_bubble(book: Book, bubble: Fields, key: object, at: object) -> None:
    text = string(bubble.get("text")) or string(bubble.get("rawText"))
    if bubble.get("type") in (_USER, "user"):
        text = text or _typed(embedded(bubble.get("richText")))
        book.add_prompt(words(text, bubble.get("images")), key, None, instant(at))
        return
    tool = mapping(bubble.get("toolFormerData"))
    if tool:
        book.add_tool_call(tool.get("name"), embedded(tool.get("rawArgs") or tool.get("params")))
    book.add_answer(text)


def _typed(page: Fields) -> str:
    """Return the text of a page of the editor in which the user typed."""
    nodes, texts = [mapping(page.get("root"))], []
    while nodes:
        node = nodes.pop()
        texts.append("\n" if node.get("type") in _NEW_LINES else string(node.get("text")))
        nodes += reversed(dicts(node.get("children")))
    return "".join(texts)


def _tabs(host: str, disk: Disk, database: sqlite3.Connection, path: str, at: float) -> Iterator[Stored]:
    """List the chats of older versions, which store all chats of a workspace in one value."""
    row = database.execute("SELECT value FROM ItemTable WHERE key = ?", (_OLD_CHATS,)).fetchone()
    for tab in dicts(embedded(row[0] if row else None).get("tabs")):
        tab_id = string(tab.get("tabId"))
        if tab_id:
            changed = seconds(tab.get("lastSendTime")) or at
            yield Stored(host, path, changed, partial(_read_tab, host, disk, tab_id, tab, path))


def _read_tab(host: str, disk: Disk, tab_id: str, tab: Fields, path: str) -> list[Session]:
    book = Book()
    for bubble in dicts(tab.get("bubbles")):
        _add_bubble(book, bubble, bubble.get("id"), tab.get("lastSendTime"))
    return [Session(host, tab_id, workspace_folder(disk, path), book.close())]


def _folders(disk: Disk, path: str) -> dict[str, str]:
    """Return the folder of each composer by its id, from the lists that workspaces store."""
    folders: dict[str, str] = {}
    user_folder = os.path.dirname(os.path.dirname(path))
    for store, _ in files_below(os.path.join(user_folder, "workspaceStorage"), _is_store):
        folder = workspace_folder(disk, store)
        if folder is None:
            continue
        try:
            database = disk.database(store)
            row = database.execute("SELECT value FROM ItemTable WHERE key = ?", (_COMPOSERS,)).fetchone()
        except (OSError, sqlite3.Error):
            continue
        for composer in dicts(embedded(row[0] if row else None).get("allComposers")):
            folders[string(composer.get("composerId"))] = folder
    return folders


def _is_store(path: str) -> bool:
    return os.path.basename(path) == _STORE
