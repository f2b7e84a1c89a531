"""The parts that `explain` gives for a hit add up to its score exactly."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator

import pytest
from asked import call, refusal
from mcp import Client
from said import embedded, fact, search, turn

from scrubjay.cli.lookup import reasons
from scrubjay.engine.core import Core
from scrubjay.engine.engine import Engine
from scrubjay.models.results import MemoryHits
from scrubjay.search.retrieval.ranking import PARTS, QUOTED
from scrubjay.search.retrieval.relevance import DOUBTFUL, chance

WHY = {"include": {"explain": True}}
NAMES = {*PARTS.values(), "quoted", "current"} - {"examined"}


@pytest.fixture
async def talk(core: Core) -> AsyncIterator[Core]:
    """Two sessions with named speakers, and facts."""
    said = (
        ("Ann", "I painted the boat green on the first weekend."),
        ("Ben", "Green suits it. Where is the boat now?"),
        ("Ann", "In the harbour of Kiel, beside the old crane."),
        ("Ben", "I fixed the engine of my tractor."),
    )
    for day, (role, text) in enumerate(said, 1):
        await turn(core, "boats", text=text, role=role, ts=f"2026-02-0{day}T10:00:00Z")
    await turn(core, "code", user="Which port does the API use?", assistant="It uses port 8421.")
    await fact(core, "The boat is insured until May.", importance=9)
    await fact(core, "Alex prefers morning meetings.")
    await embedded(core)
    yield core


async def asked(core: Core, query: str, **arguments: object) -> MemoryHits:
    return await search(core, query, top_k=20, **WHY, **arguments)


QUERIES = ("where is the boat", "what did Ann say on 3 February 2026?", "beside the old crane", "what is it?")


@pytest.mark.parametrize("query", QUERIES)
async def test_the_parts_add_up_to_the_ranking_sum_which_determines_the_rank(talk: Core, query: str):
    hits = (await asked(talk, query)).results
    for hit in hits:
        why = hit.explain
        assert why.parts.keys() >= NAMES
        assert math.isclose(sum(why.parts.values()), why.ranking_sum, abs_tol=1e-9)
        likely = max(why.chance, DOUBTFUL)
        odds = likely / (1 - likely) * math.exp(-why.fall)
        low, high = why.bounds
        assert math.isclose(low + (high - low) * odds / (1 + odds), hit.ranking_score, abs_tol=1e-9)
        assert math.isclose(chance(why.verdict), why.chance, abs_tol=1e-9) and "evidence" not in why.wire()


@pytest.mark.parametrize("weights", [(1.0, 0.1, 0.1), (0.0, 1.0, 0.0), (2.0, 0.0, 3.0)])
async def test_the_score_is_the_weighted_mean_of_its_parts(talk: Core, weights: tuple[float, float, float]):
    names = ("weight_relevance", "weight_importance", "weight_recency")
    hits = await asked(talk, QUERIES[0], **dict(zip(names, weights, strict=True)))
    for hit in hits.results:
        parts = hit.explain.score_parts
        assert tuple(part.weight for part in parts.values()) == weights
        shown = (hit.ranking_score, hit.importance_score_normalized, hit.recency_score)
        assert tuple(part.value for part in parts.values()) == shown
        assert all(0 <= value <= 1 for value in (*shown, hit.relevance_score))
        total = sum(part.value * part.weight for part in parts.values())
        assert math.isclose(total / sum(weights), hit.score, abs_tol=1e-6)
    scores = [hit.score for hit in hits.results]
    assert scores == sorted(scores, reverse=True)


async def test_explain_names_the_bonus_of_a_hit(talk: Core):
    hits = await asked(talk, "where did Ann put the boat on 1 February 2026?")
    by_text = {hit.memory: hit.explain.parts for hit in hits.results}
    painted = by_text["I painted the boat green on the first weekend."]
    assert min(painted[name] for name in ("speaker", "date", "neighbours", "session")) > 0 == painted["alone"]
    insured = by_text["The boat is insured until May."]
    assert insured["alone"] > 0 == insured["session"] == insured["neighbours"] == insured["speaker"]


async def test_explain_gives_the_rank_at_which_each_retriever_found_the_hit(talk: Core):
    hits = (await asked(talk, "boat harbour Kiel crane")).results
    first = hits[0].explain
    assert first.dense.rank == first.lexical.rank == 1
    assert 0 < first.dense.value <= 1 and first.lexical.value > 0
    tractor = next(hit for hit in hits if "tractor" in hit.memory)
    assert tractor.explain.lexical is None and tractor.explain.dense.rank > 1


async def test_explain_marks_a_quotation_which_bounds_the_other_hits(talk: Core):
    first, *others = (await asked(talk, "beside the old crane")).results
    assert first.explain.parts["quoted"] == QUOTED and first.explain.bounds == (0.9, 1.0)
    assert {hit.explain.bounds for hit in others} == {(0.0, 0.9)}
    assert all(hit.explain.parts["quoted"] == 0.0 for hit in others)


async def test_nothing_is_explained_unless_requested_and_no_score_changes(talk: Core):
    query, at = "where is the boat", {"now": "2026-03-05T12:00:00Z"}
    plain, explained = await search(talk, query, top_k=20, **at), await asked(talk, query, **at)
    assert [hit.explain for hit in plain.results] == [None] * len(plain.results)
    assert [hit.model_copy(update={"explain": None}) for hit in explained.results] == plain.results


async def test_only_the_structured_answer_contains_the_explanation(client: Client, engine: Engine):
    await call(client, "add_memory", content="The boat is in Kiel.")
    # a vector that arrives between the two questions would change the score
    await embedded(await engine.core())
    plain, said = await call(client, "search_memories", query="where is the boat")
    explained, same = await call(client, "search_memories", query="where is the boat", **WHY)
    assert "explain" not in plain["results"][0] and explained["results"][0]["explain"]["lexical"]["rank"] == 1
    assert said == same


async def test_an_unknown_include_option_is_refused_by_name(client: Client):
    said = await refusal(client, "search_memories", query="boat", include={"graphs": True})
    assert said.startswith("include has no option 'graphs'; known options: ")
    assert "explain" in said.partition(": ")[2]
    said = await refusal(client, "search_memories", query="boat", include={"explain": "yes"})
    assert said == "include.explain = 'yes': must be true or false."


async def test_the_terminal_output_has_every_number(talk: Core):
    hit = (await asked(talk, "beside the old crane")).results[0].wire()
    found, ranked, judged, weighed = reasons(hit["explain"], hit["score"])
    assert found.startswith("found   by meaning at rank 1 (cosine ") and "by words at rank 1 (BM25 " in found
    assert f"quoted {QUOTED:.3f}" in ranked
    assert f"= {hit['explain']['ranking_sum']:.3f}; 0.000 behind the best" in ranked
    assert f"ranking {hit['ranking_score']:.3f}" in judged and "quoted" in judged
    assert weighed.endswith(f"/ 1.2 = {hit['score']:.3f}")
