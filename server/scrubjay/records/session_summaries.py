"""Session summaries: one memory for every twenty turns of a session, in the words of those turns. Knows which turns one is made of, and
what becomes of it when they change or are forgotten; does not know when somebody has time to make it. The
turns stay as they are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from scrubjay.models.records import SUMMARY, Memory, Turn, content_hash, derived_id
from scrubjay.records.passages import passages_of
from scrubjay.records.turns import PARTITION
from scrubjay.records.versions import children
from scrubjay.store.changes import Change
from scrubjay.store.sessions import Key
from scrubjay.store.store import Store
from scrubjay.text.summary import rolling_summary

EVERY = 20  # turns (seed 004's CHAT_SUMMARY_EVERY)
LEAST = (
    10  # of them that may be shown, for a first summary: a session numbered by tens has no stretch worth one
)
GONE = "all turns it was made of are forgotten"


async def plan_summary(store: Store, key: Key, stretch: int, now: datetime) -> Change | None:
    """What has to be written so that the summary of a stretch of a session is right: of the turns numbered from `stretch` * `EVERY` on.

    None before its last turn is there, where it is right already, and where the user forgot it or wrote a
    newer version of it.
    """
    places = (await store.sessions.of([key]))[key].places
    of_stretch = [place for place in places if place.turn // EVERY == stretch]
    if not of_stretch or max(place.turn for place in places) < (stretch + 1) * EVERY - 1:
        return None
    rows = await store.get(Turn, [place.id for place in of_stretch])
    turns = [rows[place.id] for place in of_stretch if place.id in rows]
    id = derived_id("mem", *key, "summary", str(stretch))
    known = (await store.get(Memory, [id])).get(id)
    if known is None:
        made = await asyncio.to_thread(_made, id, turns, now) if len(_shown(turns)) >= LEAST else None
    elif (known.forgotten_at is not None and known.forget_reason != GONE) or not known.is_latest:
        made = None
    else:
        made = await asyncio.to_thread(_of, known, turns, now)
    return (
        None
        if made is None or made == known
        else Change(made, passages_of(made), rewritten=known is not None)
    )


async def plan_without_turns(store: Store, ids: Collection[str], at: datetime) -> list[Change]:
    """The summaries made of the turns with these ids, as they are without them; one that nothing is left of is forgotten (`GONE`)."""
    changes = []
    for known in await children(store, ids):
        if known.source == SUMMARY and known.id not in ids:
            rows = await store.get(Turn, known.parent_ids)
            turns = [rows[id] for id in known.parent_ids if id in rows and id not in ids]
            made = await asyncio.to_thread(_of, known, turns, at)
            changes.append(Change(made, passages_of(made), rewritten=True))
    return changes


def _shown(turns: Sequence[Turn]) -> list[Turn]:
    """Those that a summary may tell of: an assistant's, which have one themselves. What people said to each other has none."""
    return [
        turn for turn in turns if turn.forgotten_at is None and turn.summary and (turn.user or turn.assistant)
    ]


def _made(id: str, turns: Sequence[Turn], now: datetime) -> Memory | None:
    shown = _shown(turns)
    if not (values := _said(shown)):
        return None
    last = shown[-1]
    return Memory(
        **values,
        id=id,
        root_id=id,
        scope=last.scope,
        partition_id=PARTITION,
        source=SUMMARY,
        relation="derives",
        session_id=last.session_id,
        updated_at=now,
        last_accessed_at=values["created_at"],
    )


def _of(known: Memory, turns: Sequence[Turn], now: datetime) -> Memory:
    """A summary as it is made of these turns; the very same object where nothing changes."""
    values = _said(_shown(turns)) or {"forgotten_at": known.forgotten_at or now, "forget_reason": GONE}
    if "forgotten_at" not in values and known.forget_reason == GONE:
        values |= {"forgotten_at": None, "forget_reason": None}
    changed = known.model_copy(update=values)
    return known if changed == known else changed.model_copy(update={"updated_at": now})


def _said(turns: Sequence[Turn]) -> dict[str, Any]:
    """What a summary says of these turns, and where it stands; nothing where there is nothing to say."""
    text = rolling_summary(
        [turn.summary or "" for turn in turns], files=[file for turn in turns for file in turn.files]
    )
    if not text:
        return {}
    first, last = turns[0], turns[-1]
    content = f"Session of {last.started_at:%Y-%m-%d}, turns {first.turn} to {last.turn}.\n{text}"
    return {
        "content": content,
        "content_hash": content_hash(content),
        "parent_ids": tuple(turn.id for turn in turns),
        "turn": last.turn,
        "created_at": last.started_at,
    }
