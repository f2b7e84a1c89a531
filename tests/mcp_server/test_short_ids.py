"""Short ids: how they are shown, and that every interface accepts them."""

from __future__ import annotations

from typing import Any, TypeVar

import pytest
import said
from asked import call, refusal
from mcp import Client, MCPError
from said import SCOPE
from user import User, user

from scrubjay.engine.caller import Caller, set_caller
from scrubjay.engine.core import Core
from scrubjay.errors import InputError
from scrubjay.models.records import derived_id
from scrubjay.models.requests import (
    AddMemory,
    Forget,
    RecordTurn,
    Request,
    SearchDocuments,
    SearchMemories,
    parse,
)
from scrubjay.text.short_ids import short_id, short_session

__all__ = ["user"]  # a fixture

R = TypeVar("R", bound=Request)

V4 = "66288832-1c1a-4b0e-9c3f-2d8a5f1e7b6c"
V7 = "0199a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2b"
OPENCODE = "ses_6f3b2a1c9ffeQkVw3mTzAbCdEf"

# How ids are shown.


def test_an_id_is_shown_as_its_kind_and_eight_digits() -> None:
    fact = derived_id("mem", "a")
    assert short_id("memory", fact) == fact[: len("mem_") + 8]
    assert short_id("chunk", derived_id("doc", "a"))[:4] == "doc_"
    assert short_id("memory", "a-name-of-a-client") == "a-name-of-a-client"


def test_a_turn_is_shown_by_its_session_and_number() -> None:
    turn = derived_id("turn", "a")
    assert short_id("turn", turn, V4, 5) == "66288832/5"
    assert short_id("turn", turn, "standup", 0) == "standup/0"
    # A name with spaces, or one that costs more than an id.
    for name in ("a talk\nof us", "x" * 25):
        assert short_id("turn", turn, name, 5) == turn[: len("turn_") + 8]


def test_a_session_is_shown_by_a_prefix_unique_among_those_of_the_same_minute() -> None:
    assert short_session(V4) == "66288832"
    assert short_session(V4.replace("-", "")) == "66288832"
    assert short_session(V7) == "0199a1b2-c3d4"
    assert short_session(OPENCODE) == "ses_6f3b2a1c9ffe"
    assert short_session("a name that somebody chose") == "a name that somebody chose"


# How ids are read: over a store, where a caller may see every scope.


async def test_a_prefix_of_an_id_finds_its_record_before_and_after_the_commit(core: Core) -> None:
    added = await said.fact(core, "The atlas listens on port 5433.")
    talk = await said.turn(core, V4, user="Which port?", turn=5)
    guide = await said.document(core, "# Ports\n\nThe atlas has 5433.", custom_id="ports")
    for _ in range(2):
        for whole in (added.id, talk.id, guide.id):
            assert whole is not None
            kind, _, digits = whole.partition("_")
            for beginning in (whole, f"{kind}_{digits[:8]}", digits[:8], f"{kind}_{digits[:4]}"):
                assert await core.ids.full(beginning, SCOPE) == whole
            assert await core.ids.full(f"{kind}_{digits[:3]}", SCOPE) == f"{kind}_{digits[:3]}"
        for name in ("66288832/5", "6628/5", f"{V4}/5"):
            assert await core.ids.full(name, SCOPE) == talk.id
        for name in ("66288832/6", "662/5", "66288832/five", "/5", "turn", "turn_", "mem", "doc_", "2/2/2"):
            assert await core.ids.full(name, SCOPE) == name
        await core.writer.settle()


async def test_an_ambiguous_id_is_answered_with_each_match_and_its_date(core: Core) -> None:
    other = V4[:10] + V4[10:].replace("1", "2")
    first = await said.turn(core, V4, user="Which port?", turn=5, ts="2026-03-01")
    second = await said.turn(core, other, user="Which host?", turn=5, ts="2026-03-02")
    for _ in range(2):
        with pytest.raises(InputError) as caught:
            await core.ids.full("66288832/5", SCOPE)
        assert f"{second.id} (2026-03-02, {SCOPE}), {first.id} (2026-03-01, {SCOPE})" in str(caught.value)
        with pytest.raises(InputError, match=f"{other} .2026-03-02.*{V4} .2026-03-01"):
            await spelled(core, SearchMemories, query="port", session_id="6628")
        assert await core.ids.full(f"{V4}/5", SCOPE) == first.id
        await core.writer.settle()


async def test_an_exact_session_name_takes_precedence_over_a_prefix(core: Core) -> None:
    one = await said.turn(core, "week_1", user="One.", turn=0)
    await said.turn(core, "week_10", user="Ten.", turn=0)
    assert await core.ids.full("week_1/0", SCOPE) == one.id
    assert (await spelled(core, SearchMemories, query="one", session_id="week_1")).session_id == "week_1"
    short = await said.turn(core, "s", user="S.", turn=0)
    assert await core.ids.full("s/0", SCOPE) == short.id


async def test_quotes_and_wildcards_are_literal(core: Core) -> None:
    names = ["it's 100%_done", "it's 100%xdone", "it_s 100", 'a "quoted\\" name']
    ids = {name: (await said.turn(core, name, user=name, turn=3)).id for name in names}
    await core.writer.settle()
    for name, turn_id in ids.items():
        assert await core.ids.full(f"{name}/3", SCOPE) == turn_id
    assert await core.ids.full("it's 100%_/3", SCOPE) == ids["it's 100%_done"]
    for nothing in ("it%/3", "%%%%/3", "____/3", "mem_%%%%", "____%%%%", "' OR true --"):
        assert await core.ids.full(nothing, SCOPE) == nothing


async def test_a_caller_limited_to_one_scope_finds_only_its_own_records(core: Core) -> None:
    theirs = await said.turn(core, V4, user="Which port?", turn=5, scope="repo_other__0123456789abcdef")
    assert await core.ids.full("66288832/5", (SCOPE,)) == "66288832/5"
    assert await core.ids.full(theirs.id[:13], (SCOPE,)) == theirs.id[:13]
    ours = await said.turn(core, V4, user="Which port?", turn=5)
    assert await core.ids.full("66288832/5", (SCOPE,)) == ours.id
    with pytest.raises(InputError, match="is ambiguous"):
        await core.ids.full("66288832/5", SCOPE)


async def test_short_ids_in_requests_are_expanded_except_the_session_of_a_new_turn(core: Core) -> None:
    old = await said.fact(core, "The atlas listens on port 5432.")
    talk = await said.turn(core, V4, user="It moved.", turn=5)
    guide = await said.document(core, "# Ports\n\nThe atlas has 5433.", custom_id="doc_ports")
    for _ in range(2):
        assert (await spelled(core, Forget, id=old.id[:12])).id == old.id
        for relation in ("updates", "extends", "derives"):
            request = await spelled(core, AddMemory, content="x", **{relation: [old.id[:12], "66288832/5"]})
            assert getattr(request, relation) == [old.id, talk.id]
            assert request.model_fields_set == {"content", relation}
        assert (await spelled(core, SearchMemories, query="x", session_id="66288832")).session_id == V4
        assert (await spelled(core, SearchDocuments, query="x", doc_id=guide.id[:12])).doc_id == guide.id
        assert (await spelled(core, SearchDocuments, query="x", doc_id="doc_ports")).doc_id == "doc_ports"
        assert (await spelled(core, RecordTurn, session_id="66288832", user="x")).session_id == "66288832"
        await core.writer.settle()


async def spelled(core: Core, kind: type[R], **arguments: Any) -> R:
    return await core.ids.with_full_ids(parse(kind, arguments), SCOPE)


# From outside.


async def test_an_mcp_client_can_use_short_ids_wherever_an_id_is_accepted(client: Client) -> None:
    turn, _ = await call(client, "record_turn", session_id=V4, user="Which port?", assistant="5433.", turn=5)
    old, _ = await call(
        client, "add_memory", content="The atlas listens on port 5433.", derives=["66288832/5"]
    )
    new, _ = await call(client, "add_memory", content="It listens on 5434.", updates=[old["id"][:12]])
    assert new["root_id"] == old["id"]
    for address in ("66288832/5", "66288832%2F5", turn["id"][:13]):
        (content,) = (await client.read_resource(f"scrubjay://turn/{address}")).contents
        assert "turn 5 of session" in content.text
    (content,) = (await client.read_resource(f"scrubjay://memory/{new['id'][:12]}")).contents
    assert "version 2" in content.text
    hits, _ = await call(client, "search_memories", query="which port", session_id="6628")
    assert [hit["id"] for hit in hits["results"] if hit["src"] == "turn"] == [turn["id"]]
    gone, _ = await call(client, "forget", id="66288832/5")
    assert gone["ids"] == [turn["id"]]
    assert "with the id 'mem_99999999'" in await refusal(client, "forget", id="mem_99999999")
    with pytest.raises(MCPError, match="There is no memory with the id '66288832/5'"):
        await client.read_resource("scrubjay://memory/66288832/5")


async def test_a_token_of_one_scope_can_use_short_ids_of_its_scope(client: Client) -> None:
    other, _ = await call(client, "add_memory", content="A heron.", scope="user")
    own, _ = await call(client, "add_memory", content="A wren.")
    set_caller(Caller(scope=SCOPE, confined=True))
    assert "There is no record with the id" in await refusal(client, "forget", id=other["id"][:12])
    gone, _ = await call(client, "forget", id=own["id"][:12])
    assert gone["ids"] == [own["id"]]


async def test_an_id_alone_gives_no_access_to_another_project(client: Client) -> None:
    turn, _ = await call(client, "record_turn", session_id=V4, user="Which port?", assistant="5433.")
    fact, _ = await call(client, "add_memory", content="The atlas listens on port 5433.")
    own, _ = await call(client, "add_memory", content="I like herons.", scope="user")
    set_caller(Caller(scope="repo_other__0"))
    for address in (f"turn/{turn['id']}", f"turn/{V4}/0", f"memory/{fact['id'][:12]}"):
        with pytest.raises(MCPError, match="There is no"):
            await client.read_resource(f"scrubjay://{address}")
        for named in (SCOPE, "*", "%2A"):
            (content,) = (await client.read_resource(f"scrubjay://{address}?scope={named}")).contents
            assert "5433" in content.text
    await client.read_resource(f"scrubjay://memory/{own['id']}")
    for each in (turn["id"], fact["id"], fact["id"][:12], f"{V4}/0"):
        for more in ({}, {"dry_run": True}, {"purge": True}, {"scope": "repo_third__0"}):
            assert "There is no record with the id" in await refusal(client, "forget", id=each, **more)
    for relation in ("updates", "extends", "derives"):
        for each in (fact["id"], fact["id"][:12]):
            said = await refusal(
                client, "add_memory", content="The atlas listens nowhere.", **{relation: [each]}
            )
            assert "There is no record with the id" in said and fact["id"] not in said.replace(each, "")
    link = {"content": "It has a name.", "extends": [fact["id"][:12]], "scope": SCOPE}
    assert (await call(client, "add_memory", **link))[0]["action"] == "stored"
    assert (await call(client, "forget", id=fact["id"], scope=SCOPE))[0]["ids"] == [fact["id"]]
    assert (await call(client, "forget", id=own["id"]))[0]["ids"] == [own["id"]]
    set_caller(Caller(scope=SCOPE, confined=True))
    with pytest.raises(MCPError, match="There is no"):
        await client.read_resource(f"scrubjay://memory/{own['id']}?scope=*")


@pytest.mark.long
def test_the_command_line_accepts_short_ids(user: User) -> None:
    user.says("Which port?", "The atlas has 5433.", session=V4, turn=0)
    fact = user.gets("add", "The atlas has port 5433.", "--derives", "66288832/0").split()[2].rstrip(".")
    short = fact[:12]
    assert f"fact:             {fact}" in user.gets("show", short)
    assert "session id:       " + V4 in user.gets("show", "66288832/0")
    assert f"{fact}: forgotten" in user.gets("forget", short)
    assert user.gets("restore", short) == f"{fact} is restored: searches find it again.\n"
    assert "version 2" in user.gets("add", "The atlas has port 5434.", "--updates", short)
    assert "has the id '66288832/9'" in user.refused("show", "66288832/9")
