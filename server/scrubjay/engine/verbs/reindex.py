"""Rebuilds the passages from the records.

This is needed after damage, and when the model, the chunking or the developers' dictionary has changed. It
runs by itself after an upgrade that brings another bundled model or dictionary.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from scrubjay.encoders import Encoder, is_former
from scrubjay.engine.verbs.verb import LongVerb
from scrubjay.errors import EncoderError
from scrubjay.models.records import Document, Memory, Turn
from scrubjay.records.passages import passages_of
from scrubjay.store import conditions
from scrubjay.store.bucket.sharing import require_maintainer
from scrubjay.store.conditions import Where
from scrubjay.store.notes import BUILDING
from scrubjay.store.schema import read_table
from scrubjay.store.upserts import stored_embeddings
from scrubjay.text.developer_words import IN_USE

PAGE = 500  # records per commit
WORDS = "words"  # this note holds the version of the dictionary used for the passages
# That note's value for an unknown version, and the start of its value during a reindex.
_UNKNOWN, _BEGUN = "unknown", "begun with "
Progress = Callable[[int, int, str], None]  # takes done, total and step: "reading" (records) or "embedding"


@dataclass(eq=False)
class Reindex(LongVerb):
    """Reindexes one store, one run at a time."""

    _listeners: list[Progress] = field(default_factory=list)
    _finished: int = 0
    _state: dict[str, Any] | None = None  # the last progress report

    @property
    def state(self) -> dict[str, Any] | None:
        """Return the progress in records or passages, or None if no reindex is running."""
        return self._state if self.is_running else None

    async def run(self, progress: Progress | None = None) -> int:
        """Build new passages and vectors next to the current ones; return the number of passages.

        The old passages answer searches until the new ones are complete. If the model of the old passages is
        no longer available, searches use words only until the new passages are written; their vectors follow.
        A call during a reindex waits for that reindex. A killed reindex continues at the engine's next start.

        Raises:
            EncoderError: the model in the settings cannot be loaded; the old index stays.
            InputError: another engine maintains the store.
        """
        was_running, finished = self._lock.locked(), self._finished
        if progress is not None:
            self._listeners.append(progress)
        try:
            async with self._lock:
                if not was_running or self._finished == finished:
                    self._state = None
                    await self._run_until_undisturbed()
                    self._finished += 1
            return await self._store.passages.count()
        finally:
            if progress is not None:
                self._listeners.remove(progress)

    async def is_needed(self) -> bool:
        """Return True if the passages were made with another developers' dictionary or bundled model.

        Vectors in a shared bucket stay, because an engine of an earlier release may search them.

        Raises:
            EncoderError: the model in the settings cannot be loaded.
        """
        if await self._has_other_dictionary():
            return True
        store = self._store
        if not store.is_writer or store.shared is not None or store.note.space_id is None:
            return False
        return is_former((await self._indexer.load()).space, store.note.space_id)

    async def _has_other_dictionary(self) -> bool:
        """Return True if the passages were made with another developers' dictionary than the current one.

        A store without passages adopts the current dictionary. A shared store keeps the first dictionary,
        because each engine may have a different one. While the home's words cannot be read, nothing
        is reindexed.
        """
        store = self._store
        version = await store.notes.read(WORDS) if store.is_writer else None
        if not store.is_writer or version == IN_USE.version:
            return False
        is_empty = store.building is None and not await store.passages.count()
        if not is_empty and not IN_USE.is_whole:
            await store.notes.write(WORDS, _UNKNOWN)
            return False
        if not is_empty:
            return store.shared is None or version is None or version.startswith(_BEGUN)
        await store.notes.write(WORDS, IN_USE.version)
        return False

    async def _run_until_undisturbed(self) -> None:
        """Run the reindex, and repeat it as long as damage found during a run restarts the index."""
        store, restarts = self._store, -1
        store.filling = True
        try:
            while restarts != store.restarts:
                restarts = store.restarts
                try:
                    await self._run(restarts)
                except (OSError, RuntimeError, ValueError, EncoderError):
                    if restarts == store.restarts:
                        raise
        finally:
            store.filling = False

    async def _run(self, restarts: int) -> None:
        store, indexer = self._store, self._indexer
        require_maintainer(store.shared, "A reindex")
        encoder = await indexer.load()
        await indexer.check_space()
        await self._writer.settle()
        if not store.note.complete and store.building is None:
            await self._refill()
            await store.set_complete(True, restarts)
        else:
            version, is_new = await self._choose_dictionary()
            await indexer.begin_generation(encoder)
            keep = encoder if is_new and indexer.trouble is None else None
            await self._refill(keep)
            if indexer.trouble is None:
                waiting = total = await store.passages.count_built()
                while waiting:
                    self._report(total - waiting, total, "embedding")
                    waiting = await indexer.embed_built(encoder)
                    total = await store.passages.count_built()
                    require_maintainer(store.shared, "A reindex")
                self._report(total, total, "embedding")
            await store.finish_generation()
            if store.restarts == restarts:
                await store.notes.write(WORDS, version)
        await indexer.check_space()
        if indexer.trouble:
            raise EncoderError(indexer.trouble)
        while restarts == store.restarts and await indexer.embed_some(encoder):
            total = await store.passages.count()
            self._report(total - await store.passages.count(conditions.NO_VECTOR), total, "embedding")

    async def _choose_dictionary(self) -> tuple[str, bool]:
        """Return the dictionary's version, and True if the current passages were made with another one."""
        store, version = self._store, IN_USE.version
        noted, begun_note = await store.notes.read(WORDS), f"{_BEGUN}{version}"
        if noted in (version, begun_note):
            return version, noted == begun_note
        if store.building is not None:  # begun by a killed engine with another dictionary
            async with store.lock:
                store.building = None
                await store.notes.remove(BUILDING)
                await store.reopen()
        await store.notes.write(WORDS, begun_note)
        return version, True

    async def _refill(self, keep: Encoder | None = None) -> None:
        """Cut all records into passages; with `keep`, unchanged passages keep the vectors of this model."""
        kinds: list[type[Any]] = [Turn, Memory, Document]
        failure, done, total = None, 0, sum([await self._store.count(kind) for kind in kinds])
        for kind in kinds:
            try:
                rows = await self._store.select(kind, conditions.EVERY_ROW, columns=["id"])
                for start in range(0, len(rows), PAGE):
                    require_maintainer(self._store.shared, "A reindex")
                    page = [row.id for row in rows[start : start + PAGE]]
                    await self._store.refill(kind, page, passages_of)
                    if keep is not None:
                        await self._keep_vectors(page, keep.space.space_id)
                    done += len(page)
                    self._report(done, max(done, total), "reading")
            except (RuntimeError, ValueError) as error:  # damaged records; the others must be indexed
                failure = error
        if failure is not None:
            raise failure

    async def _keep_vectors(self, record_ids: list[str], space_id: str) -> None:
        """Copy the vectors of current passages to those being built, if their text is the same."""
        tables = self._store.tables
        if tables.building is None:
            return
        of_records = conditions.one_of("record_id", record_ids)
        with_vectors = conditions.both(of_records, conditions.equal("space_id", space_id))
        new = await _texts(tables.building, conditions.both(of_records, conditions.NO_VECTOR))
        unchanged = [passage_id for passage_id, _, _ in new & await _texts(tables.passages, with_vectors)]
        for start in range(0, len(unchanged), PAGE):
            embeddings = await stored_embeddings(tables.passages, unchanged[start : start + PAGE])
            await self._store.passages.set_built_vectors(embeddings)

    def _report(self, done: int, total: int, step: str) -> None:
        self._state = {"done": done, "total": total, "step": step}
        for listener in self._listeners:
            listener(done, total, step)


async def _texts(table: Any, where: Where) -> set[tuple[str, str, str | None]]:
    """Return the ids of passages with the texts that their vectors are made of."""
    rows = await read_table(table.query().where(where).select(["id", "text", "embed_text"]))
    return {(row["id"], row["text"], row["embed_text"]) for row in rows.to_pylist()}
