"""Notes about facts similar to a new one: the same in other words, or one it may update or contradict;
nothing is lost.
"""

from __future__ import annotations

import pytest
from asked import call
from mcp import Client
from said import SCOPE, embedded, fact, forget, stored

from scrubjay.engine.core import Core
from scrubjay.models.envelopes import envelope
from scrubjay.models.records import Memory
from scrubjay.models.requests import AddMemory, parse
from scrubjay.models.results import MemoryAdded
from scrubjay.search.similar import nearest_facts
from scrubjay.text.short_ids import short_id

pytestmark = pytest.mark.long


def named(added: MemoryAdded) -> list[tuple[str, str | None]]:
    """The ids of the similar facts in an answer, each with its reason."""
    assert added.action == "stored"
    return [(hit.id, hit.reason) for hit in added.similar]


async def test_a_fact_in_other_words_is_stored_and_the_similar_one_is_named(core: Core):
    first = await fact(core, "Run `make lint` before every commit.")
    await embedded(core)
    second = await fact(core, "Before every commit, run `make lint`.")
    assert named(second) == [(first.id, "known")]
    assert second.note.startswith(f"This is already stored as {first.id} in other words; both are kept.")
    assert len(await stored(core, Memory)) == 2


@pytest.mark.parametrize("settled", [True, False], ids=["on disk", "just written"])
@pytest.mark.parametrize(
    ("reason", "old", "new"),
    [
        ("update", "The API listens on port 8080.", "The API listens on port 8081."),
        ("update", "Maria owns the billing module.", "Tom owns the billing module since Maria left."),
        ("update", "We use npm in the web folder.", "We use pnpm in the web folder."),
        ("update", "Uploads are kept 48 hours.", "Uploads are now kept 72 hours: support asked for it."),
        ("contradict", "The project uses tabs.", "The project does not use tabs."),
        ("contradict", "We use spaces, not tabs.", "We use tabs, not spaces."),
        ("contradict", "The API calls the worker.", "The worker calls the API."),
    ],
)
async def test_another_value_of_the_same_thing_may_update_and_a_negation_or_reversal_contradict(
    core: Core, reason: str, old: str, new: str, settled: bool
):
    first = await fact(core, old)
    if settled:
        await embedded(core)
    second = await fact(core, new)
    assert named(second) == [(first.id, reason)]
    assert f"may {reason} {first.id}" in second.note and f'updates ["{first.id}"]' in second.note


async def test_contradictions_are_named_before_similar_facts(core: Core):
    detailed = await fact(core, "The project uses tabs in Go files and in makefiles.")
    first = await fact(core, "The project does not use tabs.")
    await embedded(core)
    second = await fact(core, "The project uses tabs.")
    assert named(second) == [(first.id, "contradict"), (detailed.id, "similar")]
    assert first.id in second.note and detailed.id not in second.note


async def test_a_fact_committed_while_the_next_one_is_compared_is_not_missed(core: Core):
    async def after_a_commit(text: str):
        await core.writer.settle()

    first = await fact(core, "We use npm in the web folder.")
    request = parse(AddMemory, {"content": "We use pnpm in the web folder."})
    made = envelope("memory", request, scope=SCOPE, source="test", at=core.clock())
    assert first.id in await nearest_facts(core.store, made, after_a_commit)


async def test_facts_about_other_things_of_other_scopes_or_forgotten_are_not_mentioned(core: Core):
    await fact(core, "The API is deployed at Hetzner.")
    await fact(core, "The API listens on port 8421.", scope="elsewhere")
    gone = await fact(core, "The API listens on port 8422.")
    await forget(core, gone.id)
    await embedded(core)
    added = await fact(core, "The API listens on port 8423.")
    assert (added.similar, added.note) == ([], None)


async def test_an_update_does_not_mention_the_fact_it_replaces(core: Core):
    first = await fact(core, "The API listens on port 8080.")
    assert (await fact(core, "The API listens on port 8081.", updates=[first.id])).similar == []


async def test_without_a_model_only_wording_is_compared(core: Core):
    first = await fact(core, "The API listens on port 8080.")
    await embedded(core)
    core.indexer.trouble = "The model is missing. Until then words alone are searched."
    assert named(await fact(core, "The API listens on port 8081.")) == [(first.id, "update")]


async def test_the_text_of_the_answer_suggests_what_to_do(client: Client):
    first, _ = await call(client, "add_memory", content="The API listens on port 8080.")
    second, text = await call(client, "add_memory", content="The API listens on port 8081.")
    said, _, note = text.partition("\n")
    assert said == f"Saved {second['id']}." and note == second["note"]
    assert note.startswith(f"This may update {first['id']}; both are kept.")
    assert f"fact {short_id('memory', first['id'])}:\n> The API listens on port 8080." in note
    updating = {"content": "The API listens on port 8081.", "updates": [first["id"]]}
    third, text = await call(client, "add_memory", **updating)
    assert (third["action"], third["id"], third["version"]) == ("updated", second["id"], 2)
    assert text == f"Updated {second['id']}."
