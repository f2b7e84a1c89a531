"""Records related to the hits by relation, tag or entity: few, and each with its reason."""

from __future__ import annotations

import math

import pytest
from asked import call
from mcp import Client
from said import embedded, fact, forget, search, turn

from scrubjay.engine.core import Core
from scrubjay.models.records import Memory
from scrubjay.models.results import Hit
from scrubjay.records.passages import passages_of
from scrubjay.search.choosing import text_length
from scrubjay.search.relating import MOST_RECORDS, RARE
from scrubjay.store.changes import Change

pytestmark = pytest.mark.long

OTHER = "repo_other__0123456789abcdef"


async def tied(core: Core, query: str, **args: object) -> list[Hit]:
    """The records related to the one hit of a query."""
    hits = await search(core, query, **({"top_k": 1} | args))
    assert len(hits.results) == 1
    return [hit for hit in hits.related if hit.reason != "window"]


async def linked(core: Core, content: str, *parents: str, **changes: object) -> str:
    """A fact that extends others."""
    added = await fact(core, content)
    memory = (await core.store.get(Memory, [added.id]))[added.id]
    memory = memory.model_copy(update={"relation": "extends", "parent_ids": parents, **changes})
    core.store.stage(Change(memory, passages_of(memory), rewritten=True))
    return added.id


async def test_a_turn_that_names_the_same_file_is_related_and_says_why(core: Core):
    await turn(core, "a", user="Why?", assistant="The zebra in src/net/http_client.py never times out.")
    await turn(core, "b", user="Please rename that class", assistant="HttpClient is RemoteClient now.")
    await turn(core, "c", user="What is for lunch?", assistant="Soup.")
    (other,) = await tied(core, "zebra")
    assert (other.session_id, other.reason, other.via) == ("b", "entity", "src/net/http_client.py")
    assert other.score is None


async def test_a_turn_is_related_by_a_file_that_it_touched_without_naming_it(core: Core):
    await turn(core, "a", user="the zebra stalls", files=["src/net/http_client.py"])
    await turn(core, "b", user="rename it", files=["src/net/http_client.py", "README.md"])
    (other,) = await tied(core, "zebra")
    assert (other.session_id, other.reason, other.via) == ("b", "entity", "src/net/http_client.py")


async def test_a_shared_tag_relates_facts_and_turns(core: Core):
    await fact(core, "The zebra sleeps at noon.", tags=["stable:west"])
    await fact(core, "Hay arrives on Fridays.", tags=["stable:west", "food"])
    await turn(core, "a", user="who cleans up?", tags=["stable:west"])
    await fact(core, "Soup is for lunch.", tags=["food"])
    found = await tied(core, "zebra")
    assert {(hit.src, hit.reason, hit.via) for hit in found} == {
        ("memory", "tag", "stable:west"),
        ("turn", "tag", "stable:west"),
    }


async def test_facts_that_a_fact_extends_or_that_extend_it_come_first(core: Core):
    base = (await fact(core, "Deploys run on Tuesdays.")).id
    zebra = await linked(core, "The zebra is exempt, see tools/ship_release.py.", base)
    later = await linked(core, "It has a key of its own.", zebra)
    await turn(core, "a", user="fix tools/ship_release.py")
    *first, last = await tied(core, "zebra")
    expected = {(base, "relation", zebra), (later, "relation", zebra)}
    assert {(hit.id, hit.reason, hit.via) for hit in first} == expected and last.reason == "entity"


async def test_a_turn_is_related_to_the_facts_derived_from_it(core: Core):
    said = (await turn(core, "a", user="the zebra is shy")).id
    derived = await linked(core, "Approach slowly.", said, relation="derives")
    (other,) = await tied(core, "zebra")
    assert (other.id, other.reason, other.via) == (derived, "relation", said)


async def test_an_outdated_version_is_never_related(core: Core):
    old = await linked(core, "It sleeps at ten.", is_latest=False, replaced_at=core.clock())
    await linked(core, "The zebra sleeps at noon.", old)
    assert await tied(core, "zebra") == []


async def test_no_related_record_is_returned_twice(core: Core):
    for session, number in (("a", 0), ("a", 1), ("b", 0)):
        zebra = " and the zebra" * number
        await turn(core, session, user=f"load_all_cursors{zebra}", ts=f"2026-03-01T09:0{number}:00Z")
    hits = await search(core, "zebra", top_k=1, prev_turns=1)
    assert [(hit.session_id, hit.reason) for hit in hits.related] == [("a", "window"), ("b", "entity")]
    assert len((await search(core, "load_all_cursors", top_k=3)).related) == 0


async def test_an_entity_shared_by_many_relates_nothing(core: Core):
    await turn(core, "z", user="the zebra in load_all_cursors", tags=["work"])
    for n in range(RARE):
        await turn(core, f"s{n}", user=f"note {n} on load_all_cursors", tags=["work"])
    assert await tied(core, "zebra") == []


@pytest.mark.long
async def test_an_entity_shared_by_all_does_not_hide_one_shared_by_two(core: Core):
    await turn(core, "z", user="the zebra in load_all_cursors", tags=["work"])
    for n in range(210):
        await turn(core, f"s{n}", user=f"note {n}", tags=["work"])
    await turn(core, "y", user="and load_all_cursors", tags=["work"])
    assert [hit.session_id for hit in await tied(core, "zebra")] == ["y"]


async def test_prose_relates_nothing(core: Core):
    await turn(core, "a", user="The zebra sleeps in the barn and/or the garden.")
    await turn(core, "b", user="Alex feeds the zebra at 7.30 in the barn.")
    assert (await search(core, "Where does the zebra sleep?", top_k=1)).related == []


async def test_at_most_five_related_records_are_returned_closest_first(core: Core):
    await turn(core, "z", user="the zebra in load_all_cursors and drop_one_replica")
    for n in range(RARE - 1):
        await turn(core, f"s{n}", user=f"note {n} on load_all_cursors")
    await turn(core, "both", user="load_all_cursors, drop_one_replica")
    await embedded(core)
    found = await tied(core, "the zebra in load_all_cursors and drop_one_replica")
    assert 0 < len(found) <= MOST_RECORDS and found[0].session_id == "both"


@pytest.mark.parametrize(
    "filters", [{"tags": ["keep"]}, {"session_id": "z"}, {"until": "2026-03-02T00:00:00Z"}]
)
async def test_filtered_records_are_never_related(core: Core, filters: dict[str, object]):
    await turn(core, "z", user="the zebra in load_all_cursors", tags=["keep"], ts="2026-03-01T09:00:00Z")
    await turn(core, "y", user="and load_all_cursors", ts="2026-03-03T09:00:00Z")
    assert len(await tied(core, "zebra")) == 1
    assert await tied(core, "zebra", **filters) == []


async def test_only_facts_are_related_when_turns_are_excluded(core: Core):
    await fact(core, "The zebra is in load_all_cursors.")
    await turn(core, "y", user="and load_all_cursors")
    await fact(core, "Beware of load_all_cursors.")
    assert [hit.src for hit in await tied(core, "zebra", include_turns=False)] == ["memory"]


async def test_related_records_never_cross_scopes_and_are_never_forgotten_or_expired(core: Core):
    await turn(core, "z", user="the zebra in load_all_cursors")
    await turn(core, "y", user="and load_all_cursors", scope=OTHER)
    gone = await turn(core, "x", user="also load_all_cursors")
    await fact(core, "load_all_cursors is deprecated", expires_at="2026-03-05T12:00:01Z")
    await forget(core, gone.id)
    assert await tied(core, "zebra") == []


async def test_related_records_get_the_rest_of_the_budget_and_are_dropped_uncounted(core: Core):
    await turn(core, "z", user="the zebra in load_all_cursors " + "word " * 20)
    await turn(core, "y", user="and load_all_cursors " + "word " * 100)
    await embedded(core)
    short = await search(core, "zebra word", top_k=1, max_tokens=100)
    assert (short.related, short.left_out) == ([], None)
    enough = await search(core, "zebra word", top_k=1, max_tokens=400)
    assert len(enough.related) == 1 and enough.left_out is None
    shown = [*enough.results, *enough.related]
    assert enough.tokens.spent == math.ceil(sum(map(text_length, shown)) / 4) <= 400


async def test_a_client_reads_why_each_record_is_related(client: Client):
    for session, said in (("a", "the zebra in src/net/http_client.py"), ("b", "rename HttpClient")):
        await call(client, "record_turn", session_id=session, user=said)
    for content in ("Stripes vary.", "A zebra eats hay."):
        await call(client, "add_memory", content=content, tags=["zoo"])
    found, text = await call(client, "search_memories", query="zebra", top_k=2)
    assert {(hit["reason"], hit["via"]) for hit in found["related"]} == {
        ("entity", "src/net/http_client.py"),
        ("tag", "zoo"),
    }
    assert "b/0 user [names src/net/http_client.py too]:\n> rename HttpClient" in text
    assert " #zoo [shares #zoo]:\n> Stripes vary." in text
