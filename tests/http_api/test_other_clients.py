"""Requests of programs without an official client (`clients/other_requests.json`, written from their
documentation), against the application: the status, and every key that the program reads. The official
clients themselves run in `stories/`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest
from spellings import V4

pytestmark = pytest.mark.long

REQUESTS = json.loads((Path(__file__).parent.parent / "clients" / "other_requests.json").read_text())


async def stored(v4: V4) -> dict[str, str]:
    """The ids that the requests refer to: a document and a memory with two versions, of the tag `a`."""
    metadata = {"kind": "bird", "n": 2}
    document = await v4.add("The heron waits.", "a", metadata=metadata)
    memory = await v4.revise(await v4.keep("A heron.", "a"), "Two herons.", "a", metadata=metadata)
    return {"DOCUMENT": document["id"], "MEMORY": memory["id"]}


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: request["call"])
async def test_a_request_is_answered_as_the_program_reads_it(
    v4: V4, http: httpx2.AsyncClient, request_: dict[str, Any]
):
    path, body = request_["path"], request_["body"]
    for name, id in (await stored(v4)).items():
        path, body = path.replace(name, id), body.replace(name, id)
    answer = await http.request(request_["method"], path, content=body.encode(), headers=request_["headers"])
    assert answer.status_code == request_["status"], answer.text
    missing = set(request_["keys"].split()) - keys_of(answer.json())
    assert not missing, answer.text


def keys_of(answer: Any, path: str = "") -> set[str]:
    """The paths of all keys of an answer; elements of a list share one path, `results.id`."""
    if isinstance(answer, list):
        return set().union(*(keys_of(each, path) for each in answer))
    if not isinstance(answer, dict):
        return set()
    found = {f"{path}{key}" for key in answer}
    return found.union(*(keys_of(each, f"{path}{key}.") for key, each in answer.items()))
