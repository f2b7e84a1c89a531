"""Recall through Hebb Mind's API: fields, ranges and defaults, verifiable scores, and windows of turns and
memories.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from said import embedded, turn
from spellings import Hebb

from scrubjay.engine.engine import Engine

pytestmark = pytest.mark.long

RECORD = set(
    (
        "id partition_id content importance_score tags metadata source created_at updated_at last_accessed_at "
        "access_count expires_at"
    ).split()
)
PARTS = {"memory", "score", "recency_score", "importance_score_normalized", "relevance_score"}
TALK = [
    "I moved away from my home country four years ago.",
    "Oh? Which one was that?",
    "Sweden, where my grandmother made me this necklace.",
    "What does the zebra pendant on it stand for?",
    "Love and strength.",
    "Lovely. Do you still go camping?",
]


async def talk(hebb: Hebb, session: str, said: list[str] = TALK, **fields: Any) -> None:
    places = ({"session_id": session, "turn": n} for n in range(len(said)))
    await hebb.keep_all([{"content": text, "metadata": next(places), **fields} for text in said])


def contents(found: list[dict[str, Any]]) -> list[str]:
    return [(each.get("memory") or each)["content"] for each in found]


async def test_the_start_of_a_session_recalls_preferences(hebb: Hebb):
    fact = "I always want tabs, never spaces, in the context menu."  # has one word of the hook's question
    await hebb.keep(fact)
    found = await hebb.search("recent context and user preferences", strict_recall=True)
    assert contents(found["results"]) == [fact]
    assert (await hebb.search("stables, context and feed of zebras", strict_recall=True))["results"] == []


async def test_an_answer_has_the_fields_that_the_page_lists(hebb: Hebb):
    await hebb.keep(
        "User prefers dark mode and compact layout", partition_id="mem_preference", tags=["preference", "ui"]
    )
    await hebb.keep(
        "User enabled high-contrast accessibility settings",
        partition_id="mem_preference",
        tags=["preference", "zebra"],
    )
    found = await hebb.search("dark mode", top_k=1)
    assert set(found) == {"results", "related"}
    (hit,) = found["results"]
    assert set(hit) == PARTS and set(hit["memory"]) == RECORD
    assert (
        hit["memory"]["expires_at"] is None
        and hit["memory"]["access_count"] == 0
        and hit["memory"]["source"] == "api"
    )
    (tied,) = found["related"]
    assert set(tied) == RECORD | {"reason", "via"} and (tied["reason"], tied["via"]) == ("tag", "preference")


NAMES = ("weight_relevance", "weight_importance", "weight_recency")
WEIGHTS = st.floats(0, 100, allow_nan=False).map(lambda value: round(value, 3))


@given(weights=st.none() | st.tuples(WEIGHTS, WEIGHTS, WEIGHTS).filter(lambda three: sum(three) > 0))
@settings(max_examples=15)
async def test_a_score_is_the_weighted_mean_of_its_parts(
    hebb: Hebb, weights: tuple[float, float, float] | None
):
    for n in range(12):
        await hebb.keep(f"The zebra stable has door number {n}.", importance_score=n % 10)
    given = {} if weights is None else dict(zip(NAMES, weights, strict=True))
    found = await hebb.search("which zebra stable door in March?", **given)
    assert len(found["results"]) == 10  # by default
    weights = weights or (1, 1, 1)
    for hit in found["results"]:
        parts = (hit["relevance_score"], hit["importance_score_normalized"], hit["recency_score"])
        assert all(0 <= part <= 1 for part in parts)
        expected = sum(weight * part for weight, part in zip(weights, parts, strict=True)) / sum(weights)
        assert abs(hit["score"] - expected) < 1e-6
        assert abs(hit["importance_score_normalized"] - hit["memory"]["importance_score"] / 10) < 1e-9
    scores = [hit["score"] for hit in found["results"]]
    assert scores == sorted(scores, reverse=True)


async def test_all_weights_of_zero_are_refused_with_a_sentence(hebb: Hebb):
    answer = await hebb.search("x", 422, **dict.fromkeys(NAMES, 0))
    (problem,) = answer["detail"]
    assert problem["loc"] == ["body"] and "make at least one of them positive" in problem["msg"]


async def test_any_partition_and_all_tags_must_match(hebb: Hebb):
    await hebb.keep("zebra one", tags=["ui"], partition_id="mem_preference")
    await hebb.keep("zebra two", tags=["ui", "css"], partition_id="mem_semantic")
    await hebb.keep("zebra three", tags=["css"])
    assert set(contents((await hebb.search("zebra", tags=["ui", "css"]))["results"])) == {"zebra two"}
    assert set(contents((await hebb.search("zebra", tags=["ui"]))["results"])) == {"zebra one", "zebra two"}
    both = await hebb.search("zebra", partition_ids=["mem_preference", "mem_hippocampus"])
    assert set(contents(both["results"])) == {"zebra one", "zebra three"}
    assert len((await hebb.search("zebra", partition_ids=[], tags=[]))["results"]) == 3
    assert len((await hebb.search("zebra", partition_ids=None, tags=None))["results"]) == 3


async def test_tags_and_the_partition_are_searched_like_words_of_the_memory(hebb: Hebb, engine: Engine):
    dark = "User prefers dark mode and compact layout"
    await hebb.keep(dark, partition_id="mem_preference", tags=["preference", "ui"], importance_score=7.5)
    for text, tags in (
        ("The build server restarts at four in the morning", ["ci"]),
        ("Compact the tables every Sunday night", ["database"]),
    ):
        await hebb.keep(text, tags=tags)
    await embedded(await engine.core())
    for query, content in (
        ("UI preferences", dark),
        ("ui", dark),
        ("ci", "The build server restarts at four in the morning"),
        ("database", "Compact the tables every Sunday night"),
    ):
        best, *others = (await hebb.search(query, weight_importance=0, weight_recency=0))["results"]
        assert best["memory"]["content"] == content, query
        assert all(each["relevance_score"] < best["relevance_score"] for each in others)


async def test_an_unknown_partition_is_an_error_and_is_named(hebb: Hebb):
    await hebb.keep("zebra one", partition_id="mem_preference")
    for asked in (["mem_nowhere"], ["mem_preference", "mem_nowhere"]):
        assert "'mem_nowhere'" in (await hebb.search("zebra", 404, partition_ids=asked))["detail"]
    await hebb.post("partitions", 201, id="mem_nowhere", name="Nowhere")
    assert (await hebb.search("zebra", partition_ids=["mem_nowhere"]))["results"] == []


async def test_a_minimum_score_excludes_lower_scores(hebb: Hebb):
    await hebb.keep("The zebra stable is green.", importance_score=10)
    await hebb.keep("The zebra stable is not far.", importance_score=0)
    scores = [hit["score"] for hit in (await hebb.search("zebra stable"))["results"]]
    for name in ("min_score", "filter_score"):
        above = await hebb.search("zebra stable", **{name: sum(scores) / 2})
        assert contents(above["results"]) == ["The zebra stable is green."]
        assert len((await hebb.search("zebra stable", **{name: 0}))["results"]) == 2


async def test_strict_recall_returns_nothing_for_unknown_subjects(hebb: Hebb):
    await hebb.keep("The zebra stable is green.")
    assert contents((await hebb.search("The zebra stable is green.", strict_recall=True))["results"])
    assert not (await hebb.search("quarterly tax forecast", strict_recall=True))["results"]
    assert (await hebb.search("quarterly zebra forecast", strict_recall=True, min_score=0))["results"]


async def test_memories_written_per_utterance_are_returned_with_their_neighbours(hebb: Hebb):
    await talk(hebb, "a")
    await talk(hebb, "b", ["Nothing about that.", "Nor here."])
    found = await hebb.search("zebra pendant stand for", top_k=1, prev_turns=2, next_turns=1)
    assert contents(found["results"]) == [TALK[3]]
    window = [each for each in found["related"] if each["reason"] == "window"]
    assert contents(window) == [TALK[1], TALK[2], TALK[4]]
    assert [each["metadata"]["turn"] for each in window] == [1, 2, 4]
    assert {each["metadata"]["session_id"] for each in window} == {"a"}


async def test_the_same_words_in_another_turn_are_another_memory(hebb: Hebb):
    await talk(hebb, "a", ["zebra stable?", "Yes."])
    await talk(hebb, "b", ["giraffe house?", "Yes."])
    found = await hebb.search("giraffe house", top_k=1, next_turns=1)
    assert [each["metadata"] for each in found["related"] if each["reason"] == "window"] == [
        {"session_id": "b", "turn": 1}
    ]


async def test_a_window_stays_in_the_partition_of_its_result(hebb: Hebb):
    await talk(hebb, "a", TALK[:3], partition_id="mem_episodic")
    await hebb.keep("the zebra fact", partition_id="mem_semantic", metadata={"session_id": "a", "turn": 1})
    found = await hebb.search("the zebra fact", top_k=1, prev_turns=5, next_turns=5)
    assert contents(found["results"]) == ["the zebra fact"]
    assert not [each for each in found["related"] if each["reason"] == "window"]


async def test_a_turn_is_a_memory_of_its_session(hebb: Hebb, engine: Engine):
    core = await engine.core()
    recorded = await turn(
        core,
        "a",
        turn=4,
        user="What did we rename tick() to?",
        assistant="To advance().",
        ts="2026-03-01T09:00:00Z",
    )
    (hit,) = (await hebb.search("What did we rename tick() to?"))["results"]
    memory = hit["memory"]
    assert (memory["id"], memory["partition_id"]) == (recorded.id, "mem_episodic")
    assert (memory["importance_score"], memory["created_at"]) == (5, "2026-03-01T09:00:00.000Z")
    assert memory["metadata"] == {"session_id": "a", "turn": 4}
    assert memory["content"] == "user: What did we rename tick() to?\n\nassistant: To advance()."
    assert (await hebb.memory(recorded.id))["content"] == memory["content"]
