"""Finds facts that a fact repeats, contradicts, updates or resembles.

`scrubjay.text.likeness` compares two texts. Nothing is merged: the caller decides.
"""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrubjay.encoders.token_codes import EncodedQuery
from scrubjay.encoders.worker import Vectors
from scrubjay.models.envelopes import Envelope
from scrubjay.models.records import Memory
from scrubjay.models.results import Hit, MemoryAdded
from scrubjay.records.passages import with_gloss
from scrubjay.search.hits import as_hit
from scrubjay.search.retrieval.pools import by_vector, by_words, search
from scrubjay.search.retrieval.query import Question
from scrubjay.store.store import Store
from scrubjay.text.developer_words import gloss
from scrubjay.text.likeness import Verdict, similarity, verdict

PASSAGES = 10  # most passages of each search
SHOWN = 3  # most similar facts in an answer
# Facts with a lower cosine do not say the same: of the pairs in tests/bench/pairs.tsv that do, the lowest has
# .76.
REPEATED = 0.6
COMPARED = 500  # characters; only the beginning of a longer text is compared
_ORDER: Mapping[Verdict, int] = {"known": 0, "contradict": 1, "update": 2, "similar": 3}

EmbedText = Callable[[str], Awaitable[Vectors | None]]


class NearFact(NamedTuple):
    """A fact's text, and its cosine to the new fact if known."""

    text: str
    cosine: float | None


async def nearest_facts(store: Store, envelope: Envelope, embed: EmbedText) -> dict[str, NearFact]:
    """Find the facts nearest to a new one in words and in meaning, and all uncommitted ones, by id.

    It may run concurrently with the write, and it searches by words while the vector is computed.
    """
    staged = _staged(store, envelope)  # first, because they may be committed during the search
    content = envelope.args["content"]
    question = _question(content, envelope.scope, envelope.at)
    return {**staged, **await _nearest(store, question, content, embed)}


async def with_similar(
    store: Store, added: MemoryAdded, envelope: Envelope, near: Mapping[str, NearFact]
) -> MemoryAdded:
    """Add at most `SHOWN` similar facts to a result, and a note if one is equal or may be outdated.

    `near` comes from `nearest_facts`; facts written since then are compared by their words.
    """
    question = _question(envelope.args["content"], envelope.scope, envelope.at)
    judged = await _judged(store, question, {**_staged(store, envelope), **near}, {added.id})
    hits = [as_hit(fact).model_copy(update={"reason": judgement}) for fact, judgement in judged[:SHOWN]]
    return added.model_copy(update={"similar": hits, "note": _note(hits)})


async def facts_like(store: Store, fact: Memory, now: datetime, embed: EmbedText) -> list[Hit]:
    """Find the current facts that a fact repeats, contradicts, updates or resembles, in this order.

    `reason` says which: known, contradict, update or similar. At most `SHOWN` facts are returned; they are of
    the fact's scope, and not linked to it.
    """
    question = _question(fact.content, fact.scope, now)
    near = await _nearest(store, question, fact.content, embed)
    judged = await _unlinked(store, fact, question, near)
    return [as_hit(other).model_copy(update={"reason": judgement}) for other, judgement in judged[:SHOWN]]


async def facts_repeated_by(store: Store, fact: Memory, vector: NDArray[np.float32]) -> tuple[str, ...]:
    """Return the ids of older facts of the same scope that a fact repeats in other words, except linked ones.

    Only facts near in meaning are compared, because an import may bring 20,000 facts.
    """
    question = _question(fact.content, fact.scope, fact.updated_at)
    (dense,) = await search(store, question, by_vector(store, _ready(EncodedQuery(vector)), PASSAGES))
    near = {row.record_id: NearFact(row.text, cosine) for row, cosine in dense if cosine >= REPEATED}
    judged = await _unlinked(store, fact, question, near)
    known = [other for other, judgement in judged if judgement == "known"]
    return tuple(sorted(other.id for other in known if other.created_at < fact.created_at))


async def _ready(query: EncodedQuery) -> EncodedQuery:
    return query


def _question(text: str, scope: str, now: datetime) -> Question:
    return Question(text=text[:COMPARED], scopes=(scope,), srcs=("memory",), now=now)


async def _unlinked(
    store: Store, fact: Memory, question: Question, near: Mapping[str, NearFact]
) -> list[tuple[Memory, Verdict]]:
    """Judge the near facts that a fact is not linked to."""
    judged = await _judged(store, question, near, {fact.id, *fact.parent_ids})
    return [(other, judgement) for other, judgement in judged if fact.id not in other.parent_ids]


async def _judged(
    store: Store, question: Question, near: Mapping[str, NearFact], excluded: set[str]
) -> list[tuple[Memory, Verdict]]:
    """Return the facts with a relation to the text of a question, the strongest relation first."""
    judged: list[tuple[int, float, str, Verdict]] = []
    for fact_id in near.keys() - excluded:
        text, cosine = near[fact_id]
        judgement = verdict(question.text, text[:COMPARED], cosine)
        if judgement is not None:
            likeness = max(similarity(question.text, text[:COMPARED]), cosine or 0.0)
            judged.append((_ORDER[judgement], -likeness, fact_id, judgement))
    rows = await store.get(Memory, [fact_id for *_, fact_id, _ in judged]) if judged else {}
    return [
        (rows[fact_id], judgement)
        for *_, fact_id, judgement in sorted(judged)
        if fact_id in rows and question.admits(rows[fact_id])
    ]


async def _nearest(store: Store, question: Question, content: str, embed: EmbedText) -> dict[str, NearFact]:
    async def encoded() -> EncodedQuery | None:
        vector = await embed(with_gloss(content, gloss(content)))  # as stored facts are embedded
        return None if vector is None else EncodedQuery(vector)

    searches = by_words(store, question.text, PASSAGES), by_vector(store, encoded(), PASSAGES)
    lexical, dense = await search(store, question, *searches)
    scored = [*((row, None) for row, _ in lexical), *dense]
    return {row.record_id: NearFact(row.text, cosine) for row, cosine in scored}


def _staged(store: Store, envelope: Envelope) -> dict[str, NearFact]:
    """Return the uncommitted facts of the scope, which searches do not find."""
    in_scope = (row for row in store.staged(Memory) if row.scope == envelope.scope)
    return {row.id: NearFact(row.content, None) for row in in_scope}


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
