"""Hebb Mind's API answers any input in its own shape: 4xx, and never a server error."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

ODD = ["\x00", "'", "' OR 1=1 --", "%", "a\nb", "é", "日本", "\U0001f426", "..", "a/b", "x" * 300]
ODD += ["-1", str(2**70), "null", "[]", ";", "\\"]
READS = ["memories/{}", "partitions/{}", "memories?partition_id={}", "memories?tags={}"]
READS += ["memories?offset={}", "memories?limit={}", "memories?scope={}"]
BODIES: list[Any] = [
    *(None, 1, "x", [], [1], [[]], {}),
    *({"query": odd} for odd in ({}, "a\x00b", "\ud800")),
    *({"query": "x", **odd} for odd in ({"top_k": 2**70}, {"tags": [1]}, {"weight_recency": 1e308})),
    *({"content": odd} for odd in ({}, "\x00", "\ud800", '{"type": "user", "content": "a \\ud83d b"}')),
    *(
        {"content": "x", **odd}
        for odd in (
            {"tags": ["\x00"]},
            {"importance_score": 2**2000},
            {"metadata": {"a": 2**70}},
            {"metadata": {"": 1}},
        )
    ),
]
WRITES = "search memories memories/batch ingest partitions".split()


def refused(answer: httpx2.Response) -> bool:
    """Return True if it is a refusal in the shape that these clients parse."""
    return 400 <= answer.status_code < 500 and isinstance(answer.json()["detail"], str | list)


@pytest.mark.long
async def test_odd_words_in_an_address_are_answered(http: httpx2.AsyncClient):
    for path in READS:
        for odd in ODD:
            answer = await http.get("/api/v1/" + path.format(quote(odd, safe="")))
            assert answer.status_code == 200 or refused(answer), (odd, answer.status_code, answer.text)


async def test_odd_bodies_are_answered(http: httpx2.AsyncClient):
    for path in WRITES:
        for body in BODIES:
            answer = await http.post(
                f"/api/v1/{path}", content=json.dumps(body), headers={"Content-Type": "application/json"}
            )
            assert answer.status_code in (200, 201) or refused(answer), (
                body,
                answer.status_code,
                answer.text,
            )
        for broken in (b"", b"{", b"\xff\xfe", b"[" * 5_000):
            assert refused(
                await http.post(
                    f"/api/v1/{path}", content=broken, headers={"Content-Type": "application/json"}
                )
            )
