"""Conversations over HTTP, conversations resent as they grow, capture policies, and turns as cited results on
request.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from said import embedded, turn
from spellings import TAG, V4

from scrubjay.engine.engine import Engine
from scrubjay.models.records import Document, Turn

pytestmark = pytest.mark.long

RENAME = [
    {"role": "user", "content": "Let's rename tick() in the scheduler, its name says nothing."},
    {"role": "assistant", "content": "Done: tick() is now advance_clock() everywhere."},
]
PORT = [
    {
        "role": "user",
        "content": [{"type": "text", "text": "Which port does the server use?"}, {"type": "image_url"}],
    },
    {
        "role": "assistant",
        "content": "It uses 8421.",
        "tool_calls": [{"id": "1", "type": "function", "function": {"name": "Bash", "arguments": "{}"}}],
    },
    {"role": "tool", "content": "listening on 8421", "tool_call_id": "1"},
]
QUESTION = "What did we rename tick() to?"


async def under(engine: Engine, policy: str, **settings: Any) -> None:
    core = await engine.core()
    core.settings = replace(core.settings, chat_capture=policy, **settings)


async def converse(v4: V4, messages: list[dict[str, Any]], id: str = "c1", **fields: Any) -> dict[str, Any]:
    return await v4.post(
        "/v4/conversations", conversationId=id, containerTags=[TAG], messages=messages, **fields
    )


async def turns(engine: Engine) -> list[Turn]:
    core = await engine.core()
    await core.store.flush()
    return sorted(await core.store.select(Turn, "true"), key=lambda row: row.turn)


async def text_of(engine: Engine, id: str) -> str:
    return (await (await engine.core()).store.get(Document, [id]))[id].content


async def test_a_profile_shows_what_the_user_said_last_in_conversations(v4: V4):
    said = ["I prefer React with TypeScript.", "thanks!", "What do you know about me?", "I moved to Oslo."]
    await converse(v4, [{"role": "user", "content": text} for text in said])
    await converse(v4, [{"role": "assistant", "content": "user: noted"}], id="c2")
    found = await v4.post("/v4/profile", containerTag=TAG)
    assert found["profile"]["dynamic"] == ["I moved to Oslo.", "I prefer React with TypeScript."]
    assert (await v4.post("/v4/profile", containerTag="elsewhere"))["profile"]["dynamic"] == []


async def test_a_question_about_a_chat_is_answered_with_a_citation(v4: V4, engine: Engine):
    await under(engine, "all")
    at, metadata = "2026-02-03T10:00:00.000Z", {"source": "webui"}
    await converse(v4, [{**message, "timestamp": at} for message in RENAME], metadata=metadata)
    await embedded(await engine.core())
    asked = {"q": QUESTION, "containerTag": TAG, "includeChats": True, "threshold": 0}
    found = (await v4.post("/v4/search", **asked))["results"]
    said = {message["role"]: message["content"] for message in RENAME}
    assert {each["role"]: each["memory"] for each in found} == said
    cited = {"src": "chat", "threadId": "c1", "sessionId": "c1", "turn": 0, "ts": at, "metadata": metadata}
    assert all(each == each | cited for each in found)


async def test_the_message_that_answers_comes_first_and_counts_alone(v4: V4, engine: Engine):
    await under(engine, "all")
    await converse(v4, RENAME)
    asked = "where is advance_clock() everywhere"
    assert [each["role"] for each in await v4.search(asked, includeChats=True)] == ["assistant", "user"]
    (found,) = await v4.search(asked, includeChats=True, limit=1)
    assert found["memory"] == RENAME[1]["content"]
    rows = (await v4.post("/v3/search", q=asked, containerTag=TAG, type="chat"))["results"]
    assert [(row["role"], row["chunks"][0]["content"]) for row in rows] == [
        ("assistant", RENAME[1]["content"]),
        ("user", RENAME[0]["content"]),
    ]
    assert len({row["documentId"] for row in rows}) == 2


async def test_a_long_message_is_cut_to_the_part_that_answers(v4: V4, engine: Engine):
    await under(engine, "all")
    filler = "The weather on the way to the office was dull and grey again. " * 40
    answer = f"{filler}\n\n{RENAME[1]['content']}\n\n{filler}"
    await converse(v4, [RENAME[0], {"role": "assistant", "content": answer}])
    found = await v4.search("advance_clock() everywhere", includeChats=True)
    (answer,) = (each for each in found if each["role"] == "assistant")
    assert "advance_clock()" in answer["memory"] and len(answer["memory"]) <= 900


async def test_the_id_of_a_message_refers_to_its_turn(v4: V4, engine: Engine):
    await under(engine, "all")
    await converse(v4, RENAME)
    (row,) = await turns(engine)
    ids = {each["id"] for each in await v4.search(QUESTION, type="chat")}
    assert ids == {f"{row.id}:user", f"{row.id}:assistant"}
    await v4.forget(id=f"{row.id}:user")
    assert await v4.search(QUESTION, type="chat") == []


async def test_every_result_names_its_source_when_chats_are_included(v4: V4, engine: Engine):
    await v4.keep("We rename nothing without a test.")
    await turn(await engine.core(), "s1", scope=TAG, user="Shall we rename tick()?", assistant="Yes.")
    assert {each["src"] for each in await v4.search("rename", includeChats=True)} == {"doc", "chat"}
    for kinds in (["doc", "chat"], ["doc"], ["chat"], "chat"):
        expected = {kinds} if isinstance(kinds, str) else set(kinds)
        assert {each["src"] for each in await v4.search("rename", type=kinds)} == expected
    for wrong in (["mail"], []):
        await v4.post("/v4/search", 400, q="rename", type=wrong)


async def test_a_grown_conversation_adds_only_its_new_turns(v4: V4, engine: Engine):
    await under(engine, "all")
    first = await converse(v4, RENAME)
    for _ in range(2):
        again = await converse(v4, [*RENAME, *PORT])
    assert again["id"] == first["id"] and again["conversationId"] == "c1"
    shown = await v4.document(first["id"])
    assert shown["title"] == "Conversation c1"
    text = await text_of(engine, first["id"])
    assert all(text.count(words) == 1 for words in ("rename tick()", "Which port", "listening on 8421"))
    assert [(row.user, row.assistant) for row in await turns(engine)] == [
        (RENAME[0]["content"], RENAME[1]["content"]),
        ("Which port does the server use?\n\n[image_url]", "It uses 8421."),
    ]
    assert (await turns(engine))[1].tools == ("Bash",)


async def test_only_the_end_of_a_conversation_is_added_and_an_answer_joins_its_question(
    v4: V4, engine: Engine
):
    await under(engine, "all")
    for message in (*RENAME, *PORT):
        id = (await converse(v4, [message]))["id"]
    assert [(bool(row.user), bool(row.assistant)) for row in await turns(engine)] == [(True, True)] * 2
    whole = (await converse(v4, [*RENAME, *PORT], "c2"))["id"]
    assert await text_of(engine, id) == await text_of(engine, whole)


async def test_by_default_a_conversation_is_a_document_and_nothing_is_lost(v4: V4, engine: Engine):
    kept = await converse(v4, [{"role": "system", "content": "Be brief."}, *RENAME])
    assert kept["status"] in ("queued", "embedding", "done") and await turns(engine) == []
    assert await v4.search(QUESTION) == [] == await v4.search(QUESTION, type="chat")
    (found,) = await v4.search(QUESTION, mode="chunks")
    assert "advance_clock()" in found["chunk"] and "Be brief." in await text_of(engine, kept["id"])
    await under(engine, "all")
    await converse(v4, RENAME)
    assert {each["src"] for each in await v4.search(QUESTION, type="chat")} == {"chat"}


@pytest.mark.parametrize(
    ("policy", "expected"), [("off", []), ("all", [0, 1]), ("salient", [0]), ("summary_only", [0, 1])]
)
async def test_the_policy_decides_which_turns_are_recorded(
    v4: V4, engine: Engine, policy: str, expected: list[int]
):
    await under(engine, policy)
    talk = ("Good morning to everybody here", "Good morning, what a nice day", "ok", "fine")
    roles = ("user", "assistant") * 2
    messages = [{"role": role, "content": text} for role, text in zip(roles, talk, strict=True)]
    await converse(v4, [*RENAME, *messages])
    assert [row.turn for row in await turns(engine)] == expected


async def test_short_messages_of_one_turn_do_not_add_up_to_the_least_length(v4: V4, engine: Engine):
    await under(engine, "all", min_length=60)
    short = [{"role": "user", "content": text} for text in ("Which port is it?", "And which host?")]
    answer = {"role": "assistant", "content": "It is heron:8421, as I said in the morning."}
    await converse(v4, [*short, answer])
    assert await turns(engine) == []


async def test_no_turn_is_recorded_while_capture_is_paused(v4: V4, engine: Engine):
    await under(engine, "all", paused=True)
    await converse(v4, RENAME)
    assert await turns(engine) == []


async def test_only_summaries_are_found_under_summary_only(v4: V4, engine: Engine):
    await under(engine, "summary_only")
    long = [
        {"role": "user", "content": "Which zebra did we decide on?"},
        {"role": "assistant", "content": "We decided on the calm one. " * 60},
    ]
    for n in range(20):
        await converse(v4, [{**each, "content": f"{each['content']} ({n})"} for each in long])
    core = await engine.core()
    await core.writer.settle()
    await core.consolidation.process_all()
    found = await v4.search("which zebra did we decide on", type="chat", limit=100)
    assert {each["role"] for each in found} == {"summary"} and len(found) == 21
    assert all(each["sessionId"] == "c1" and each["src"] == "chat" for each in found)


async def test_a_conversation_is_not_returned_both_as_chat_and_as_document(v4: V4, engine: Engine):
    await under(engine, "all")
    await converse(v4, RENAME)
    for policy in ("all", "off"):  # the recorded turns stay
        await under(engine, policy)
        found = await v4.search(QUESTION, mode="hybrid", includeChats=True)
        older = await v4.post("/v3/search", q=QUESTION, containerTag=TAG, includeChats=True)
        for results in (found, older["results"]):
            assert [each["src"] for each in results] == ["chat", "chat"]
    (whole,) = (await v4.post("/v3/search", q=QUESTION, containerTag=TAG))["results"]
    assert "src" not in whole and whole["title"] == "Conversation c1"


async def test_secrets_of_a_conversation_are_replaced_everywhere(v4: V4, engine: Engine):
    await under(engine, "all")
    secret = "ghp_0123456789abcdefABCDEF0123456789abcd"
    for _ in range(2):
        said = {"role": "user", "content": f"Our deploy token is {secret}, keep it."}
        id = (await converse(v4, [said]))["id"]
    (row,) = await turns(engine)
    text = await text_of(engine, id)
    assert secret not in text and secret not in (row.user or "") and text.count("Our deploy token") == 1


async def test_deleting_a_conversations_document_takes_its_turns_with_it(v4: V4, engine: Engine):
    await under(engine, "all")
    id = (await converse(v4, RENAME))["id"]
    await turn(await engine.core(), "s1", scope=TAG, user="Shall we rename tick() again?", assistant="No.")
    await v4.forget(id=id)
    core = await engine.core()
    found = await v4.search(QUESTION, includeChats=True, mode="hybrid")
    assert {each["sessionId"] for each in found} == {"s1"}
    await core.removal.restore(id, "test")
    assert {each["sessionId"] for each in await v4.search(QUESTION, type="chat")} == {"s1", "c1"}
