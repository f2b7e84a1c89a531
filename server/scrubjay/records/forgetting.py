"""Forgets records of any kind, which then leave every search, and restores those that were not purged.

`store.purging` removes purged bytes from the disk. No record is ever forgotten because of its age.
"""

from collections.abc import Sequence
from datetime import datetime

from scrubjay.errors import InputError, NotFound
from scrubjay.models.envelopes import Envelope
from scrubjay.models.records import NOT_FORGOTTEN, AnyRecord, Document, Memory, Turn, content_hash, is_current
from scrubjay.models.requests import Forget, ForgetRecords, Restore, parse
from scrubjay.models.results import Forgotten, Restored
from scrubjay.records import extracted, session_summaries
from scrubjay.records.memories import facts_with_text
from scrubjay.records.passages import written
from scrubjay.records.turns import conversation_turns
from scrubjay.records.versions import history
from scrubjay.store.changes import Change, Plan
from scrubjay.store.store import Store


async def plan_forget(store: Store, envelope: Envelope, now: datetime) -> Plan[Forgotten]:
    """Plan the forgetting of records: they stay, marked with time and reason; with `purge`, they go.

    Raises:
        NotFound: no record has one of the ids, unless it is to be purged; nothing is forgotten then.
    """
    request = parse(ForgetRecords, envelope.args)
    records = await _get_all(store, request.ids)
    missing = next((each for each in request.ids if each not in records), None)
    if missing is not None and not request.purge:
        raise unknown_id(missing)
    turns = await conversation_turns(store, records.values())
    records |= {turn.id: turn for turn in turns}
    ids = frozenset([*request.ids, *(turn.id for turn in turns)])
    values = {"forgotten_at": envelope.at, "forget_reason": request.reason, "updated_at": envelope.at}
    forgotten = [
        Change(record.model_copy(update=values), hidden=True)
        for record in records.values()
        if record.forgotten_at is None
    ]
    summaries = await session_summaries.plan_without_turns(store, ids, envelope.at)
    documents = [record.id for record in records.values() if isinstance(record, Document)]
    facts = await extracted.plan_removal(store, documents, envelope.at)
    changes = [*forgotten, *summaries, *(change for change in facts if change.record.id not in ids)]
    purged: tuple[str, ...] = ()
    if request.purge:
        gone = session_summaries.GONE
        emptied = [change.record.id for change in summaries if change.record.forget_reason == gone]
        purged = (*request.ids, *emptied)
    count = len(request.ids) if request.purge else 0
    answer = Forgotten(ids=request.ids, forgotten=len(forgotten), purged=count)
    return Plan(answer, changes, purged)


async def plan_restore(store: Store, envelope: Envelope, now: datetime) -> Plan[Restored]:
    """Plan the restoring of a record: everything about it is as before it was forgotten.

    Raises:
        NotFound: no record has the id.
        InputError: its texts were permanently deleted.
    """
    record_id = parse(Restore, envelope.args).id
    record = await store.find(record_id)
    if record is None:
        raise unknown_id(record_id)
    if isinstance(record, Turn) and record.purged_at is not None:
        raise InputError(
            f"{record_id} was permanently deleted on {record.purged_at:%Y-%m-%d} and cannot be restored."
        )
    if record.forgotten_at is None:
        return Plan(Restored(id=record_id, restored=False))
    values = {**NOT_FORGOTTEN, "updated_at": envelope.at}
    restored = record.model_copy(update=values)
    facts = await extracted.plan_facts(store, restored, envelope.at) if isinstance(restored, Document) else ()
    turns = [
        turn.model_copy(update=values)
        for turn in await conversation_turns(store, [record])
        if turn.forgotten_at == record.forgotten_at and not turn.purged_at
    ]
    answer = Restored(id=record_id, restored=True, unseen=_unseen(restored, now))
    return Plan(answer, [written(restored), *facts, *map(written, turns)])


def _unseen(record: AnyRecord, now: datetime) -> str | None:
    """Return why searches leave out a record that is not forgotten; None if they find it."""
    if is_current(record, now):
        return None
    if isinstance(record, Memory) and not record.is_latest:
        return "a newer version has replaced it"
    return f"it expired on {record.expires_at:%Y-%m-%d}"


async def records_to_forget(store: Store, request: Forget, scope: str) -> list[AnyRecord]:
    """Return the records that a request names by id or by the exact words of a fact.

    Raises:
        NotFound: no record matches.
    """
    if request.id is not None:
        record = await store.find(request.id)
        if record is None:
            raise unknown_id(request.id)
        return [record]
    facts = await facts_with_text(store, scope, {content_hash(request.content or "")})
    current = [fact for fact in facts if fact.forgotten_at is None]
    # A purge takes the copies that were forgotten before, too; without one they only say that they were.
    found: list[AnyRecord] = [*(facts if request.purge or not current else current)]
    if not found:
        problem = f"No fact of the scope {scope!r} says exactly that."
        raise NotFound(f"{problem} Give the id, or list candidates by a query and a dry run.")
    return found


async def with_history(store: Store, records: Sequence[AnyRecord]) -> list[AnyRecord]:
    """Return these records with older versions, turns of conversations, and facts of documents alone.

    Purging records purges all of these.
    """
    found: dict[str, AnyRecord] = {record.id: record for record in records}
    found.update((turn.id, turn) for turn in await conversation_turns(store, records))
    documents = [record.id for record in found.values() if isinstance(record, Document)]
    found.update((fact.id, fact) for fact in await extracted.exclusive_facts(store, documents))
    for record in list(found.values()):
        if isinstance(record, Memory):
            found.update((older.id, older) for older in await history(store, record))
    return list(found.values())


def texts_of(record: AnyRecord) -> list[str]:
    """Return every text in a record."""
    if isinstance(record, Turn):
        return [text for text in (record.user, record.assistant, record.text, record.summary) if text]
    return [record.content]


def unknown_id(record_id: str) -> NotFound:
    """Return what to raise for an id that no record has."""
    problem = f"No memory, turn or document has the id {record_id[:80]!r}."
    return NotFound(f"{problem} Take the id of a search result.")


async def _get_all(store: Store, ids: Sequence[str]) -> dict[str, AnyRecord]:
    """Return the records with these ids, in that order; in few reads, because a whole scope may be named."""
    found: dict[str, AnyRecord] = {
        **await store.get(Memory, ids),
        **await store.get(Turn, ids),
        **await store.get(Document, ids),
    }
    return {each: found[each] for each in ids if each in found}
