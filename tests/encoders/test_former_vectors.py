"""A home whose vectors are those of the fp32 weights: it answers by meaning while it gets the new ones."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from said import embedded, fact, search, texts

from scrubjay.encoders import DRIFT_LIMIT, canary_vectors, drift
from scrubjay.encoders.bundled import BundledEncoder, former_space
from scrubjay.encoders.protocol import FORMER_LIMIT, Space
from scrubjay.encoders.token_codes import EncodedTexts
from scrubjay.engine.core import Core, open_core
from scrubjay.home.paths import Home
from scrubjay.home.settings import Settings
from scrubjay.store import conditions

FP32 = Space(
    model="bundled",
    weights="3182b3788bd6f31d844a96fabc1a5229692d7e2a96e80ebf04c68a3b174c1877",
    tokenizer="78191c8985e95daf144456800e3d54ede7845a186136984d692f985a50932f54",
    dim=384,
    pooling="mean",
    max_seq_length=256,
)
FACTS = ["The database listens on port 5433.", "Alex is allergic to peanuts.", "We release every Tuesday."]
QUESTION = "Who cannot eat nuts?"


class FormerEncoder(BundledEncoder):
    """The bundled model with the name of its former space, and vectors as far off as that one's were."""

    distance = 0.006

    def __init__(self) -> None:
        super().__init__()
        self.space = FP32

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._moved(super().embed_documents(texts))

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self._moved(super().embed_query(text)[None])[0]

    def embed_passages(self, texts: Sequence[str]) -> EncodedTexts:
        return super().embed_passages(texts)._replace(vectors=self.embed_documents(texts))

    def _moved(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        noise = np.random.default_rng(5).standard_normal(vectors.shape[1]).astype(np.float32)
        moved = vectors + noise * np.float32((2 * self.distance / vectors.shape[1]) ** 0.5)
        return np.asarray(moved / np.linalg.norm(moved, axis=1, keepdims=True), np.float32)


class StrangeEncoder(FormerEncoder):
    """What says that it is the former model, and is another one."""

    distance = 0.2


class PatientEncoder(BundledEncoder):
    """The bundled model, which embeds no stored text before it may."""

    may_go_on = threading.Event()

    def embed_passages(self, texts: Sequence[str]) -> EncodedTexts:
        assert self.may_go_on.wait(20)
        return super().embed_passages(texts)


async def opened(home: Home, clock, encoder: type[BundledEncoder]) -> Core:
    return await open_core(home, Settings(), clock, lambda *_, **__: encoder())


async def older_home(home: Home, clock, encoder: type[BundledEncoder] = FormerEncoder) -> None:
    core = await opened(home, clock, encoder)
    for text in FACTS:
        await fact(core, text)
    await embedded(core)
    assert core.store.note.space_id == FP32.space_id
    await core.close()


async def in_space(core: Core, space: str) -> int:
    return await core.store.count_passages(conditions.equal("space_id", space))


def test_the_former_space_is_that_of_the_fp32_weights_under_the_same_prompts() -> None:
    assert FP32.space_id == "bd15ebf3c1efccb9"  # as homes of before have it
    assert former_space(BundledEncoder().space) == FP32.space_id
    prompted = FP32.model_copy(update={"query_prompt": "q: "})
    assert former_space(BundledEncoder(query_prompt="q: ").space) == prompted.space_id
    assert former_space(FP32) is None
    moved = drift(canary_vectors(FormerEncoder()), canary_vectors(BundledEncoder()))
    assert DRIFT_LIMIT < moved < FORMER_LIMIT


async def test_an_older_home_answers_by_meaning_at_once_says_so_and_ends_in_the_new_space(
    home: Home, clock
) -> None:
    await older_home(home, clock)
    core = await opened(home, clock, PatientEncoder)
    hits = await search(core, QUESTION)
    assert texts(hits)[0] == "Alex is allergic to peanuts."
    assert "embedded again" in (hits.degraded or "") and "meaning" in (hits.degraded or "")
    PatientEncoder.may_go_on.set()
    await embedded(core)
    new = BundledEncoder().space.space_id
    assert core.store.note.space_id == new and await in_space(core, new) == len(FACTS)
    assert core.indexer.notice is None
    rows = await core.store.tables.passages.query().select(["text", "vector"]).to_arrow()
    expected = BundledEncoder().embed_documents(rows["text"].to_pylist())
    assert np.allclose(np.array(rows["vector"].to_pylist()), expected, atol=1e-6)
    hits = await search(core, QUESTION)
    assert texts(hits)[0] == "Alex is allergic to peanuts." and hits.degraded is None
    await core.close()


async def test_an_engine_killed_in_the_middle_goes_on_at_the_next_start(home: Home, clock) -> None:
    await older_home(home, clock)
    core = await opened(home, clock, BundledEncoder)
    await embedded(core)
    # What a kill leaves: the note says the new space, and a passage still has a vector of the former one.
    first, *_ = await core.store.passages(conditions.EVERY_ROW, columns=["id", "text"])
    vector = FormerEncoder().embed_documents([first.text])[0]
    await core.store.set_vectors({first.id: vector}, FP32.space_id)
    await core.close()

    core = await opened(home, clock, BundledEncoder)
    await search(core, QUESTION)
    await embedded(core)
    assert await in_space(core, FP32.space_id) == 0 and core.indexer.notice is None
    await core.close()


async def test_vectors_that_only_claim_the_former_space_are_not_compared(home: Home, clock) -> None:
    await older_home(home, clock, StrangeEncoder)
    core = await opened(home, clock, BundledEncoder)
    hits = await search(core, "peanuts")
    assert "another model" in (hits.degraded or "") and await in_space(core, FP32.space_id) == len(FACTS)
    await core.close()
