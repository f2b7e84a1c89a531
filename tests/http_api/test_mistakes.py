"""A refusal says in plain words what is wrong with a request, and names the field."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
TWO_TAGS = (
    b'{"conversationId": "c", "containerTags": ["a", "b"], "messages": [{"role": "user", "content": "x"}]}'
)
SEARCH, V5, FILE, CHAT = "/v4/search", "/ns/jay/search", "/v3/documents/file", "/v4/conversations"


def said(content: bytes) -> bytes:
    """A conversation of one message."""
    return b'{"conversationId": "c", "messages": [{"role": "user", "content": ' + content + b"}]}"


def filtered(predicate: bytes) -> bytes:
    """A search of version 5 with a filter on the field `team`."""
    return b'{"query": "owls", "filter": {"field": "team", ' + predicate + b"}}"


@pytest.mark.parametrize(
    ("path", "kind", "body", "words"),
    [
        (SEARCH, FORM, b'{"q": "owls"}', "Content-Type: application/json"),
        (SEARCH, "text/plain", b'{"q": "owls"}', "Content-Type: application/json"),
        (V5, FORM, b'{"query": "owls"}', "Content-Type: application/json"),
        ("/api/v1/search", FORM, b'{"query": "owls"}', "Content-Type: application/json"),
        (SEARCH, JSON, b'{"q": "owls",}', "the body: must be JSON ("),
        (SEARCH, JSON, b'{"q": "owls",}', "at character 13"),
        (SEARCH, JSON, b"[1]", "the body: must be an object"),
        (SEARCH, JSON, b'{"q": "ow\xffls"}', "JSON in UTF-8"),
        (SEARCH, JSON, b'{"q": 5}', "q: must be text"),
        (SEARCH, JSON, b'{"q": "owls", "limit": 0}', "limit: must be at least 1"),
        (SEARCH, JSON, b"{}", "q: is missing; give it"),
        ("/v4/memories", JSON, b'{"memories": []}', "memories: must have 1 or more items"),
        ("/v4/memories", JSON, b'{"memories": [{"content": "' + b"x" * 10_001 + b'"}]}', "10,001 characters"),
        (
            "/v3/documents/batch",
            JSON,
            b'{"documents": [5]}',
            "documents.0: must be text or must be an object",
        ),
        (CHAT, JSON, said(b"5"), "messages.0.content: must be text or must be a list"),
        (CHAT, JSON, said(b'[{"type": 5}]'), "messages.0.content.0.type: must be text"),
        (V5, JSON, b'{"query": "owls", "filter": {"operator": "eq"}}', "filter.field: is missing"),
        (V5, JSON, b'{"query": "owls", "limits": 1}', "limits: is not a field here"),
        (V5, JSON, b'{"query": "owls", "filter": {"AND": []}}', "filter: must have the field 'operator'"),
        (
            V5,
            JSON,
            filtered(b'"operator": "is", "value": 1'),
            "'is' as 'operator', which must be one of 'eq',",
        ),
        (V5, JSON, filtered(b'"operator": "eq", "value": ["a"]'), "value: must be a text, a number, or true"),
        (
            V5,
            JSON,
            b'{"query": "owls", "filter": {"field": "a b", "operator": "gt", "value": 1}}',
            "must match",
        ),
        ("/api/v1/memories", JSON, b'{"content": "owls", "tags": ["a,b"]}', "letters (A to Z), digits"),
        (FILE, "multipart/form-data", b"owls", "has no boundary"),
        ("/api/v1/search?scope=a+b", JSON, b'{"query": "owls"}', "scope = 'a b' must be"),
        ("/mcp?scope=*", JSON, b"{}", "scope = '*' is reserved"),
        ("/v3/owls", JSON, b"{}", "Nothing is at this path"),
        ("/v4/memories/forget-matching", JSON, b"{}", "Give either query or ids"),
        ("/v4/memories/forget-matching", JSON, b'{"query": "x", "ids": ["y"]}', "not both"),
        ("/v4/conversations", JSON, TWO_TAGS, "2 container tags are named"),
        ("/api/v1/memories", JSON, b'{"content": "x", "source": "engine:x"}', "Scrubjay's own"),
        (
            "/api/v1/memories",
            JSON,
            b'{"content": "x", "metadata": {"turn": -1}}',
            "turn must be a whole number",
        ),
        ("/api/v1/memories", JSON, b'{"content": "x", "metadata": {"session_id": 7}}', "session_id must be"),
    ],
)
async def test_a_mistake_is_told_in_plain_words(
    http: httpx2.AsyncClient, path: str, kind: str, body: bytes, words: str
):
    answer = await http.post(path, content=body, headers={"Content-Type": kind})
    assert 400 <= answer.status_code < 500 and words in told(answer.json())
    assert "function-" not in told(answer.json())  # the name of a validator


@pytest.mark.parametrize(
    ("verb", "path"),
    [("OPTIONS", "/settings"), ("POST", "/v3/container-tags/merge/x"), ("TRACE", "/api/v1/graph/x")],
)
async def test_a_verb_that_an_absent_route_does_not_name_is_404(
    http: httpx2.AsyncClient, verb: str, path: str
):
    answer = await http.request(verb, path)
    assert answer.status_code == 404 and "Nothing is at this path" in told(answer.json())


async def test_a_name_in_place_of_a_file_is_told(http: httpx2.AsyncClient):
    answer = await http.post(FILE, files={"file": (None, "notes.md")})
    assert answer.status_code == 400 and "file: must be a file" in told(answer.json())


@pytest.mark.parametrize("path", [FILE, "/ns/jay/document/file"])
async def test_several_files_in_one_form_are_refused(http: httpx2.AsyncClient, path: str):
    files = [("file", ("a.md", b"The first file.")), ("file", ("b.md", b"The second file."))]
    answer = await http.post(path, files=files)
    assert answer.status_code == 400 and "2 files are sent" in told(answer.json())
    assert (await http.post(path, files=files[:1])).status_code == 200


def told(refusal: dict[str, Any]) -> str:
    """All sentences of a refusal."""
    mistakes = refusal.get("detail") or refusal["error"]
    if isinstance(mistakes, str):
        return mistakes
    return " ".join(str(each.get("message") or each["msg"]) for each in mistakes)
