"""Gives passages their vectors in the background.

A search finds a passage without a vector only by its words. New passages are embedded while they wait for
their commit, so that most rows are written once; a backlog is read from the store in batches.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace

import numpy as np

from scrubjay.encoders.protocol import (
    CANARY_DOCUMENTS,
    CANARY_QUERY,
    DRIFT_LIMIT,
    Encoder,
    TokenEncoder,
    drift,
    is_former,
)
from scrubjay.encoders.token_codes import EncodedQuery, nearest
from scrubjay.encoders.worker import EmbeddingWorker, Vectors
from scrubjay.engine.background.tasks import quiet_for
from scrubjay.errors import EncoderError
from scrubjay.models.records import Document, Passage
from scrubjay.store import conditions
from scrubjay.store.allocator import give_memory_back
from scrubjay.store.changes import Change, Embedding
from scrubjay.store.conditions import Where
from scrubjay.store.failures import reason
from scrubjay.store.notes import IndexNote
from scrubjay.store.store import Store

log = logging.getLogger("scrubjay.engine.background.indexing")

# Least and most passages that get their vectors in one commit, which rewrites their rows and wakes a
# compaction. A batch takes about `BATCH_SECONDS`, so that even a slow machine can soon estimate how long a
# backlog will take.
FIRST_BATCH, BATCH = 128, 1_024
BATCH_SECONDS = 8.0
NEW = 256  # new passages that are embedded before all others
NEW_OF_ONE = 24  # new passages of one record; the rest of a long record joins the backlog
# Characters of new passages in one batch: a burst of writes fits, and the next burst does not wait long.
AHEAD_SIZE = 4_000
# A search warns if at least MANY of its passages, and at least this SHARE, wait for their vectors. Fewer are
# a turn or two of the last seconds, which is not a reason to doubt an answer.
MANY, SHARE = 50, 0.01
RETRY_SECONDS = 1.0
LOOK_SECONDS = 0.02  # between two checks for vectors that a caller waits for
SHORT = 1_000  # characters: a longer text takes more time to embed than a write may take
# How long a write waits for the vector of its text: twice the usual time, but too short during bulk work.
SOON_SECONDS = 0.015
LOAD_SECONDS = 3.0  # that a search waits while the model is being loaded; torch alone may take ten
LOADING = "The model is being loaded; until then words alone are searched."
_UNTIL_THEN = "Until then words alone are searched."
_REINDEX = "words alone are searched. Run `scrubjay reindex` to embed them again."
# Which passages get token codes. Chunks are ranked by their vectors alone. A summary repeats the turn's other
# passages, and would have 40 % of all codes. Of a long text, such as a log of a hundred pieces, only the
# first pieces get codes, to save disk space and time in late interaction.
_CODED_PARTS = 12  # of each side of a turn: about 10,000 characters
_WITHOUT_CODES = conditions.both(
    conditions.missing("token_vectors"),
    conditions.differs("src", "chunk"),
    conditions.number("part", "<", _CODED_PARTS),
    conditions.either(conditions.missing("role"), conditions.differs("role", "summary")),
)


class Indexer:
    """Finds passages without a vector and embeds them.

    `trouble` says why vectors cannot be searched, or is None. `embedded` is called after each commit of
    vectors, because these rows must be indexed by words again. `late` returns True if tokens are wanted.
    """

    def __init__(
        self,
        store: Store,
        worker: EmbeddingWorker,
        embedded: Callable[[], None] = lambda: None,
        late: Callable[[], bool] = lambda: True,
    ) -> None:
        self._store, self._worker, self._embedded, self._wants_tokens = store, worker, embedded, late
        self._new: dict[str, Passage] = {}  # new passages by id, the newest last
        self._ahead: dict[str, Passage] = {}  # being embedded ahead of the backlog
        self._deferrals = 0  # how often new passages joined the backlog instead
        # The values of `Store.vectorless_writes` and `_deferrals` when the backlog was last empty.
        self._counts_when_done = (-1, 0)
        self._may_lack_codes = True  # passages embedded by an older Scrubjay, or while the setting was off
        self._wake = asyncio.Event()
        self._arrived = asyncio.Event()
        self._vectors_made = asyncio.Event()  # set, and replaced, when vectors were made
        self._compared = asyncio.Event()  # set once `trouble` is valid
        self.trouble: str | None = None
        self._compared_with: IndexNote | None = None
        self._idle = False
        self._left, self._speed = 0, 0.0  # of a backlog: remaining passages, and passages per second

    @property
    def _batch_size(self) -> int:
        return max(FIRST_BATCH, min(BATCH, int(self._speed * BATCH_SECONDS)))

    @property
    def idle(self) -> bool:
        """Return True if no passage is known to wait for its vector."""
        return self._idle and not self._new and not self._ahead

    @property
    def finished(self) -> bool:
        """Return True if nothing waits, or if the waiting passages cannot be embedded."""
        return self.idle or bool(self.trouble)

    @property
    def notice(self) -> str | None:
        """Return the warning for search answers: the trouble, or that the index is being rebuilt."""
        if self._store.note.complete:
            return self.trouble
        warning = "The index is being rebuilt from the records; records that are not in it yet are not found."
        return warning if self.trouble is None else f"{warning} {self.trouble}"

    async def search_warning(self, searched: Where) -> str | None:
        """Return the warning for a search of these passages: that many wait for vectors, or `notice`.

        The store is read only if many may be waiting.
        """
        has_backlog = (self._store.vectorless_writes, self._deferrals) != self._counts_when_done
        few_wait = not has_backlog and len(self._new) + len(self._ahead) < MANY
        if self.trouble or few_wait or not self._store.is_writer:
            return self.notice
        waiting = await self._store.passages.count(conditions.both(searched, conditions.NO_VECTOR))
        if waiting < MANY or waiting < SHARE * (total := await self._store.passages.count(searched)):
            return self.notice
        time_left = f", about {_duration(max(waiting, self._left) / self._speed)} more" if self._speed else ""
        message = f"{waiting:,} of {total:,} passages are searched by words alone"
        return f"{message} until they have their vectors{time_left}."

    def wake(self) -> None:
        """Start looking for passages without a vector, if any may have been committed."""
        if (self._store.vectorless_writes, self._deferrals) != self._counts_when_done:
            self._idle = False
            self._wake.set()

    def foreground(self) -> AbstractContextManager[None]:
        """Return a context in which background work yields to a caller that waits for an answer."""
        return self._worker.foreground()

    def expect(self, change: Change) -> None:
        """Embed the passages of a new turn or fact before the backlog of a bulk load."""
        if change.passages and not isinstance(change.record, Document):
            self._new.update((each.id, each) for each in change.passages[:NEW_OF_ONE])
            while len(self._new) > NEW:
                del self._new[next(iter(self._new))]
                self._deferrals += 1  # the deleted one may be committed, so `embed_some` must look for it
            self._arrived.set()

    async def check_space(self) -> Encoder | None:
        """Compare the model's vector space with the store's, which an empty store adopts; set `trouble`."""
        try:
            encoder, canaries = await self._worker.ready(), await self._canaries()
            problem = await self._problem(encoder, canaries)
            self.trouble = f"{problem}; {_REINDEX}" if problem else None
            return encoder
        except EncoderError as error:
            self.trouble = f"{error} {_UNTIL_THEN}"
            return None
        finally:
            self._compared_with = self._store.note
            self._compared.set()

    def _is_outdated(self) -> bool:
        """Return True if the stored space changed: another engine wrote it, or the index was restarted."""
        note = self._store.note
        may_change = note.space_id is None or self._store.shared is not None
        return may_change and note != self._compared_with

    async def _problem(self, encoder: Encoder, canaries: Vectors) -> str | None:
        """Return how the model's vector space differs from the store's; give an empty store this space."""
        note, space = self._store.note, encoder.space
        if note.space_id is None and not self._store.is_writer:
            return None  # the engine that writes will set the space
        if note.space_id is None and note.dim == space.dim:
            await self._store.write_note(_with_space(note, encoder, canaries))
            return None
        if note.space_id is not None and is_former(space, note.space_id):
            return None  # its vectors are close enough until the engine has embedded them again
        if note.space_id != space.space_id:
            return "The stored vectors were made by another model"
        distance = drift(np.array(note.canaries, dtype=np.float32), canaries)
        if distance > DRIFT_LIMIT:
            return f"The model gives other vectors than when the store was made (drift {distance:.4f})"
        return None

    async def _canaries(self) -> Vectors:
        query = await self._worker.question(CANARY_QUERY)
        return np.vstack([query.vector, await self._worker.documents(CANARY_DOCUMENTS)])

    async def begin_generation(self, encoder: Encoder) -> None:
        """Begin or continue to build passages with this model's vectors."""
        store, canaries = self._store, await self._canaries()
        if store.building is None or store.building.space_id != encoder.space.space_id:
            note = replace(store.note.next_generation(dim=encoder.space.dim), complete=True)
            await store.begin_generation(_with_space(note, encoder, canaries))
        if self.trouble:
            self.trouble = (
                "The index is being rebuilt for a model other than that of the stored vectors; "
                "words alone are searched until that is done."
            )

    async def embed_built(self, encoder: Encoder) -> int:
        """Embed a batch of the passages being built; return how many still wait for their vectors."""
        if not (waiting := await self._store.passages.built_without_vectors(self._batch_size)):
            return 0
        vectors, codes = await self._encoded(encoder, waiting)
        space_id = encoder.space.space_id
        embeddings = {each: Embedding(vector, codes.get(each), space_id) for each, vector in vectors.items()}
        remaining = await self._store.passages.set_built_vectors(embeddings)
        self._embedded()
        await asyncio.to_thread(give_memory_back)
        return remaining

    async def load(self) -> Encoder:
        """Return the model that the settings name.

        Raises:
            EncoderError: it cannot be loaded.
        """
        return await self._worker.ready()

    async def embed_query(self, text: str) -> EncodedQuery | None:
        """Return a query's vector, with tokens if they are wanted; None while vectors cannot be searched.

        Raises:
            EncoderError: this text cannot be embedded; the next one may be.
        """
        if not await self._wait_for_comparison():
            return None
        if self._is_outdated():
            await self.check_space()
        if self.trouble or not text.strip():
            return None
        query = await self._worker.question(text)
        if self._store.note.space_id is None:
            return None
        return query if self._wants_tokens() else query._replace(tokens=None)

    async def _wait_for_comparison(self) -> bool:
        """Wait up to LOAD_SECONDS for the comparison, because a wrong model's vector finds wrong passages."""
        if not self._compared.is_set() and self.trouble != LOADING:
            await quiet_for(LOAD_SECONDS, self._compared)
            if not self._compared.is_set():
                self.trouble = LOADING
        return self._compared.is_set()

    async def token_matches(self, query: str, texts: Sequence[str]) -> list[list[tuple[int, int, float]]]:
        """Return the place of each token of each text, with its highest cosine to a token of the query.

        The lists are empty if tokens are switched off, or if the model cannot tell their places.

        Raises:
            EncoderError: a text cannot be embedded.
        """
        encoded_query = await self.embed_query(query)
        tokens = encoded_query.tokens if encoded_query else None
        if tokens is None or not isinstance(encoder := await self.load(), TokenEncoder):
            return [[] for _ in texts]
        matches: list[list[tuple[int, int, float]]] = []
        for text, code in zip(texts, (await self._worker.passages(texts, soon=True)).codes, strict=True):
            places, cosines = encoder.places(text), nearest(tokens, code).tolist()
            pairs = zip(places, cosines, strict=True) if len(places) == len(cosines) else ()
            matches.append([(*place, cosine) for place, cosine in pairs])
        return matches

    async def embed_soon(self, text: str) -> Vectors | None:
        """Return the vector of a text that is being written, to compare it with stored vectors.

        Return None if it takes long, because a write does not wait for the model. The text is embedded as a
        query, because queries go ahead of the waiting passages.
        """
        if not self._compared.is_set() or self.trouble or len(text) > SHORT:
            return None
        try:
            async with asyncio.timeout(SOON_SECONDS):
                query = await self.embed_query(text)
        except (TimeoutError, EncoderError):  # then only the words are compared
            return None
        return None if query is None else query.vector

    async def wait_for_vectors(self, ids: Sequence[str], seconds: float) -> None:
        """Wait at most `seconds` for these records' vectors."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not self.trouble and await self._store.records_without_vectors(ids):
                    await quiet_for(LOOK_SECONDS, self._vectors_made)

    async def run(self) -> None:
        """Embed waiting passages forever; a failed batch is tried again."""
        encoder, pause = None, RETRY_SECONDS
        while True:
            try:
                if encoder is None or self._is_outdated():
                    encoder = await self.check_space()
                excluded = (*self._new, *self._ahead)
                if has_more := encoder is not None and self.trouble is None:
                    has_more = await self.embed_some(encoder, excluded) > 0
            except (OSError, RuntimeError, ValueError) as error:  # a full disk or LanceDB, often temporary
                log.error("vectors cannot be stored (%s); next try in %.0f s", reason(error), pause)
                await asyncio.sleep(pause)
                pause = min(2 * pause, 60.0)
                continue
            except EncoderError as error:
                self.trouble = f"{error} {_UNTIL_THEN}"
                encoder, has_more = None, False
            pause = RETRY_SECONDS
            if not has_more:
                self._idle = True
                self._embedded()  # upkeep can use the pause
                await self._wake.wait()
                self._wake.clear()

    async def embed_some(self, encoder: Encoder, excluded: Iterable[str] = ()) -> int:
        """Embed a batch of waiting passages, and return its size; missing token codes come last."""
        if not self._store.is_writer:  # the engine that writes also embeds
            return 0
        wants_codes = self._wants_tokens() and isinstance(encoder, TokenEncoder)
        waiting: Sequence[Passage] = ()
        # Count before the query: a passage deferred during it is in `excluded`, so it needs another query.
        counts = self._store.vectorless_writes, self._deferrals
        if counts != self._counts_when_done:
            not_excluded = conditions.negation(conditions.one_of("id", excluded))
            where = conditions.both(conditions.NO_VECTOR, not_excluded)
            waiting = await self._store.passages.without_vectors(self._batch_size, where)
            if not waiting:
                self._counts_when_done = counts
        if not waiting and wants_codes and self._may_lack_codes:
            waiting = await self._store.passages.without_vectors(self._batch_size, _WITHOUT_CODES)
            # New passages get codes with their vector, so the column is read once and not after each turn.
            self._may_lack_codes = bool(waiting)
        elif not wants_codes:
            self._may_lack_codes = True
        if waiting:
            await self._embed(encoder, waiting)
            self._left = await self._store.passages.count(conditions.NO_VECTOR)
        return len(waiting)

    async def run_ahead(self) -> None:
        """Embed new passages forever, while `run` embeds the backlog."""
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            await self._compared.wait()
            try:
                while self._new and not self.trouble and self._store.is_writer:
                    await self._embed_new()
            except (OSError, RuntimeError, ValueError, EncoderError) as error:
                # `run` will find them and try again.
                log.warning("new passages join the backlog: %s", reason(error))
            if self._new or self._ahead:
                self._new.clear()
                self._ahead.clear()
                self._deferrals += 1
                self.wake()

    async def _embed_new(self) -> None:
        """Embed the newest passages; if there are many, only those that are not committed yet."""
        size = 0
        while self._new and size < AHEAD_SIZE:
            passage_id, passage = self._new.popitem()
            if len(self._new) < NEW_OF_ONE or self._store.is_staged(passage.record_id):
                self._ahead[passage_id] = passage
                size += len(passage.text)
            else:
                self._deferrals += 1
        self.wake()
        if self._ahead:
            await self._embed(await self._worker.ready(), list(self._ahead.values()), soon=True)
            self._ahead.clear()

    async def _encoded(
        self, encoder: Encoder, waiting: Sequence[Passage], *, soon: bool = False
    ) -> tuple[dict[str, Vectors], dict[str, bytes]]:
        """Return the vectors and token codes of these passages, by id; not all passages get codes."""
        wants_codes = self._wants_tokens() and isinstance(encoder, TokenEncoder)
        texts = [piece.embed_text or piece.text for piece in waiting]
        started = time.monotonic()
        if wants_codes:
            vectors, codes = await self._worker.passages(texts, soon=soon)
        else:
            vectors, codes = await self._worker.documents(texts, soon=soon), ()
        if not soon:
            self._speed = len(waiting) / max(time.monotonic() - started, 1e-3)
        pairs = zip(waiting, codes, strict=wants_codes)
        codes_by_id = {piece.id: code for piece, code in pairs if _gets_codes(piece)}
        return {piece.id: vector for piece, vector in zip(waiting, vectors, strict=True)}, codes_by_id

    async def _embed(self, encoder: Encoder, waiting: Sequence[Passage], *, soon: bool = False) -> None:
        vectors, codes = await self._encoded(encoder, waiting, soon=soon)
        space_id, stored = encoder.space.space_id, self._store.note.space_id
        fits = stored is not None and (stored == space_id or is_former(encoder.space, stored))
        if fits and self._store.is_writer:  # otherwise a reindex began meanwhile
            if await self._store.set_vectors(vectors, space_id, codes):
                self._embedded()
            event, self._vectors_made = self._vectors_made, asyncio.Event()
            event.set()
            if not soon:
                await asyncio.to_thread(give_memory_back)


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _with_space(note: IndexNote, encoder: Encoder, canaries: Vectors) -> IndexNote:
    """Return the note with this model's space as the space of its passages."""
    return replace(note, space_id=encoder.space.space_id, canaries=tuple(map(tuple, canaries.tolist())))


def _gets_codes(piece: Passage) -> bool:
    """Return True if a passage gets token codes; the same rule as in `_WITHOUT_CODES`."""
    return piece.src != "chunk" and piece.part < _CODED_PARTS and piece.role != "summary"
