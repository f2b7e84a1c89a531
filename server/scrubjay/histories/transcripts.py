"""Sessions that hosts keep as files of JSON lines, one session a file: where they lie, and whose they are.

What the lines say is read by `transcripts.formats`, as hooks and the engine read it.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from scrubjay.histories.disk import Disk, embedded
from scrubjay.histories.machine import Machine
from scrubjay.histories.stored import Fields, History, Session, Stored, mapping, string
from scrubjay.transcripts.formats import turns

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
    return _About(string(about.get("sessionId")) or None, named or _gemini_folder(path, disk))


def _gemini_folder(path: str, disk: Disk) -> str | None:
    """The project of `tmp/<name>/chats/<file>`: named in a file next to it, or in the list of projects."""
    project = os.path.dirname(os.path.dirname(path))
    try:
        with open(os.path.join(project, ".project_root"), encoding="utf-8") as file:
            return file.read(4096).strip() or None
    except (OSError, ValueError):
        pass
    try:
        listed = mapping(disk.json(os.path.join(os.path.dirname(os.path.dirname(project)), "projects.json")))
    except (OSError, ValueError):
        return None
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
    for meta in glob.glob(os.path.join(glob.escape(root), "chats", "*", glob.escape(chat), "meta.json")):
        try:
            return _About(chat, string(mapping(disk.json(meta)).get("cwd")) or None)
        except (OSError, ValueError):
            continue
    return _About(chat, None)


def _antigravity(head: Sequence[Fields], path: str, disk: Disk) -> _About | None:
    return _About(path.split(os.sep)[-4] if path.count(os.sep) > 3 else None, None)


def _kiro(head: Sequence[Fields], path: str, disk: Disk) -> _About | None:
    """A session of Kiro's editor or command line, with a file about it next to it."""
    folder, name = os.path.split(path)
    of_editor = name == "messages.jsonl"
    neighbour = os.path.join(folder, "session.json") if of_editor else f"{path.removesuffix('.jsonl')}.json"
    try:
        about = mapping(disk.json(neighbour))
    except (OSError, ValueError):
        about = {}
    paths = about.get("workspacePaths")
    place = string(paths[0]) if isinstance(paths, list) and paths else string(about.get("cwd"))
    session_id = string(about.get("id")) or string(about.get("session_id"))
    default = os.path.basename(folder) if of_editor else name.removesuffix(".jsonl")
    return _About(session_id or default, place or None)


def _history(
    host: str, places: Callable[[Machine], Iterable[str]], fits: Callable[[str], bool], about: _Reader
) -> History:
    def stored(disk: Disk, path: str, at: float) -> Iterator[Stored]:
        yield Stored(host, path, at, partial(_sessions, host, about, disk, path))

    return History(host, places, fits, stored)


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


def _below(folder: str, *endings: str) -> Callable[[str], bool]:
    """Return True if a path is in a folder of this name and has this ending."""
    return lambda path: os.path.basename(os.path.dirname(path)) == folder and path.endswith(endings)


def _is_claude_code(path: str) -> bool:
    name = os.path.basename(path)
    return (
        name.endswith(".jsonl") and not name.startswith("agent-") and f"{os.sep}subagents{os.sep}" not in path
    )


def _is_codex(path: str) -> bool:
    return re.fullmatch(r"rollout-.*\.jsonl(?:\.zst)?", os.path.basename(path)) is not None


def _is_gemini(path: str) -> bool:
    return os.path.basename(path).startswith("session-") and path.endswith((".json", ".jsonl"))


def _is_cursor(path: str) -> bool:
    return f"{os.sep}agent-transcripts{os.sep}" in path and path.endswith(".jsonl")


def _is_antigravity(path: str) -> bool:
    folder, name = os.path.split(path)
    full = os.path.join(folder, "transcript_full.jsonl")
    return name == "transcript_full.jsonl" or (name == "transcript.jsonl" and not os.path.exists(full))


HISTORIES = (
    _history(
        "claude-code",
        lambda machine: [machine.claude("projects")],
        _is_claude_code,
        _in_lines,
    ),
    _history(
        "codex",
        lambda machine: [machine.codex(name) for name in ("sessions", "archived_sessions")],
        _is_codex,
        _codex,
    ),
    _history(
        "copilot-cli",
        lambda machine: [machine.copilot("session-state")],
        lambda path: os.path.basename(path) == "events.jsonl",
        _copilot,
    ),
    _history(
        "gemini-cli",
        lambda machine: [machine.gemini("tmp")],
        _is_gemini,
        _gemini,
    ),
    _history(
        "qwen-code",
        lambda machine: [machine.home(".qwen", "projects")],
        _below("chats", ".jsonl"),
        _in_lines,
    ),
    _history(
        "antigravity",
        lambda machine: [
            machine.gemini(name, "brain") for name in ("antigravity", "antigravity-cli", "antigravity-ide")
        ],
        _is_antigravity,
        _antigravity,
    ),
    _history(
        "kiro",
        lambda machine: [machine.home(".kiro", "sessions")],
        lambda path: os.path.basename(path) == "messages.jsonl" or _below("cli", ".jsonl")(path),
        _kiro,
    ),
)
CURSOR_LINES = _history(
    "cursor",
    lambda machine: [machine.join(machine.named("CURSOR_CONFIG_DIR", ".cursor"), "projects")],
    _is_cursor,
    _cursor,
)
