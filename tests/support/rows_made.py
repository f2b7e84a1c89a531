"""Rows of a store, made up: a turn, a fact and a passage with the fields that a test gives."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from scrubjay.models.records import Memory, Passage, Turn


def _record(now: datetime, partition: str) -> dict[str, Any]:
    times = dict.fromkeys(("created_at", "updated_at", "last_accessed_at"), now)
    return {"scope": "s", "partition_id": partition, "source": "test", **times}


def a_turn(now: datetime, id: str = "turn_1", **values: Any) -> Turn:
    base = {"id": id, "session_id": "a", "turn": 0, "user": "hello", "started_at": now}
    return Turn(**(_record(now, "mem_episodic") | base | values))


def a_fact(now: datetime, id: str = "mem_1", **values: Any) -> Memory:
    base = {"id": id, "root_id": id, "content": f"The fact {id}.", "content_hash": id}
    return Memory(**(_record(now, "mem_semantic") | base | values))


def a_passage(
    now: datetime, id: str = "p_1", record_id: str = "turn_1", text: str = "hello", **values: Any
) -> Passage:
    texts = dict.fromkeys(("text", "search_text", "embed_text"), text)
    base = {"id": id, "src": "turn", "record_id": record_id, "part": 0, "scope": "s", "dated_at": now}
    return Passage(**({"partition_id": "mem_episodic"} | base | texts | values))
