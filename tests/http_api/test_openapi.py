"""The served OpenAPI document: it states the common rules for every operation, and answers follow it.

schemathesis calls every operation of a real engine, with valid and with invalid input.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from answering import answering
from asked import strays
from user import make_user

from scrubjay.http_api import openapi

pytestmark = pytest.mark.long

FAMILIES = {
    "/v3/": "supermemory 3 and 4",
    "/v4/": "supermemory 3 and 4",
    "/ns": "supermemory 5",
    "/api/v1/": "Hebb Mind",
}
EVERYWHERE = {"401", "403", "413", "421", "429", "500", "503"}
VERBS = {"get", "put", "post", "patch", "delete"}
EXAMPLES = 3  # of each operation beyond those that cover its schema; manual runs with hundreds found no more
SECONDS = 220  # for one family, on a busy machine


@pytest.fixture
async def document(http: httpx2.AsyncClient) -> dict[str, Any]:
    answer = await http.get("/openapi.json")
    assert answer.status_code == 200
    return answer.json()


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in document["paths"].items():
        yield from ((path, verb, item[verb]) for verb in VERBS & item.keys())


async def test_every_operation_documents_its_purpose_and_its_errors(document: dict[str, Any]):
    assert document["info"]["title"] == "Scrubjay" and "/mcp" in document["info"]["description"]
    assert set(document["components"]["securitySchemes"]) == {"bearer"}
    listed = {tag["name"] for tag in document["tags"]}
    for path, verb, operation in operations(document):
        assert operation["summary"], (verb, path)
        assert set(operation["responses"]) >= EVERYWHERE, (verb, path)
        assert set(operation["tags"]) < listed and len(operation["tags"]) == 1, (verb, path)
        assert operation["security"] == [{"bearer": []}, {}], (verb, path)
        assert ("422" in operation["responses"]) <= path.startswith("/api/"), (verb, path)
        family = next((name for begin, name in FAMILIES.items() if path.startswith(begin)), "supermemory 5")
        assert operation["tags"] == [family], (verb, path)


async def test_every_keyword_of_a_schema_fits_its_type(document: dict[str, Any]):
    assert strays(document) == []


async def test_absent_routes_are_404_with_their_sentence(http: httpx2.AsyncClient, document: dict[str, Any]):
    table = tomllib.loads((Path(openapi.__file__).parent / "absent.toml").read_text())
    for words, sentence in table.items():
        verb, *_ = [word for word in words.split() if word.isupper()] or ["GET"]
        for path in (word for word in words.split() if word.startswith("/")):
            at = re.sub(r"\{.*?\}", "x", path.removesuffix("*"))
            for each in (at, f"{at}/more") if path.endswith("*") else (at,):
                answer = await http.request(verb, each)
                assert (answer.status_code, set(answer.json().values())) == (404, {sentence}), each
            assert verb.lower() not in document["paths"].get(path, {})


async def test_an_unsupported_verb_is_405_and_names_the_supported_ones(
    http: httpx2.AsyncClient, document: dict[str, Any]
):
    for verb, path in (("PUT", "/v4/search"), ("GET", "/v3/documents"), ("POST", "/api/v1/health")):
        answer = await http.request(verb, path)
        assert answer.status_code == 405
        verbs = {name.upper() for name in VERBS & document["paths"][path].keys()}
        assert set(answer.headers["Allow"].split(", ")) == verbs | ({"HEAD"} if "GET" in verbs else set())
    for path in ("/", "/health", "/openapi.json"):
        answer = await http.put(path)
        assert answer.headers["Allow"] == "GET, HEAD" and answer.json()["error"].endswith("use GET, HEAD.")


async def test_head_is_answered_like_get(http: httpx2.AsyncClient):
    statuses = {"/health": 200, "/v3/settings": 200, "/v3/documents/x": 404, "/v4/search": 405}
    for path, status in statuses.items():
        assert (await http.head(path)).status_code == (await http.get(path)).status_code == status


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "application/json; charset=utf-16"])
async def test_an_invalid_json_body_is_refused_in_each_familys_error_shape(
    http: httpx2.AsyncClient, document: dict[str, Any], kind: str
):
    for path, verb, operation in operations(document):
        if "application/json" not in operation.get("requestBody", {}).get("content", {}):
            continue
        for body in (b"{", b"\xff\xfe\x00", b"[" * 200_000, b'{"q":' * 200_000, b"\x00"):
            to, headers = path.replace("{namespace}", "jay"), {"Content-Type": kind}
            answer = await http.request(verb.upper(), to, content=body, headers=headers)
            shown = (verb, path, body[:9], answer.text)
            assert 400 <= answer.status_code < 500, shown
            assert ("detail" if path.startswith("/api/") else "error") in answer.json(), shown


ODD = ['"\\ud800"', '"\\u0000"', "NaN", "1e999", "9" * 400, '{"a":' * 900 + "1" + "}" * 900]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: odd[:9])
async def test_no_odd_value_of_any_field_is_a_server_error(
    http: httpx2.AsyncClient, document: dict[str, Any], odd: str
):
    schemas = document["components"]["schemas"]
    for path, verb, operation in operations(document):
        content = operation.get("requestBody", {}).get("content", {})
        schema = content.get("application/json", {}).get("schema", {})
        fields = schemas[schema["$ref"].rpartition("/")[2]]["properties"] if "$ref" in schema else {}
        needed = dict.fromkeys(("q", "query", "content", "containerTag", "conversationId"), '"jay"')
        needed = {name: value for name, value in needed.items() if name in fields}
        for name in fields:
            body = ",".join(f'"{each}":{value}' for each, value in {**needed, name: odd}.items())
            to = path.replace("{namespace}", "jay")
            headers = {"Content-Type": "application/json"}
            answer = await http.request(verb.upper(), to, content=f"{{{body}}}", headers=headers)
            assert answer.status_code < 500, (verb, path, name, answer.text)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of an engine without a rate limit."""
    with answering(make_user(tmp_path_factory.mktemp("o")), "--rate-limit", "0") as where:
        yield where


@pytest.mark.long
@pytest.mark.parametrize("family", ["supermemory 3 and 4", "supermemory 5", "Hebb Mind"])
def test_schemathesis_finds_nothing_undocumented(url: str, tmp_path: Path, family: str):
    config = Path(__file__).parent / "schemathesis.toml"
    command = f"{sys.executable} -m schemathesis.cli --config-file {config} run {url}/openapi.json --no-color"
    options = f"--phases coverage,fuzzing --max-examples {EXAMPLES} --generation-deterministic --continue-on-failure"
    done = subprocess.run(
        [*command.split(), *options.split(), "--include-tag", family],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2_000:]
    assert httpx2.get(f"{url}/api/v1/health").status_code == 200
