"""Review of facts: a fact that the user keeps is not shown as new again."""

from datetime import datetime

from scrubjay.errors import NotFound
from scrubjay.models.envelopes import Envelope
from scrubjay.models.records import SUMMARY, AnyRecord, Memory
from scrubjay.models.requests import Review, parse
from scrubjay.models.results import Reviewed
from scrubjay.records.passages import record_change
from scrubjay.store.changes import Plan
from scrubjay.store.store import Store


async def plan_review(store: Store, envelope: Envelope, now: datetime) -> Plan[Reviewed]:
    """Plan to keep a fact: a derived fact then counts as if a person had stated it.

    Raises:
        NotFound: no fact has the id.
    """
    request = parse(Review, envelope.args)
    fact = await store.find(request.id)
    if not isinstance(fact, Memory):
        raise NotFound(f"No memory has the id {request.id[:80]!r}. It may be purged.")
    return Plan(Reviewed(id=fact.id), [record_change(fact.model_copy(update={"review": "approved"}))])


def is_derived(record: AnyRecord) -> bool:
    """Return True if a record is a fact derived from others; summaries by the engine do not count."""
    return isinstance(record, Memory) and record.relation == "derives" and record.source != SUMMARY


def is_inference(fact: Memory) -> bool:
    """Return True if a fact was derived from others and is not approved yet."""
    return is_derived(fact) and fact.review != "approved"
