"""Forgetting: a record of any kind leaves every search, softly and with its reason. Nothing is deleted here."""

from __future__ import annotations

from datetime import datetime

from scrubjay.errors import NotFound
from scrubjay.models.envelopes import Envelope
from scrubjay.models.requests import Forget, parse
from scrubjay.models.results import Forgotten
from scrubjay.plans import Plan
from scrubjay.store.changes import Change
from scrubjay.store.store import Store


async def plan_forget(store: Store, envelope: Envelope, now: datetime) -> Plan[Forgotten]:
    """What forgetting does: the record keeps everything and says when and why it was forgotten.

    Raises:
        NotFound: no memory, turn or document has this id.
    """
    request = parse(Forget, envelope.args)
    record = await store.find(request.id)
    if record is None:
        raise NotFound(f"No memory, turn or document has the id {request.id[:80]!r}. Take the id of a search result.")
    if record.forgotten_at is not None:
        return Plan(None, Forgotten(ids=[record.id], forgotten=0))
    hidden = record.model_copy(update={"forgotten_at": envelope.at, "forget_reason": request.reason, "updated_at": now})
    return Plan(Change(hidden, hidden=True), Forgotten(ids=[record.id], forgotten=1))
