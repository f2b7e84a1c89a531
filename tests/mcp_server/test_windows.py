"""Windows, budgets and dates as an MCP client sees them: neighbours merged and in order, costs shared and
stated.
"""

from __future__ import annotations

import math
import re
from datetime import date, timedelta
from typing import Any

import pytest
from asked import call, shown
from mcp import Client

from scrubjay.text.short_ids import short_id

pytestmark = pytest.mark.long

NOW = "2026-03-05T12:00:00Z"  # a Thursday
STABLE = {"query": "zebra stable"}


async def _session(client: Client, name: str, *said: str, day: str = "2026-03-01", **args: Any) -> None:
    for minute, text in enumerate(said):
        await call(client, "record_turn", session_id=name, user=text, ts=f"{day}T09:{minute:02d}:00Z", **args)


def _places(hits: list[dict[str, Any]]) -> list[tuple[str, int]]:
    return [(hit["session_id"], hit["turn"]) for hit in hits]


async def test_windows_of_two_hits_are_merged_and_in_time_order(client: Client):
    said = ["alpha", "beta", "the zebra stable", "gamma", "delta", "the zebra stable is shut", "eta", "theta"]
    await _session(client, "a", *said)
    found, _ = await call(client, "search_memories", **STABLE, top_k=2, prev_turns=2, next_turns=2)
    assert sorted(_places(found["results"])) == [("a", 2), ("a", 5)]
    assert _places(found["related"]) == [("a", turn) for turn in (0, 1, 3, 4, 6, 7)]
    assert {hit["reason"] for hit in found["related"]} == {"window"}


async def test_prev_and_next_are_separate_and_stop_at_the_ends_of_a_session(client: Client):
    await _session(client, "a", "alpha", "the zebra stable", "beta")
    await _session(client, "b", "another thing", "and one more", day="2026-03-02")
    for before, after, around in ((1, 0, [0]), (0, 1, [2]), (20, 20, [0, 2]), (0, 0, [])):
        window = {"prev_turns": before, "next_turns": after}
        found, _ = await call(client, "search_memories", **STABLE, top_k=1, **window)
        assert _places(found["related"]) == [("a", turn) for turn in around]


async def test_facts_of_a_session_without_turns_serve_as_its_turns(client: Client):
    for session, said in (
        ("a", ["one", "two", "the zebra stable", "three", "four"]),
        ("b", ["five", "six", "seven"]),
    ):
        for turn, text in reversed(list(enumerate(said))):
            await call(client, "add_memory", content=text, metadata={"session_id": session, "turn": turn})
    place = {"metadata": {"session_id": "a", "turn": 2}, "partition_id": "mem_preference"}
    await call(client, "add_memory", content="elsewhere", **place)
    found, _ = await call(client, "search_memories", **STABLE, top_k=1, prev_turns=1, next_turns=2)
    near = [hit["memory"] for hit in found["related"] if hit["reason"] == "window"]
    assert near == ["two", "three", "four"]


async def test_an_explicit_budget_is_filled_with_single_turns_and_a_count_is_respected(client: Client):
    for n in range(40):
        await _session(client, f"s{n}", f"zebra note {n} " + "word " * 50)
    text = await shown(client, "search_memories", query="zebra note", max_tokens=1500)
    assert 1500 - 100 <= math.ceil(len(text) / 4) <= 1500 and "[next to it]" not in text
    assert text.endswith("\nAt least 10 more did not fit into 1500 tokens.")
    counted, _ = await call(client, "search_memories", query="zebra note", top_k=3)
    assert len(counted["results"]) == 3 and "budget" not in counted["tokens"]


async def test_hits_that_were_counted_and_do_not_fit_into_any_answer_are_named(client: Client):
    for n in range(6):
        await call(client, "add_memory", content=f"zebra {n} " + "grass " * 1_600)
    text = await shown(client, "search_memories", query="zebra", top_k=6)
    assert text.count(" fact mem_") == 4 and text.endswith("\n2 more did not fit into 10000 tokens.")


async def test_the_text_gives_each_hit_its_window_in_time_order_and_begins_with_the_best(client: Client):
    said = ["one", "the zebra stable", "two", "three", "the zebra stable is shut", "four"]
    await _session(client, "a", *said, day="2026-03-02")
    await _session(client, "b", "five", "a zebra", "six", day="2026-03-01")
    await call(client, "add_memory", content="The zebra is striped.")
    found, text = await call(client, "search_memories", **STABLE, top_k=4, prev_turns=1, next_turns=1)
    head = r"^2026-03-\d\d \d\d:\d\d (?:(\w/\d)|fact (\w+))[^\n]*?(\[next to it\])?:$"
    heads = re.findall(head, text, re.M)
    names = [turn or fact for turn, fact, _ in heads]
    hits = [name for name, (*_, is_neighbour) in zip(names, heads, strict=True) if not is_neighbour]
    assert hits == [
        short_id(hit["src"], hit["id"], hit.get("session_id"), hit.get("turn")) for hit in found["results"]
    ]
    windows = {"a/1": ["a/0", "a/2"], "a/4": ["a/3", "a/5"], "b/1": ["b/0", "b/2"]}
    for hit, around in windows.items():
        assert names[names.index(hit) + 1 :][:2] == around


SAID_ON = {  # day -> when it is asked for, read against NOW
    "2026-03-05": ["this morning", "today", "an hour ago"],
    "2026-03-04": ["yesterday", "last night"],
    "2026-02-27": ["on Friday", "last Friday"],
    "2026-02-18": ["two weeks ago", "the week before last"],
    "2025-12-10": ["last quarter", "in Q4", "in December", "in Q4 2025"],
    "2025-05-28": ["at the end of May", "in late May 2025"],
    "2025-03-20": ["in March 2025", "on March 20"],
}


async def test_a_time_in_a_question_is_read_against_now(client: Client):
    for day in (*SAID_ON, "2026-01-15", "2025-08-15", "2025-10-02", "2024-11-11"):
        await _session(client, f"on {day}", "We talked about the zebra stable and its new doors.", day=day)
    for day, phrases in SAID_ON.items():
        for phrase in phrases:
            query = f"What did we say about the zebra stable {phrase}?"
            found, _ = await call(client, "search_memories", query=query, top_k=3, now=NOW)
            first = date.fromisoformat(found["results"][0]["date"][:10])
            # Work is often reported the day after.
            assert abs(first - date.fromisoformat(day)) <= timedelta(days=1), phrase
