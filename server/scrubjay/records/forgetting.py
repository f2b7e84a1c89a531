"""Forgets records of any kind, which hides them from every search, and restores those that are not purged.

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
from scrubjay.records.passages import record_change
from scrubjay.records.turns import conversation_turns
from scrubjay.records.versions import history, latest
from scrubjay.store.changes import Change, Plan
from scrubjay.store.store import Store


async def plan_forget(store: Store, envelope: Envelope, now: datetime) -> Plan[Forgotten]:
    """Plan to mark records as forgotten, with time and reason, or to delete them (`purge`).

    Raises NotFound if an id has no record and `purge` is not set; nothing is forgotten then.
    """
    request = parse(ForgetRecords, envelope.args)
    # One read for each kind, because a request may name all records of a scope.
    stored: dict[str, AnyRecord] = {
        **await store.get(Memory, request.ids),
        **await store.get(Turn, request.ids),
        **await store.get(Document, request.ids),
    }
    records = {record_id: stored[record_id] for record_id in request.ids if record_id in stored}
    missing = next((record_id for record_id in request.ids if record_id not in records), None)
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
    document_ids = [record.id for record in records.values() if isinstance(record, Document)]
    facts = await extracted.plan_removal(store, document_ids, envelope.at)
    changes = [*forgotten, *summaries, *(change for change in facts if change.record.id not in ids)]
    purged: tuple[str, ...] = ()
    if request.purge:
        gone = session_summaries.GONE
        empty_summaries = [change.record.id for change in summaries if change.record.forget_reason == gone]
        purged = (*request.ids, *empty_summaries)
    count = len(request.ids) if request.purge else 0
    answer = Forgotten(ids=request.ids, forgotten=len(forgotten), purged=count)
    return Plan(answer, changes, purged)


async def plan_restore(store: Store, envelope: Envelope, now: datetime) -> Plan[Restored]:
    """Plan to restore a record as it was before it was forgotten.

    Raises NotFound if no record has the id, and InputError if its texts were permanently deleted.
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
        newest = await latest(store, record) if isinstance(record, Memory) else record
        forgotten = None if newest.forgotten_at is None else newest.id
        return Plan(Restored(id=record_id, restored=False, newest=forgotten))
    values = {**NOT_FORGOTTEN, "updated_at": envelope.at}
    restored = record.model_copy(update=values)
    facts = await extracted.plan_facts(store, restored, envelope.at) if isinstance(restored, Document) else ()
    turns = [
        turn.model_copy(update=values)
        for turn in await conversation_turns(store, [record])
        if turn.forgotten_at == record.forgotten_at and not turn.purged_at
    ]
    answer = Restored(id=record_id, restored=True, unseen=_unseen(restored, now))
    return Plan(answer, [record_change(restored), *facts, *map(record_change, turns)])


def _unseen(record: AnyRecord, now: datetime) -> str | None:
    """Return why searches leave out a record that is not forgotten, or None if they include it."""
    if is_current(record, now):
        return None
    if isinstance(record, Memory) and not record.is_latest:
        return "a newer version has replaced it"
    return f"it expired on {record.expires_at:%Y-%m-%d}"


async def records_to_forget(store: Store, request: Forget, scope: str) -> list[AnyRecord]:
    """Return the records that a request names by id or exact words. Raises NotFound if none matches."""
    if request.id is not None:
        record = await store.find(request.id)
        if record is None:
            raise unknown_id(request.id)
        return [record]
    facts = await facts_with_text(store, scope, {content_hash(request.content or "")})
    current = [fact for fact in facts if fact.forgotten_at is None]
    # A purge also takes the copies that are already forgotten. Without a purge, they are returned only if no
    # other copy is left, so that the answer can say that they are forgotten.
    matches: list[AnyRecord] = [*(facts if request.purge or not current else current)]
    if not matches:
        problem = f"No fact of the scope {scope!r} says exactly that."
        raise NotFound(f"{problem} Give the id, or list candidates by a query and a dry run.")
    return matches


async def with_history(store: Store, records: Sequence[AnyRecord]) -> list[AnyRecord]:
    """Return these records and all records that are purged with them.

    The latter are older versions, turns of conversations, and facts extracted from no other document.
    """
    by_id: dict[str, AnyRecord] = {record.id: record for record in records}
    by_id.update((turn.id, turn) for turn in await conversation_turns(store, records))
    document_ids = [record.id for record in by_id.values() if isinstance(record, Document)]
    by_id.update((fact.id, fact) for fact in await extracted.exclusive_facts(store, document_ids))
    for record in list(by_id.values()):
        if isinstance(record, Memory):
            by_id.update((older.id, older) for older in await history(store, record))
    return list(by_id.values())


def texts_of(record: AnyRecord) -> list[str]:
    """Return every text in a record."""
    if isinstance(record, Turn):
        return [text for text in (record.user, record.assistant, record.text, record.summary) if text]
    return [record.content]


def unknown_id(record_id: str) -> NotFound:
    """Return the error for an id that no record has."""
    problem = f"No memory, turn or document has the id {record_id[:80]!r}."
    return NotFound(f"{problem} Take the id of a search result.")
