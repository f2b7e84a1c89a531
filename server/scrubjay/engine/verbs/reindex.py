"""Builds the passages anew from the records, after a changed model, changed chunking, or damage."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from scrubjay.engine.verbs.verb import Verb
from scrubjay.errors import EncoderError
from scrubjay.models.records import Document, Memory, Turn
from scrubjay.records.passages import passages_of
from scrubjay.store import conditions
from scrubjay.store.bucket.sharing import refuse_follower

PAGE = 500  # records a commit
Progress = Callable[[int, int, str], None]  # done, in all, and what is done: reading (records), embedding


@dataclass(eq=False)
class Reindex(Verb):
    """Reindexes one store, once at a time."""

    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _listeners: list[Progress] = field(default_factory=list)
    _finished: int = 0

    @property
    def working(self) -> bool:
        """Whether a reindex runs."""
        return self._turn.locked()

    async def run(self, progress: Progress | None = None) -> int:
        """Build passages and vectors anew beside those that are searched; how many passages there are then.

        The old ones answer until the new ones are complete. If they are of another model than the one there
        is, their words answer until the new passages are written; vectors follow. Whoever asks while one runs
        waits for that one. A killed one goes on when the engine next starts. Passages that an older Scrubjay
        wrote are filled where they are, and keep their vectors.

        Raises:
            EncoderError: the model that the settings name cannot be loaded; the old index stays as it is.
            InputError: another engine maintains the store.
        """
        waits, finished = self._turn.locked(), self._finished
        if progress is not None:
            self._listeners.append(progress)
        try:
            async with self._turn:
                if not waits or self._finished == finished:
                    await self._run_through()
                    self._finished += 1
            return await self._store.count_passages()
        finally:
            if progress is not None:
                self._listeners.remove(progress)

    async def _run_through(self) -> None:
        """Run again as often as damage that was found meanwhile made the index begin anew."""
        store, begun = self._store, -1
        store.filling = True
        try:
            while begun != store.begun:
                begun = store.begun
                try:
                    await self._run(begun)
                except (OSError, RuntimeError, ValueError, EncoderError):
                    if begun == store.begun:
                        raise
        finally:
            store.filling = False

    async def _run(self, begun: int) -> None:
        store, indexer = self._store, self._indexer
        refuse_follower(store.shared, "A reindex")
        encoder = await indexer.load()
        await indexer.check_space()
        await self._writer.settle()
        if not store.note.complete and store.building is None:
            await self._refill()
            await store.set_complete(True, begun)
        else:
            await indexer.begin_generation(encoder)
            await self._refill()
            if indexer.trouble is None:
                waiting = total = await store.count_built()
                while waiting:
                    self._say(total - waiting, total, "embedding")
                    waiting = await indexer.embed_built(encoder)
                    total = await store.count_built()
                    refuse_follower(store.shared, "A reindex")
                self._say(total, total, "embedding")
            await store.finish_generation()
        await indexer.check_space()
        if indexer.trouble:
            raise EncoderError(indexer.trouble)
        while begun == store.begun and await indexer.embed_some(encoder):
            total = await store.count_passages()
            self._say(total - await store.count_passages(conditions.NO_VECTOR), total, "embedding")

    async def _refill(self) -> None:
        kinds: list[type[Any]] = [Turn, Memory, Document]
        failed, done, total = None, 0, sum([await self._store.count(kind) for kind in kinds])
        for kind in kinds:
            try:
                rows = await self._store.select(kind, conditions.EVERY_ROW, columns=["id"])
                for start in range(0, len(rows), PAGE):
                    refuse_follower(self._store.shared, "A reindex")
                    page = [row.id for row in rows[start : start + PAGE]]
                    await self._store.refill(kind, page, passages_of)
                    done += len(page)
                    self._say(done, max(done, total), "reading")
            except (RuntimeError, ValueError) as error:  # of damaged records; the others are to be found
                failed = error
        if failed is not None:
            raise failed

    def _say(self, done: int, total: int, what: str) -> None:
        for listener in self._listeners:
            listener(done, total, what)
