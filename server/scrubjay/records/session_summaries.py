"""Session summaries: one memory for every twenty turns of a session, in the words of those turns.

The turns stay as they are; when they change or are forgotten, their summary follows.
"""

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

EVERY = 20  # turns (CHAT_SUMMARY_EVERY of a proposal for supermemory)
# Turns with a summary that a first summary needs: a session numbered by tens has no stretch worth one.
LEAST = 10
GONE = "all turns it was made of are forgotten"


async def plan_summary(store: Store, key: Key, stretch: int, now: datetime) -> Change | None:
    """Plan what makes the summary of a stretch right, the turns numbered from `stretch` * `EVERY` on.

    None before its last turn is there, where it is right already, and where the user forgot it or wrote a
    newer version of it.
    """
    places = (await store.sessions.of([key]))[key].places
    of_stretch = [place for place in places if place.turn // EVERY == stretch]
    if not of_stretch or max(place.turn for place in places) < (stretch + 1) * EVERY - 1:
        return None
    rows = await store.get(Turn, [place.id for place in of_stretch])
    turns = [rows[place.id] for place in of_stretch if place.id in rows]
    summary_id = derived_id("mem", *key, "summary", str(stretch))
    known = (await store.get(Memory, [summary_id])).get(summary_id)
    if known is None:
        if len(_summarised(turns)) < LEAST:
            return None
        summary = await asyncio.to_thread(_create, summary_id, turns, now)
    elif (known.forgotten_at is not None and known.forget_reason != GONE) or not known.is_latest:
        return None
    else:
        summary = await asyncio.to_thread(_remake, known, turns, now)
    if summary is None or summary == known:
        return None
    return Change(summary, passages_of(summary), rewritten=known is not None)


async def plan_without_turns(store: Store, ids: Collection[str], at: datetime) -> list[Change]:
    """Plan the summaries of these turns without them; one of which nothing is left is forgotten (`GONE`)."""
    changes = []
    for known in await children(store, ids):
        if known.source == SUMMARY and known.id not in ids:
            rows = await store.get(Turn, known.parent_ids)
            turns = [rows[each] for each in known.parent_ids if each in rows and each not in ids]
            summary = await asyncio.to_thread(_remake, known, turns, at)
            changes.append(Change(summary, passages_of(summary), rewritten=True))
    return changes


def _summarised(turns: Sequence[Turn]) -> list[Turn]:
    """Return the turns that a summary may cover: an assistant's, with a summary of their own."""
    return [
        turn for turn in turns if turn.forgotten_at is None and turn.summary and (turn.user or turn.assistant)
    ]


def _create(summary_id: str, turns: Sequence[Turn], now: datetime) -> Memory | None:
    covered = _summarised(turns)
    if not (values := _fields(covered)):
        return None
    last = covered[-1]
    return Memory(
        **values,
        id=summary_id,
        root_id=summary_id,
        scope=last.scope,
        partition_id=PARTITION,
        source=SUMMARY,
        relation="derives",
        session_id=last.session_id,
        updated_at=now,
        last_accessed_at=values["created_at"],
    )


def _remake(known: Memory, turns: Sequence[Turn], now: datetime) -> Memory:
    """Return a summary remade of these turns; the very same object if nothing changes."""
    values = _fields(_summarised(turns)) or {"forgotten_at": known.forgotten_at or now, "forget_reason": GONE}
    if "forgotten_at" not in values and known.forget_reason == GONE:
        values |= {"forgotten_at": None, "forget_reason": None}
    changed = known.model_copy(update=values)
    return known if changed == known else changed.model_copy(update={"updated_at": now})


def _fields(turns: Sequence[Turn]) -> dict[str, Any]:
    """Return the fields of a summary that depend on its turns; none if there is nothing to say."""
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
