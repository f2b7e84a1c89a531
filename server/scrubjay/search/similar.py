"""Similar records: the facts of a scope that a new one repeats, may update, or resembles, and the sentence that says so; the turns that say
what an older one said. Knows where to look for them; what they are to each other is decided by `likeness`. Nothing is merged or dropped
here: the choice stays with the caller.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

from scrubjay.encoders.worker import Vectors
from scrubjay.models.envelopes import Envelope
from scrubjay.models.records import Memory, Turn
from scrubjay.models.results import Hit, MemoryAdded
from scrubjay.records import memories
from scrubjay.search.retrieval.query import Question
from scrubjay.store.store import Store
from scrubjay.text.likeness import Verdict, same_facts, similarity, verdict
from scrubjay.text.terms import content_words, query_terms

LOOKED_AT = 10  # passages a leg
SHOWN = 3
COMPARED = 500  # characters; a longer text is compared by its beginning
SAME_TURN = 0.9  # likeness of wording of two turns; not fitted: above the .8 of facts, because a wrong link shows and a missing one hardly
LEAST_WORDS = 4  # content words of a turn that is looked for: "yes, go on" was said a hundred times
_FIRST: Mapping[Verdict, int] = {"known": 0, "update": 1, "similar": 2}


class Near(NamedTuple):
    """A fact's text, and the cosine to the new one where it is known."""

    text: str
    cosine: float | None


async def near(
    store: Store, envelope: Envelope, embed: Callable[[str], Awaitable[Vectors | None]]
) -> dict[str, Near]:
    """The committed facts nearest to a new one in words and in meaning, and all that wait to be committed, by id.

    It may run beside the write itself: words are looked up while the vector is made.
    """
    written = _written(store, envelope)  # before anything else: they may be committed while this looks
    return {**written, **await _nearest(store, _question(envelope), envelope.args["content"], embed)}


async def repeated(
    store: Store, fact: Memory, embed: Callable[[str], Awaitable[Vectors | None]]
) -> tuple[str, ...]:
    """The ids of the older facts of its scope that this one says again in other words, those it is linked to left out."""
    question = Question(
        text=fact.content[:COMPARED], scopes=(fact.scope,), srcs=("memory",), now=fact.updated_at
    )
    near = await _nearest(store, question, fact.content, embed)
    same = [
        id
        for id, (text, cosine) in near.items()
        if verdict(question.text, text[:COMPARED], cosine) == "known"
    ]
    rows = await store.get(Memory, [id for id in same if id not in (fact.id, *fact.parent_ids)])
    return tuple(
        sorted(
            row.id
            for row in rows.values()
            if row.created_at < fact.created_at and fact.id not in row.parent_ids
        )
    )


async def said_before(store: Store, turn: Turn) -> tuple[str, ...]:
    """The ids of the older turns of other sessions in which the same was asked and answered, but for a few words.

    By wording alone: who asks again what he asked before uses the same words, and a model for every turn would cost minutes of a bulk load.
    """
    said = _said(turn)
    question = Question(text=said[:COMPARED], scopes=(turn.scope,), srcs=("turn",), now=turn.updated_at)
    if len(content_words(question.text)) < LEAST_WORDS:
        return ()
    found = await store.by_words(query_terms(question.text), question.where(), LOOKED_AT)
    rows = await store.get(Turn, dict.fromkeys(found["record_id"].to_pylist()))
    older = [
        row for row in rows.values() if row.session_id != turn.session_id and row.started_at < turn.started_at
    ]
    return tuple(
        sorted(
            row.id
            for row in older
            if similarity(said, other := _said(row)) >= SAME_TURN and same_facts(said, other)
        )
    )


def _said(turn: Turn) -> str:
    return "\n".join(text[:COMPARED] for text in (turn.user, turn.assistant, turn.text) if text)


async def _nearest(
    store: Store, question: Question, content: str, embed: Callable[[str], Awaitable[Vectors | None]]
) -> dict[str, Near]:
    where, words = question.where(), query_terms(question.text)

    async def by_words() -> dict[str, Near]:
        if not words:
            return {}
        found = await store.by_words(words, where, LOOKED_AT)
        return {
            id: Near(text, None)
            for id, text in zip(found["record_id"].to_pylist(), found["text"].to_pylist(), strict=True)
        }

    async def by_meaning() -> dict[str, Near]:
        made = await embed(content)
        if made is None or not made.any():
            return {}
        found = await store.by_vector(made, where, LOOKED_AT)
        columns = (found[name].to_pylist() for name in ("record_id", "text", "_distance"))
        return {id: Near(text, 1.0 - gap) for id, text, gap in zip(*columns, strict=True)}

    said, meant = await asyncio.gather(by_words(), by_meaning())
    return {**said, **meant}


async def with_similar(
    store: Store, added: MemoryAdded, envelope: Envelope, known: Mapping[str, Near]
) -> MemoryAdded:
    """The answer with at most `SHOWN` facts that the new one is like and, where one of them says the same or may be out of date, a note.

    `known` are those that `near` found; what was written since is compared by its wording.
    """
    question = _question(envelope)
    found: list[tuple[int, float, str, Verdict]] = []
    for id, (text, cosine) in {**_written(store, envelope), **known}.items():
        told = verdict(question.text, text[:COMPARED], cosine)
        if told is not None and id != added.id:
            likest = max(similarity(question.text, text[:COMPARED]), cosine or 0.0)
            found.append((_FIRST[told], -likest, id, told))
    rows = await store.get(Memory, [id for *_, id, _ in found]) if found else {}
    admitted = [
        (rows[id], told) for *_, id, told in sorted(found) if id in rows and question.admits(rows[id])
    ]
    hits = [memories.as_hit(row).model_copy(update={"reason": told}) for row, told in admitted[:SHOWN]]
    return added.model_copy(update={"similar": hits, "note": _note(hits)})


def _written(store: Store, envelope: Envelope) -> dict[str, Near]:
    """The facts of the scope that are written and not committed: no leg sees them."""
    return {row.id: Near(row.content, None) for row in store.staged(Memory) if row.scope == envelope.scope}


def _question(envelope: Envelope) -> Question:
    return Question(
        text=envelope.args["content"][:COMPARED], scopes=(envelope.scope,), srcs=("memory",), now=envelope.at
    )


def _note(hits: list[Hit]) -> str | None:
    first = hits[0] if hits else None
    if first is None or first.reason == "similar":
        return None
    if first.reason == "known":
        return f"This is already known as {first.id} in other words; both are kept. Forget one of them if it adds nothing."
    return (
        f"This may update {first.id}; both are kept. If it does, call add_memory again with the same content and "
        f'updates ["{first.id}"]: the older one then leaves every search.'
    )
