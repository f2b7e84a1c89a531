"""Facts and documents: stored, known, similar, replaced, forgotten."""

import pytest
from said import fact, forget

from scrubjay.engine.core import Core
from scrubjay.errors import NotFound


async def test_a_known_fact_reports_which_details_it_keeps_and_how_to_change_them(core: Core):
    said = "The demo server is down."
    known = await fact(core, said, tags=["demo"])
    assert (await fact(core, said, tags=["demo"])).note is None
    again = await fact(core, said, tags=["sales"], expires_at="2026-03-06")
    assert (again.id, again.action) == (known.id, "known")
    assert "keeps its expires_at and tags" in again.note and "updates" in again.note
    assert (await fact(core, said, tags=["sales"], updates=[known.id])).action == "updated"


async def test_a_fact_that_has_already_expired_says_that_no_search_returns_it(core: Core):
    late = await fact(core, "The freeze ends on 1 April.", expires_at="2025-04-01")
    assert late.note.startswith("It expired on 2025-04-01 00:00 UTC, so no search returns it.")
    again = await fact(core, "The freeze ends on 1 April.", expires_at="2026-04-01")
    assert (again.action, again.note) == ("stored", None)


async def test_forgetting_an_unknown_id_says_so(core: Core):
    with pytest.raises(NotFound, match="mem_nothing"):
        await forget(core, "mem_nothing")


async def test_a_forgotten_fact_can_be_added_again(core: Core):
    first = await fact(core, "Alex prefers tabs.")
    await forget(core, first.id)
    again = await fact(core, "Alex prefers tabs.")
    assert again.action == "stored" and again.id != first.id
