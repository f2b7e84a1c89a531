"""Distilling, with a client in the place of a host's model: it reads what was said in pieces, keeps facts of
it, which replace none that a person saved, and the user takes them back.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from asked import call, refusal, shown
from mcp import Client
from said import SCOPE

from scrubjay.engine.engine import Engine

READ = {"query": "distill", "search_mode": "undistilled"}


async def says(client: Client, session: str, number: int, user: str, assistant: str = "Done.") -> None:
    await call(client, "record_turn", session_id=session, turn=number, user=user, assistant=assistant)


async def keeps(client: Client, content: str, turn: str, **more: Any) -> tuple[dict[str, Any], str]:
    """What a model does for one fact, with the arguments that the prompt names."""
    options = {"metadata": {"turn": turn}, **more}
    return await call(client, "add_memory", content=content, tags=["distilled"], options=options)


async def found(client: Client, query: str) -> list[str]:
    answer, _ = await call(client, "search_memories", query=query, top_k=20, include_turns=False)
    return [hit["memory"] for hit in answer["results"]]


async def test_what_was_said_is_read_once_in_order_and_in_pieces_that_fit(client: Client):
    for number in range(9):
        await says(client, "owls", number, f"Owl number {number}. {'hoo ' * 300}")
    pieces = [await shown(client, "search_memories", **READ, max_tokens=1_000) for _ in range(4)]
    numbers = [re.findall(r"^owls/(\d)", piece, re.M) for piece in pieces]
    assert [int(number) for piece in numbers for number in piece] == list(range(9))
    assert all(len(piece) < 1.3 * 4 * 1_000 for piece in pieces) and "wait" in pieces[0]
    assert "wait" not in pieces[2] and "Nothing was said" in pieces[3]
    await says(client, "owls", 9, "One more owl.")
    assert "One more owl" in (await client.get_prompt("distill")).messages[0].content.text
    await says(client, "owls", 10, "/mcp__scrubjay__recall How many owls?", "Ten.")
    assert "Nothing was said" in await shown(client, "search_memories", **READ)
    again = await shown(client, "search_memories", **READ, since="2026-03-05")
    assert "Owl number 0" in again


async def test_a_distilled_fact_names_its_turn_which_must_exist(client: Client):
    await says(client, "owls", 0, "Owls hunt at night, because mice do.")
    fact, _ = await keeps(client, "Owls hunt at night, because mice do.", "owls/0")
    detail, _ = await call(client, "search_memories", query="When do owls hunt?", include_turns=False)
    (hit,) = (hit for hit in detail["results"] if hit["id"] == fact["id"])
    assert (hit["session_id"], hit["turn"]) == ("owls", 0)
    for metadata in ({}, {"turn": "owls/7"}, {"turn": 0}):
        fact = {"content": "Owls eat mice.", "tags": ["distilled"], "metadata": metadata}
        assert "66288832/5" in await refusal(client, "add_memory", options=fact)


async def test_a_distilled_fact_replaces_a_distilled_one_and_never_a_persons(client: Client):
    await says(client, "owls", 0, "The owlery opens at nine, no longer at eight.")
    person, _ = await call(client, "add_memory", content="The owlery opens at eight.")
    first, note = await keeps(client, "The owlery opens at nine.", "owls/0", updates=[person["id"]])
    assert first["action"] == "stored" and "stays" in note and person["id"] in note
    second, _ = await keeps(client, "The owlery opens at ten.", "owls/0", updates=[first["id"]])
    assert second["action"] == "updated"
    known = set(await found(client, "When does the owlery open?"))
    assert known == {"The owlery opens at eight.", "The owlery opens at ten."}


async def test_a_persons_new_version_of_a_distilled_fact_is_the_persons(client: Client):
    await says(client, "owls", 0, "The owlery opens at nine.")
    fact, _ = await keeps(client, "The owlery opens at nine.", "owls/0")
    person, _ = await call(client, "add_memory", content="The owlery opens at six.", updates=[fact["id"]])
    third, note = await keeps(client, "The owlery opens at seven.", "owls/0", updates=[person["id"]])
    assert third["action"] == "stored" and "stays" in note
    assert "The owlery opens at six." in await found(client, "When does the owlery open?")


async def test_a_session_has_at_most_twelve_distilled_facts(client: Client):
    await says(client, "owls", 0, "Each of the owls has a name.")
    for number in range(12):
        kept, _ = await keeps(client, f"Owl {number} is called {'abcdefghijkl'[number] * 5}.", "owls/0")
    fact = {"content": "Owl X is called mmm.", "tags": ["distilled"], "metadata": {"turn": "owls/0"}}
    assert "12" in await refusal(client, "add_memory", options=fact)
    changed, _ = await keeps(client, "Owl 11 is called Bo.", "owls/0", updates=[kept["id"]])
    assert changed["action"] == "updated"
    await says(client, "mice", 0, "Mice have names too.")
    other, _ = await keeps(client, "A mouse is called Mo.", "mice/0")
    assert other["action"] == "stored"


async def test_a_run_is_taken_back_in_one_step_and_what_it_replaced_is_current_again(
    client: Client, engine: Engine
):
    await says(client, "owls", 0, "The owlery opens at nine.")
    await call(client, "add_memory", content="Mice live in the barn.")
    first, _ = await keeps(client, "The owlery opens at nine.", "owls/0")
    distilling = (await engine.core()).distilling
    (listed,) = await distilling.facts(SCOPE)
    assert (listed.id, listed.turn, listed.run) == (first["id"], "owls/0", 1)
    second, _ = await keeps(client, "The owlery opens at ten.", "owls/0", updates=[first["id"]])
    await keeps(client, "The owlery closes at midnight.", "owls/0")
    assert [each.id for each in await distilling.take_back(SCOPE, [second["id"]], "test")] == [second["id"]]
    opens = await found(client, "When does the owlery open?")
    assert "The owlery opens at nine." in opens and "The owlery opens at ten." not in opens
    assert len(await distilling.take_back(SCOPE, [], "test")) == 2
    assert await distilling.facts(SCOPE) == []
    fourth, _ = await keeps(client, "The owlery has one door.", "owls/0")
    await keeps(client, "The owlery has two doors.", "owls/0", updates=[fourth["id"]])
    await distilling.take_back(SCOPE, [], "test")
    assert await distilling.facts(SCOPE) == []
    assert "Mice live in the barn." in await found(client, "Where do mice live?")


@pytest.mark.parametrize("known", ["a person's", "unknown"])
async def test_only_distilled_facts_are_taken_back(client: Client, engine: Engine, known: str):
    fact, _ = await call(client, "add_memory", content="Mice live in the barn.")
    named = fact["id"] if known == "a person's" else "mem_0"
    with pytest.raises(Exception, match="not a distilled fact"):
        await (await engine.core()).distilling.take_back(SCOPE, [named], "test")
