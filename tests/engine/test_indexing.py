"""Vectors in the background: the space of a store, a changed or missing model, reindexing."""

import asyncio
import dataclasses
import threading
from datetime import timedelta

import pytest
from hashing_encoder import Gated, HashingEncoder
from said import SCOPE, document, embedded, fact, forget, search, texts, turn, until

from scrubjay.encoders import protocol
from scrubjay.encoders.bundled import BundledEncoder
from scrubjay.encoders.worker import EmbeddingWorker
from scrubjay.engine.background import indexing
from scrubjay.engine.background.indexing import MANY, NEW, NEW_OF_ONE, Indexer
from scrubjay.engine.core import Core
from scrubjay.errors import EncoderError
from scrubjay.models.records import Passage, Turn
from scrubjay.models.requests import SearchDocuments
from scrubjay.records.passages import passages_of
from scrubjay.store.changes import Change
from scrubjay.store.conditions import NO_VECTOR, Where


def missing():
    raise EncoderError("The model folder /nowhere does not exist.")


async def test_an_empty_store_adopts_the_vector_space_of_its_model(core: Core):
    await embedded(core)
    await core.indexer.check_space()
    assert core.store.note.space_id == HashingEncoder().space.space_id and len(core.store.note.canaries) == 4
    assert core.indexer.trouble is None


async def test_without_a_model_search_uses_words_and_says_so(opens):
    core = await opens(missing)
    await turn(core, "a", user="the zebra decision")
    hits = await search(core, "zebra decision")
    assert texts(hits) == ["the zebra decision"] and "/nowhere" in (hits.degraded or "")


async def test_passages_of_a_removed_document_are_not_queued_for_vectors(opens):
    core = await opens(missing)
    removed = await document(core, "# Zebras\n\nThey graze.", custom_id="zebras")
    await document(core, "# Owls\n\nThey hunt.", custom_id="owls")
    await core.writer.settle()
    assert await core.store.passages.count(NO_VECTOR) == 2
    await forget(core, removed.id)
    await core.writer.settle()
    assert await core.store.passages.count(NO_VECTOR) == 1


async def test_a_question_waits_until_the_model_is_verified(opens):
    core = await opens()
    await turn(core, "a", user="the zebra decision")
    await embedded(core)

    core = await opens(lambda: HashingEncoder(width=32))
    hits = await search(core, "zebra")  # the first thing that happens to this engine
    assert texts(hits) == ["the zebra decision"] and "another model" in (hits.degraded or "")


async def test_word_search_answers_while_a_model_loads(opens, monkeypatch):
    monkeypatch.setattr(indexing, "LOAD_SECONDS", 0.05)
    core = await opens()
    await turn(core, "a", user="the zebra decision")
    await embedded(core)

    there = threading.Event()

    def slow() -> HashingEncoder:
        assert there.wait(30)
        return HashingEncoder()

    core = await opens(slow)
    try:
        for _ in range(2):
            hits = await search(core, "zebra")
            assert texts(hits) == ["the zebra decision"] and indexing.LOADING in (hits.degraded or "")
    finally:
        there.set()
    await core.indexer.load()
    await core.indexer.check_space()
    assert (await search(core, "zebra")).degraded is None


async def test_a_changed_model_falls_back_to_words_until_a_reindex(opens):
    core = await opens()
    await turn(core, "a", user="the zebra decision")
    await fact(core, "Alex likes zebras.")
    await embedded(core)

    core = await opens(lambda: HashingEncoder("another model"))
    await turn(core, "a", user="a second zebra")
    hits = await search(core, "zebra", top_k=10)
    assert len(hits.results) == 3 and "scrubjay reindex" in (hits.degraded or "")
    states = []
    passages = await core.reindex.run(lambda *_: states.append(core.reindex.state))
    assert passages == await core.store.passages.count() == states[-1]["done"] == states[-1]["total"]
    assert (await core.status.report())["reindex"] is None
    hits = await search(core, "zebra", top_k=10)
    assert len(hits.results) == 3 and hits.degraded is None
    assert await core.store.passages.count("space_id IS NULL") == 0
    assert core.store.note.space_id == HashingEncoder("another model").space.space_id


@pytest.mark.parametrize("weights", protocol._FORMER_WEIGHTS["bundled"])
async def test_vectors_of_a_former_bundled_model_are_searched_until_they_are_made_again(opens, weights):
    class Former(BundledEncoder):
        def __init__(self) -> None:
            super().__init__()
            self.space = self.space.model_copy(update={"weights": weights})

    core = await opens(Former)
    await fact(core, "The invoices are mailed on the third of each month.")
    await embedded(core)
    made = core.store.note.space_id

    core = await opens(BundledEncoder)
    await fact(core, "Birds nest in the attic.")  # its vector is not lost, whichever index it comes into
    hits = await search(core, "when are bills sent")
    assert texts(hits)[0] == "The invoices are mailed on the third of each month." and hits.degraded is None

    async def is_renewed() -> bool:
        waiting = await core.store.passages.count(NO_VECTOR)
        return core.store.note.space_id != made and not waiting

    await until(is_renewed, 60)
    assert core.store.note.space_id == BundledEncoder().space.space_id and core.store.building is None
    assert await core.store.passages.count(f"space_id = '{core.store.note.space_id}'") == 2
    assert (await search(core, "when are bills sent")).degraded is None


async def test_a_model_that_changed_under_the_same_name_is_detected(opens):
    core = await opens()
    await embedded(core)

    class Drifted(HashingEncoder):
        def __init__(self):
            super().__init__("moved")
            self.space = HashingEncoder().space

    core = await opens(Drifted)
    await core.indexer.check_space()
    assert "drift" in (core.indexer.trouble or "")


async def test_an_interrupted_reindex_is_resumed_by_the_next_engine_while_the_old_index_answers(opens):
    core = await opens()
    for n in range(5):
        await turn(core, f"s{n}", user=f"zebra {n} of the backlog")
    await embedded(core)
    # As after a reindex that was killed before it filled anything.
    await core.indexer.begin_generation(await core.indexer.load())

    encoder = GatedAnswering()
    core = await opens(lambda: encoder)
    assert await asyncio.to_thread(encoder.reached.wait, 30)
    hits = await search(core, "zebra", top_k=10, include={"explain": True})
    assert len(hits.results) == 5 and all(hit.explain.dense for hit in hits.results) and not hits.degraded
    resumed = asyncio.create_task(core.reindex.run())  # which waits for the running one
    encoder.gate.set()
    await resumed
    assert (core.store.building, core.store.note.generation) == (None, 2)
    assert len((await search(core, "zebra", top_k=10)).results) == 5


async def test_the_old_vectors_answer_until_the_new_ones_are_ready(opens):
    encoder = GatedAnswering()
    encoder.gate.set()
    core = await opens(lambda: encoder)
    old = await turn(core, "old", user="the zebra of the backlog")
    await embedded(core)
    encoder.gate.clear()
    encoder.reached.clear()
    steps: list[tuple[int, int, str]] = []
    reindex = asyncio.create_task(core.reindex.run(lambda *step: steps.append(step)))
    assert await asyncio.to_thread(encoder.reached.wait, 30)
    new = await turn(core, "new", user="a zebra came after that")
    await core.await_vectors([new.id], 30)
    hits = await search(core, "zebra", include={"explain": True})
    assert {hit.id for hit in hits.results} == {old.id, new.id} and hits.degraded is None
    assert all(hit.explain.dense for hit in hits.results)
    gone = await forget(core, new.id)
    assert gone.forgotten == 1 and len((await search(core, "zebra")).results) == 1
    again = asyncio.create_task(core.reindex.run())  # which waits for the first
    encoder.gate.set()
    assert await reindex == await again == 4  # each turn and its summary
    assert core.store.note.generation == 2
    assert steps[0] == (1, 1, "reading") and steps[-1] == (4, 4, "embedding")
    hits = await search(core, "zebra", include={"explain": True})
    assert [hit.id for hit in hits.results] == [old.id] and hits.results[0].explain.dense


async def test_word_search_answers_while_another_model_embeds_and_progress_is_reported(opens):
    core = await opens()
    for number in range(2 * MANY):
        await turn(core, f"s{number}", user=f"zebra {number} of the backlog")
    await embedded(core)
    encoder = GatedAnswering("other")
    core = await opens(lambda: encoder)
    assert "Run `scrubjay reindex`" in ((await search(core, "zebra")).degraded or "")
    said = []

    def look(done: int, total: int, what: str) -> None:
        if what == "reading":
            said.append(core.indexer.notice)

    reindex = asyncio.create_task(core.reindex.run(look))
    assert await asyncio.to_thread(encoder.reached.wait, 30)
    assert said and all("rebuilt" in notice and "model" in notice for notice in said)
    hits = await search(core, "zebra", top_k=100)
    assert len(hits.results) == 2 * MANY
    assert f"{4 * MANY:,} of {4 * MANY:,} passages are searched by words alone" in (hits.degraded or "")
    encoder.gate.set()
    await reindex
    hits = await search(core, "zebra", include={"explain": True})
    assert hits.degraded is None and all(hit.explain.dense for hit in hits.results)


async def test_a_running_core_receives_new_settings(core: Core):
    asked = "Which port does the API use?"
    answered = {"user": asked, "assistant": "The API uses port 8421."}
    await turn(core, "old", **answered, ts=str(core.clock() - timedelta(days=2)))
    await embedded(core)
    for inject, is_shown in (("prompt", True), ("session", False)):
        core.settings = dataclasses.replace(core.settings, inject=inject)
        text = await core.search.injection({"prompt": asked, "session_id": "new"}, SCOPE)
        assert ("8421" in text) == is_shown


async def test_a_question_that_breaks_the_model_does_not_disable_vectors_for_the_next(opens):
    class Fragile(HashingEncoder):
        def embed_query(self, text: str):
            if "poison" in text:
                raise ValueError("no such token")
            return super().embed_query(text)

    core = await opens(Fragile)
    await turn(core, "a", user="the zebra decision")
    await embedded(core)
    with pytest.raises(EncoderError, match="could not be embedded"):
        await search(core, "a poison question")
    hits = await search(core, "zebra decision")
    assert texts(hits) == ["the zebra decision"] and hits.degraded is None


async def test_a_new_turn_does_not_wait_for_a_backlog_of_embeddings(opens):
    encoder = Gated("backlog")
    core = await opens(lambda: encoder)
    lines = [f"This is line {number} of the backlog, and it is long enough. " * 15 for number in range(40)]
    await document(core, "\n\n".join(f"# Part {number}\n\n{line}" for number, line in enumerate(lines)))
    await asyncio.to_thread(encoder.reached.wait, 30)
    await turn(core, "a", user=" ".join(f"We settled on zebra {n} for the icon." for n in range(90)))
    await core.writer.settle()
    async with asyncio.timeout(30):
        while core.indexer._worker._jobs.empty():  # until the turn's passages have joined the queue
            core.indexer.wake()
            await asyncio.sleep(0.01)
    encoder.gate.set()
    await until(lambda: is_idle(core))
    zebras = [place for place, text in enumerate(encoder.said) if "zebra" in text]
    assert len(zebras) > 3 and zebras[0] <= 2 and zebras[-1] - zebras[0] == len(zebras) - 1


async def test_a_burst_of_short_turns_gets_its_vectors_at_once(opens, monkeypatch):
    """A session with vectors for only half of it gives wrong answers."""
    encoder = Gated("backlog")
    core = await opens(lambda: encoder)
    given: list[int] = []
    set_vectors = core.store.set_vectors

    async def counted(vectors, *rest):
        given.append(len(vectors))
        await set_vectors(vectors, *rest)

    monkeypatch.setattr(core.store, "set_vectors", counted)
    await turn(core, "a", user="A backlog of one.")
    await core.writer.settle()
    await asyncio.to_thread(encoder.reached.wait, 30)
    for number in range(6):
        await turn(core, "a", user=f"We settled on zebra {number} for the icon.")
    await core.writer.settle()
    encoder.gate.set()
    await embedded(core)
    assert 12 in given  # the whole burst at once, each turn with its summary


async def test_passages_deferred_during_a_pass_get_another_pass(opens, monkeypatch):
    core = await opens(missing)  # so that only the indexer below embeds
    said = " ".join(f"Line {number} of the long answer is about pelicans." for number in range(NEW * 25))
    written = await turn(core, "a", user="Tell me all of it.", assistant=said)
    await core.writer.settle()
    record = (await core.store.get(Turn, [written.id]))[written.id]
    passages = passages_of(record)
    assert len(passages) > NEW
    worker = EmbeddingWorker(HashingEncoder)
    indexer = Indexer(core.store, worker, late=lambda: False)
    encoder = await indexer.check_space()
    looks, goes_on = asyncio.Event(), asyncio.Event()
    look = core.store.passages.without_vectors
    waiting = [each.id for each in await look(10_000, NO_VECTOR)]

    async def slow_look(most: int, where: Where) -> list[Passage]:
        looks.set()
        await goes_on.wait()
        return await look(most, where)

    with monkeypatch.context() as slow:
        slow.setattr(core.store.passages, "without_vectors", slow_look)
        first = asyncio.create_task(indexer.embed_some(encoder, excluded=waiting))
        await asyncio.wait_for(looks.wait(), 30)
        for start in range(0, len(passages), NEW_OF_ONE):  # more than are embedded ahead
            indexer.expect(Change(record, passages[start : start + NEW_OF_ONE]))
        goes_on.set()
        assert await asyncio.wait_for(first, 30) == 0
    assert await indexer.embed_some(encoder) > 0
    worker.close()


class GatedAnswering(Gated):
    """Answers questions while a text of a backlog blocks it."""

    def __init__(self, salt: str = "") -> None:
        super().__init__("backlog", salt=salt, parallel=True)


async def test_a_passage_without_a_vector_is_still_found_by_its_words(opens):
    """The record already has a vector, of a passage without these words."""
    encoder = GatedAnswering()
    core = await opens(lambda: encoder)
    reeds = " ".join(f"The heron number {number} nests in the reeds." for number in range(30))
    await turn(core, "a", turn=0, user="Where do herons nest?", assistant=reeds)
    await embedded(core)
    more = f"{reeds}\n\n" + "A pelican came from the backlog of the zoo. " * 20
    await turn(core, "a", turn=0, user="Where do herons nest?", assistant=more)
    assert await asyncio.to_thread(encoder.reached.wait, 30)
    found = await search(core, "pelican")
    encoder.gate.set()
    assert [("pelican" in text, len(found.results)) for text in texts(found)] == [(True, 1)]


async def test_a_fact_without_a_vector_yet_stands_before_its_older_twins(opens):
    """On a busy machine a twin with the same numbers elsewhere came first, because it had its tokens."""
    encoder = GatedAnswering()
    # A model that reads questions in another way has to embed a new fact once more to store it.
    encoder.space = encoder.space.model_copy(update={"query_prompt": "query: "})
    core = await opens(lambda: encoder)
    for number in range(8):
        await fact(core, f"Ringed bird {number % 2}-{number % 4} was seen at weir {number}.")
    await embedded(core)
    await fact(core, "Ringed bird 2-2 was seen at weir 64 of the backlog.")
    assert await asyncio.to_thread(encoder.reached.wait, 30)
    found = await search(core, "ringed bird 2-2 weir 64")
    encoder.gate.set()
    assert "weir 64" in texts(found)[0]


async def test_a_search_reports_missing_vectors_once_they_matter(opens):
    encoder = GatedAnswering()
    core = await opens(lambda: encoder)
    await turn(core, "fresh", user="the zebra of the backlog")
    hits = await search(core, "zebra")
    assert len(hits.results) == 1 and hits.degraded is None  # a fresh turn is not a reason to doubt
    for number in range(MANY):
        await turn(core, f"s{number}", user=f"zebra {number} of the backlog")
    await core.writer.settle()
    waiting = await core.store.passages.count(NO_VECTOR)
    says = f"of {waiting:,} passages are searched by words alone until they have their vectors"
    hits = await search(core, "zebra")
    assert hits.results and says in (hits.degraded or "")
    everywhere = SearchDocuments(query="zebra", scope="*")
    assert (await core.search.documents(everywhere, "user")).degraded is None  # there are no documents
    assert (await search(core, "zebra", scope="user")).degraded is None  # and no turns of that scope
    core.indexer._speed = waiting / 30  # as measured by a batch
    assert ", about 30 s more." in ((await search(core, "zebra")).degraded or "")
    encoder.gate.set()
    await embedded(core)
    assert (await search(core, "zebra")).degraded is None


async def test_every_passage_of_a_burst_and_of_a_long_record_gets_its_vector(opens):
    core = await opens()
    lines = (f"Line {number} of the long answer is about pelicans." for number in range(NEW_OF_ONE * 30))
    await turn(core, "long", user="Tell me all of it.", assistant=" ".join(lines))
    for number in range(3 * NEW_OF_ONE):
        await turn(core, "a", user=f"We settled on zebra {number} for the icon. " * 30)
        if number % NEW_OF_ONE == 0:
            await core.store.flush()  # so that some are committed before they are embedded
    await core.writer.settle()
    core.indexer.wake()
    await until(lambda: is_idle(core))
    assert not await core.store.passages.without_vectors(1)


async def is_idle(core: Core) -> bool:
    return core.indexer.idle
