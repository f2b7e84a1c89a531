"""Hands out new turns to distill, in pieces, and lists and takes back the distilled facts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from scrubjay.engine.verbs.removal import Removal
from scrubjay.engine.verbs.verb import Verb
from scrubjay.errors import InputError
from scrubjay.home.files import parse_json, read_whole
from scrubjay.home.spool import durable_write
from scrubjay.models.fields import resolve
from scrubjay.models.records import Memory, Turn, is_current
from scrubjay.models.requests import AddMemory, Forget
from scrubjay.models.results import Result
from scrubjay.records.distilled import CONTRADICTS, DISTILLED
from scrubjay.records.turns import is_own_command
from scrubjay.store import conditions
from scrubjay.store.schema import micros
from scrubjay.text.dates import LocalZone
from scrubjay.text.short_ids import short_id

FIRST = timedelta(days=1)  # the first distill reads the turns of this time
AT_ONCE = 50  # the most turns that are read for one piece
PAUSE = timedelta(minutes=30)  # a new run begins after this time without a distilled fact
TAKEN_BACK = "taken back after distilling"

Mark = tuple[int, str]  # the time of a turn, in microseconds, and its id


class Piece(NamedTuple):
    """Turns in order of time, and the number of turns that wait after them."""

    turns: tuple[Turn, ...]
    left: int


class DistilledFact(Result):
    """A distilled fact of the last runs; `run` is 1 for the latest one."""

    id: str
    run: int
    scope: str
    date: datetime
    memory: str
    turn: str | None
    may_contradict: str | None


@dataclass(eq=False)
class Distilling(Verb):
    """Hands out turns for a model to distill, and lists and takes back the distilled facts."""

    _removal: Removal

    async def unread(
        self,
        scope: str,
        since: datetime | str | None,
        room: int,
        length: Callable[[Turn], int],
        *,
        moves: bool,
    ) -> Piece:
        """Return the turns after the scope's mark, or from `since` on, that fit into `room`, at least one.

        With `moves`, the mark moves, so that the next call returns the turns after these.
        """
        await self._writer.catch_up()
        now = self._clock().astimezone(LocalZone())
        start = resolve("since", since, now, end=False)
        mark = (micros(start), "") if start else await self._mark(scope, now)
        in_scope, after = conditions.matching(scope=scope), conditions.number("started_at", ">=", mark[0])
        where = conditions.both(in_scope, after, conditions.current(Turn, now), conditions.missing("role"))
        rows = await self._store.select(Turn, where, columns=["id", "started_at", "user"])
        rows = [row for row in rows if not is_own_command(row)]
        marks = sorted(each for row in rows if (each := (micros(row.started_at), row.id)) > mark)
        by_id = await self._store.get(Turn, [turn_id for _, turn_id in marks[:AT_ONCE]])
        turns: list[Turn] = []
        for turn in (by_id[turn_id] for _, turn_id in marks[:AT_ONCE] if turn_id in by_id):
            room -= length(turn)
            if turns and room < 0:
                break
            turns.append(turn)
        if turns and moves:
            new_mark = micros(turns[-1].started_at), turns[-1].id
            content = json.dumps({**await self._marks(), scope: new_mark}).encode()
            await asyncio.to_thread(durable_write, self._home, self._home.distilled, content)
        return Piece(tuple(turns), len(marks) - len(turns))

    async def facts(self, scope: str, ids: Sequence[str] = ()) -> list[DistilledFact]:
        """Return the current distilled facts of a scope, the latest first; with `ids`, only these.

        Raises:
            InputError: an id is not that of a current distilled fact of this scope.
        """
        now = self._clock()
        current = [(fact, run) for fact, run in await self._runs(scope) if is_current(fact, now)]
        _refuse_unknown(ids, {fact.id for fact, _ in current}, scope)
        return [_as_result(fact, run) for fact, run in current if not ids or fact.id in ids]

    async def take_back(self, scope: str, ids: Sequence[str], source: str) -> list[DistilledFact]:
        """Forget these distilled facts, or all of the last run; facts that they replaced are current again.

        Raises:
            InputError: an id is not that of a current distilled fact of this scope.
        """
        now = self._clock()
        by_id = {fact.id: (fact, run) for fact, run in await self._runs(scope)}
        current = {each: pair for each, pair in by_id.items() if is_current(pair[0], now)}
        _refuse_unknown(ids, current.keys(), scope)
        last = min((run for _, run in current.values()), default=0)
        chosen = [pair for pair in current.values() if (pair[0].id in ids if ids else pair[1] == last)]
        for fact, run in chosen:
            older = [by_id[each] for each in fact.parent_ids if each in by_id and fact.relation == "updates"]
            for parent, parent_run in older:
                if ids or parent_run != run:
                    await self._revive(parent, fact, source)
            await self._removal.forget(Forget(id=fact.id, reason=TAKEN_BACK), scope, source)
        return [_as_result(fact, run) for fact, run in chosen]

    async def _revive(self, older: Memory, fact: Memory, source: str) -> None:
        """Make a replaced fact the newest version again."""
        fields = {"content": older.content, "tags": list(older.tags), "metadata": older.metadata}
        request = AddMemory.model_validate({**fields, "updates": [fact.id]})
        update = await self._writer.seal("memory", request, scope=fact.scope, source=source, at=self._clock())
        await self._writer.write(update)

    async def _runs(self, scope: str) -> list[tuple[Memory, int]]:
        """Return a scope's distilled facts with their run numbers, latest first; include replaced facts."""
        await self._writer.catch_up()
        tagged = conditions.both(conditions.has_all("tags", [DISTILLED]), conditions.NOT_FORGOTTEN)
        facts = await self._store.select(Memory, conditions.both(conditions.matching(scope=scope), tagged))
        facts.sort(key=lambda fact: (fact.created_at, fact.id), reverse=True)
        runs, run = [], 1
        for index, fact in enumerate(facts):
            run += index > 0 and facts[index - 1].created_at - fact.created_at > PAUSE
            runs.append((fact, run))
        return runs

    async def _mark(self, scope: str, now: datetime) -> Mark:
        time, turn_id = (await self._marks()).get(scope, (micros(now - FIRST), ""))
        return int(time), str(turn_id)

    async def _marks(self) -> dict[str, Mark]:
        try:
            marks = parse_json(await asyncio.to_thread(read_whole, self._home.distilled))
        except (OSError, ValueError):  # without a file, or with a damaged one, the last day is read again
            return {}
        return marks if isinstance(marks, dict) else {}


def _refuse_unknown(ids: Sequence[str], known: Collection[str], scope: str) -> None:
    if unknown := [each for each in ids if each not in known]:
        raise InputError(f"{unknown[0]!r} is not a distilled fact of {scope}. `scrubjay review` lists them.")


def _as_result(fact: Memory, run: int) -> DistilledFact:
    return DistilledFact(
        id=fact.id,
        run=run,
        scope=fact.scope,
        date=fact.created_at,
        memory=fact.content,
        turn=short_id("turn", "", fact.session_id, fact.turn) if fact.session_id else None,
        may_contradict=fact.metadata.get(CONTRADICTS),
    )
