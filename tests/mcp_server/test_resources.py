"""The resources: the whole text of records that a search shows in part, and a clear error for any other
address.
"""

from __future__ import annotations

import pytest
from asked import call
from mcp import Client, MCPError
from said import SCOPE

GUIDE = "# Deploying\n\nRun the zebra migration before the deploy.\n"


@pytest.fixture(params=["legacy", "auto"])
def mode(request: pytest.FixtureRequest) -> str:
    return request.param


async def test_resources_give_the_whole_text_below_a_line_that_names_its_source(client: Client):
    templates = (await client.list_resource_templates()).resource_templates
    assert [each.uri_template for each in templates] == [
        *(f"scrubjay://{kind}/{{id}}" for kind in ("memory", "turn", "document")),
        "scrubjay://profile/{scope}",
    ]
    assert [str(each.uri) for each in (await client.list_resources()).resources] == ["scrubjay://profile"]
    long = "The zebra is striped. " * 200
    said = {"user": long, "assistant": "Yes.", "files": ["a.py"], "tools": ["Read"], "ts": "2026-03-01"}
    turn, _ = await call(client, "record_turn", session_id="s", **said)
    fact, _ = await call(client, "add_memory", content="Zebras are striped.")
    document, _ = await call(client, "add_document", content=GUIDE)
    found, text = await call(client, "search_memories", query="zebra striped")
    truncated = [hit["id"] for hit in found["results"] if hit.get("truncated")]
    assert turn["id"] in truncated and "s/0 (part):" in text
    whole = {}
    for kind, id in (("turn", turn["id"]), ("memory", fact["id"]), ("document", document["id"])):
        (content,) = (await client.read_resource(f"scrubjay://{kind}/{id}")).contents
        assert (str(content.uri), content.mime_type) == (f"scrubjay://{kind}/{id}", "text/plain")
        opening, _, rest = content.text.partition("\n")
        assert opening.startswith("<recalled-data> ") and rest.endswith("\n</recalled-data>")
        whole[kind] = rest.removesuffix("\n</recalled-data>")
    head, _, body = whole["turn"].partition("\n")
    assert head == f"[turn 0 of session s · 2026-03-01 00:00 · {SCOPE}]"
    assert all(part in body for part in (long.strip(), "assistant:\nYes.", "files: a.py", "tools: Read"))
    assert whole["memory"].endswith("\nZebras are striped.") and SCOPE in whole["memory"].partition("\n")[0]
    assert whole["document"].endswith(GUIDE)


async def test_an_unknown_address_is_a_protocol_error_that_lists_valid_ones(client: Client):
    fact, _ = await call(client, "add_memory", content="Zebras are striped.")
    await call(client, "forget", id=fact["id"])
    for uri, says in {
        f"scrubjay://memory/{fact['id']}": "There is no memory with the id",  # forgotten
        f"scrubjay://turn/{fact['id']}": "There is no turn with the id",  # of another kind
        "scrubjay://document/doc_0": "There is no document with the id 'doc_0'. Use the id of a search result.",
        "scrubjay://session/s": "not a resource here. Addresses look like scrubjay://turn/ID",
        "scrubjay://turn/../../etc/passwd": "not a resource here",
        "file:///etc/passwd": "not a resource here",
    }.items():
        with pytest.raises(MCPError) as caught:
            await client.read_resource(uri)
        assert says in caught.value.message and caught.value.code == -32602, uri
