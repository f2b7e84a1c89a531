"""The arguments of the page's calls."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from scrubjay.engine.verbs.facts import Which
from scrubjay.home.scopes import USER_SCOPE
from scrubjay.models.fields import Name, OneScope
from scrubjay.models.requests import AddMemory, Query, Reason, Request, Tags

MOST_AT_ONCE = 200  # records that one call may change

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


class SearchInput(Request):
    """The input of the search: the query, and the filters that are set as chips."""

    query: Query
    kinds: tuple[Literal["memory", "turn", "chunk"], ...] = ("memory", "turn", "chunk")
    scope: str | None = None
    host: str | None = None
    since: str | None = None
    until: str | None = None
    tags: Tags | None = None
    more: bool = False


class TextsToMark(Request):
    """Texts of hits, in which to mark the parts that match the query."""

    query: Query
    texts: Annotated[list[Annotated[str, Field(max_length=2_000)]], Field(max_length=12)]


class Facts(Request):
    """A page of facts, filtered by the fields that are set; a fact must contain each word of `words`."""

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
    """A fact and the scope to store it in."""

    scope: OneScope = USER_SCOPE


class FactChange(Request):
    """The content of the next version of a fact."""

    id: str
    content: str


class Scoped(Request):
    """One project, or all projects."""

    scope: str | None = None


class GivenLog(Request):
    """The last `size` times that models were given memories: anywhere, in a project, or in a session."""

    scope: str | None = None
    session_id: str | None = None
    size: Size = 8


class TakeBack(Request):
    """Distilled facts of a project to take back; without ids, those of the last run."""

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
