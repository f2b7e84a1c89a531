"""Reads sessions that hosts store as JSON lines, one session per file, and finds each one's id and folder.

`transcripts.formats` reads the lines themselves, as it does for hooks and the engine.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple

from scrubjay.histories.disk import Disk, embedded
from scrubjay.histories.stored import Fields, Session
from scrubjay.transcripts.formats import turns
from scrubjay.transcripts.json_lines import mapping, string

_HEAD = 200  # lines at the beginning of a file that may name its session and folder


class _About(NamedTuple):
    """The id of the session in a file, and its project's folder; None if the file does not name it."""

    id: str | None
    folder: str | None


# Takes the first objects of a file, its path and the disk; returns None for a session of a subagent.
_Reader = Callable[[Sequence[Fields], str, Disk], "_About | None"]


def _in_lines(head: Sequence[Fields], path: str, disk: Disk) -> _About | None:
    """Return the session and folder that the lines name, as in Claude Code and Qwen Code."""
    return _About(_first(head, "sessionId"), _first(head, "cwd"))


def _first(objects: Iterable[Fields], key: str) -> str | None:
    """Return the first text that is not empty under this key."""
    return next(filter(None, (string(each.get(key)) for each in objects)), None)


def _codex(head: Sequence[Fields], path: str, disk: Disk) -> _About | None:
    payloads = [(each.get("type"), mapping(each.get("payload"))) for each in head]
    metas = [payload for kind, payload in payloads if kind == "session_meta"]
    meta = metas[0] if metas else {}
    if "subagent" in mapping(meta.get("source")):
        return None
    file_id = re.search(r"rollout-.{19}-(.+?)\.jsonl", os.path.basename(path))
    session_id = string(meta.get("id")) or string(meta.get("session_id")) or (file_id[1] if file_id else None)
    contexts = [payload for kind, payload in payloads if kind == "turn_context"]
    return _About(session_id, _first((*metas, *contexts), "cwd"))


def _copilot(head: Sequence[Fields], path: str, disk: Disk) -> _About | None:
    start = next((mapping(each.get("data")) for each in head if each.get("type") == "session.start"), {})
    session_id = string(start.get("sessionId")) or os.path.basename(os.path.dirname(path))
    return _About(session_id, string(mapping(start.get("context")).get("cwd")) or None)


def _gemini(head: Sequence[Fields], path: str, disk: Disk) -> _About | None:
    first = head[0] if head else {}
    if first.get("kind", "main") != "main":
        return None
    directories = first.get("directories")
    folder = string(directories[0]) if isinstance(directories, list) and directories else ""
    return _About(string(first.get("sessionId")) or None, folder or gemini_folder(path, disk))


def gemini_folder(path: str, disk: Disk) -> str | None:
    """Return the project of `tmp/<name>/chats/<file>`, from `.project_root` or from the list of projects."""
    project = os.path.dirname(os.path.dirname(path))
    try:
        with open(os.path.join(project, ".project_root"), encoding="utf-8") as file:
            return file.read(4096).strip() or None
    except (OSError, ValueError):
        pass
    projects = disk.object(os.path.join(os.path.dirname(os.path.dirname(project)), "projects.json"))
    name = os.path.basename(project)
    for folder, short in mapping(projects.get("projects")).items():
        if name in (short, hashlib.sha256(folder.encode("utf-8", "replace")).hexdigest()):
            return str(folder)
    return None


def cursor_head(head: Sequence[Fields], path: str, disk: Disk) -> _About | None:
    """Return the id and folder of a chat of Cursor's command line; its `meta.json` has the folder."""
    if f"{os.sep}subagents{os.sep}" in path:
        return None
    chat = os.path.basename(path).removesuffix(".jsonl")
    root = path.partition(f"{os.sep}projects{os.sep}")[0]
    metas = glob.glob(os.path.join(glob.escape(root), "chats", "*", glob.escape(chat), "meta.json"))
    return _About(chat, _first(map(disk.object, metas), "cwd"))


def _antigravity(head: Sequence[Fields], path: str, disk: Disk) -> _About | None:
    if os.path.basename(path) == "transcript.jsonl" and os.path.exists(f"{path[:-6]}_full.jsonl"):
        return None
    return _About(path.split(os.sep)[-4] if path.count(os.sep) > 3 else None, None)


def _kiro(head: Sequence[Fields], path: str, disk: Disk) -> _About | None:
    """Return the id and folder of a session of Kiro's editor or command line, from a file next to it."""
    folder, name = os.path.split(path)
    is_from_editor = name == "messages.jsonl"
    about = disk.object(os.path.join(folder, "session.json") if is_from_editor else path.removesuffix("l"))
    paths = about.get("workspacePaths")
    project = string(paths[0]) if isinstance(paths, list) and paths else string(about.get("cwd"))
    session_id = string(about.get("id")) or string(about.get("session_id"))
    default = os.path.basename(folder) if is_from_editor else name.removesuffix(".jsonl")
    return _About(session_id or default, project or None)


def sessions(read_head: _Reader, host: str, disk: Disk, path: str) -> list[Session]:
    """Return the sessions in a file, whose first lines `read_head` reads."""
    lines = _lines(disk, path)
    about = read_head([embedded(line) for line in islice(lines, _HEAD)], path, disk)
    if about is None:
        return []
    file_session_id = about.id or os.path.basename(path).partition(".")[0]
    turns_by_id: dict[str, list[Fields]] = {}
    for turn in turns(lines, host):
        # A session that continues under a new id begins with copies of the older session's lines.
        turns_by_id.setdefault(turn["session_id"] or file_session_id, []).append(turn)
    return [
        Session(host, session_id, about.folder, own_turns) for session_id, own_turns in turns_by_id.items()
    ]


def _lines(disk: Disk, path: str) -> list[bytes]:
    """Return the lines of a file; the documents of older Geminis are converted to such lines."""
    if not path.endswith(".json"):
        return list(disk.lines(path))
    document: dict[str, Any] = mapping(disk.json(path))
    messages = document.pop("messages", None)
    entries = (document, *(messages if isinstance(messages, list) else ()))
    return [json.dumps(entry).encode() for entry in entries]


HEADS: dict[str, _Reader] = {
    "lines": _in_lines,
    "codex": _codex,
    "copilot": _copilot,
    "gemini": _gemini,
    "antigravity": _antigravity,
    "kiro": _kiro,
}
