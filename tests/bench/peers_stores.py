"""The same turns and vectors in other people's stores and in ours, each behind one small face. Knows how each
is filled and asked as its own documentation shows; judges and times nothing.

bm25        BM25 over Porter's stems in memory (k1 0.9, b 0.4), nothing on disk
chromadb    one collection, cosine, its defaults; dense alone, as it has no ranked words
sqlite      sqlite-vec and FTS5 (Porter's stems) in one file, the best 100 of each joined by reciprocal rank
(k = 60)
scrubjay    `record_turn` and `search_memories` through the engine's core in this process
"""

from __future__ import annotations

import asyncio
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import apsw
import chromadb
import numpy as np
import sqlite_vec
from baselines import RRF_K, Bm25, text_of
from chromadb.config import Settings as ChromaSettings
from locomo import Key, Turn
from numpy.typing import NDArray

from scrubjay.encoders.protocol import Space, TokenEncoder
from scrubjay.encoders.token_codes import EncodedQuery, EncodedTexts
from scrubjay.engine.background.upkeep import Bounds
from scrubjay.engine.core import Core, open_core
from scrubjay.home.paths import open_home
from scrubjay.home.settings import Settings
from scrubjay.models.envelopes import envelope
from scrubjay.models.requests import RecordTurn, SearchMemories, parse
from scrubjay.store.tables import TABLES
from scrubjay.text.terms import content_words

HITS = 10
_POOL = 100
_TOGETHER = 64  # writes that wait for one commit
_CHROMA_BATCH = 5_000  # chromadb refuses more than 5,461 at once
_SCOPE = "repo_orchard__0123456789abcdef"


class Remembering:
    """An encoder that makes each vector once, so that no system is charged for the model."""

    parallel = False

    def __init__(self, encoder: TokenEncoder) -> None:
        self._encoder = encoder
        self._passages: dict[str, tuple[NDArray[np.float32], bytes]] = {}
        self._questions: dict[str, EncodedQuery] = {}

    @property
    def space(self) -> Space:
        return self._encoder.space

    def embed_passages(self, texts: Sequence[str]) -> EncodedTexts:
        if new := [text for text in dict.fromkeys(texts) if text not in self._passages]:
            self._passages.update(zip(new, zip(*self._encoder.embed_passages(new), strict=True), strict=True))
        vectors, codes = zip(*(self._passages[text] for text in texts), strict=True)
        return EncodedTexts(np.stack(vectors), codes)

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.embed_passages(texts).vectors

    def embed_question(self, text: str) -> EncodedQuery:
        if text not in self._questions:
            self._questions[text] = self._encoder.embed_question(text)
        return self._questions[text]

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self.embed_question(text).vector


class System(Protocol):
    """One store of one haystack; `fill` once, then `ask`, then `close`, after which its files are all that is
    left of it.
    """

    def __init__(self, folder: Path, turns: Sequence[Turn], encoder: Remembering) -> None: ...

    def fill(self) -> None:
        """Take every turn; vectors are known already."""
        ...

    def ask(self, question: str) -> list[Key]:
        """The first ten turns, best first."""
        ...

    def close(self) -> None: ...


class InMemory:
    """BM25 alone."""

    def __init__(self, folder: Path, turns: Sequence[Turn], encoder: Remembering) -> None:
        self._turns = turns

    def fill(self) -> None:
        self._bm25 = Bm25([text_of(turn) for turn in self._turns])

    def ask(self, question: str) -> list[Key]:
        best = np.argsort(-self._bm25(question), kind="stable")[:HITS]
        return [self._turns[at].key for at in best.tolist()]

    def close(self) -> None:
        return


class Chroma:
    """chromadb, in its persistent form."""

    def __init__(self, folder: Path, turns: Sequence[Turn], encoder: Remembering) -> None:
        self._turns, self._encoder = turns, encoder
        # Without a function of its own it would fetch a model from the network to embed with.
        self._client = chromadb.PersistentClient(str(folder), ChromaSettings(anonymized_telemetry=False))
        self._turns_in = self._client.create_collection(
            "turns", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
        )

    def fill(self) -> None:
        texts = [text_of(turn) for turn in self._turns]
        vectors = self._encoder.embed_documents(texts)
        for first in range(0, len(texts), _CHROMA_BATCH):
            some = slice(first, first + _CHROMA_BATCH)
            ids = [str(at) for at in range(len(texts))[some]]
            self._turns_in.add(ids=ids, embeddings=vectors[some], documents=texts[some])

    def ask(self, question: str) -> list[Key]:
        found = self._turns_in.query(
            query_embeddings=self._encoder.embed_query(question)[None], n_results=HITS, include=[]
        )
        return [self._turns[int(id)].key for id in found["ids"][0]]

    def close(self) -> None:
        self._client.close()


class Sqlite:
    """sqlite-vec beside FTS5. Through apsw, because many Pythons are built without
    `enable_load_extension`.
    """

    def __init__(self, folder: Path, turns: Sequence[Turn], encoder: Remembering) -> None:
        self._turns, self._encoder = turns, encoder
        self._file = apsw.Connection(str(folder / "turns.db"))
        self._file.enable_load_extension(True)
        self._file.load_extension(sqlite_vec.loadable_path())
        self._file.execute("PRAGMA journal_mode = WAL")
        self._file.execute(
            f"CREATE VIRTUAL TABLE vectors USING vec0(vector FLOAT[{encoder.space.dim}] "
            "distance_metric=cosine)"
        )
        self._file.execute("CREATE VIRTUAL TABLE words USING fts5(text, tokenize = 'porter unicode61')")

    def fill(self) -> None:
        texts = [text_of(turn) for turn in self._turns]
        vectors = self._encoder.embed_documents(texts)
        with self._file:
            self._file.executemany("INSERT INTO words(rowid, text) VALUES (?, ?)", enumerate(texts))
            rows = ((at, vector.tobytes()) for at, vector in enumerate(vectors))
            self._file.executemany("INSERT INTO vectors(rowid, vector) VALUES (?, ?)", rows)

    def ask(self, question: str) -> list[Key]:
        score: dict[int, float] = defaultdict(float)
        for leg in (self._by_words(question), self._by_vector(question)):
            for rank, at in enumerate(leg, 1):
                score[at] += 1 / (RRF_K + rank)
        return [self._turns[at].key for at in sorted(score, key=lambda at: -score[at])[:HITS]]

    def _by_words(self, question: str) -> Iterator[int]:
        words = " OR ".join(f'"{word}"' for word in dict.fromkeys(content_words(question)))
        if words:
            query = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?"
            yield from (at for (at,) in self._file.execute(query, (words, _POOL)))

    def _by_vector(self, question: str) -> Iterator[int]:
        query = "SELECT rowid FROM vectors WHERE vector MATCH ? AND k = ? ORDER BY distance"
        yield from (
            at for (at,) in self._file.execute(query, (self._encoder.embed_query(question).tobytes(), _POOL))
        )

    def close(self) -> None:
        self._file.close()


class Scrubjay:
    """The engine's core, without the processes and pipes around it."""

    def __init__(self, folder: Path, turns: Sequence[Turn], encoder: Remembering) -> None:
        self._turns, self._runner = turns, asyncio.Runner()
        clock = lambda: datetime.now(UTC)  # noqa: E731
        self._core: Core = self._runner.run(
            open_core(open_home(str(folder)), Settings(), clock, lambda *_, **__: encoder)
        )

    def fill(self) -> None:
        self._runner.run(self._fill())

    def ask(self, question: str) -> list[Key]:
        return self.search(question, {})[0]

    def search(self, question: str, window: Mapping[str, int]) -> tuple[list[Key], list[Key]]:
        """The first ten turns, and the turns that came along with them."""
        request = parse(SearchMemories, {"query": question, "top_k": HITS, **window})
        answer = self._runner.run(self._core.search.memories(request, _SCOPE))
        return [_key(hit) for hit in answer.results], [
            _key(hit) for hit in answer.related if hit.reason == "window"
        ]

    def close(self) -> None:
        self._runner.run(self._dropped())
        self._runner.run(self._core.close())
        self._runner.close()

    async def _fill(self) -> None:
        for first in range(0, len(self._turns), _TOGETHER):
            await asyncio.gather(*map(self._record, self._turns[first : first + _TOGETHER]))
        await self._core.writer.settle()
        encoder = await self._core.indexer.load()
        while await self._core.indexer.embed_some(encoder) or await self._core.store.passages_without_vectors(
            1
        ):
            pass
        await self._core.upkeep.tidy(Bounds(1, 0))

    async def _record(self, turn: Turn) -> None:
        arguments = {
            "session_id": turn.session,
            "turn": turn.number,
            "role": turn.role,
            "text": turn.text,
            "ts": turn.ts,
        }
        request, id = (
            parse(RecordTurn, arguments),
            f"bench-{turn.session}-{turn.number:05d}".replace("/", "-").replace(" ", "-"),
        )
        await self._core.write(
            envelope("turn", request, envelope_id=id, scope=_SCOPE, source="bench", at=self._core.clock())
        )

    async def _dropped(self) -> None:
        """Old versions go at once: an engine keeps them for ten minutes, and that is no size to compare."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of other processes, of which there are none
            for name in TABLES:
                await self._core.store.tables.of(name).optimize(cleanup_older_than=timedelta(0))


def _key(hit: Any) -> Key:
    return hit.session_id, hit.turn
