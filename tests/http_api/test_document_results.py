"""`POST /v3/search`: fields of seeds 001 and 003, thresholds, neighbours, filters, tags."""

from __future__ import annotations

from typing import Any

import pytest
from httpx2 import AsyncClient
from said import embedded
from spellings import V4

from scrubjay.engine.engine import Engine

pytestmark = pytest.mark.long

TAG = "acme"
LONG = "\n\n".join(f"## Part {n}\n\n{'The harvest of almonds began late this year. ' * 15}" for n in range(2))
RARE = (
    f"# Orchard\n\n{LONG}\n\n## Pump\n\nThe pump of the orchard is called zxqv-7741.\n\n## "
    f"Fence\n\n{'The fence was painted green. ' * 25}"
)

OPS = {"key": "team", "value": "ops"}
BELOW = {"filterType": "numeric", "numericOperator": "<"}
FIELDS = "documentId title type score chunks metadata createdAt updatedAt filepath"


@pytest.fixture
async def filled(http: AsyncClient) -> AsyncClient:
    for content, metadata in (
        (RARE, {"team": "ops", "n": 5, "tags": ["a", "b"]}),
        ("The pump house needs paint.", {"team": "Web", "n": 2}),
    ):
        await V4(http).add(content, TAG, metadata=metadata, filepath=f"/{metadata['team']}/x.md")
    await V4(http).add("The pump of Globex is secret.", "globex")
    return http


async def search(http: AsyncClient, q: str = "pump", **more: Any) -> dict[str, Any]:
    return await V4(http).post("/v3/search", q=q, **{"containerTag": TAG, **more})


async def test_a_result_has_exactly_the_fields_of_the_seeds(filled: AsyncClient):
    answer = await search(filled, "zxqv-7741")
    assert answer["total"] == len(answer["results"]) and answer["timing"] >= 0
    best = answer["results"][0]
    assert best.keys() == set(FIELDS.split())
    assert best["chunks"][0].keys() == {"content", "score", "isRelevant", "position"}
    assert (best["title"], best["type"], best["createdAt"][-1]) == ("Orchard", "text", "Z")
    scores = [result["score"] for result in answer["results"]]
    assert scores == sorted(scores, reverse=True) and all(0 <= score <= 1 for score in scores)


async def test_chunks_around_a_match_are_returned_unless_declined(filled: AsyncClient):
    around = (await search(filled, "zxqv-7741"))["results"][0]["chunks"]
    assert [chunk["position"] for chunk in around] == sorted(chunk["position"] for chunk in around)
    assert any(not chunk["isRelevant"] for chunk in around)
    alone = (await search(filled, "zxqv-7741", onlyMatchingChunks=True, chunkThreshold=0.6))["results"]
    assert all(chunk["isRelevant"] for result in alone for chunk in result["chunks"])
    assert "zxqv-7741" in alone[0]["chunks"][0]["content"]


async def test_a_higher_threshold_never_returns_more(filled: AsyncClient):
    for name in ("chunkThreshold", "documentThreshold"):
        counts = [(await search(filled, "pump", **{name: least}))["total"] for least in (0, 0.3, 0.6, 0.9, 1)]
        assert counts == sorted(counts, reverse=True) and counts[0] == 2


async def test_a_document_unrelated_to_the_question_is_not_a_result(filled: AsyncClient, engine: Engine):
    for text in ("Kingfishers dive for minnows.", "Knead the dough for ten minutes."):
        await V4(filled).add(text, TAG)
    await embedded(await engine.core())  # vector search finds the nearest, however far they are
    (only,) = (await search(filled, "Which kingfishers dive?"))["results"]
    assert only["score"] > 0 and "Kingfishers" in only["chunks"][0]["content"]
    for more in ({"includeChats": True}, {"rewriteQuery": True}, {"limit": 100}):
        assert (await search(filled, "Which kingfishers dive?", **more))["total"] == 1
    assert (await search(filled, "qqqq wwww"))["results"] == []


async def test_a_document_is_found_by_its_path_or_metadata_alone(filled: AsyncClient):
    fields = {"filepath": "/depot/harbour.md", "metadata": {"who": "Ingeborg"}}
    await V4(filled).add("It opens at nine.", TAG, **fields)
    for q in ("harbour", "Ingeborg"):
        (found,) = (await search(filled, q))["results"]
        assert found["score"] > 0 and found["chunks"][0]["content"] == "It opens at nine."


async def test_a_filter_by_an_unknown_key_matches_nothing_and_is_reported(filled: AsyncClient):
    answer = await search(filled, filters={"AND": [{"key": "nope", "value": "x"}]})
    assert answer["results"] == [] and "'nope'" in answer["warnings"][0]
    assert "warnings" not in await search(filled, filters={"AND": [{"key": "team", "value": "nobody"}]})
    body = {"q": "opens", "filters": {"AND": [{"key": "nope", "value": "x"}]}}
    assert "'nope'" in (await filled.post("/v4/search", json=body)).json()["warnings"][0]


async def test_a_search_can_be_limited_to_one_document_or_folder(filled: AsyncClient):
    id = (await search(filled, "zxqv-7741"))["results"][0]["documentId"]
    assert [row["documentId"] for row in (await search(filled, docId=id))["results"]] == [id]
    assert (await search(filled, filepath="/ops/"))["total"] == 1
    for elsewhere in ({"docId": "nothing"}, {"docId": id, "containerTag": "globex"}):
        await V4(filled).post("/v3/search", 404, q="x", **elsewhere)
