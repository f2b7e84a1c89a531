"""Types for the stores of other programs: the sessions and facts in them, and how to read a store."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from scrubjay.transcripts.json_lines import dicts, string

if TYPE_CHECKING:
    from scrubjay.histories.disk import Disk
    from scrubjay.hosts.machine import Machine

Fields = dict[str, Any]

LONGEST = 10_000  # characters of any fact in the memory; a longer text becomes several facts
_MOST_SECONDS = 1e11  # a number below it counts seconds since 1970, one above it milliseconds


class Session(NamedTuple):
    """The turns of one session, in order, each a dict as `transcripts.formats.turns` returns it.

    `folder` is the project's folder, which may no longer exist; None if the store does not name it. The
    `folders` of a turn take precedence.
    """

    host: str
    id: str
    folder: str | None
    turns: list[Fields]


@dataclass(frozen=True)
class Fact:
    """A fact that another memory holds; `source` and `id` identify it, so that every import recognises it.

    Times are ISO 8601, UTC if they have no zone. `earlier` has the older values, each with the time at which
    it was set, oldest first. `folder` is the project's folder, `project` only its name. `metadata` is flat.
    """

    source: str
    id: str
    content: str
    created_at: str | None = None
    updated_at: str | None = None
    earlier: tuple[tuple[str, str | None], ...] = ()
    folder: str | None = None
    project: str | None = None
    session_id: str | None = None
    tags: tuple[str, ...] = ()
    importance: float = 5.0  # 0 to 10
    metadata: Mapping[str, Any] = field(default_factory=dict)


class Stored(NamedTuple):
    """A session or facts in a store, not read yet; `at` is when they last changed, in seconds since 1970.

    `read` raises OSError, ValueError, LookupError or sqlite3.Error if they cannot be read. `is_timed` is
    False if the store has no times of single turns.
    """

    host: str
    path: str
    at: float
    read: Callable[[], Iterable[Session | Fact]]
    is_timed: bool = True


# Lists the contents of a file of a host's store, given the host, the file's path and its last change.
Reader = Callable[[str, "Disk", str, float], Iterable[Stored]]


def at_once(read: Callable[[str, Disk, str], list[Session]], *, is_timed: bool = True) -> Reader:
    """Return a reader of files that are listed as one entry each; `read` gets the host and the path."""

    def stored(host: str, disk: Disk, path: str, at: float) -> list[Stored]:
        return [Stored(host, path, at, partial(read, host, disk, path), is_timed)]

    return stored


class History(NamedTuple):
    """How to read the store of one program.

    `places` returns the files and folders where the store may be; a file in them (at most `deep` folders
    down) belongs to the store if its path `fits`. `stored` lists the contents of such a file, given its path
    and last change; it raises what `Stored.read` does.
    """

    host: str
    places: Callable[[Machine], Iterable[str]]
    fits: Callable[[str], bool]
    stored: Callable[[Disk, str, float], Iterable[Stored]]
    deep: int = 20


def with_keys(session_id: str, turns: Iterable[Fields]) -> list[tuple[str, Fields]]:
    """Pair each turn of a session with its key: the host's, else a stable one made from its words."""
    occurrences: dict[str, int] = {}
    pairs = []
    for turn in turns:
        words = "\n\n".join(turn["prompts"]) or turn["assistant"]
        occurrences[words] = occurrences.get(words, 0) + 1
        digest = hashlib.sha256(
            f"{session_id}\n{occurrences[words]}\n{words}".encode("utf-8", "replace")
        ).hexdigest()
        key = turn["prompt_id"] or turn["uuid"]
        pairs.append((key if key and len(key) <= 200 else f"h-{digest[:32]}", turn))
    return pairs


def pieces(text: str) -> list[str]:
    """Split a text into pieces that each fit into one fact, after a paragraph, line or word if possible."""
    text, parts = text.strip(), []
    while len(text) > LONGEST:
        ends = (text.rfind(separator, 1, LONGEST) for separator in ("\n\n", "\n", " "))
        cut = next((end for end in ends if end > 0), LONGEST)
        parts.append(text[:cut].strip())
        text = text[cut:].strip()
    return [*parts, text] if text else parts


def texts(content: object, kinds: tuple[str, ...] = ("text",)) -> str:
    """Return the text of a message: a string, or the blocks of these types, with blank lines between them."""
    if isinstance(content, str):
        return content
    blocks = (string(each.get("text")) for each in dicts(content) if each.get("type") in kinds)
    return "\n\n".join(filter(None, blocks))


def seconds(value: object) -> float | None:
    """Parse a time of a host: ISO 8601, or seconds or milliseconds since 1970; None for anything else."""
    if isinstance(value, str):
        try:
            time = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e15:
        return None
    return float(value) if value < _MOST_SECONDS else value / 1000


def instant(value: object) -> str | None:
    """Convert a time of a host to ISO 8601 in UTC; None for anything else."""
    timestamp = seconds(value)
    try:
        return None if timestamp is None else datetime.fromtimestamp(timestamp, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return None
