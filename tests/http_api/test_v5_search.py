"""Version 5, search: facts and passages together, once each, most similar first, and nothing that was not
asked for beside them.
"""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from said import embedded
from v5_calls import NS, add, call, keep, post, revise, said, search

from scrubjay.engine.engine import Engine

GUIDE = "# Guide\n\n" + "\n\n".join(
    f"Step {n} of the setup needs the key number {n} and some patience." for n in range(30)
)


async def test_a_fact_and_the_passage_it_is_from_are_one_result(http: httpx2.AsyncClient) -> None:
    await add(http, "Alex prefers morning meetings.", id="pref-1")
    (result,) = await search(http, "when does alex like to meet?")
    assert (
        result["memory"] == "Alex prefers morning meetings."
        and "chunk" not in result
        and "included" not in result
    )
    assert result.keys() == {"id", "memory", "metadata", "similarity", "isLatest", "isInference", "system"}
    assert (
        result["isLatest"] is True
        and result["isInference"] is False
        and result["system"].keys() == {"createdAt", "updatedAt"}
    )


async def test_each_mode_gives_what_it_says(http: httpx2.AsyncClient) -> None:
    await add(http, "The rollback script is called undo.sh.", taskType="superrag")
    await keep(http, "Rollbacks are announced in the ops channel.")
    found = {
        mode: await search(http, "rollback", searchMode=mode) for mode in ("memories", "chunks", "hybrid")
    }
    assert said(found["memories"]) == ["Rollbacks are announced in the ops channel."]
    assert said(found["chunks"]) == ["The rollback script is called undo.sh."]
    assert sorted(said(found["hybrid"])) == sorted(said(found["memories"]) + said(found["chunks"]))
    assert all(("memory" in each) != ("chunk" in each) for results in found.values() for each in results)


async def test_results_are_ordered_and_a_higher_threshold_never_gives_more(http: httpx2.AsyncClient) -> None:
    for n in range(8):
        await keep(http, f"The deploy of service {n} runs on day {n} of the week.")
    least = 0.0
    before: list[str] = []
    for threshold in (0.0, 0.3, 0.6, 0.9):
        results = await search(http, "When does the deploy of service 3 run?", threshold=threshold)
        values = [each["similarity"] for each in results]
        assert values == sorted(values, reverse=True) and all(threshold <= value <= 1 for value in values)
        assert not before or len(results) <= len(before)
        before, least = [each["id"] for each in results], threshold
    assert least == 0.9


async def test_what_else_is_stored_never_moves_the_similarity_of_a_record(
    http: httpx2.AsyncClient, engine: Engine
) -> None:
    for text in ("The deploy runs on Mondays.", "Kim reviews each deploy.", "Lunch is at noon."):
        await keep(http, text)
    question = "on which day does the deploy run?"
    await embedded(await engine.core())
    before = {each["id"]: each["similarity"] for each in await search(http, question, limit=100)}
    assert len(before) == 3
    for text in ("The walrus is calm.", "On which day does the deploy run? It runs on Tuesdays."):
        await keep(http, text)
        await add(http, f"{text} It is of a document.")
    await embedded(await engine.core())
    now = {each["id"]: each["similarity"] for each in await search(http, question, limit=100)}
    assert before.items() <= now.items() and len(now) > len(before)


async def test_the_default_threshold_is_that_of_version_5(http: httpx2.AsyncClient) -> None:
    await keep(http, "The heron stands in the river.")
    everything = await post(http, "search", query="quarterly budget", threshold=0.0)
    default = await post(http, "search", query="quarterly budget")
    assert all(each["similarity"] >= 0.3 for each in default["results"]) and len(default["results"]) <= len(
        everything["results"]
    )


async def test_a_limit_is_kept_and_a_document_gives_as_many_passages_as_answer(
    http: httpx2.AsyncClient,
) -> None:
    await add(http, GUIDE, taskType="superrag")
    found = await search(http, "setup key patience", searchMode="chunks", limit=2)
    assert 1 <= len(found) <= 2 and len({each["id"] for each in found}) == len(found)


async def test_a_filter_lets_through_what_fits(http: httpx2.AsyncClient) -> None:
    await add(http, "Launch plan A.", metadata={"source": "slack", "priority": 3})
    await add(http, "Launch plan B.", metadata={"source": "mail", "priority": 5})
    await add(http, "Launch plan C.")

    async def kept(filter: dict[str, Any], mode: str = "hybrid") -> set[str]:
        return set(said(await search(http, "launch plan", filter=filter, searchMode=mode)))

    for mode in ("hybrid", "memories", "chunks"):
        assert await kept({"field": "source", "operator": "eq", "value": "slack"}, mode) == {"Launch plan A."}
    assert await kept({"field": "priority", "operator": "gte", "value": 4}) == {"Launch plan B."}
    assert await kept({"field": "source", "operator": "neq", "value": "slack"}) == {
        "Launch plan B.",
        "Launch plan C.",
    }
    both = [
        {"field": "source", "operator": "eq", "value": "SLACK", "caseSensitive": False},
        {"field": "priority", "operator": "lt", "value": 4},
    ]
    assert await kept({"operator": "and", "operands": both}) == {"Launch plan A."}
    assert await kept(
        {"operator": "or", "operands": [both[0], {"field": "priority", "operator": "gt", "value": 4}]}
    ) == {
        "Launch plan A.",
        "Launch plan B.",
    }


async def test_what_is_asked_for_comes_along(http: httpx2.AsyncClient) -> None:
    await add(http, "The port is 8080.", id="port")
    (fact,) = await search(http, "port", searchMode="memories")
    newer = await revise(http, fact["id"], "The port is 9090.")
    (found,) = await search(http, "port", searchMode="memories", include={"related": True, "documents": True})
    assert found["id"] == newer
    related = found["included"]["related"]
    assert [(each["memory"], each["relation"], each["version"]) for each in related["parents"]] == [
        ("The port is 8080.", "updates", 1)
    ]
    assert related["children"] == related["siblings"] == []
    (passage,) = await search(http, "port", searchMode="chunks", include={"documents": True})
    assert passage["included"]["document"]["id"] and "related" not in passage["included"]


async def test_what_a_filter_shuts_out_does_not_come_in_beside_a_result(http: httpx2.AsyncClient) -> None:
    old = await keep(http, "The port is 8080.", metadata={"team": "red"})
    await revise(http, old, "The port is 9090.", metadata={"team": "blue"})
    only_blue = {"field": "team", "operator": "eq", "value": "blue"}
    (found,) = await search(http, "port", filter=only_blue, include={"related": True})
    assert found["memory"] == "The port is 9090." and found["included"]["related"]["parents"] == []


async def test_what_was_forgotten_is_found_where_it_is_asked_for(http: httpx2.AsyncClient) -> None:
    id = await keep(http, "The alarm code is 4711.")
    await call(http, "DELETE", f"/ns/{NS}/memories", json={"ids": [id]})
    assert await search(http, "alarm code") == []
    (found,) = await search(http, "alarm code", include={"forgotten": True})
    assert found["id"] == id and found["isLatest"] is False


async def test_another_namespace_is_never_searched(http: httpx2.AsyncClient) -> None:
    await add(http, "The alarm code is 4711.", id="code")
    await keep(http, "The alarm is on the wall.", ns="sam")
    assert said(await search(http, "alarm", ns="sam")) == ["The alarm is on the wall."]
    assert await search(http, "alarm", ns="nobody") == []


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"query": ""},
        {"query": "x", "limit": 0},
        {"query": "x", "limit": 101},
        {"query": "x", "limit": "5"},
        {"query": "x", "threshold": 1.1},
        {"query": "x", "threshold": -0.1},
        {"query": "x", "searchMode": "documents"},
        {"query": "x", "rerank": True},
        {"query": "x", "include": {"chunks": True}},
        {"query": "x", "filters": {"AND": []}},
        {"query": "x", "filter": {"field": "a", "operator": "is", "value": 1}},
        {"query": "x", "filter": "{}"},
        {"q": "x"},
    ],
)
async def test_what_does_not_fit_is_refused(http: httpx2.AsyncClient, body: dict[str, object]) -> None:
    answer = await call(http, "POST", f"/ns/{NS}/search", 400, json=body)
    assert answer["success"] is False and answer["error"][0]["path"]


async def test_every_option_is_taken(http: httpx2.AsyncClient) -> None:
    await keep(http, "The rollback script is called undo.sh.")
    for rerank in ("none", "order", "aggregate"):
        answer = await post(
            http,
            "search",
            query="What is the rollback script called and where is it?",
            rerank=rerank,
            rewriteQuery=True,
        )
        assert answer["searchTime"] >= 0 and said(answer["results"]) == [
            "The rollback script is called undo.sh."
        ]
