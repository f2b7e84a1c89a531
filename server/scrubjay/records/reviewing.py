"""Review of what was concluded: a fact that somebody derived from others waits for a yes or a no. Knows which facts wait, and what a
decision does to one; does not know how a fact is concluded.
"""

from __future__ import annotations

from datetime import datetime

from scrubjay.errors import InputError, NotFound
from scrubjay.models.envelopes import Envelope
from scrubjay.models.records import SUMMARY, AnyRecord, Memory, is_current
from scrubjay.models.requests import Review, parse
from scrubjay.models.results import Reviewed
from scrubjay.records.passages import passages_of
from scrubjay.records.plans import Plan
from scrubjay.store import conditions
from scrubjay.store.changes import Change
from scrubjay.store.store import Store

MOST = 50  # that one look at the queue shows
DECLINED = "declined in review"


async def plan_review(store: Store, envelope: Envelope, now: datetime) -> Plan[Reviewed]:
    """What a decision does: an approved fact is as good as one that was said, a declined one is forgotten, and both can be undone.

    Raises:
        NotFound: no fact has the id.
        InputError: the fact was said, and not concluded; or somebody forgot it for another reason.
    """
    request = parse(Review, envelope.args)
    fact = await store.find(request.id)
    if not isinstance(fact, Memory):
        raise NotFound(f"No memory has the id {request.id[:80]!r}. Take one of those that wait for review.")
    if not is_derived(fact):
        raise InputError(
            f"{fact.id} was said and not concluded, so there is nothing to review. Update or forget it instead."
        )
    if fact.forgotten_at is not None and fact.forget_reason != DECLINED:
        raise InputError(
            f"{fact.id} was forgotten on {fact.forgotten_at:%Y-%m-%d}. Bring it back first, with `scrubjay restore`."
        )
    declined = request.action == "decline"
    review = {"approve": "approved", "decline": "declined", "undo": None}[request.action]
    gone = (
        {"forgotten_at": fact.forgotten_at or envelope.at, "forget_reason": DECLINED} if declined else _BACK
    )
    after = fact.model_copy(update={"review": review, **gone})
    answer = Reviewed(id=fact.id, is_inference=is_inference(after), forgotten=declined, review=after.review)
    if after == fact:
        return Plan(None, answer)
    after = after.model_copy(update={"updated_at": envelope.at})
    return Plan(Change(after, passages_of(after), rewritten=True), answer)


_BACK = {"forgotten_at": None, "forget_reason": None}


async def review_queue(store: Store, scope: str, now: datetime) -> list[Memory]:
    """The concluded facts of a scope that nobody decided on, those first that rest on most others.

    The caller has committed everything (`Store.flush`).
    """
    where = conditions.both(
        conditions.equal("scope", scope),
        conditions.equal("relation", "derives"),
        conditions.missing("review"),
        conditions.NOT_FORGOTTEN,
    )
    found = [row for row in await store.select(Memory, where) if is_derived(row) and is_current(row, now)]
    found.sort(key=lambda row: (-len(row.parent_ids), row.created_at, row.id))
    return found[:MOST]


def is_derived(record: AnyRecord) -> bool:
    """Whether a fact was concluded from others; a summary that the engine made of turns is none."""
    return isinstance(record, Memory) and record.relation == "derives" and record.source != SUMMARY


def is_inference(fact: Memory) -> bool:
    """Whether a fact was concluded, and nobody has said yet that it is right."""
    return is_derived(fact) and fact.review != "approved"
