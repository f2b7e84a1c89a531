"""Sessions that hosts keep as files of JSON lines, one session a file: where they lie, and whose they are.

What the lines say is read by `text.transcripts`, as hooks and the engine read it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

from scrubjay.histories.disk import Disk, embedded
from scrubjay.histories.machine import Machine
from scrubjay.histories.stored import Fields, History, Session, Stored, string
from scrubjay.text.transcripts import turns

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


def _history(
    host: str, places: Callable[[Machine], Iterable[str]], fits: Callable[[str], bool], about: _Reader
) -> History:
    def stored(disk: Disk, path: str, at: float) -> Iterator[Stored]:
        yield Stored(host, path, at, partial(_sessions, host, about, disk, path))

    return History(host, places, fits, stored)


def _sessions(host: str, about: _Reader, disk: Disk, path: str) -> list[Session]:
    lines = list(disk.lines(path))
    session = about([embedded(line) for line in islice(lines, _HEAD)], path, disk)
    if session is None:
        return []
    named = session.id or os.path.basename(path).partition(".")[0]
    sessions: dict[str, list[Fields]] = {}
    for turn in turns(lines):
        # A session that went on under a new id begins with copies of the older one's lines.
        sessions.setdefault(turn["session_id"] or named, []).append(turn)
    return [Session(host, session_id, session.folder, turns) for session_id, turns in sessions.items()]


def _is_claude_code(path: str) -> bool:
    name = os.path.basename(path)
    return (
        name.endswith(".jsonl") and not name.startswith("agent-") and f"{os.sep}subagents{os.sep}" not in path
    )


HISTORIES = (
    _history(
        "claude-code",
        lambda machine: [machine.join(machine.named("CLAUDE_CONFIG_DIR", ".claude"), "projects")],
        _is_claude_code,
        _in_lines,
    ),
)
