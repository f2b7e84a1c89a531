"""Exported conversations through Hebb Mind's API: every turn recorded once, however often it is sent."""

from __future__ import annotations

import json

from spellings import Hebb

PLAIN = (
    "User: What did we rename tick() to?\nAssistant: To advance().\nUser: And the zebra "
    "stable?\nAssistant: It is green now."
)


async def test_a_conversation_sent_twice_is_recorded_once(hebb: Hebb):
    counts = {"turns_parsed": 2, "memories_created": 2}
    assert await hebb.ingest(PLAIN) == {"format_detected": "plain", **counts, "warnings": []}
    assert (await hebb.ingest(PLAIN))["memories_created"] == 0
    items = (await hebb.listed())["items"]
    assert [each["metadata"]["turn"] for each in items] == [1, 0]
    assert len({each["metadata"]["session_id"] for each in items}) == 1
    assert {(each["partition_id"], each["source"]) for each in items} == {("mem_episodic", "ingest")}


async def test_a_transcript_that_has_grown_adds_only_what_is_new(hebb: Hebb):
    def line(role: str, text: str, n: int) -> str:
        stamp = {"sessionId": "s1", "promptId": f"p{n}", "uuid": f"{role}{n}"}
        stamp["timestamp"] = f"2026-03-01T09:0{n}:00Z"
        return json.dumps({"type": role, "message": {"role": role, "content": text}, **stamp})

    lines = [line(role, f"{role} {n} about zebras", n) for n in range(3) for role in ("user", "assistant")]
    assert (await hebb.ingest("\n".join(lines[:4]), format_hint="claude_code"))["memories_created"] == 2
    grown = await hebb.ingest("\n".join(lines))
    assert grown["format_detected"] == "claude_code"
    assert (grown["turns_parsed"], grown["memories_created"]) == (3, 1)
    items = (await hebb.listed())["items"]
    assert [each["created_at"] for each in items] == [f"2026-03-01T09:0{n}:00.000Z" for n in (2, 1, 0)]


async def test_a_turn_that_contradicts_the_recorded_one_is_reported_and_the_rest_is_stored(hebb: Hebb):
    def export(*texts: str) -> str:
        return "\n".join(
            json.dumps({"role": role, "content": text, "session_id": "s"})
            for text in texts
            for role in ("user", "assistant")
        )

    await hebb.ingest(export("one", "two"))
    again = await hebb.ingest(export("one", "other", "three"))
    assert (again["turns_parsed"], again["memories_created"]) == (3, 1)
    assert "already has another user text" in again["warnings"][0]


async def test_a_conversation_without_an_id_is_recorded(hebb: Hebb):
    def message(id: str, parent: str | None, role: str, text: str) -> dict[str, object]:
        return {
            "id": id,
            "parent": parent,
            "message": {"author": {"role": role}, "content": {"parts": [text]}},
        }

    mapping = {
        "a": message("a", None, "user", "Where is the nest?"),
        "b": message("b", "a", "assistant", "Up."),
    }
    for _ in range(2):
        answer = await hebb.ingest(json.dumps({"title": "T", "mapping": mapping, "current_node": "b"}))
        assert (answer["format_detected"], answer["warnings"]) == ("chatgpt", [])
    (item,) = (await hebb.listed())["items"]
    assert item["content"] == "user: Where is the nest?\n\nassistant: Up."


async def test_ignored_fields_are_named_in_a_warning(hebb: Hebb):
    answer = await hebb.ingest(PLAIN, format_hint="word", partition_id="mem_semantic")
    assert "format_hint 'word'" in answer["warnings"][0] and "mem_episodic" in answer["warnings"][1]
