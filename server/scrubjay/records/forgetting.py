"""Forgetting and its undoing: records of any kind leave every search, softly and with a reason, or for good.

`store.purging` takes their bytes off the disk. Nothing is ever forgotten by age.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from scrubjay.errors import InputError, NotFound
from scrubjay.models.envelopes import Envelope
from scrubjay.models.records import AnyRecord, Document, Memory, Turn, content_hash
from scrubjay.models.requests import Forget, ForgetRecords, Restore, parse
from scrubjay.models.results import Forgotten, Restored
from scrubjay.records import extracted, memories, session_summaries, turns
from scrubjay.records.passages import passages_of
from scrubjay.records.plans import Plan
from scrubjay.records.versions import history
from scrubjay.store.changes import Change
from scrubjay.store.store import Store


async def plan_forget(store: Store, envelope: Envelope, now: datetime) -> Plan[Forgotten]:
    """What forgetting these records does: they keep everything and say when and why they were forgotten; with `purge`, they go.

    Raises:
        NotFound: no record has one of the ids; nothing is forgotten then. What is to be purged may be gone already.
    """
    request = parse(ForgetRecords, envelope.args)
    records = await _of(store, request.ids)
    if (
        not request.purge
        and (missing := next((id for id in request.ids if id not in records), None)) is not None
    ):
        raise unknown_id(missing)
    said_in = await turns.conversation_turns(store, records.values())
    found = list({**records, **{turn.id: turn for turn in said_in}}.values())
    ids = frozenset([*request.ids, *(turn.id for turn in said_in)])
    said = {"forgotten_at": envelope.at, "forget_reason": request.reason, "updated_at": envelope.at}
    hidden = [
        Change(record.model_copy(update=said), hidden=True) for record in found if record.forgotten_at is None
    ]
    summaries = await session_summaries.plan_without_turns(store, ids, envelope.at)
    documents = [record.id for record in found if isinstance(record, Document)]
    facts = [
        change
        for change in await extracted.plan_removal(store, documents, envelope.at)
        if change.record.id not in ids
    ]
    changes = [*hidden, *summaries, *facts]
    emptied = [
        change.record.id for change in summaries if change.record.forget_reason == session_summaries.GONE
    ]
    purged = (*request.ids, *emptied) if request.purge else ()
    answer = Forgotten(
        ids=request.ids, forgotten=len(hidden), purged=len(request.ids) if request.purge else 0
    )
    return Plan(changes[0] if changes else None, answer, tuple(changes[1:]), purged)


async def plan_restore(store: Store, envelope: Envelope, now: datetime) -> Plan[Restored]:
    """What bringing back a record does: everything about it is as before it was forgotten.

    Raises:
        NotFound: no record has the id.
        InputError: its texts were deleted for good.
    """
    id = parse(Restore, envelope.args).id
    record = await store.find(id)
    if record is None:
        raise unknown_id(id)
    if isinstance(record, Turn) and record.purged_at is not None:
        raise InputError(
            f"{id} was deleted for good on {record.purged_at:%Y-%m-%d}; nothing is left to bring back."
        )
    if record.forgotten_at is None:
        return Plan(None, Restored(id=id, restored=False))
    back = record.model_copy(update={"forgotten_at": None, "forget_reason": None, "updated_at": envelope.at})
    facts = await extracted.plan_facts(store, back, envelope.at) if isinstance(back, Document) else ()
    with_it = [
        turn
        for turn in await turns.conversation_turns(store, [record])
        if turn.forgotten_at == record.forgotten_at and not turn.purged_at
    ]
    back_too = [
        turn.model_copy(update={"forgotten_at": None, "forget_reason": None, "updated_at": envelope.at})
        for turn in with_it
    ]
    also = (*facts, *(Change(turn, passages_of(turn), rewritten=True) for turn in back_too))
    return Plan(Change(back, passages_of(back), rewritten=True), Restored(id=id, restored=True), also)


async def records_to_forget(store: Store, request: Forget, scope: str) -> list[AnyRecord]:
    """The records that a request names by id or by the exact words of a fact.

    Raises:
        NotFound: there is none.
    """
    if request.id is not None:
        record = await store.find(request.id)
        if record is None:
            raise unknown_id(request.id)
        return [record]
    facts = await memories.facts_with_text(store, scope, {content_hash(request.content or "")})
    found: list[AnyRecord] = [fact for fact in facts if fact.forgotten_at is None]
    if not found:
        raise NotFound(
            f"No fact of the scope {scope!r} says exactly that. Give the id, or a query with dry_run true."
        )
    return found


async def with_history(store: Store, records: Sequence[AnyRecord]) -> list[AnyRecord]:
    """These records, the versions that they took the place of, and what was learned of them: whoever wants the bytes gone means all."""
    found: dict[str, AnyRecord] = {record.id: record for record in records}
    found.update((turn.id, turn) for turn in await turns.conversation_turns(store, records))
    found.update(
        (fact.id, fact)
        for fact in await extracted.exclusive_facts(
            store, [id for id, row in found.items() if isinstance(row, Document)]
        )
    )
    for record in list(found.values()):
        if isinstance(record, Memory):
            found.update((older.id, older) for older in await history(store, record))
    return list(found.values())


def texts_of(record: AnyRecord) -> list[str]:
    """Everything that was said in a record."""
    if isinstance(record, Turn):
        return [text for text in (record.user, record.assistant, record.text, record.summary) if text]
    return [record.content]


def unknown_id(id: str) -> NotFound:
    """What to raise for an id that names nothing."""
    return NotFound(f"No memory, turn or document has the id {id[:80]!r}. Take the id of a search result.")


async def _of(store: Store, ids: Sequence[str]) -> dict[str, AnyRecord]:
    """The records that have these ids, in that order; in few reads, because a whole scope may be meant."""
    found: dict[str, AnyRecord] = {
        **await store.get(Memory, ids),
        **await store.get(Turn, ids),
        **await store.get(Document, ids),
    }
    return {id: found[id] for id in ids if id in found}
