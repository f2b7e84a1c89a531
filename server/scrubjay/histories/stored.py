"""What the stores of other programs hold: sessions of turns, and facts; and how one is read."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from scrubjay.transcripts.json_lines import dicts, string

if TYPE_CHECKING:
    from scrubjay.histories.disk import Disk
    from scrubjay.hosts.machine import Machine

Fields = dict[str, Any]

LONGEST = 10_000  # characters of a fact, as everywhere; a longer text becomes several
_SECONDS = 1e11  # a number below it counts seconds since 1970, one above it milliseconds


class Session(NamedTuple):
    """The turns of one session, in order, each a dict as `transcripts.claude_code.turns` gives it.

    `folder` is that of the project, which may be gone by now; None if the store does not say. What a
    turn says in its `folders` goes before it.
    """

    host: str
    id: str
    folder: str | None
    turns: list[Fields]


@dataclass(frozen=True)
class Fact:
    """A fact that another memory holds; the same `id` of the same `source` is the same fact at every import.

    Times are ISO 8601, UTC if they have no zone. `earlier` are older values with the time since when each
    held, oldest first. `folder` is that of the project, `project` a mere name of it. `metadata` is flat.
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
    """Something in a store that is not read yet; `at` is when it was written last, in seconds since 1970.

    `read` raises OSError, ValueError, LookupError or sqlite3.Error where it cannot be read.
    """

    host: str
    path: str
    at: float
    read: Callable[[], Iterable[Session | Fact]]


class History(NamedTuple):
    """How the store of one program is read.

    `places` are the files and folders where it may lie on a machine; a file below them (at most `deep`
    folders down) whose path `fits` is one of its own. `stored` lists what such a file holds, given when it
    was written last; it raises what `Stored.read` does.
    """

    host: str
    places: Callable[[Machine], Iterable[str]]
    fits: Callable[[str], bool]
    stored: Callable[[Disk, str, float], Iterable[Stored]]
    deep: int = 20


def keyed(session_id: str, turns: Iterable[Fields]) -> list[tuple[str, Fields]]:
    """Give each turn of a session its key: the host's, else one of its words that stays the same."""
    times: dict[str, int] = {}
    pairs = []
    for turn in turns:
        words = "\n\n".join(turn["prompts"]) or turn["assistant"]
        times[words] = times.get(words, 0) + 1
        digest = hashlib.sha256(
            f"{session_id}\n{times[words]}\n{words}".encode("utf-8", "replace")
        ).hexdigest()
        key = turn["prompt_id"] or turn["uuid"]
        pairs.append((key if key and len(key) <= 200 else f"h-{digest[:32]}", turn))
    return pairs


def pieces(text: str) -> list[str]:
    """Cut a text into facts, where a paragraph, line or word ends; none for a text without words."""
    text, found = text.strip(), []
    while len(text) > LONGEST:
        ends = (text.rfind(mark, 1, LONGEST) for mark in ("\n\n", "\n", " "))
        cut = next((at for at in ends if at > 0), LONGEST)
        found.append(text[:cut].strip())
        text = text[cut:].strip()
    return [*found, text] if text else found


def texts(content: object, kinds: tuple[str, ...] = ("text",)) -> str:
    """The text of a message: a string, or the blocks of these types in a list, a blank line between."""
    if isinstance(content, str):
        return content
    blocks = (string(each.get("text")) for each in dicts(content) if each.get("type") in kinds)
    return "\n\n".join(filter(None, blocks))


def seconds(value: object) -> float | None:
    """A time as hosts write it: ISO 8601, or seconds or milliseconds since 1970; None for anything else."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e15:
        return None
    return float(value) if value < _SECONDS else value / 1000


def instant(value: object) -> str | None:
    """A time as hosts write it, as ISO 8601 in UTC."""
    since = seconds(value)
    try:
        return None if since is None else datetime.fromtimestamp(since, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return None
