"""Reads sessions: their list, the turns per day and host, and one session turn by turn."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple, cast

from scrubjay.engine.verbs.verb import Verb
from scrubjay.engine.writing import CATCH_UP_SECONDS
from scrubjay.errors import NotFound
from scrubjay.models.fields import resolve
from scrubjay.models.records import Document, Memory, Turn
from scrubjay.models.requests import SearchMemories, parse
from scrubjay.models.results import Result
from scrubjay.records.exchange import values_of
from scrubjay.records.session_summaries import (
    MOST_TURNS,
    Digest,
    Point,
    digest,
    exchange_of,
    points_of,
    title_and_text,
)
from scrubjay.search.document_search import COLUMNS
from scrubjay.store import conditions
from scrubjay.store.counts import SessionSpan, read_turn_times
from scrubjay.store.sessions import Key
from scrubjay.text.dates import LocalZone
from scrubjay.text.titles import opening, title

LONGEST_TEXT = 20_000  # characters; a longer side of a turn is cut, and `Lists.detail` returns all of it
MOST_FACTS = 200  # facts of a session that are returned
MOST_RECALLED = 20
_SCOPES = 8  # scopes whose counts are cached
_TITLES = 2_000  # titles of sessions without a summary that are cached
# All columns are named, because reading turns without naming columns would keep the whole table in memory,
# which only searches need.
_TURN = list(Turn.model_fields)
_SIDES = ("user", "assistant", "text")


class ListedSession(Result):
    """A session in the list, with its subject, host and length."""

    scope: str
    session_id: str
    host: str
    turns: int
    started_at: datetime
    ended_at: datetime
    title: str
    summary: str


class ListedHost(Result):
    """A host and its turns."""

    host: str
    turns: int
    last_seen: datetime


class Overview(Result):
    """A page of sessions, the latest first, and the turns per day and host of all sessions."""

    results: list[ListedSession]
    total: int
    days: dict[str, int]
    hosts: list[ListedHost]
    behind: str | None  # why the latest turns may be missing


class RecalledTurn(Result):
    """A turn that searches returned, with how often and when last."""

    turn: int
    times: int
    last: datetime


class SessionView(Result):
    """A part of one session: its turns from `start`, and the facts and documents that belong to it.

    `recalled` are turns of the whole session, the most recently recalled first; at most `MOST_RECALLED`.
    """

    scope: str
    session_id: str
    title: str
    summary: str
    total: int
    start: int
    turns: list[dict[str, Any]]
    recalled: list[RecalledTurn]
    facts: list[dict[str, Any]]
    documents: list[dict[str, Any]]


class Outline(Result):
    """A session as points, each with the number of its turn, and its files with the turns that touch them."""

    points: list[Point]
    files: dict[str, list[int]]


class _Totals(NamedTuple):
    """The counts of a scope's turns, for one table version and time zone (`state`)."""

    state: tuple[int, timedelta | None]
    spans: list[SessionSpan]
    days: dict[str, int]
    hosts: list[ListedHost]


@dataclass(eq=False)
class Sessions(Verb):
    """Reads the sessions of one store."""

    _titles: OrderedDict[str, str] = field(default_factory=OrderedDict)  # by the ids of the first two turns
    _cached_totals: OrderedDict[str | None, _Totals] = field(default_factory=OrderedDict)  # by scope

    async def overview(
        self,
        scope: str | None = None,
        *,
        host: str | None = None,
        day: str | None = None,
        start: int,
        size: int,
        patience: float = CATCH_UP_SECONDS,
    ) -> Overview:
        """Return a page of all sessions, or only of those of one scope, host or local day.

        While the store is busy, this waits `patience` seconds for the latest turns, and then sets `behind`.
        """
        behind = await self._writer.catch_up(patience)
        zone = LocalZone()
        totals = await self._totals(scope, zone)
        spans = [span for span in totals.spans if host in (None, span.host)]
        spans = [span for span in spans if day is None or _is_open_on(span, day, zone)]
        page = spans[start : start + size]
        titles = await self._titles_and_summaries([(span.scope, span.session_id) for span in page])
        results = []
        for span in page:
            session_title, summary = titles[span.scope, span.session_id]
            results.append(ListedSession(**vars(span), title=session_title, summary=summary))
        days, hosts = totals.days, totals.hosts
        return Overview(results=results, total=len(spans), days=days, hosts=hosts, behind=behind)

    async def since(self, when: str, scope: str | None, size: int) -> tuple[datetime, Overview]:
        """Return the time that `when` names in words or ISO 8601, and a page of the sessions since then.

        Raises:
            InputError: `when` names no time.
        """
        now = self._clock().astimezone(LocalZone())
        since = parse(SearchMemories, {"query": when, "since": when}).since
        start = cast(datetime, resolve("since", since, now, end=False))
        page = await self.overview(scope, start=0, size=size)
        results = [session for session in page.results if session.ended_at >= start]
        return start, page.model_copy(update={"results": results})

    async def digest(self, session: ListedSession) -> tuple[Digest, Turn] | None:
        """Return the digest of a session and its last turn, or None if all of its turns are forgotten."""
        of_session = conditions.matching(scope=session.scope, session_id=session.session_id)
        where = conditions.both(of_session, conditions.current(Turn, self._clock()))
        turns = await self._store.newest(Turn, where, MOST_TURNS)
        return (await asyncio.to_thread(digest, turns[::-1]), turns[0]) if turns else None

    async def _totals(self, scope: str | None, zone: LocalZone) -> _Totals:
        """Count the turns of a scope by session, day and host; cached for one table version and zone."""
        state = await self._store.tables.turns.version(), self._clock().astimezone(zone).utcoffset()
        if (cached := self._cached_totals.get(scope)) is not None and cached.state == state:
            return cached
        rows = await read_turn_times(self._store, scope)
        hosts = [
            ListedHost(host=name, turns=turns, last_seen=last) for name, (turns, last) in rows.hosts().items()
        ]
        spans, days = await asyncio.to_thread(rows.sessions), await asyncio.to_thread(rows.days, zone)
        self._cached_totals[scope] = totals = _Totals(state, spans, days, hosts)
        while len(self._cached_totals) > _SCOPES:
            self._cached_totals.popitem(last=False)
        return totals

    async def read(
        self, scope: str, session_id: str, *, start: int = 0, size: int = 50, turn: int | None = None
    ) -> SessionView:
        """Return `size` turns of a session from `start`, or those around the turn numbered `turn`.

        Forgotten turns are included. A side of more than `LONGEST_TEXT` characters is cut; the turn's `cut`
        has the lengths of such sides.

        Raises:
            NotFound: the session does not exist.
        """
        await self._writer.catch_up()
        key = scope, session_id
        places = (await self._store.sessions.of([key]))[key].places
        if not places:
            what = f"The project {scope!r} has no session {session_id[:80]!r}."
            raise NotFound(f"{what} It may be in another one.")
        if turn is not None:
            index = next((index for index, place in enumerate(places) if place.turn >= turn), len(places) - 1)
            start = max(0, index - size // 4)
        page = places[start : start + size]
        rows = await self._store.get(Turn, [place.id for place in page], columns=_TURN)
        turns = [self._access.with_counts(rows[place.id]) for place in page if place.id in rows]
        facts = await self._facts(key)
        session_title, summary = (await self._titles_and_summaries([key]))[key]
        return SessionView(
            scope=scope,
            session_id=session_id,
            title=session_title,
            summary=summary,
            total=len(places),
            start=start,
            turns=[_shown_values(turn) for turn in turns],
            recalled=await self._recalled(key),
            facts=[values_of(fact) for fact in facts],
            documents=await self._documents(facts),
        )

    async def outline(self, scope: str, session_id: str) -> Outline:
        """Return the points of a session's summary, and the files that its last turns touched."""
        key = scope, session_id
        places = (await self._store.sessions.of([key]))[key].places
        ids = [place.id for place in places if not place.forgotten][-MOST_TURNS:]
        rows = await self._store.get(Turn, ids, columns=_TURN)
        turns = [rows[each] for each in ids if each in rows]
        _, text = (await self._titles_and_summaries([key]))[key]
        files: dict[str, list[int]] = {}
        for turn in turns:
            for file in exchange_of(turn).files:
                files.setdefault(file, []).append(turn.turn)
        return Outline(points=await asyncio.to_thread(points_of, text, turns), files=files)

    async def _documents(self, facts: Iterable[Memory]) -> list[dict[str, Any]]:
        """Return the documents that these facts cite, without the forgotten ones."""
        ids = sorted({document_id for fact in facts for document_id in fact.document_ids})
        documents = await self._store.get(Document, ids, columns=COLUMNS)
        current = [row for row in documents.values() if row.forgotten_at is None]
        return [{"id": row.id, "title": row.title, "path": row.place} for row in current]

    async def _recalled(self, key: Key) -> list[RecalledTurn]:
        where = conditions.both(
            conditions.matching(scope=key[0], session_id=key[1]), conditions.NOT_FORGOTTEN
        )
        columns = ["id", "turn", "access_count", "last_accessed_at"]
        rows = map(self._access.with_counts, await self._store.select(Turn, where, columns=columns))
        recalled = [
            RecalledTurn(turn=row.turn, times=row.access_count, last=row.last_accessed_at)
            for row in rows
            if row.access_count
        ]
        return sorted(recalled, key=lambda each: each.last, reverse=True)[:MOST_RECALLED]

    async def _facts(self, key: Key) -> list[Memory]:
        of_session = conditions.matching(scope=key[0], session_id=key[1])
        current = conditions.current(Memory, self._clock())
        where = conditions.both(of_session, current, conditions.NOT_A_SUMMARY)
        facts = await self._store.newest(Memory, where, MOST_FACTS)
        return [self._access.with_counts(fact) for fact in facts[::-1]]

    async def _titles_and_summaries(self, keys: Sequence[Key]) -> dict[Key, tuple[str, str]]:
        """Return the title and the summary of each session; the summary may be empty."""
        where = conditions.both(
            conditions.one_of("session_id", {session for _, session in keys}),
            conditions.current(Memory, self._clock()),
            conditions.negation(conditions.NOT_A_SUMMARY),
        )
        stored: dict[Key, tuple[str, str]] = {
            (memory.scope, memory.session_id or ""): title_and_text(memory.content)
            for memory in await self._store.select(Memory, where)
        }
        found = {key: stored.get(key, ("", "")) for key in keys}
        titles = await self._make_titles([key for key, (name, _) in found.items() if not name])
        return {key: (titles.get(key, name), text) for key, (name, text) in found.items()}

    async def _make_titles(self, keys: Sequence[Key]) -> dict[Key, str]:
        """Make titles from the first two turns of these sessions."""
        sessions = await self._store.sessions.of(keys)
        first_ids = {
            key: [place.id for place in session.places if not place.forgotten][:2]
            for key, session in sessions.items()
        }
        uncached = [ids for ids in first_ids.values() if ids and "".join(ids) not in self._titles]
        turn_ids = [each for ids in uncached for each in ids]
        rows = await self._store.get(Turn, turn_ids, columns=_TURN) if turn_ids else {}
        turns = [[rows[each] for each in ids if each in rows] for ids in uncached]
        new_titles = await asyncio.to_thread(_titles, turns)
        self._titles.update(("".join(ids), name) for ids, name in zip(uncached, new_titles, strict=True))
        titles = {key: self._titles.get("".join(ids), "") for key, ids in first_ids.items()}
        while len(self._titles) > _TITLES:
            self._titles.popitem(last=False)
        return titles


def _titles(sessions: Sequence[Sequence[Turn]]) -> list[str]:
    """Return a title of each session; without a subject, as in "what is 2 + 2?", its first words."""
    exchanges = [[exchange_of(turn) for turn in turns] for turns in sessions]
    return [
        title(each) or next(filter(None, (opening(f"{user}\n{answer}") for user, answer, _ in each)), "")
        for each in exchanges
    ]


def _is_open_on(span: SessionSpan, day: str, zone: LocalZone) -> bool:
    first, last = span.started_at.astimezone(zone), span.ended_at.astimezone(zone)
    return first.date().isoformat() <= day <= last.date().isoformat()


def _shown_values(turn: Turn) -> dict[str, Any]:
    fields = values_of(turn)
    full_lengths = {side: len(fields[side]) for side in _SIDES if len(fields.get(side, "")) > LONGEST_TEXT}
    cut = {side: fields[side][:LONGEST_TEXT] for side in full_lengths}
    return {**fields, **cut, **({"cut": full_lengths} if full_lengths else {})}
