"""Finds facts that a new fact repeats, contradicts, updates or resembles, and turns that a turn repeats.

`scrubjay.text.likeness` compares two texts. Nothing is merged: the caller decides.
"""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import NamedTuple

from scrubjay.encoders.token_codes import EncodedQuery
from scrubjay.encoders.worker import Vectors
from scrubjay.models.envelopes import Envelope
from scrubjay.models.records import Memory, Turn
from scrubjay.models.results import Hit, MemoryAdded
from scrubjay.records.passages import with_gloss
from scrubjay.search.hits import as_hit
from scrubjay.search.retrieval.pools import by_vector, by_words, search
from scrubjay.search.retrieval.query import Question
from scrubjay.store.store import Store
from scrubjay.text.developer_words import gloss
from scrubjay.text.likeness import Verdict, has_same_facts, similarity, verdict
from scrubjay.text.terms import content_words

PASSAGES = 10  # per search
SHOWN = 3  # similar facts in an answer
COMPARED = 500  # characters; only the beginning of a longer text is compared
# Least similarity of the wording of two turns. Not fitted: above the 0.8 of facts, because a wrong link is
# noticed and a missing one hardly.
SAME_TURN = 0.9
LEAST_WORDS = 4  # content words of a turn; shorter ones such as "yes, go on" recur all the time
_ORDER: Mapping[Verdict, int] = {"known": 0, "contradict": 1, "update": 2, "similar": 3}

EmbedText = Callable[[str], Awaitable[Vectors | None]]


class NearFact(NamedTuple):
    """A fact's text, and its cosine to the new fact if known."""

    text: str
    cosine: float | None


async def nearest_facts(store: Store, envelope: Envelope, embed: EmbedText) -> dict[str, NearFact]:
    """Find the facts nearest to a new one in words and in meaning, by id, and all uncommitted ones.

    It may run concurrently with the write, so that words are searched while the vector is computed.
    """
    staged = _staged(store, envelope)  # first, because they may be committed during the search
    return {**staged, **await _nearest(store, _question(envelope), envelope.args["content"], embed)}


async def with_similar(
    store: Store, added: MemoryAdded, envelope: Envelope, near: Mapping[str, NearFact]
) -> MemoryAdded:
    """Add at most `SHOWN` similar facts to a result, and a note if one is equal or may be outdated.

    `near` comes from `nearest_facts`; facts written since are compared by their wording.
    """
    question = _question(envelope)
    found: list[tuple[int, float, str, Verdict]] = []
    for fact_id, (text, cosine) in {**_staged(store, envelope), **near}.items():
        judgement = verdict(question.text, text[:COMPARED], cosine)
        if judgement is not None and fact_id != added.id:
            likeness = max(similarity(question.text, text[:COMPARED]), cosine or 0.0)
            found.append((_ORDER[judgement], -likeness, fact_id, judgement))
    rows = await store.get(Memory, [fact_id for *_, fact_id, _ in found]) if found else {}
    hits = [
        as_hit(rows[fact_id]).model_copy(update={"reason": judgement})
        for *_, fact_id, judgement in sorted(found)
        if fact_id in rows and question.admits(rows[fact_id])
    ][:SHOWN]
    return added.model_copy(update={"similar": hits, "note": _note(hits)})


async def facts_like(store: Store, fact: Memory, now: datetime, embed: EmbedText) -> list[Hit]:
    """Find current facts of its scope that a fact repeats, contradicts, updates or resembles, in this order.

    `reason` says which: known, contradict, update or similar. At most `SHOWN`, without linked facts.
    """
    text = fact.content[:COMPARED]
    question = Question(text=text, scopes=(fact.scope,), srcs=("memory",), now=now)
    near = await _nearest(store, question, fact.content, embed)
    linked = {fact.id, *fact.parent_ids}
    judged = [
        (_ORDER[judgement], -max(similarity(text, words[:COMPARED]), cosine or 0.0), other, judgement)
        for other, (words, cosine) in near.items()
        if other not in linked and (judgement := verdict(text, words[:COMPARED], cosine)) is not None
    ]
    rows = await store.get(Memory, [other for *_, other, _ in judged]) if judged else {}
    return [
        as_hit(rows[other]).model_copy(update={"reason": judgement})
        for *_, other, judgement in sorted(judged)
        if other in rows and question.admits(rows[other]) and fact.id not in rows[other].parent_ids
    ][:SHOWN]


async def facts_repeated_by(store: Store, fact: Memory, embed: EmbedText) -> tuple[str, ...]:
    """Return the ids of older facts of its scope that a fact repeats in other words, except linked ones."""
    text = fact.content[:COMPARED]
    question = Question(text=text, scopes=(fact.scope,), srcs=("memory",), now=fact.updated_at)
    near = await _nearest(store, question, fact.content, embed)
    same = [
        other for other, (words, cosine) in near.items() if verdict(text, words[:COMPARED], cosine) == "known"
    ]
    rows = await store.get(Memory, [other for other in same if other not in (fact.id, *fact.parent_ids)])
    older = [
        row.id for row in rows.values() if row.created_at < fact.created_at and fact.id not in row.parent_ids
    ]
    return tuple(sorted(older))


async def turns_repeated_by(store: Store, turn: Turn) -> tuple[str, ...]:
    """Return the ids of older turns of other sessions that a turn repeats almost word for word.

    Only the wording is compared: a repeated question has the same words, and a vector for every turn would
    cost minutes in a bulk load.
    """
    text = _compared_text(turn)
    question = Question(text=text[:COMPARED], scopes=(turn.scope,), srcs=("turn",), now=turn.updated_at)
    if len(content_words(question.text)) < LEAST_WORDS:
        return ()
    (passages,) = await search(store, question, by_words(store, question.text, PASSAGES))
    rows = await store.get(Turn, dict.fromkeys(passage.record_id for passage, _ in passages))
    same = [
        row.id
        for row in rows.values()
        if row.session_id != turn.session_id
        and row.started_at < turn.started_at
        and similarity(text, other := _compared_text(row)) >= SAME_TURN
        and has_same_facts(text, other)
    ]
    return tuple(sorted(same))


def _compared_text(turn: Turn) -> str:
    return "\n".join(text[:COMPARED] for text in (turn.user, turn.assistant, turn.text) if text)


async def _nearest(store: Store, question: Question, content: str, embed: EmbedText) -> dict[str, NearFact]:
    async def encoded() -> EncodedQuery | None:
        vector = await embed(with_gloss(content, gloss(content)))  # as stored facts are embedded
        return None if vector is None else EncodedQuery(vector)

    searches = by_words(store, question.text, PASSAGES), by_vector(store, encoded(), PASSAGES)
    lexical, dense = await search(store, question, *searches)
    return {
        **{row.record_id: NearFact(row.text, None) for row, _ in lexical},
        **{row.record_id: NearFact(row.text, cosine) for row, cosine in dense},
    }


def _staged(store: Store, envelope: Envelope) -> dict[str, NearFact]:
    """Return the uncommitted facts of the scope, which searches do not find."""
    return {
        row.id: NearFact(row.content, None) for row in store.staged(Memory) if row.scope == envelope.scope
    }


def _question(envelope: Envelope) -> Question:
    text = envelope.args["content"][:COMPARED]
    return Question(text=text, scopes=(envelope.scope,), srcs=("memory",), now=envelope.at)


def _note(hits: list[Hit]) -> str | None:
    first = hits[0] if hits else None
    if first is None or first.reason == "similar":
        return None
    if first.reason == "known":
        return (
            f"This is already stored as {first.id} in other words; both are kept. "
            "Forget one of them if it adds nothing."
        )
    return (
        f"This may {first.reason} {first.id}; both are kept. If it replaces it, call add_memory again "
        f'with the same content and updates ["{first.id}"]: searches then no longer return the older one.'
    )
