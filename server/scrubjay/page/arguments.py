"""The arguments of the page's calls."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from scrubjay.engine.verbs.facts import Which
from scrubjay.home.scopes import USER_SCOPE
from scrubjay.models.fields import Name, OneScope
from scrubjay.models.requests import AddMemory, Query, Reason, Request, Tags

MOST_AT_ONCE = 200  # records changed by one call

Ids = Annotated[list[Name], Field(min_length=1, max_length=MOST_AT_ONCE)]
Size = Annotated[int, Field(ge=1, le=200)]
Start = Annotated[int, Field(ge=0, le=1_000_000_000)]


class Sessions(Request):
    """A page of sessions; `day` is a local date."""

    scope: str | None = None
    host: str | None = None
    day: str | None = None
    start: Start = 0
    size: Size = 40


class OneSession(Request):
    """A part of a session, from `start` or around the turn numbered `turn`."""

    scope: str
    session_id: str
    start: Start = 0
    size: Size = 40
    turn: Start | None = None


class OneRecord(Request):
    """A record of any kind."""

    id: str
    start: Start = 0


class Records(Request):
    """Records to change together."""

    ids: Ids
    reason: Reason | None = None


class Asked(Request):
    """The input of the search: the words, and the chips next to them."""

    query: Query
    kinds: tuple[Literal["memory", "turn", "chunk"], ...] = ("memory", "turn", "chunk")
    scope: str | None = None
    host: str | None = None
    since: str | None = None
    until: str | None = None
    tags: Tags | None = None
    more: bool = False


class Marked(Request):
    """Texts of hits in which to mark what matched the query."""

    query: Query
    texts: Annotated[list[Annotated[str, Field(max_length=2_000)]], Field(max_length=12)]


class Facts(Request):
    """A page of facts: all of them, or as the fields narrow them; each word of `words` must occur."""

    scope: str | None = None
    which: Which = "current"
    words: Annotated[str, Field(max_length=500)] = ""
    kind: str | None = None
    tag: str | None = None
    source: str | None = None
    sort: Literal["created_at", "updated_at"] = "updated_at"
    start: Start = 0
    size: Size = 50


class NewFact(AddMemory):
    """A fact and its place."""

    scope: OneScope = USER_SCOPE


class ChangedFact(Request):
    """New words for a fact: its next version."""

    id: str
    content: str


class Scoped(Request):
    """A project, or all projects."""

    scope: str | None = None


class AskedGiven(Request):
    """What models were given: everywhere, in a project, or in one session; the last `size` times."""

    scope: str | None = None
    session_id: str | None = None
    size: Size = 8


class TakenBack(Request):
    """Distilled facts of a project to take back; without ids, all of the last run."""

    scope: OneScope
    ids: Annotated[tuple[Name, ...], Field(max_length=MOST_AT_ONCE)] = ()


class Path(Request):
    """An indexed file or folder to read again."""

    path: str
    scope: OneScope


class Setting(Request):
    """One setting, as a user would type it."""

    key: str
    value: str
