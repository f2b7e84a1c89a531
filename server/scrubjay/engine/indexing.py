"""Gives passages their vectors in the background. Words find a passage before this; meaning finds it after."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import numpy as np

from scrubjay.encoders.protocol import Encoder
from scrubjay.encoders.space import CANARY_DOCUMENTS, CANARY_QUERY, DRIFT_LIMIT, drift
from scrubjay.encoders.worker import EmbeddingWorker
from scrubjay.errors import EncoderError
from scrubjay.store.failures import reason
from scrubjay.store.store import Store

log = logging.getLogger("scrubjay.engine.indexing")

BATCH = 64  # passages a commit of vectors: behind a backlog the next turn waits some 4 s for its own
RETRY_SECONDS = 1.0


class Indexer:
    """Watches for passages without a vector. `trouble` says why meaning cannot be searched, None while it can.

    `embedded` is told after each commit of vectors: it rewrites rows, which then wait for the word index to be folded.
    """

    def __init__(self, store: Store, worker: EmbeddingWorker, embedded: Callable[[], None] = lambda: None) -> None:
        self._store, self._worker, self._embedded = store, worker, embedded
        self._wake = asyncio.Event()
        self._compared = asyncio.Event()  # from then on `trouble` can be believed
        self.trouble: str | None = None
        self.idle = False

    def wake(self) -> None:
        self.idle = False
        self._wake.set()

    async def check_space(self) -> Encoder | None:
        """Compare the model's vector space with the store's; sets `trouble` when they do not agree.

        An empty store takes the model's space as its own.
        """
        try:
            return await self._check_space()
        finally:
            self._compared.set()

    async def _check_space(self) -> Encoder | None:
        try:
            encoder = await self._worker.ready()
            fresh = np.vstack([await self._worker.query(CANARY_QUERY), await self._worker.documents(CANARY_DOCUMENTS)])
        except EncoderError as error:
            self.trouble = f"{error} Until then words alone are searched."
            return None
        note, space = self._store.note, encoder.space
        if note.space_id is None and note.dim == space.dim:
            canaries = tuple(tuple(float(value) for value in row) for row in fresh)
            await self._store.write_note(note.with_space(space.space_id, canaries))
            self.trouble = None
        elif note.space_id != space.space_id:
            self.trouble = "The stored vectors were made by another model; words alone are searched. Run `scrubjay reindex` to embed anew."
        elif (moved := drift(np.array(note.canaries, dtype=np.float32), fresh)) > DRIFT_LIMIT:
            self.trouble = (
                f"The model gives other vectors than when the store was made (drift {moved:.4f}); words alone are searched. "
                "Run `scrubjay reindex` to embed anew."
            )
        else:
            self.trouble = None
        return encoder

    async def load(self) -> Encoder:
        """The model that the settings name.

        Raises:
            EncoderError: it cannot be loaded.
        """
        return await self._worker.ready()

    async def embed_query(self, text: str) -> np.ndarray | None:
        """A query's vector, or None while meaning cannot be searched.

        Raises:
            EncoderError: this text cannot be embedded; the next one may be.
        """
        await self._compared.wait()  # a vector of another model would find the wrong things, or none at all
        if self.trouble or not text.strip():
            return None
        vector = await self._worker.query(text)
        return None if self._store.note.space_id is None else vector

    async def run(self) -> None:
        """Embed for ever whatever waits, newest store state first; sleeps until woken when nothing does. What fails is tried again."""
        encoder, pause = None, RETRY_SECONDS
        while True:
            try:
                encoder = encoder or await self.check_space()
                more = encoder is not None and self.trouble is None and await self.embed_some(encoder) > 0
            except (OSError, RuntimeError) as error:  # a full disk, or LanceDB's own failure: both may pass
                log.error("vectors cannot be stored (%s); next try in %.0f s", reason(error), pause)
                await asyncio.sleep(pause)
                pause = min(2 * pause, 60.0)
                continue
            except EncoderError as error:
                self.trouble, encoder, more = f"{error} Until then words alone are searched.", None, False
            pause = RETRY_SECONDS
            if not more:
                self.idle = True
                self._embedded()  # a pause for upkeep too
                await self._wake.wait()
                self._wake.clear()

    async def embed_some(self, encoder: Encoder) -> int:
        """Embed one batch of waiting passages; how many there were."""
        waiting = await self._store.unembedded(BATCH)
        if not waiting:
            return 0
        vectors = await self._worker.documents([piece.embed_text or piece.text for piece in waiting])
        if self._store.note.space_id == encoder.space.space_id:  # else a reindex began meanwhile
            await self._store.set_vectors(
                {piece.id: vector for piece, vector in zip(waiting, vectors, strict=True)}, encoder.space.space_id
            )
            self._embedded()
        return len(waiting)
