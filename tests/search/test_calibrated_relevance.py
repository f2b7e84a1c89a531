"""Relevance with the shipped model: plain answers exceed 0.6 and others stay low, whatever else the store
holds.
"""

from __future__ import annotations

import pytest
from said import embedded, fact, facts, search

from scrubjay.engine.core import Core

PLAIN = {  # a plain question -> the plain fact
    "when does Alex like to meet?": "Alex prefers morning meetings.",
    "which port does the API use?": "The API listens on port 8421.",
    "where do we keep feature flags?": "Feature flags live in flags.yaml.",
    "how are passwords hashed?": "Passwords are hashed with Argon2id.",
    "who owns the billing module?": "Maria owns the billing module.",
    "when are releases made?": "We release every second Tuesday.",
}
NOT_THERE = (
    "what is the capital of France?",
    "how do I bake sourdough bread?",
    "which tyres fit the bicycle?",
    "fix the failing test",
)


async def relevance(core: Core, query: str) -> tuple[str | None, float]:
    """The text of the first hit and how relevant it is; 0 for none."""
    hits = (await search(core, query, top_k=5)).results
    return (hits[0].memory, hits[0].relevance_score) if hits else (None, 0.0)


async def test_a_plain_question_about_the_only_fact_exceeds_the_clients_threshold(shipped: Core):
    await fact(shipped, "Alex prefers morning meetings.")
    await embedded(shipped)
    assert (await relevance(shipped, "when does Alex like to meet?"))[1] > 0.6
    for query in NOT_THERE:
        assert (await relevance(shipped, query))[1] < 0.3, query
    assert (await relevance(shipped, "Alex prefers morning meetings"))[1] >= 0.9


@pytest.mark.long
async def test_plain_questions_exceed_the_threshold_among_few_facts_and_among_many(shipped: Core):
    await facts(shipped, PLAIN.values())
    await embedded(shipped)
    few = {query: await relevance(shipped, query) for query in PLAIN}
    others = (f"The lamp number {n} of the depot was checked and needs no repair." for n in range(120))
    await facts(shipped, others)
    await embedded(shipped)
    many = {query: await relevance(shipped, query) for query in PLAIN}
    for found in (few, many):
        assert {query: text for query, (text, _) in found.items()} == PLAIN
        assert all(value > 0.6 for _, value in found.values()), found
    for query in NOT_THERE:
        assert (await relevance(shipped, query))[1] < 0.4, query


@pytest.mark.parametrize("has_vectors", [False, True])
async def test_without_a_model_words_alone_separate_a_plain_answer_from_none(core: Core, has_vectors: bool):
    core.indexer.trouble = None if has_vectors else "there is no model"
    await fact(core, "The API listens on port 8421.")
    if has_vectors:
        await embedded(core)
        core.indexer.trouble = "there is no model any more"
    assert (await relevance(core, "on which port does the API listen?"))[1] > 0.6
    assert (await relevance(core, "which colour does the API manual have?"))[1] < 0.5
