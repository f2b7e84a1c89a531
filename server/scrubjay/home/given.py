"""A log of what models were shown: `<home>/log/given.log`. A line has the size of a text, never its content.

Hooks and the engine write it. Hooks also note in a session's folder which memories the session was shown.
Standard library only and Python 3.9 syntax.
"""

from __future__ import annotations

import os
import time
import zlib
from collections import namedtuple
from collections.abc import Iterable

from scrubjay.home.files import add_line, last_lines, open_log
from scrubjay.home.paths import Home

MAX_BYTES = 256 * 1024  # of given.log and of given.log.1; each holds at least 4,000 lines
_NOTES = "given"  # a file in a session's folder
_NEWEST = 8 * 1024  # bytes of its end that count, some 900 memories

Given = namedtuple("Given", "at by session scope tokens sessions facts")
"""One line. `by` is opening, prompt, `WITHHELD`, or the name of a tool or command.

`session` is "-" for tools and commands, because their calls do not name a session.
"""
WITHHELD = "withheld"  # an opening that was not shown, so that `scrubjay effect` can compare


def tokens_of(text: str) -> int:
    """Estimate the number of tokens in a text."""
    return -(-len(text) // 4)


def is_withheld(session: str, one_in: int) -> bool:
    """Return True for one session in `one_in`, always the same sessions; with 0, for no session."""
    return one_in > 0 and zlib.crc32(session.encode("utf-8", "replace")) % one_in == 0


def note(
    home: Home,
    now: float,
    by: str,
    scope: str,
    tokens: int,
    session: str | None = None,
    sessions: int = 0,
    facts: int = 0,
) -> None:
    """Add a line; `now` is in seconds since 1970."""
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))
    line = f"{at} {by} {name_of(session)} {scope or '-'} {tokens} {sessions} {facts}\n"
    add_line(home.given, line, MAX_BYTES)


def name_of(session: str | None) -> str:
    """Return a session's id as it is written in a line."""
    return "".join(letter for letter in session or "" if letter.isalnum() or letter in "-_")[:80] or "-"


def read(home: Home) -> list[Given]:
    """Return all lines that are still on disk, oldest first; damaged lines are left out."""
    entries = []
    for path in (f"{home.given}.1", home.given):
        try:
            lines = list(last_lines(path, 2 * MAX_BYTES))
        except OSError:
            continue
        for line in lines:
            parts = line.decode("utf-8", "replace").split()
            if len(parts) == len(Given._fields) and all(part.isdecimal() for part in parts[4:]):
                entries.append(Given(*parts[:4], *map(int, parts[4:])))
    return entries


def sums(block: str) -> list[str]:
    """Return a checksum of each memory in a block, the same in an opening and at a prompt."""
    memories = [line.partition(": ")[2] for line in block.split("\n") if line.startswith("- ")]
    return [f"{zlib.crc32(memory.encode('utf-8', 'replace')):08x}" for memory in memories]


def noted(folder: str) -> list[str]:
    """Return the newest notes in a session's folder: ids or checksums of memories that it was shown."""
    try:
        return b"".join(last_lines(os.path.join(folder, _NOTES), _NEWEST)).decode("utf-8", "replace").split()
    except OSError:  # nothing was shown yet
        return []


def note_in(folder: str, names: Iterable[str], *, is_first: bool = False) -> bool:
    """Note ids or checksums in a session's folder, if first in place of all others; return True if noted."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with open(open_log(os.path.join(folder, _NOTES)), "a", encoding="utf-8") as file:
            if is_first:
                file.truncate(0)
            file.writelines(f"{name}\n" for name in names)
    except OSError:
        return False
    return True
