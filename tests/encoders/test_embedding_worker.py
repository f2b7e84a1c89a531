"""The embedding worker: one thread or several, questions first; failed loads and cancelled callers."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator, Callable, Sequence

import numpy as np
import pytest
from hashing_encoder import HashingEncoder
from hypothesis import given, settings
from hypothesis import strategies as st

from scrubjay.encoders import EmbeddingWorker, Encoder
from scrubjay.encoders.token_codes import EncodedTexts
from scrubjay.errors import EncoderError
from scrubjay.wire.cores import Cores

PATIENCE = 10  # seconds; far beyond anything that happens here


class GatedEncoder(HashingEncoder):
    """Waits at a gate before each call with documents, and records its texts and threads."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Semaphore(0)
        self.at_gate = threading.Semaphore(0)
        self.seen: list[str] = []
        self.threads: set[int] = set()

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        self.threads.add(threading.get_ident())
        self.at_gate.release()
        assert self.gate.acquire(timeout=PATIENCE)
        self.seen += [text[:6] for text in texts]
        return super().embed_documents(texts)

    def embed_query(self, text: str) -> np.ndarray:
        self.threads.add(threading.get_ident())
        self.seen.append(text)
        if text == "break":
            raise ZeroDivisionError("a runtime's own trouble")
        return super().embed_query(text)

    async def reached(self) -> None:
        """Wait until the thread is at the gate."""
        assert await asyncio.to_thread(self.at_gate.acquire, timeout=PATIENCE)


class Slow:
    """A model that opens once its gate is set."""

    def __init__(self) -> None:
        self.gate, self.threads = threading.Event(), list[threading.Thread]()

    def __call__(self) -> Encoder:
        self.threads.append(threading.current_thread())
        assert self.gate.wait(PATIENCE)
        return HashingEncoder()


@pytest.fixture
async def make() -> AsyncIterator[Callable[[Callable[[], Encoder]], EmbeddingWorker]]:
    workers: list[EmbeddingWorker] = []

    def worker(open: Callable[[], Encoder]) -> EmbeddingWorker:
        workers.append(EmbeddingWorker(open))
        return workers[-1]

    yield worker
    for one in workers:
        one.close()


async def test_vectors_are_the_encoders_in_the_order_of_the_texts(make) -> None:
    worker, encoder = make(HashingEncoder), HashingEncoder()
    texts = [f"text {number} " * (number * 37 % 90 + 1) for number in range(100)]
    assert np.array_equal(await worker.documents(texts), encoder.embed_documents(texts))
    assert np.array_equal((await worker.question("which text?")).vector, encoder.embed_query("which text?"))
    assert (await worker.documents([])).shape == (0, 64)


async def test_the_model_loads_in_a_thread_while_the_event_loop_runs(make) -> None:
    opened = Slow()
    worker = make(opened)
    assert worker.state == "cold"
    worker.start()
    worker.start()
    assert worker.state == "loading"
    waiting = asyncio.create_task(worker.question("a question"))
    await asyncio.sleep(0)
    assert not waiting.done()
    opened.gate.set()
    assert (await asyncio.wait_for(waiting, PATIENCE)).vector.shape == (64,)
    assert (worker.state, worker.reason) == ("ready", None)
    assert isinstance(await worker.ready(), HashingEncoder)
    (thread,) = opened.threads
    assert thread is not threading.main_thread()


async def test_a_failed_load_is_reported_to_every_caller_and_can_be_retried(make) -> None:
    outcomes = iter([EncoderError("The model x is not on this disk."), MemoryError("out of it"), None])

    def open_at_last() -> Encoder:
        if (outcome := next(outcomes)) is not None:
            raise outcome
        return HashingEncoder()

    worker = make(open_at_last)
    worker.start()
    told = await asyncio.gather(
        worker.ready(), worker.question("q"), worker.documents(["d"]), return_exceptions=True
    )
    assert [(type(error), str(error)) for error in told] == [
        (EncoderError, "The model x is not on this disk.")
    ] * 3
    assert (worker.state, worker.reason) == ("failed", "The model x is not on this disk.")
    with pytest.raises(EncoderError, match="not on this disk"):
        await worker.question("it does not try again by itself")
    worker.start()
    with pytest.raises(EncoderError, match="could not be loaded: MemoryError: out of it"):
        await worker.ready()
    worker.start()
    assert (await worker.question("q")).vector.shape == (64,)
    assert (worker.state, worker.reason) == ("ready", None)


async def test_a_question_waits_for_at_most_one_batch_of_documents(make) -> None:
    encoder = GatedEncoder()
    worker = make(lambda: encoder)
    documents = asyncio.create_task(worker.documents([f"doc {number} " + "x" * 2000 for number in range(4)]))
    await encoder.reached()
    question = asyncio.create_task(worker.question("first?"))
    await asyncio.sleep(0)
    encoder.gate.release()
    await asyncio.wait_for(question, PATIENCE)
    assert encoder.seen == ["ready", "doc 0 ", "first?"]
    encoder.gate.release(3)
    assert (await asyncio.wait_for(documents, PATIENCE)).shape == (4, 64)
    assert len(encoder.threads) == 1


async def test_a_question_does_not_wait_where_the_encoder_supports_two_threads(make) -> None:
    encoder = GatedEncoder()
    encoder.parallel = True
    worker = make(lambda: encoder)
    documents = asyncio.create_task(worker.documents(["doc 0 "]))
    await encoder.reached()
    busy = set(encoder.threads)
    await asyncio.wait_for(worker.question("first?"), PATIENCE)
    assert encoder.seen == ["ready", "first?"] and len(encoder.threads - busy) == 1
    encoder.gate.release()
    assert (await asyncio.wait_for(documents, PATIENCE)).shape == (1, 64)


async def test_a_cancelled_caller_leaves_no_work_behind(make) -> None:
    encoder = GatedEncoder()
    worker = make(lambda: encoder)
    begun = asyncio.create_task(worker.documents(["begun " + "x" * 3000, "never " + "x" * 3001]))
    await encoder.reached()
    waiting = asyncio.create_task(worker.documents(["waits " + "x" * 3000]))
    await asyncio.sleep(0)
    for task in (begun, waiting):
        task.cancel()
    ends = await asyncio.gather(begun, waiting, return_exceptions=True)
    assert [type(end) for end in ends] == [asyncio.CancelledError] * 2
    encoder.gate.release(9)
    await asyncio.wait_for(worker.question("after"), PATIENCE)
    assert (await asyncio.wait_for(worker.documents(["new"]), PATIENCE)).shape == (1, 64)
    assert encoder.seen == ["ready", "begun ", "after", "new"]


async def test_a_caller_that_gives_up_while_the_model_loads_does_not_stop_the_load(make) -> None:
    opened = Slow()
    worker = make(opened)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(worker.question("too late"), 0.01)
    opened.gate.set()
    assert (await asyncio.wait_for(worker.question("in time"), PATIENCE)).vector.shape == (64,)


async def test_a_question_is_embedded_once_and_its_vector_cannot_be_changed(make) -> None:
    encoder = GatedEncoder()
    worker = make(lambda: encoder)
    first, second = await worker.question("same"), await worker.question("same")
    assert first is second
    assert encoder.seen == ["ready", "same"]
    with pytest.raises(ValueError, match="read-only"):
        first.vector[0] = 1


async def test_only_the_256_latest_questions_are_kept(make) -> None:
    encoder = GatedEncoder()
    worker = make(lambda: encoder)
    for number in range(256):
        await worker.question(f"q{number}")
    await worker.question("q0")
    await worker.question("one more")
    encoder.seen.clear()
    for text in ("q0", "q2", "q1"):
        await worker.question(text)
    assert encoder.seen == ["q1"]


async def test_a_text_that_breaks_the_encoder_fails_alone(make) -> None:
    worker = make(GatedEncoder)
    with pytest.raises(EncoderError, match="A text could not be embedded: ZeroDivisionError"):
        await worker.question("break")
    assert (await worker.question("sound")).vector.shape == (64,)


async def test_closing_ends_the_thread_and_fails_waiting_calls(make) -> None:
    encoder = GatedEncoder()
    worker = make(lambda: encoder)
    waiting = asyncio.create_task(worker.documents(["text"]))
    await encoder.reached()
    (thread,) = (thread for thread in threading.enumerate() if thread.ident in encoder.threads)
    worker.close()
    with pytest.raises(EncoderError, match="closing"):
        await asyncio.wait_for(waiting, PATIENCE)
    encoder.gate.release(9)
    await asyncio.to_thread(thread.join, PATIENCE)
    assert not thread.is_alive()
    for call in (worker.ready(), worker.question("late"), worker.documents(["late"])):
        with pytest.raises(EncoderError, match="closing"):
            await call


async def test_closing_while_the_model_loads_does_not_wait_for_it(make) -> None:
    opened = Slow()
    worker = make(opened)
    waiting = asyncio.create_task(worker.ready())
    await asyncio.sleep(0)
    worker.close()
    with pytest.raises(EncoderError, match="closing"):
        await asyncio.wait_for(waiting, PATIENCE)
    opened.gate.set()


def sharing(encoder: Encoder) -> Encoder:
    """The same encoder, safe for any number of threads."""
    encoder.parallel = True
    return encoder


@settings(max_examples=25)
@given(lengths=st.lists(st.integers(1, 1_200), max_size=9), soon=st.booleans())
async def test_every_text_gets_its_own_vector_whichever_thread_finishes_first(lengths, soon) -> None:
    encoder = sharing(HashingEncoder())
    texts = [f"text{number} " + "x" * length for number, length in enumerate(lengths)]
    worker = EmbeddingWorker(lambda: encoder)
    try:
        embedded = await worker.passages(texts, soon=soon)
    finally:
        worker.close()
    assert np.array_equal(embedded.vectors, encoder.embed_documents(texts))
    assert embedded.codes == encoder.embed_passages(texts).codes


async def test_documents_yield_for_a_moment_where_the_system_has_no_priorities(make, monkeypatch) -> None:
    monkeypatch.setattr("scrubjay.encoders.worker._lower_priority", lambda: False)
    encoder = sharing(GatedEncoder())
    encoder.gate.release(9)
    worker = make(lambda: encoder)
    await worker.ready()
    with worker.foreground():
        documents = asyncio.create_task(worker.documents(["doc 0 "]))
        await worker.question("first?")
        assert encoder.seen == ["ready", "first?"]
        assert (await asyncio.wait_for(documents, PATIENCE)).shape == (1, 64)  # endless searches starve none


@pytest.mark.skipif(sys.platform != "linux", reason="threads have a priority of their own on Linux")
async def test_everything_else_takes_precedence_over_documents(make) -> None:
    class Noting(HashingEncoder):
        parallel, nice = True, dict[str, int]()

        def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
            self.nice["documents"] = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
            return super().embed_documents(texts)

        def embed_query(self, text: str) -> np.ndarray:
            self.nice["question"] = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
            return super().embed_query(text)

    encoder = Noting()
    worker = make(lambda: encoder)
    await asyncio.gather(worker.documents(["a document"]), worker.question("a question"))
    assert encoder.nice["documents"] > encoder.nice["question"]


async def test_two_engines_share_the_cores_of_one_machine(tmp_path) -> None:
    encoder = sharing(GatedEncoder())
    one, other = (EmbeddingWorker(lambda: encoder, Cores(str(tmp_path), 1)) for _ in range(2))
    long = "x" * 1_000
    tasks = [
        asyncio.create_task(worker.documents([f"{name} {number} {long}" for number in range(3)]))
        for name, worker in (("one", one), ("two", other))
    ]
    try:
        for _ in range(6):
            await encoder.reached()
            assert not encoder.at_gate.acquire(blocking=False), "two pieces at once on one core"
            encoder.gate.release()
        await asyncio.wait_for(asyncio.gather(*tasks), PATIENCE)
    finally:
        one.close()
        other.close()
    assert sorted(text[:3] for text in encoder.seen[2:]) == ["one"] * 3 + ["two"] * 3


async def test_a_text_that_breaks_the_encoder_cancels_its_callers_other_texts(make) -> None:
    class Breaking(GatedEncoder):
        def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
            rows = super().embed_documents(texts)
            if texts[0].startswith("breaks"):
                raise ZeroDivisionError
            return rows

    encoder = Breaking()
    encoder.gate.release()
    worker = make(lambda: encoder)
    with pytest.raises(EncoderError):
        await worker.documents(["breaks", *(f"after {number} " + "x" * 2_000 for number in range(3))])
    encoder.gate.release(9)
    await worker.documents(["next"])
    assert [text for text in encoder.seen if text != "after "] == ["ready", "breaks", "next"]
    assert encoder.seen.count("after ") <= 1, "at most the piece that had begun"


class CountingEncoder(HashingEncoder):
    """Records the stored texts that it embeds."""

    def __init__(self, query_prompt: str = "") -> None:
        super().__init__()
        self.space = self.space.model_copy(update={"query_prompt": query_prompt})
        self.embedded: list[str] = []

    def embed_passages(self, texts: Sequence[str]) -> EncodedTexts:
        self.embedded += texts
        return super().embed_passages(texts)


async def test_a_text_that_was_embedded_as_a_question_is_not_embedded_again(make) -> None:
    encoder, texts = CountingEncoder(), ["Another one.", "The port is 8421.", "A third one."]
    worker = make(lambda: encoder)
    await worker.question(texts[1])
    embedded, expected = await worker.passages(texts), HashingEncoder().embed_passages(texts)
    assert sorted(encoder.embedded) == ["A third one.", "Another one."]
    assert np.array_equal(embedded.vectors, expected.vectors) and embedded.codes == expected.codes


async def test_a_model_with_a_prompt_for_questions_embeds_a_text_again_to_store_it(make) -> None:
    encoder = CountingEncoder(query_prompt="query: ")
    worker = make(lambda: encoder)
    await worker.question("The port is 8421.")
    await worker.passages(["The port is 8421."])
    assert encoder.embedded == ["The port is 8421."]
