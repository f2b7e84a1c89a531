"""What both generations of supermemory's Python client raise if a key is wrong, of another tag, or
read-only. See `telling`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import supermemory
from supermemory import Supermemory
from telling import refused, tell

GENERATION = int(supermemory.__version__.split(".")[0])


def client(key: str) -> Any:
    return Supermemory(api_key=os.environ.get(key, key), max_retries=0)


def add(client: Any, tag: str) -> Any:
    if GENERATION < 5:
        return client.add(content="Hello.", container_tag=tag)
    return client.add(tag, content="Hello.")


def search(client: Any, tag: str) -> Any:
    if GENERATION < 5:
        return client.search.memories(q="hello", container_tag=tag)
    return client.search(tag, query="hello")


def it_is_unauthorized_with_a_wrong_key(_: Any) -> None:
    calls: list[Callable[[Any, str], Any]] = [add, search]
    for call in calls:
        assert "scrubjay token add" in refused(
            supermemory.AuthenticationError, 401, lambda call=call: call(client("sm_wrong"), "mine")
        )


def it_is_denied_another_tag(_: Any) -> None:
    bound = client("BOUND")
    assert add(bound, "mine").id and search(bound, "mine").results is not None
    refused(supermemory.PermissionDeniedError, 403, lambda: add(bound, "yours"))
    refused(supermemory.PermissionDeniedError, 403, lambda: search(bound, "yours"))


def it_is_denied_writing(_: Any) -> None:
    reader = client("READER")
    assert search(reader, "mine").results is not None
    refused(supermemory.PermissionDeniedError, 403, lambda: add(reader, "mine"))


if __name__ == "__main__":
    tell(globals(), Supermemory)
