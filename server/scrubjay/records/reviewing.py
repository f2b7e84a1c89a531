"""Review of derived facts: a fact that was concluded from others waits for a yes or a no.

Any fact may be kept, so that it is not shown as new again.
"""

from datetime import datetime

from scrubjay.errors import InputError, NotFound
from scrubjay.models.envelopes import Envelope
from scrubjay.models.records import NOT_FORGOTTEN, SUMMARY, AnyRecord, Memory, changed, is_current
from scrubjay.models.requests import Review, parse
from scrubjay.models.results import Reviewed
from scrubjay.records.passages import written
from scrubjay.store import conditions
from scrubjay.store.changes import Plan
from scrubjay.store.store import Store

MOST = 50  # facts that the queue shows
DECLINED = "declined in review"


async def plan_review(store: Store, envelope: Envelope, now: datetime) -> Plan[Reviewed]:
    """Plan a decision: an approved fact counts as said, a declined one is forgotten; both can be undone.

    Raises:
        NotFound: no fact has the id.
        InputError: the fact was not concluded from others, or it was forgotten for another reason.
    """
    request = parse(Review, envelope.args)
    fact = await store.find(request.id)
    if not isinstance(fact, Memory):
        raise NotFound(f"No memory has the id {request.id[:80]!r}. Take one of those that wait for review.")
    if request.action == "keep":
        kept = fact.model_copy(update={"review": "approved"})
        answer = Reviewed(id=fact.id, is_inference=False, forgotten=False, review="approved")
        return Plan(answer, [written(kept)])
    if not is_derived(fact):
        problem = f"{fact.id} was said and not concluded, so there is nothing to review."
        raise InputError(f"{problem} Update or forget it instead.")
    if fact.forgotten_at is not None and fact.forget_reason != DECLINED:
        problem = f"{fact.id} was forgotten on {fact.forgotten_at:%Y-%m-%d}."
        raise InputError(f"{problem} Bring it back first, with `scrubjay restore`.")
    declined = request.action == "decline"
    review = {"approve": "approved", "decline": "declined", "undo": None}[request.action]
    gone = (
        {"forgotten_at": fact.forgotten_at or envelope.at, "forget_reason": DECLINED}
        if declined
        else NOT_FORGOTTEN
    )
    after = changed(fact, {"review": review, **gone}, envelope.at)
    answer = Reviewed(id=fact.id, is_inference=is_inference(after), forgotten=declined, review=after.review)
    return Plan(answer, [] if after is fact else [written(after)])


async def review_queue(store: Store, scope: str, now: datetime) -> list[Memory]:
    """Return the derived facts of a scope without a review, those that rest on the most others first.

    The caller has committed everything (`Store.flush`).
    """
    derived = conditions.matching(scope=scope, relation="derives")
    where = conditions.both(derived, conditions.missing("review"), conditions.NOT_FORGOTTEN)
    found = [row for row in await store.select(Memory, where) if is_derived(row) and is_current(row, now)]
    found.sort(key=lambda row: (-len(row.parent_ids), row.created_at, row.id))
    return found[:MOST]


def is_derived(record: AnyRecord) -> bool:
    """Return True if a record is a fact concluded from others; summaries by the engine do not count."""
    return isinstance(record, Memory) and record.relation == "derives" and record.source != SUMMARY


def is_inference(fact: Memory) -> bool:
    """Return True if a fact was concluded from others and is not approved yet."""
    return is_derived(fact) and fact.review != "approved"
