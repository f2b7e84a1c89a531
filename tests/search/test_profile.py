"""The profile of a scope: lasting and new facts within a few hundred tokens, for a client, a hook and a
person.
"""

from __future__ import annotations

import pytest
from asked import call
from mcp import Client
from said import SCOPE, fact, facts, forget

from scrubjay.engine.core import Core


def said(hits) -> list[str]:
    return [hit.memory for hit in hits]


async def test_lasting_facts_are_ordered_by_importance_and_new_ones_by_date(core: Core):
    await fact(core, "The team is in Lisbon.", is_static=True)
    await fact(core, "Never push to main.", partition_id="mem_preference", importance=9.0)
    await fact(core, "Alex likes tea.", scope="user", is_static=True)
    await fact(core, "Nothing of ours.", scope="elsewhere", is_static=True)
    old = await fact(core, "The migration runs on Monday.")
    await fact(core, "The migration runs on Tuesday.", updates=[old.id])
    await forget(core, (await fact(core, "The demo is down.")).id)
    await fact(core, "The API has a new port.")
    known = await core.search.profile(SCOPE)
    assert said(known.static)[0] == "Never push to main."
    assert set(said(known.static)) == {"Never push to main.", "Alex likes tea.", "The team is in Lisbon."}
    assert said(known.recent) == ["The API has a new port.", "The migration runs on Tuesday."]
    assert known.total == 5


@pytest.mark.long
@pytest.mark.parametrize("tokens", [50, 200, 400])
async def test_the_profile_respects_its_token_limit_and_leaves_room_for_new_facts(core: Core, tokens: int):
    await facts(core, (f"Lasting fact number {n} of the zebra project." for n in range(40)), is_static=True)
    passing = (f"Passing fact number {n} of the zebra project. " + "word " * (n % 2 * 200) for n in range(40))
    await facts(core, passing)
    known = await core.search.profile(SCOPE, tokens)
    assert known.spent <= tokens and known.total == 80
    assert known.static and (known.recent or tokens == 50)
    assert all(len(hit.memory) <= 300 for hit in known.recent)


async def test_clients_read_the_profile_as_a_resource(client: Client):
    assert "Nothing is known" in (await client.read_resource("scrubjay://profile")).contents[0].text
    added, _ = await call(client, "add_memory", content="Never push to main.", is_static=True)
    for uri in ("scrubjay://profile", f"scrubjay://profile/{SCOPE}"):
        text = (await client.read_resource(uri)).contents[0].text
        assert "## Lasting" in text and "> Never push to main." in text and added["id"] in text
    assert "Nothing is known" in (await client.read_resource("scrubjay://profile/elsewhere")).contents[0].text
