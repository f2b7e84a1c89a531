"""Late interaction in an engine: which passages get token codes, when, and how ranking uses them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest
from hashing_encoder import HashingEncoder
from said import document, embedded, fact, search, texts, turn

from scrubjay.encoders.token_codes import BITS, EncodedQuery
from scrubjay.engine.core import Core, open_core
from scrubjay.home.paths import Home
from scrubjay.home.settings import Settings

pytestmark = pytest.mark.long

CODED = "token_vectors IS NOT NULL"
TELLING = "src != 'chunk' AND (role IS NULL OR role != 'summary')"
LATE_OFF = Settings(late_interaction=False)


class VectorsOnly:
    """A model whose runtime gives no tokens."""

    parallel = False

    def __init__(self) -> None:
        self._inner = HashingEncoder()
        self.space = self._inner.space

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        return self._inner.embed_documents(texts)

    def embed_query(self, text: str) -> np.ndarray:
        return self._inner.embed_query(text)


async def opened(home: Home, clock, make=HashingEncoder, settings: Settings | None = None) -> Core:
    return await open_core(home, settings or Settings(), clock, lambda *_, **__: make())


async def coded(core: Core) -> int:
    await embedded(core)
    return await core.store.passages.count(CODED)


async def asked(core: Core, text: str) -> EncodedQuery:
    found = await core.indexer.embed_query(text)
    assert found is not None
    return found


async def test_turns_and_facts_get_token_codes_and_chunks_and_summaries_do_not(core: Core):
    await turn(core, "a", user="the zebra decision", assistant="Zebras may cross here.")
    await fact(core, "Alex likes zebras.")
    await document(core, "Zebra crossings are painted white.")
    assert await coded(core) == await core.store.passages.count(TELLING) == 3
    (piece,) = await core.store.passages.select("role = 'user'", columns=["token_vectors", "space_id"])
    assert len(piece.token_vectors or b"") == 2 * BITS // 8
    assert piece.space_id == HashingEncoder().space.space_id
    assert (await asked(core, "which zebra?")).tokens is not None


async def test_only_the_first_pieces_of_a_very_long_text_have_codes_yet_its_end_is_found(core: Core):
    lines = [
        f"step {number} of the build printed nothing of note " + f"detail{number} " * 20
        for number in range(80)
    ]
    await turn(core, "a", user="\n".join([*lines, "the zebra broke the build"]))
    await turn(core, "b", user="the build was green")
    found = await coded(core)
    assert 0 < found < await core.store.passages.count(TELLING)
    assert (await search(core, "which zebra broke the build", top_k=2)).results[0].session_id == "a"


async def test_a_completed_turn_keeps_the_codes_of_its_unchanged_passages(core: Core):
    await turn(core, "a", prompt_id="p", user="the zebra decision")
    assert await coded(core) == await core.store.passages.count(TELLING)
    await turn(core, "a", prompt_id="p", assistant="Zebras may cross here.")
    await core.writer.settle()
    (piece,) = await core.store.passages.select("role = 'user'", columns=["token_vectors"])
    assert piece.token_vectors


async def test_the_setting_turns_codes_off_and_on_again_while_the_engine_runs(core: Core):
    core.settings = LATE_OFF
    await turn(core, "a", user="the zebra decision")
    assert await coded(core) == 0
    assert (await asked(core, "which zebra?")).tokens is None
    assert texts(await search(core, "zebra decision")) == ["the zebra decision"]
    core.settings = dataclasses.replace(LATE_OFF, late_interaction=True)
    assert await coded(core) == await core.store.passages.count(TELLING)
    assert (await asked(core, "which zebra?")).tokens is not None


async def test_a_home_embedded_without_codes_gets_codes_and_keeps_its_vectors(home: Home, clock):
    core = await opened(home, clock, settings=LATE_OFF)
    for number in range(5):
        await turn(core, f"s{number}", user=f"zebra number {number}")
    assert await coded(core) == 0
    before = (await core.store.tables.passages.query().select(["id", "vector"]).to_arrow()).sort_by("id")
    await core.close()

    core = await opened(home, clock)
    # whether or not some have codes by now
    assert len((await search(core, "zebra number 3", top_k=10)).results) == 5
    assert await coded(core) == await core.store.passages.count(TELLING)
    after = (await core.store.tables.passages.query().select(["id", "vector"]).to_arrow()).sort_by("id")
    assert after == before
    await core.close()


async def test_a_model_that_gives_no_tokens_is_searched_as_before(home: Home, clock):
    core = await opened(home, clock, VectorsOnly)
    await turn(core, "a", user="the zebra decision")
    assert await coded(core) == 0
    hits = await search(core, "zebra decision")
    assert texts(hits) == ["the zebra decision"] and hits.degraded is None
    await core.close()


async def test_codes_of_another_model_are_never_compared(home: Home, clock):
    core = await opened(home, clock)
    await fact(core, "Alex likes zebras.")
    assert await coded(core) == 1
    await core.close()

    core = await opened(home, clock, lambda: HashingEncoder("another model"))
    await core.indexer.check_space()
    assert await core.indexer.embed_query("zebra") is None
    await core.reindex.run()
    assert await core.store.passages.count(CODED) == 1
    space_id = HashingEncoder("another model").space.space_id
    assert await core.store.passages.count(f"space_id = '{space_id}'") == 1
    assert (await asked(core, "zebra")).tokens is not None
    await core.close()


async def test_the_turn_whose_tokens_match_ranks_first_and_late_off_finds_the_same_records(home: Home, clock):
    core = await opened(home, clock)
    for number, word in enumerate(("walnut", "hazel", "acorn", "chestnut", "almond")):
        await turn(core, f"s{number}", user=f"The jay hid one {word} under stone {number}.")
    await turn(core, "long", user="acorn " + " ".join(f"filler{number}" for number in range(600)))
    await embedded(core)
    late = await search(core, "which acorn was hidden under stone 2", top_k=10)
    assert texts(late)[0] == "The jay hid one acorn under stone 2."
    core.settings = LATE_OFF
    plain = await search(core, "which acorn was hidden under stone 2", top_k=10)
    assert {hit.id for hit in plain.results} == {hit.id for hit in late.results}
    await core.close()
