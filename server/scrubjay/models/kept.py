"""Requests that store what other programs keep: hosts' sessions and notes, and facts of other memories."""

from typing import Annotated

from pydantic import Field

from scrubjay.models.fields import Count, Flag, Importance, Instant, Metadata, Name, OneScope, Text
from scrubjay.models.requests import FactContent, Path, RecordTurn, Request, Tags


class KeptSession(Request):
    """Turns of one session, in order, as its host stored them; each has a prompt_id.

    `others` has the prompt_ids of the session's turns that are not included, and `untimed` the prompt_ids of
    turns without a time of their own. Turns before `since` only serve to identify the later turns. `redacted`
    counts the secrets that were replaced.
    """

    host: Name
    scope: OneScope
    session_id: Name
    turns: Annotated[list[RecordTurn], Field(min_length=1)]
    others: list[Name] = Field([])
    untimed: list[Name] = Field([])
    since: Instant | None = None
    redacted: Annotated[Count, Field(ge=0)] = 0


class KeptSessions(Request):
    """Sessions as hosts stored them."""

    sessions: list[KeptSession]


class KeptFact(Request):
    """A fact from another memory (`source`); `earlier` has its older values, each with its start."""

    source: Name
    id: Annotated[Text, Field(max_length=2_000)]
    scope: OneScope
    content: FactContent
    created_at: Instant | None = None
    updated_at: Instant | None = None
    earlier: list[tuple[FactContent, Instant | None]] = Field([])
    session_id: Name | None = None
    tags: Tags = Field([])
    importance: Importance = 5.0
    metadata: Metadata = Field({})


class KeptFacts(Request):
    """Facts from other memories."""

    facts: list[KeptFact]


class KeptNote(Request):
    """A note in a file of a host's memory; `at` is the time since when the file has had it."""

    content: FactContent
    scope: OneScope
    at: Instant | None = None
    session_id: Name | None = None
    tags: Tags = Field([])
    metadata: Metadata = Field({})


class KeptMemoryFile(Request):
    """All notes in a file of a host's memory; `is_whole` is False if some of them were left out."""

    source: Name
    path: Path
    entries: list[KeptNote]
    is_whole: Flag = True


class KeptMemoryFiles(Request):
    """Files of hosts' memories on a machine; a file that is missing in a `searched` place was deleted."""

    machine: Name
    memories: list[KeptMemoryFile]
    searched: list[Text] = Field([])
    redacted: Annotated[Count, Field(ge=0)] = 0
