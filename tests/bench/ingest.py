"""Documents, measured: `python tests/bench/ingest.py [quality] [answers] [speed] [tree] [filters]`, all of
them without a name.

quality   recall at 10 of the right chunk among those of installed packages: both ways against each alone
answers   what a model is shown of a call without a size: how often the right chunk is in it, its tokens, and
          what it says of questions that only another folder answers
speed     embedding from file to searchable row against the encoder alone; searches, turns and memory
meanwhile
tree      a folder of 5,000 files that did not change
filters   a search among 10,000 records, with filters and without

One core in this process, with the bundled model, over a temporary home. Knows what is measured; the corpus is
in `corpus.py`.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import corpus
import numpy as np
import psutil
from figures import awaited
from kept import silent, temporary

from scrubjay.engine.core import Core
from scrubjay.engine.engine import utc_now
from scrubjay.mcp_server.render import Frame
from scrubjay.mcp_server.render_documents import document_hits, length
from scrubjay.models.envelopes import envelope
from scrubjay.models.records import Memory, Passage, content_hash
from scrubjay.models.requests import RecordTurn, SearchDocuments, SearchMemories
from scrubjay.models.results import Ingested
from scrubjay.records.passages import passages_of
from scrubjay.search.retrieval.chunks import rank_chunks
from scrubjay.search.retrieval.pools import by_vector, by_words, search
from scrubjay.search.retrieval.query import Question
from scrubjay.store.changes import Change

SCOPE = "bench"
FILES = 5_000
RECORDS = 10_000
SHARE = 4  # every fourth file of the corpus
EACH_TURN = 5  # searches between two turns
IDLE_SECONDS = 15


@asynccontextmanager
async def loaded() -> AsyncIterator[Core]:
    """A core over an empty home, its model loaded."""
    async with temporary() as core:
        await core.indexer.load()
        yield core


async def ingested(core: Core, folder: Path) -> Ingested:
    return await core.ingest.run([str(folder)], scope=SCOPE, source="bench", report=silent)


async def embedded(core: Core) -> None:
    """Wait until every passage has its vector."""
    while await core.store.passages.count("space_id IS NULL") or core.writer.pending:
        await asyncio.sleep(0.25)


def lay_down(files: list[corpus.File], folder: Path) -> None:
    for file in files:
        (folder / file.path).parent.mkdir(parents=True, exist_ok=True)
        (folder / file.path).write_text(file.text, encoding="utf-8")


async def quality(folder: Path) -> None:
    print("recall@10 of the right chunk, %: tuning half / other half")
    for name, files, questions in corpus.everything():
        home = folder / name
        lay_down(files, home / "files")
        async with loaded() as core:
            await ingested(core, home / "files")
            await embedded(core)
            await judge(core, name, questions, home / "files")


async def judge(core: Core, name: str, questions: list[corpus.Question], root: Path) -> None:
    rows = await core.store.passages.select(
        "true", columns=["id", "record_id", "part", "path", "line_start", "line_end"]
    )
    places = {(row.record_id, row.part): row for row in rows}
    ids = {row.id: row for row in rows}
    hits: dict[str, dict[bool, list[bool]]] = {
        leg: {True: [], False: []} for leg in ("both", "dense", "bm25")
    }
    for question in questions:

        def right(row: Passage, question: corpus.Question = question) -> bool:
            overlaps = (row.line_start or 0) <= question.last and (row.line_end or 0) >= question.first
            return row.path == str(root / question.path) and overlaps

        asked = Question(text=question.text, scopes=(SCOPE,), srcs=("chunk",), now=utc_now())
        ranked = await rank_chunks(core.store, asked, core.indexer.embed_query)
        vector = core.indexer.embed_query(question.text)
        by_both = by_vector(core.store, vector, 10), by_words(core.store, question.text, 10)
        dense, words = await search(core.store, asked, *by_both)
        found = {
            "both": [places[chunk.document_id, chunk.position] for chunk in ranked[:10]],
            "dense": [ids[row.id] for row, _ in dense],
            "bm25": [ids[row.id] for row, _ in words],
        }
        for leg, pieces in found.items():
            hits[leg][question.is_for_tuning].append(any(map(right, pieces)))
    said = "  ".join(f"{leg} {np.mean(of[True]):.1%} / {np.mean(of[False]):.1%}" for leg, of in hits.items())
    print(f"{name}: {len(rows):,} chunks, {len(questions)} questions: {said}", flush=True)


async def answers(folder: Path) -> None:
    async with loaded() as core:
        asked = {}
        for name, files, questions in corpus.everything():
            lay_down(files, folder / name)
            await core.ingest.run([str(folder / name)], scope=name, source="bench", report=silent)
            asked[name] = questions
        await embedded(core)
        for name, questions in asked.items():
            for scope in asked:
                await _shown(core, questions, scope, folder / name, f"{name}, put to {scope}")


async def _shown(core: Core, questions: list[corpus.Question], scope: str, root: Path, name: str) -> None:
    """Print how default answers are: confident or not, with the right chunk or not, of how many tokens."""
    frame = Frame((scope,), folder=str(root))
    said, right, tokens = Counter[str](), [], []
    for question in questions:
        hits = await core.search.documents(
            SearchDocuments(query=question.text), scope, measure=lambda hit: length(hit, frame)
        )
        said[hits.confidence] += 1
        tokens.append(math.ceil(len(document_hits(hits, frame)) / 4))
        lines = [
            chunk.lines
            for hit in hits.results
            for chunk in hit.chunks
            if hit.path == str(root / question.path)
        ]
        right.append(any(low <= question.last and high >= question.first for low, high in lines))
    shares = ", ".join(f"{each} {count / len(questions):.1%}" for each, count in said.most_common())
    shown = f"{np.mean(tokens):.0f} tokens in the mean, p90 {np.percentile(tokens, 90):.0f}"
    print(f"{name}: {shares}; the right chunk in {np.mean(right):.1%}; {shown}", flush=True)


async def speed(folder: Path) -> None:
    """Throughput on an otherwise idle engine, then searches and turns over the result, first idle and then
    during a second ingest of the same size.
    """
    files = corpus.code()[0][::SHARE]
    lay_down(files[::2], folder / "first")
    lay_down(files[1::2], folder / "second")
    process = psutil.Process()
    async with loaded() as core:
        start, before = time.perf_counter(), process.memory_info().rss
        await _searchable(core, folder / "first")
        seconds = time.perf_counter() - start
        pieces = await core.store.passages.select("src = 'chunk'", columns=["text", "embed_text"])
        raw = await _raw(core, [piece.embed_text or piece.text for piece in pieces])
        made = len(pieces) / seconds
        print(f"throughput: {made:.1f} chunks/s of {raw:.1f} that the encoder makes alone: {made / raw:.0%}")
        print(f"idle: {await latencies(core, lambda: asyncio.sleep(IDLE_SECONDS, True))}")
        busy = await latencies(core, lambda: _searchable(core, folder / "second"))
        count, memory = await core.store.passages.count("src = 'chunk'"), process.memory_info().rss
        print(f"bulk: {busy}\nmemory: {before / 1e6:.0f} -> {memory / 1e6:.0f} MB over {count:,} chunks")
        print(f"idle again: {await latencies(core, lambda: asyncio.sleep(IDLE_SECONDS, True))}")


async def _raw(core: Core, texts: list[str]) -> float:
    """Texts a second that the encoder makes alone."""
    encoder, start = await core.indexer.load(), time.perf_counter()
    for at in range(0, len(texts), 16):
        await asyncio.to_thread(encoder.embed_documents, texts[at : at + 16])
    return len(texts) / (time.perf_counter() - start)


async def _searchable(core: Core, folder: Path) -> None:
    await ingested(core, folder)
    await embedded(core)


async def latencies(core: Core, meanwhile: Callable[[], Awaitable[object]]) -> str:
    """p50 and p95 in ms of document searches and recorded turns, one after the other while other work runs."""
    took: dict[str, list[float]] = {"search": [], "turn": []}
    other = asyncio.ensure_future(meanwhile())
    number = 0
    while not other.done():
        number += 1
        asked = SearchDocuments(query=f"how is a socket closed {number}")
        took["search"].append(await awaited(core.search.documents(asked, SCOPE)))
        if number % EACH_TURN == 0:  # at the pace of a person; more would be an ingest of its own
            asked_of = f"Question {number} about sockets?"
            request = RecordTurn(session_id="bench", user=asked_of, assistant="They are closed at the end.")
            made = envelope("turn", request, scope=SCOPE, source="bench", at=utc_now())
            took["turn"].append(await awaited(core.write(made)))
        await asyncio.sleep(0.1)
    await other
    return ", ".join(
        f"{name} p50 {np.percentile(each, 50):.0f} p95 {np.percentile(each, 95):.0f} ms (n={len(each)})"
        for name, each in took.items()
    )


async def tree(folder: Path) -> None:
    for number in range(FILES):
        path = folder / "files" / f"part{number % 100}" / f"note{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f"# Note {number}\n\nShip {number} lies in harbour {number * 7919 % 1000}.\n", encoding="utf-8"
        )
    async with loaded() as core:
        start = time.perf_counter()
        await ingested(core, folder / "files")
        print(f"{FILES:,} new files: {time.perf_counter() - start:.1f} s until words find them", flush=True)
        for _ in range(3):
            start = time.perf_counter()
            done = await ingested(core, folder / "files")
            print(f"{done.unchanged:,} unchanged files: {time.perf_counter() - start:.2f} s", flush=True)


async def filters(folder: Path) -> None:
    async with loaded() as core:
        for number in range(RECORDS):
            about = {"team": ["api", "web"][number % 2], "number": number, "labels": ["a", "b"][: number % 3]}
            core.store.stage(fact(f"Service {number} of the harbour listens on port {number}.", about))
        await core.writer.settle()
        core.indexer.trouble = "Words alone: vectors are not what is measured."
        three = {
            "AND": [
                {"key": "team", "value": "API", "ignoreCase": True},
                {"key": "number", "value": 5_000, "numericOperator": ">"},
                {"key": "labels", "value": "a", "filterType": "array_contains", "negate": True},
            ]
        }
        for name, asked in (("no filter", None), ("three conditions", three)):
            took = []
            for number in range(60):
                query = f"which port has service {number * 100}"
                request = SearchMemories(query=query, top_k=10, filters=asked)
                took.append(await awaited(core.search.memories(request, SCOPE)))
            print(
                f"{name}: p50 {np.percentile(took[10:], 50):.1f} p95 {np.percentile(took[10:], 95):.1f} ms",
                flush=True,
            )


def fact(content: str, metadata: dict[str, object]) -> Change:
    """A fact as the engine stores it, without the journal: ten thousand are written in seconds."""
    id, at = f"mem_{uuid4().hex}", utc_now()
    memory = Memory(
        id=id,
        scope=SCOPE,
        partition_id="mem_semantic",
        source="bench",
        metadata=metadata,
        **dict.fromkeys(("created_at", "updated_at", "last_accessed_at"), at),
        root_id=id,
        content=content,
        content_hash=content_hash(content),
    )
    return Change(memory, passages_of(memory))


PARTS: dict[str, Callable[[Path], Awaitable[None]]] = {
    "quality": quality,
    "answers": answers,
    "speed": speed,
    "tree": tree,
    "filters": filters,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    for name in parser.parse_args().parts or PARTS:
        with tempfile.TemporaryDirectory(prefix="scrubjay-bench-") as folder:
            print(f"\n== {name}", flush=True)
            asyncio.run(PARTS[name](Path(folder)))


if __name__ == "__main__":
    main()
