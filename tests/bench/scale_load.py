"""Fills a home with a number of passages: turn by turn as an engine does, or in blocks of Arrow rows where
that would take days. Knows both ways and the files of a home; does not measure the result.

Up to `BY_ENGINE` passages every turn goes through the write path and every vector is the bundled model's.
Above, records and passages are made by the product's own functions and added in blocks; a vector is drawn
near the vector of one of the first passages, `NEAR` of it that direction and the rest noise, so that the rows
are as unevenly distributed as real ones. The codes of a passage's tokens are random bits of the length that
the model gives to texts of that many characters.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scale_text
from figures import say
from numpy.typing import NDArray

from scrubjay.encoders import EmbeddingWorker, open_encoder
from scrubjay.encoders.token_codes import BITS
from scrubjay.engine.background.consolidation import NOTE
from scrubjay.engine.background.indexing import Indexer
from scrubjay.engine.background.upkeep import IDLE, Bounds, Upkeep
from scrubjay.engine.core import Core, open_core
from scrubjay.engine.verbs.reindex import WORDS
from scrubjay.home.paths import Home, open_home
from scrubjay.home.settings import Settings
from scrubjay.models import requests
from scrubjay.models.envelopes import envelope
from scrubjay.models.records import Memory, Passage, Turn, content_hash, derived_id
from scrubjay.records.passages import passages_of
from scrubjay.records.turns import PARTITION, summary_of
from scrubjay.store.opening import open_store
from scrubjay.store.schema import VECTOR, arrow_schema, to_table
from scrubjay.store.store import Store
from scrubjay.text.developer_words import IN_USE

BY_ENGINE = 10_000
PER_TURN = 3  # both sides and the summary
NEAR = 0.8  # cosine of a drawn vector and the one it was drawn near; LoCoMo's turns have a nearest neighbour at 0.6 to 0.8
REAL = 1_200  # facts whose vectors are the bundled model's
_WRITTEN = datetime(2026, 1, 5, tzinfo=UTC)  # the time of all facts
_BLOCK = 4_000  # turns an Arrow block
_SAMPLE = 100  # turns whose texts say how long codes are
_TOKEN = BITS // 8  # bytes of one token's code


class Loaded(NamedTuple):
    """The seconds that filling took; `tidied` is compaction with the first build of the indexes, after a load
    in blocks.
    """

    turns: int
    passages: int
    way: str
    seconds: float
    tidied: float | None


class Drawn(NamedTuple):
    """Where vectors are drawn near, (real, dim), and how many bytes of token codes a character has."""

    near: NDArray[np.float32]
    space_id: str
    codes_per_character: float

    def vectors(self, count: int, random: np.random.Generator) -> NDArray[np.float32]:
        """Unit vectors, each at a cosine of about `NEAR` to one of the real ones."""
        noise = random.standard_normal((count, self.near.shape[1]), dtype=np.float32)
        noise *= np.sqrt(1 - NEAR**2) / np.linalg.norm(noise, axis=1, keepdims=True)
        found = NEAR * self.near[random.integers(len(self.near), size=count)] + noise
        return found / np.linalg.norm(found, axis=1, keepdims=True)

    def embedded(self, piece: Passage, random: np.random.Generator) -> Passage:
        """The passage as the engine's indexer stores it: summaries get no codes."""
        tokens = max(1, round(len(piece.text) * self.codes_per_character / _TOKEN))
        codes = None if piece.role == "summary" else random.bytes(tokens * _TOKEN)
        return piece.model_copy(update={"space_id": self.space_id, "token_vectors": codes})


def load(folder: str, count: int, real: str) -> Loaded:
    """Fill the home in `folder` with at least `count` passages. `real` is the file of real vectors: written,
    or read above `BY_ENGINE`.
    """
    home = open_home(folder)
    return asyncio.run(
        _by_engine(home, count, Path(real)) if count <= BY_ENGINE else in_blocks(home, count, Path(real))
    )


async def record(core: Core, number: int) -> None:
    """Write the turn of this number as an interface does.

    Raises:
        RuntimeError: it was stored before.
    """
    said = scale_text.turn(number)
    arguments = {"session_id": _session(said), "turn": said.place, "ts": said.at.isoformat()}
    request = requests.parse(
        requests.RecordTurn, arguments | {"user": said.user, "assistant": said.assistant}
    )
    scope, name = scale_text.scope_name(said.scope), f"bench-{number:08d}"
    made = envelope("turn", request, envelope_id=name, scope=scope, source="bench", at=core.clock())
    answer = await core.write(made)
    if not answer.stored:  # type: ignore[union-attr]
        raise RuntimeError(f"Turn {number} was there before.")


async def opened(home: Home) -> Core:
    """The engine's core over this home, once its model was compared with the store."""
    core = await open_core(home, Settings(), lambda: datetime.now(UTC))
    while await core.indexer.embed_query("the first question waits for the model") is None:
        await asyncio.sleep(0.5)
    return core


async def settled(core: Core) -> None:
    """Wait until everything written is committed, embedded, and tidy by the engine's own measure."""
    await core.writer.settle()
    while not core.indexer.idle or await core.store.passages.without_vectors(1):
        await asyncio.sleep(0.5)
    await core.upkeep.tidy(IDLE)


async def _by_engine(home: Home, count: int, real: Path) -> Loaded:
    turns = -(-count // PER_TURN)
    core, start = await opened(home), time.perf_counter()
    for number in range(turns):
        await record(core, number)
        if number % 500 == 499:
            say(f"{number + 1:,} of {turns:,} turns recorded")
    say("recorded; embedding")
    await settled(core)
    took = time.perf_counter() - start
    held = await core.store.passages.count()
    if count == BY_ENGINE:
        # Summaries of sessions are made some time after their turns, and wait for their own vectors.
        rows = (
            await core.store.tables.passages.query().where("space_id IS NOT NULL").select([VECTOR]).to_arrow()
        )
        np.save(real, np.stack(rows[VECTOR].to_numpy(zero_copy_only=False)))
    await core.close()
    return Loaded(turns, held, "through the engine", took, None)


async def in_blocks(home: Home, count: int, real: Path) -> Loaded:
    """Add the records and passages in blocks; without a file of real vectors, a few are made."""
    start = time.perf_counter()
    texts = [piece.text for number in range(_SAMPLE) for piece in passages_of(_turn(number))]
    store, drawn = await _begun(home, texts)
    if real.exists():
        drawn = drawn._replace(near=np.load(real))
    await store.notes.write(WORDS, IN_USE.version)
    through = int((datetime.now(UTC) + timedelta(days=1)).timestamp() * 1e6)
    await store.notes.write(NOTE, json.dumps({"through": through}))
    turns = -(-count // PER_TURN)
    for first in range(0, turns, _BLOCK):
        await _add(store, range(first, min(turns, first + _BLOCK)), drawn)
        say(f"{min(turns, first + _BLOCK):,} of {turns:,} turns added")
    took, start = time.perf_counter() - start, time.perf_counter()
    upkeep = Upkeep(store)
    # whatever the engine's own limits: a store that was filled long ago is tidy
    await upkeep.tidy(Bounds(0, 0))
    if upkeep.failures:
        raise RuntimeError("The compaction failed; the log says why.")
    return Loaded(turns, await store.passages.count(), "in blocks", took, time.perf_counter() - start)


async def _begun(home: Home, texts: Sequence[str]) -> tuple[Store, Drawn]:
    """An empty store that knows the model's space, and the vectors of these texts to draw others near."""
    worker = EmbeddingWorker(open_encoder)
    worker.start()
    try:
        encoder = await worker.ready()
        store = await open_store(home.data, dim=encoder.space.dim)
        await Indexer(store, worker).check_space()  # notes it, as an engine does over an empty store
        made = await worker.passages(texts)
    finally:
        worker.close()
    per_character = sum(map(len, made.codes)) / sum(map(len, texts))
    near = np.asarray(made.vectors, dtype=np.float32)
    return store, Drawn(near, encoder.space.space_id, per_character)


async def _add(store: Store, numbers: range, drawn: Drawn) -> None:
    turns = list(map(_turn, numbers))
    random = np.random.default_rng((7, numbers.start))
    pieces = [drawn.embedded(piece, random) for turn in turns for piece in passages_of(turn)]
    table = to_table(
        pieces, arrow_schema(Passage, dim=drawn.near.shape[1]), list(drawn.vectors(len(pieces), random))
    )
    await store.tables.passages.add(table)
    await store.tables.turns.add(to_table(turns, arrow_schema(Turn)))


async def fill_with_facts(home: Home, count: int) -> None:
    """Add the answers of the first `count` turns as facts; the first `REAL` get the bundled model's vectors."""
    facts = [_fact(number) for number in range(count)]
    pieces = [piece for fact in facts for piece in passages_of(fact)]
    store, drawn = await _begun(home, [piece.text for piece in pieces[:REAL]])
    random = np.random.default_rng(11)
    embedded = [drawn.embedded(piece, random) for piece in pieces]
    vectors = np.concatenate([drawn.near, drawn.vectors(len(pieces) - len(drawn.near), random)])
    schema = arrow_schema(Passage, dim=drawn.near.shape[1])
    await store.tables.passages.add(to_table(embedded, schema, list(vectors)))
    await store.tables.memories.add(to_table(facts, arrow_schema(Memory)))
    await Upkeep(store).tidy(Bounds(0, 0))


def _fact(number: int) -> Memory:
    """The answer of the turn of this number, as a fact of its project."""
    said = scale_text.turn(number)
    scope = scale_text.scope_name(said.scope)
    id = derived_id("memory", scope, str(number))
    return Memory(
        id=id,
        root_id=id,
        scope=scope,
        partition_id="mem_semantic",
        source="bench",
        content=said.assistant,
        content_hash=content_hash(said.assistant),
        **dict.fromkeys(("created_at", "updated_at", "last_accessed_at"), _WRITTEN),
    )


def _turn(number: int) -> Turn:
    """The turn that `record_turn` would make."""
    said = scale_text.turn(number)
    scope, session = scale_text.scope_name(said.scope), _session(said)
    turn = Turn(
        id=derived_id("turn", scope, session, "turn", str(said.place)),
        scope=scope,
        partition_id=PARTITION,
        source="bench",
        **dict.fromkeys(("created_at", "updated_at", "last_accessed_at", "started_at"), said.at),
        session_id=session,
        turn=said.place,
        user=said.user,
        assistant=said.assistant,
    )
    return turn.model_copy(update={"summary": summary_of(turn)})


def _session(said: scale_text.Said) -> str:
    return f"session-{said.session:06d}"
