"""Sessions that hosts keep as files of JSON lines, one session a file: where they lie, and whose they are.

What the lines say is read by `transcripts.formats`, as hooks and the engine read it.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from scrubjay.histories.disk import Disk, embedded
from scrubjay.histories.stored import Fields, Session, Stored
from scrubjay.transcripts.formats import turns
from scrubjay.transcripts.json_lines import mapping, string

_HEAD = 200  # lines at the beginning of a file in which it says whose it is


class _About(NamedTuple):
    """Which session a file holds, and its project's folder; None where the file does not say."""

    id: str | None
    folder: str | None


# From the first objects of a file, and its path; None for a session of a subagent.
_Reader = Callable[[Sequence[Fields], str, Disk], "_About | None"]


def _in_lines(head: Sequence[Fields], path: str, disk: Disk) -> _About | None:
    """The session and folder that lines name, as Claude Code's and Qwen's do."""
    folder = next(filter(None, (string(each.get("cwd")) for each in head)), None)
    session_id = next(filter(None, (string(each.get("sessionId")) for each in head)), None)
    return _About(session_id, folder)


def _codex(head: Sequence[Fields], path: str, disk: Disk) -> _About | None:
    payloads = [(each.get("type"), mapping(each.get("payload"))) for each in head]
    metas = [payload for kind, payload in payloads if kind == "session_meta"]
    meta = metas[0] if metas else {}
    if "subagent" in mapping(meta.get("source")):
        return None
    named = re.search(r"rollout-.{19}-(.+?)\.jsonl", os.path.basename(path))
    session_id = string(meta.get("id")) or string(meta.get("session_id")) or (named[1] if named else None)
    contexts = [payload for kind, payload in payloads if kind == "turn_context"]
    folders = (string(each.get("cwd")) for each in (*metas, *contexts))
    return _About(session_id, next(filter(None, folders), None))


def _copilot(head: Sequence[Fields], path: str, disk: Disk) -> _About | None:
    start = next((mapping(each.get("data")) for each in head if each.get("type") == "session.start"), {})
    session_id = string(start.get("sessionId")) or os.path.basename(os.path.dirname(path))
    return _About(session_id, string(mapping(start.get("context")).get("cwd")) or None)


def _gemini(head: Sequence[Fields], path: str, disk: Disk) -> _About | None:
    about = head[0] if head else {}
    if about.get("kind", "main") != "main":
        return None
    directories = about.get("directories")
    named = string(directories[0]) if isinstance(directories, list) and directories else ""
    return _About(string(about.get("sessionId")) or None, named or gemini_folder(path, disk))


def gemini_folder(path: str, disk: Disk) -> str | None:
    """The project of `tmp/<name>/chats/<file>`: named in a file next to it, or in the list of projects."""
    project = os.path.dirname(os.path.dirname(path))
    try:
        with open(os.path.join(project, ".project_root"), encoding="utf-8") as file:
            return file.read(4096).strip() or None
    except (OSError, ValueError):
        pass
    listed = disk.object(os.path.join(os.path.dirname(os.path.dirname(project)), "projects.json"))
    name = os.path.basename(project)
    for folder, short in mapping(listed.get("projects")).items():
        if name in (short, hashlib.sha256(folder.encode("utf-8", "replace")).hexdigest()):
            return str(folder)
    return None


def _cursor(head: Sequence[Fields], path: str, disk: Disk) -> _About | None:
    """A chat of Cursor's command line, whose folder is named in a file next to its other store."""
    if f"{os.sep}subagents{os.sep}" in path:
        return None
    chat = os.path.basename(path).removesuffix(".jsonl")
    root = path.partition(f"{os.sep}projects{os.sep}")[0]
    metas = glob.glob(os.path.join(glob.escape(root), "chats", "*", glob.escape(chat), "meta.json"))
    folders = (string(disk.object(meta).get("cwd")) for meta in metas)
    return _About(chat, next(filter(None, folders), None))


def _antigravity(head: Sequence[Fields], path: str, disk: Disk) -> _About | None:
    if os.path.basename(path) == "transcript.jsonl" and os.path.exists(f"{path[:-6]}_full.jsonl"):
        return None
    return _About(path.split(os.sep)[-4] if path.count(os.sep) > 3 else None, None)


def _kiro(head: Sequence[Fields], path: str, disk: Disk) -> _About | None:
    """A session of Kiro's editor or command line, with a file about it next to it."""
    folder, name = os.path.split(path)
    of_editor = name == "messages.jsonl"
    neighbour = os.path.join(folder, "session.json") if of_editor else f"{path.removesuffix('.jsonl')}.json"
    about = disk.object(neighbour)
    paths = about.get("workspacePaths")
    place = string(paths[0]) if isinstance(paths, list) and paths else string(about.get("cwd"))
    session_id = string(about.get("id")) or string(about.get("session_id"))
    default = os.path.basename(folder) if of_editor else name.removesuffix(".jsonl")
    return _About(session_id or default, place or None)


def _reader(about: _Reader) -> Callable[[str, Disk, str, float], Iterator[Stored]]:
    """Return what lists the session of a file, whose first lines `about` understands."""

    def stored(host: str, disk: Disk, path: str, at: float) -> Iterator[Stored]:
        yield Stored(host, path, at, partial(_sessions, host, about, disk, path))

    return stored


def _sessions(host: str, about: _Reader, disk: Disk, path: str) -> list[Session]:
    lines = _lines(disk, path)
    session = about([embedded(line) for line in islice(lines, _HEAD)], path, disk)
    if session is None:
        return []
    named = session.id or os.path.basename(path).partition(".")[0]
    sessions: dict[str, list[Fields]] = {}
    for turn in turns(lines, host):
        # A session that went on under a new id begins with copies of the older one's lines.
        sessions.setdefault(turn["session_id"] or named, []).append(turn)
    return [Session(host, session_id, session.folder, turns) for session_id, turns in sessions.items()]


def _lines(disk: Disk, path: str) -> list[bytes]:
    """The lines of a file; of a document, as older Geminis wrote it, the lines that say the same."""
    if not path.endswith(".json"):
        return list(disk.lines(path))
    import json

    document: dict[str, Any] = mapping(disk.json(path))
    messages = document.pop("messages", None)
    return [
        json.dumps(each).encode() for each in (document, *(messages if isinstance(messages, list) else ()))
    ]


READERS = {
    "lines": _reader(_in_lines),
    "codex": _reader(_codex),
    "copilot": _reader(_copilot),
    "gemini": _reader(_gemini),
    "antigravity": _reader(_antigravity),
    "kiro": _reader(_kiro),
    "cursor-lines": _reader(_cursor),
}
