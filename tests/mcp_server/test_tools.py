"""The six tools as an MCP client sees them, in both protocol eras, as text and as structured content."""

from __future__ import annotations

import asyncio
import json
import os
import re
from datetime import datetime
from pathlib import Path

import jsonschema
import pytest
from asked import call, refusal, shown
from git_made import Repository
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, Tool
from said import SCOPE

from scrubjay.engine.caller import Caller, caller, set_caller
from scrubjay.engine.engine import Engine
from scrubjay.home.scopes import scope_of
from scrubjay.mcp_server.calls import call as call_tool
from scrubjay.mcp_server.resources import read
from scrubjay.text.short_ids import short_id

TOOLS = ["search_memories", "search_documents", "add_memory", "record_turn", "add_document", "forget"]
ATLAS = "We moved the atlas service from REST to gRPC because streaming halves the latency."
GUIDE = (
    "# Deploying\n\nRun the zebra migration before the deploy.\n\n# Rolling back\n\nKeep the old image for "
    "a week.\n"
)


@pytest.fixture(params=["legacy", "auto"])
def mode(request: pytest.FixtureRequest) -> str:
    return request.param


async def tools(client: Client) -> dict[str, Tool]:
    return {tool.name: tool for tool in (await client.list_tools()).tools}


# The list of tools.


async def test_there_are_six_tools_in_their_order_each_with_all_four_annotations_and_a_title(client: Client):
    assert list(await tools(client)) == TOOLS
    for name, tool in (await tools(client)).items():
        hints = tool.annotations
        assert tool.title and hints.title == tool.title
        assert hints.read_only_hint is name.startswith("search_")
        assert hints.destructive_hint is (name == "forget")
        assert (hints.idempotent_hint, hints.open_world_hint) == (True, False)


async def test_the_two_tools_a_model_needs_most_are_always_loaded(client: Client):
    loaded = [
        name for name, tool in (await tools(client)).items() if (tool.meta or {}).get("anthropic/alwaysLoad")
    ]
    assert loaded == ["search_memories", "add_memory"]


async def test_schemas_are_closed_objects_without_alternatives_at_their_root(client: Client):
    for name, tool in (await tools(client)).items():
        assert (tool.output_schema is None) == name.startswith("search_"), name
        for schema in filter(None, (tool.input_schema, tool.output_schema)):
            jsonschema.Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object", name
            assert not {"anyOf", "oneOf", "allOf"} & schema.keys()
        assert tool.input_schema["additionalProperties"] is False, name
        assert '"null"' not in json.dumps(tool.input_schema), name


async def test_descriptions_and_instructions_fit_where_clients_cut_them(client: Client):
    assert 500 < len(client.instructions.encode()) <= 2048
    for name, tool in (await tools(client)).items():
        assert 80 < len(tool.description.encode()) <= 2048, name


async def test_an_unknown_tool_is_answered_with_the_names_of_the_existing_ones(client: Client):
    with pytest.raises(MCPError) as refused:
        await client.call_tool("recall", {})
    assert refused.value.message == f"There is no tool 'recall'. The tools are: {', '.join(TOOLS)}."
    assert refused.value.code == INVALID_PARAMS


# Each tool.


async def test_a_recorded_turn_is_found_with_its_neighbours(client: Client):
    for number, said in enumerate(["Where do we keep the protos?", ATLAS, "Then the gateway needs a flag."]):
        turn = {"user": said, "ts": f"2026-03-01T09:0{number}:00Z"}
        recorded, text = await call(client, "record_turn", session_id="s-1", **turn)
        assert (recorded["turn"], recorded["stored"], recorded["updated"]) == (number, True, False)
        assert recorded["id"] in text and "s-1" in text
    window = {"top_k": 1, "prev_turns": 1, "next_turns": 1}
    found, text = await call(client, "search_memories", query="why gRPC for atlas?", **window)
    (hit,) = found["results"]
    assert (hit["memory"], hit["session_id"], hit["turn"]) == (ATLAS, "s-1", 1)
    assert (hit["scope"], hit["src"], hit["date"]) == (SCOPE, "turn", "2026-03-01T09:01:00Z")
    assert [(near["turn"], near["reason"]) for near in found["related"]] == [(0, "window"), (2, "window")]
    assert text.index("atlas service") < text.index("protos") < text.index("gateway")


async def test_the_text_says_date_session_turn_project_and_id_of_each_hit(client: Client):
    said = {"user": "The zebra is striped.", "assistant": "Noted.", "ts": "2026-02-01T08:30:00Z"}
    await call(client, "record_turn", session_id="s-1", **said)
    said = {"text": "A zebra, again.", "role": "Dana", "ts": "2026-02-02T10:00:00Z"}
    await call(client, "record_turn", session_id="s-2", **said)
    await call(client, "add_memory", content="The zebra's name is Marty.", tags=["animals"])
    await call(client, "add_document", content="# Zebras\n\nA zebra eats grass.\n", title="Field guide")
    found, text = await call(client, "search_memories", query="zebra", search_mode="hybrid", top_k=9)
    assert {hit["src"] for hit in found["results"]} == {"turn", "memory", "chunk"} and found["total"] == 4
    heads = []
    for hit in found["results"]:
        moment = datetime.fromisoformat(hit["date"]).astimezone()
        names = {
            "turn": f"{moment:%Y-%m-%d %H:%M} {hit.get('session_id')}/0{' Dana' * ('role' in hit)}",
            "memory": f"{moment:%Y-%m-%d %H:%M} fact {short_id('memory', hit['id'])} #animals",
            "chunk": f"2026-03-05 document Field guide {short_id('chunk', hit['id'])}",
        }
        heads.append(names[hit["src"]])
        quoted = "\n".join(f"> {line}" for line in (hit.get("memory") or hit["chunk"]).split("\n") if line)
        # A turn that a later one seems to amend says so.
        block = rf"^{re.escape(heads[-1])}( \(later: [^)]*\))?:\n{re.escape(quoted)}\n"
        assert re.search(block, text, re.MULTILINE)
    shown_there = await shown(client, "search_memories", query="zebra", search_mode="hybrid", top_k=9)
    assert all(head in shown_there for head in heads) and SCOPE not in shown_there
    elsewhere = await shown(client, "search_memories", query="zebra", top_k=1, scope="*")
    assert " in demo:" in elsewhere


async def test_an_empty_result_is_not_an_error(client: Client):
    found, text = await call(client, "search_memories", query="zebra")
    assert (found["results"], found["related"], found["total"]) == ([], [], 0)
    assert text.startswith("No memory answers this. Searched: demo and the user's own facts.")
    found, text = await call(client, "search_documents", query="zebra")
    assert (found["results"], found["total"], found["confidence"]) == ([], 0, "none")
    assert text.startswith("No document answers this. Searched: the documents of demo and the user's own")
    assert '"*" for every project' in text and "\n" not in text
    narrow = await refusal(client, "search_documents", query="zebra", path="docs/", scope="user")
    assert "No document here is at or below" in narrow and "docs" in narrow


async def test_a_scope_is_named_by_its_display_name_and_a_typo_is_pointed_out(client: Client):
    scopes = ("repo_sparrow__fe81c5a29d047b36", "client_1", "client_2")
    for scope in scopes:  # the last is both the newest and the most similar
        await call(client, "add_memory", content=f"The pond of {scope} is deep.", scope=scope)
    found, _ = await call(client, "search_memories", query="How deep is the pond?", scope="sparrow")
    assert [hit["scope"] for hit in found["results"]] == [scopes[0]]
    for tool, arguments in (
        ("search_memories", {"query": "pond", "scope": "sparow"}),
        ("add_memory", {"content": "The pond is green.", "scope": "sparow"}),
        ("record_turn", {"session_id": "s", "user": "Is it green?", "scope": scopes[0][:-1] + "0"}),
        ("search_documents", {"query": "pond", "scope": "User"}),
        ("forget", {"content": "The pond is green.", "scope": "heron"}),
    ):
        assert "There is no scope" in await refusal(client, tool, **arguments)


async def test_a_project_outside_ascii_is_named_as_its_folder_in_answers_and_in_scope(
    engine: Engine, tmp_path: Path
) -> None:
    async def text_of(tool: str, **arguments: object) -> str:
        return str((await call_tool(engine, tool, arguments))["content"][0]["text"])

    for name in ("项目", "größe"):
        (tmp_path / name).mkdir()
        scope = scope_of(engine.home, str(tmp_path / name))
        set_caller(Caller(scope=scope, folder=str(tmp_path / name)))
        await text_of("add_memory", content=f"The zebra of {name} sleeps in the barn.")
    query = "Where does the zebra sleep?"
    assert " in 项目" in await text_of("search_memories", query=query, scope="*")
    assert "zebra of 项目" in await text_of("search_memories", query=query, scope="项目")
    assert "zebra of 项目" in await text_of("search_memories", query=query, options={"scope": "项目"})
    assert "Saved" in await text_of("add_memory", content="The barn is red.", scope="项目")
    assert "There is no scope '工程'" in await text_of("search_memories", query=query, scope="工程")
    assert "letters (A to Z)" in await text_of("add_memory", content="The barn is new.", scope="工程")
    for name in ("项目", "%E9%A1%B9%E7%9B%AE"):
        profile = await read(engine, f"scrubjay://profile/{name}", caller())
        assert "2 of 2 facts in 项目" in profile.text and "The barn is red." in profile.text


async def test_a_turn_recorded_twice_by_a_client_is_stored_once(client: Client):
    same = {"session_id": "s", "user": "The zebra is striped.", "prompt_id": "p-1"}
    first, _ = await call(client, "record_turn", **same)
    again, text = await call(client, "record_turn", **same)
    assert (again["id"], again["stored"], again["updated"]) == (first["id"], False, False)
    assert text.startswith("Already recorded")
    completed, text = await call(client, "record_turn", **same, assistant="And fast.")
    assert (completed["id"], completed["updated"]) == (first["id"], True) and text.startswith("Completed")
    assert "another user text" in await refusal(client, "record_turn", **same | {"user": "It is spotted."})
    await call(client, "forget", id=first["id"])
    assert "forgotten before and stays forgotten" in (await call(client, "record_turn", **same))[1]


async def test_a_repeated_fact_is_recognised_and_similar_ones_are_shown(client: Client):
    place = {"importance": 8.0, "metadata": {"session_id": "s", "turn": 3}}
    stored, text = await call(client, "add_memory", content="The API listens on port 8421.", **place)
    assert (stored["action"], stored["version"], stored["root_id"]) == ("stored", 1, stored["id"])
    assert stored["id"] in text
    known, text = await call(client, "add_memory", content="The API listens on port 8421.")
    assert (known["action"], known["id"]) == ("known", stored["id"]) and "Already known" in text
    near, text = await call(client, "add_memory", content="The API listens on port 8422.")
    assert f"fact {short_id('memory', stored['id'])}" in near["note"] and near["note"] in text
    third = {"content": "The API listens on port 8423.", "include": {"structured": True}}
    again, _ = await call(client, "add_memory", **third)
    assert {near["id"], stored["id"]} == {hit["id"] for hit in again["similar"]}
    found, _ = await call(client, "search_memories", query="which port does the API listen on?")
    assert {(hit.get("session_id"), hit.get("turn")) for hit in found["results"]} == {("s", 3), (None, None)}


async def test_secrets_are_replaced_and_counted(client: Client):
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    added, text = await call(client, "add_memory", content=f"The zebra token is {secret}.")
    assert added["redacted"] == 1 and "1 secret was replaced" in text
    found, text = await call(client, "search_memories", query="zebra token")
    assert len(found["results"]) == 1 and secret not in json.dumps(found) and secret not in text


async def test_a_document_is_read_searched_and_replaced(client: Client, project: Path):
    (project / "guide.md").write_text(GUIDE)
    team = {"metadata": {"team": "ops"}}
    added, text = await call(client, "add_document", path="guide.md", **team)
    assert (added["status"], added["chunks"]) == ("done", 2) and added["id"] in text
    assert (await call(client, "add_document", path=str(project / "guide.md"), **team))[0] == added
    asked = {"query": "zebra migration", "include_full_docs": True, "include_summary": True}
    found, text = await call(client, "search_documents", **asked)
    (hit,) = found["results"]
    assert (hit["document_id"], hit["metadata"]) == (added["id"], team["metadata"])
    assert (hit["title"], hit["type"], hit["content"]) == ("Deploying", "markdown", GUIDE)
    assert "summary" in hit and hit["chunks"][0]["is_relevant"] and hit["chunks"][0]["lines"] == [1, 3]
    head = f"guide.md lines 1-3 (Deploying, 2026-03-05, {short_id('chunk', added['id'])}):\n"
    assert head in text and "> Run the zebra migration" in text
    (project / "guide.md").write_text("# Deploying\n\nNothing to migrate.\n")
    assert (await call(client, "add_document", path="guide.md"))[0]["id"] == added["id"]
    asked = {"query": "zebra migration", "doc_id": added["id"], "only_matching_chunks": True}
    found, _ = await call(client, "search_documents", **asked)
    assert "zebra" not in json.dumps(found)


async def test_a_large_document_does_not_delay_other_clients(client: Client):
    content = "The zebra is striped, the lion is not.\n" * 40_000
    adding = asyncio.ensure_future(call(client, "add_document", content=content))
    assert (await call(client, "search_memories", query="zebra"))[0]["total"] == 0
    assert not adding.done()
    assert (await adding)[0]["chunks"] > 1000


async def test_files_outside_the_project_are_not_read(client: Client, project: Path, tmp_path: Path):
    (tmp_path / "other.md").write_text("secret zebra")
    (project / "link.md").symlink_to(tmp_path / "other.md")
    (project / "picture.png").write_bytes(b"\x89PNG")
    (project / "scan.pdf").write_bytes(b"%PDF-1.7 and no more")
    for path, says in {
        "../other.md": "outside the project",
        "/etc/hostname": "outside the project",
        "link.md": "outside the project",
        "picture.png": "is an image, and only text is read",
        "missing.md": "cannot be read: No such file",
        "scan.pdf": "is not a PDF, or is damaged",
    }.items():
        sentence = await refusal(client, "add_document", path=path)
        assert sentence.startswith("path = ") and says in sentence, sentence


async def test_forgotten_records_are_not_found(client: Client):
    added, _ = await call(client, "add_memory", content="The zebra is striped.")
    done, text = await call(client, "forget", id=added["id"], reason="it was a horse")
    assert (done["ids"], done["forgotten"]) == ([added["id"]], 1) and added["id"] in text
    again, text = await call(client, "forget", id=added["id"])
    assert again["forgotten"] == 0 and "Already forgotten" in text
    assert (await call(client, "search_memories", query="zebra"))[0]["total"] == 0


async def test_a_query_that_matched_nothing_forgets_nothing_and_says_so(client: Client):
    await call(client, "forget", query="zebra", dry_run=True)
    done, text = await call(client, "forget", query="zebra")
    assert done["ids"] == [] and text == "Nothing was forgotten: no fact or turn seems to be about that."


async def test_a_dry_run_that_finds_nothing_says_where_it_searched(client: Client):
    await call(client, "add_memory", content="The user likes zebras.", scope="user")
    listed, text = await call(client, "forget", query="zebras", dry_run=True)
    assert text.endswith('Searched: demo. Give scope "user" for the user\'s own facts.')
    assert listed["note"] == text
    _, text = await call(client, "forget", query="gnu", dry_run=True, scope="user")
    assert text.endswith("Searched: the user's own facts.")


async def test_an_empty_search_of_documents_does_not_say_that_it_searched_facts(client: Client):
    _, text = await call(client, "search_documents", query="zebra")
    assert "Searched: the documents of demo and the user's own. Try" in text


async def test_a_fact_that_was_concluded_from_another_derives_from_it(client: Client):
    source, _ = await call(client, "add_memory", content="The crane service uses gRPC.")
    await call(client, "add_memory", content="Crane clients set deadlines.", derives=[source["id"]])
    include = {"related_memories": True}
    _, text = await call(client, "search_memories", query="crane gRPC deadlines", include=include)
    assert "derives from it" in text and f"- derives from {source['id'][:12]}" in text


async def test_a_store_failure_is_a_sentence_for_the_model_and_not_a_protocol_error(
    client: Client, engine: Engine, caplog
):
    added, _ = await call(client, "add_memory", content="The zebra is striped.")
    await (await engine.core()).writer.settle()
    os.rename(engine.home.data, f"{engine.home.root}.gone")  # in one step: the engine may still write there
    sentence = await refusal(client, "forget", id=added["id"])
    assert sentence.startswith("forget failed. The store in ") and "scrubjay doctor" in sentence
    assert "\n" not in sentence and ".rs:" not in sentence
    assert "scrubjay doctor" in await refusal(client, "search_memories", query="zebra")


async def test_a_path_answers_with_what_shaped_it(engine: Engine, tmp_path: Path) -> None:
    repo = Repository(tmp_path / "gateway")
    repo.commit({"a.py": "WAIT = 10\n"}, "Wait 10 s")
    repo.commit({"a.py": "WAIT = 30\n"}, "Wait 30 s\n\nThe gateway is slow on Mondays.")
    scope = scope_of(engine.home, str(repo.folder))
    set_caller(Caller(scope=scope, folder=str(repo.folder)))
    asked = {"query": "why 30 s?", "path": "a.py", "include": {"structured": True}}
    answer = await call_tool(engine, "search_memories", asked)
    lines = answer["content"][0]["text"].splitlines()[1:-1]
    assert len(lines) == 4 and "gateway is slow on Mondays" in lines[1] and "Wait 10 s" in lines[3]
    assert [each["kind"] for each in answer["structuredContent"]["results"]] == ["commit", "commit"]
    one = await call_tool(engine, "search_memories", asked | {"max_tokens": 50, "path": "a.py:1"})
    assert "on Mondays" in one["content"][0]["text"] and "10 s" not in one["content"][0]["text"]
    for path in ("none.py", "../a.py", "a.py:9"):
        assert (await call_tool(engine, "search_memories", asked | {"path": path}))["isError"]
