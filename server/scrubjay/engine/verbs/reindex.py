"""Builds the passages anew from the records, after a changed model, changed chunking, or damage."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from scrubjay.engine.verbs.verb import Verb
from scrubjay.errors import EncoderError
from scrubjay.models.records import Document, Memory, Turn
from scrubjay.records.passages import passages_of
from scrubjay.store import conditions
from scrubjay.store.bucket.sharing import refuse_follower

PAGE = 500  # records a commit
Progress = Callable[[int, int], None]  # passages done, passages in all
T = TypeVar("T", Turn, Memory, Document)


@dataclass(eq=False)
class Reindex(Verb):
    """Reindexes one store."""

    _running: int = 0

    @property
    def working(self) -> bool:
        """Whether a reindex runs."""
        return self._running > 0

    async def run(self, progress: Progress | None = None) -> int:
        """Fill a new generation of passages and embed it; how many passages there are then.

        Words are searchable as soon as the passages are written; vectors follow and are resumed after an
        interruption, because a passage without a vector says so itself. An interrupted filling is begun again
        when the engine next starts, and so is one of passages that an older Scrubjay wrote; those keep their
        place and their vectors.

        Raises:
            EncoderError: the model that the settings name cannot be loaded; the old index stays as it is.
            InputError: another engine maintains the store.
        """
        self._running += 1
        try:
            return await self._run(progress)
        finally:
            self._running -= 1

    async def _run(self, progress: Progress | None) -> int:
        store, indexer = self._store, self._indexer
        refuse_follower(store.shared, "A reindex")
        encoder = await indexer.load()
        await self._writer.settle()
        if store.note.complete:
            await store.next_generation(encoder.space.dim)
        await self._refill(Turn)
        await self._refill(Memory)
        await self._refill(Document)
        await store.write_note(replace(store.note, complete=True))
        await indexer.check_space()
        if indexer.trouble:
            raise EncoderError(indexer.trouble)
        total = await store.count_passages()
        while await indexer.embed_some(encoder):
            if progress:
                progress(total - await store.count_passages(conditions.NO_VECTOR), total)
        return total

    async def _refill(self, kind: type[T]) -> None:
        rows = await self._store.select(kind, conditions.EVERY_ROW, columns=["id"])
        for start in range(0, len(rows), PAGE):
            await self._store.refill(kind, [row.id for row in rows[start : start + PAGE]], passages_of)
