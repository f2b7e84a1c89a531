"""Runs one encoder in threads for an event loop: questions go first, and documents wait in small pieces.

A thread-safe encoder gets one thread per core for documents, at low priority, and one for questions. No
document's text is kept longer than a caller waits for its vector.
"""

import asyncio
import itertools
import logging
import os
import queue
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from operator import methodcaller
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from scrubjay.encoders.protocol import Encoder, TokenEncoder
from scrubjay.encoders.token_codes import EncodedQuery, EncodedTexts
from scrubjay.errors import EncoderError
from scrubjay.wire.cores import Cores, core_count

log = logging.getLogger("scrubjay.encoders")

State = Literal["cold", "loading", "ready", "failed"]
Vectors = NDArray[np.float32]
T = TypeVar("T")

_MAX_QUESTIONS = 256  # embedded questions that are cached
# The most characters of a piece of documents, after which a question may go first: 250 to 350 tokens.
_PIECE_CHARACTERS = 1_024
_PIECE_TEXTS = 32
_STEP_BACK_SECONDS = 0.25  # a piece waits at most so long, so that constant searches cannot stop documents
# The nice value of the threads for documents, which get a tenth of a core if there is other work. During a
# backlog, p50 / p95 of searches were 219 / 491 ms with 0, 116 / 226 ms with 10, 140 / 219 ms with 19; with
# nothing to embed, 109 / 225 ms. When pieces also waited for searches to end, searches were no faster, and
# documents were embedded at two thirds of the speed.
_NICE = 10
# The order in which threads take jobs; `_LEAVE` ends a thread.
_LEAVE, _QUESTION, _SOON, _DOCUMENTS = range(4)


class _Job(NamedTuple):
    run: Callable[[Any], Any]  # gets the encoder
    answer: asyncio.Future[Any]


# Jobs by urgency, then in the order of requests; None ends a thread.
_Jobs = queue.PriorityQueue[tuple[int, int, _Job | None]]


class EmbeddingWorker:
    """Owns the encoder that `open_model` returns, and its threads: one, or several for a parallel encoder.

    `cores` are shared between engines; a piece of documents takes one. All methods must be called on one
    event loop. If the load fails, every caller gets its error until `start` tries again. When a caller is
    cancelled, work that has not begun is dropped.
    """

    def __init__(self, open_model: Callable[[], Encoder], cores: Cores | None = None) -> None:
        self._open, self._cores = open_model, cores
        self.state: State = "cold"
        self.reason: str | None = None  # why the last load failed, as a sentence
        self._encoder: Encoder | None = None
        self._settled = asyncio.Event()
        self._jobs: _Jobs = queue.PriorityQueue()
        self._question_jobs: _Jobs = queue.PriorityQueue()  # used only with a parallel encoder
        self._steps_back = False  # True if threads for documents cannot have a lower priority
        self._answering = 0  # questions and searches that have not ended
        self._is_idle = threading.Event()
        self._is_idle.set()
        self._job_numbers = itertools.count()
        self._waiting: set[asyncio.Future[Any]] = set()
        self._questions: OrderedDict[str, EncodedQuery] = OrderedDict()
        self._closed = False

    def start(self) -> None:
        """Start loading the model in its thread, unless that has already begun; return at once."""
        if self._closed or self.state in ("loading", "ready"):
            return
        self.state, self.reason = "loading", None
        self._settled.clear()
        # A daemon thread, so that the process can exit while gigabytes are loaded.
        _thread("scrubjay-encoder", self._load_and_work, asyncio.get_running_loop())

    async def ready(self) -> Encoder:
        """Return the encoder once it has made its first vector, starting it if necessary.

        Raises:
            EncoderError: the load failed, or the worker was closed.
        """
        if self.state == "cold":
            self.start()
        if self.state == "loading":
            await self._settled.wait()
        if self._closed:
            raise EncoderError("The engine is closing: it embeds nothing any more. Repeat the call.")
        if self._encoder is None:
            raise EncoderError(self.reason or "The model is not loaded.")
        return self._encoder

    async def question(self, text: str) -> EncodedQuery:
        """Embed a question ahead of all waiting documents; with its tokens if the encoder has them.

        Raises:
            EncoderError: as `ready`, or the encoder failed on this text.
        """
        embedded = self._questions.get(text)
        if embedded is None:
            with self.foreground():
                encoder = await self.ready()
                embedded = await self._put(encoder, _QUESTION, lambda encoder: _embed_question(encoder, text))
            for array in (embedded.vector, embedded.tokens):
                if array is not None:
                    array.setflags(write=False)
            self._questions[text] = embedded
        self._questions.move_to_end(text)
        if len(self._questions) > _MAX_QUESTIONS:
            self._questions.popitem(last=False)
        return embedded

    @contextmanager
    def foreground(self) -> Iterator[None]:
        """Make documents wait in this context, if they have the same priority as questions."""
        self._answering += 1
        self._is_idle.clear()
        try:
            yield
        finally:
            self._answering -= 1
            if not self._answering:
                self._is_idle.set()

    async def documents(self, texts: Sequence[str], *, soon: bool = False) -> Vectors:
        """Embed stored texts in order, shape (len(texts), dim); `soon` puts them before other documents.

        Raises:
            EncoderError: as `ready`, or the encoder failed on one of the texts.
        """
        vectors = np.empty((len(texts), (await self.ready()).space.dim), np.float32)
        for piece, rows in await self._embed("embed_documents", texts, soon):
            vectors[piece] = rows
        return vectors

    async def passages(self, texts: Sequence[str], *, soon: bool = False) -> EncodedTexts:
        """Embed as `documents` does, and return the tokens' codes; the encoder must be a `TokenEncoder`.

        A fact that was just embedded as a question, to find similar facts, is not embedded again.
        """
        space = (await self.ready()).space
        known = self._questions if space.query_prompt == space.document_prompt else {}
        vectors, codes = np.empty((len(texts), space.dim), np.float32), [b""] * len(texts)
        missing = []  # indexes of the texts to embed
        for index, text in enumerate(texts):
            question = known.get(text)
            if question is None or question.tokens is None:
                missing.append(index)
            else:
                vectors[index], codes[index] = question.vector, question.tokens.tobytes()
        for piece, embedded in await self._embed("embed_passages", [texts[index] for index in missing], soon):
            for number, vector, code in zip(piece, embedded.vectors, embedded.codes, strict=True):
                vectors[missing[number]], codes[missing[number]] = vector, code
        return EncodedTexts(vectors, tuple(codes))

    async def _embed(self, method: str, texts: Sequence[str], soon: bool) -> list[tuple[list[int], Any]]:
        """Return each piece of the texts, as the indexes of its texts, with the result of the method."""
        encoder, urgency = await self.ready(), _SOON if soon else _DOCUMENTS
        pieces = list(_pieces(texts))
        answers = [
            self._put(encoder, urgency, methodcaller(method, [texts[index] for index in piece]))
            for piece in pieces
        ]
        try:
            return list(zip(pieces, await asyncio.gather(*answers), strict=True))
        finally:
            for answer in answers:
                answer.cancel()  # drop the pieces after a failed piece, or of a cancelled caller

    def close(self) -> None:
        """End the threads after their current pieces; callers that still wait get an EncoderError."""
        self._closed = True
        self._settled.set()
        for answer in list(self._waiting):
            _fail(answer, "The engine is closing: this text was not embedded. Repeat the call.")
        self._waiting.clear()
        self._is_idle.set()
        for jobs in (self._jobs, self._question_jobs):
            jobs.put((_LEAVE, next(self._job_numbers), None))

    def _put(self, encoder: Encoder, urgency: int, run: Callable[[Any], T]) -> asyncio.Future[T]:
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.add(answer)
        answer.add_done_callback(self._waiting.discard)
        jobs = self._question_jobs if urgency == _QUESTION and encoder.parallel else self._jobs
        jobs.put((urgency, next(self._job_numbers), _Job(run, answer)))
        return answer

    # The methods below run in the threads, except `_settle`, which runs on the event loop.

    def _load_and_work(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            try:
                encoder = self._open()
                # Runtimes load on their first text, so the model is ready after its first vector.
                encoder.embed_query("ready")
                if encoder.parallel:
                    self._start_threads(encoder, loop)
            except Exception as error:  # any error of a runtime becomes the reason
                loop.call_soon_threadsafe(
                    self._settle, None, _failure_message("The model could not be loaded", error)
                )
                return
            loop.call_soon_threadsafe(self._settle, encoder, None)
        except RuntimeError:
            log.debug("The event loop ended before the model was loaded.")
            return
        self._work(encoder, self._jobs, loop, self._spare_core if encoder.parallel else nullcontext)

    def _start_threads(self, encoder: Encoder, loop: asyncio.AbstractEventLoop) -> None:
        """Start the other threads of a parallel encoder: one for questions, the rest for documents."""
        _thread("scrubjay-questions", self._work, encoder, self._question_jobs, loop, nullcontext)
        self._steps_back = not _lower_priority()
        for number in range(1, core_count()):
            name = f"scrubjay-encoder-{number}"
            _thread(name, self._work, encoder, self._jobs, loop, self._spare_core)

    def _work(
        self,
        encoder: Encoder,
        jobs: _Jobs,
        loop: asyncio.AbstractEventLoop,
        permit: Callable[[], AbstractContextManager[None]],
    ) -> None:
        try:
            while (job := jobs.get()[2]) is not None:
                with permit():
                    if not job.answer.done():
                        self._serve(encoder, job, loop)
        except RuntimeError:
            # The event loop was closed, so no caller waits any more.
            log.debug("The event loop ended before an encoder's thread.")
        jobs.put((_LEAVE, next(self._job_numbers), None))  # so that the next thread of these jobs ends too

    @contextmanager
    def _spare_core(self) -> Iterator[None]:
        """Wait for a core that no other engine uses for documents, and if necessary for searches to end."""
        if self._steps_back:
            self._is_idle.wait(_STEP_BACK_SECONDS)
        with self._cores.one() if self._cores else nullcontext():
            yield

    def _serve(self, encoder: Encoder, job: _Job, loop: asyncio.AbstractEventLoop) -> None:
        try:
            result = job.run(encoder)
        except Exception as error:  # a text that breaks a runtime must not affect others
            loop.call_soon_threadsafe(
                _fail, job.answer, _failure_message("A text could not be embedded", error)
            )
        else:
            loop.call_soon_threadsafe(_answer, job.answer, result)

    def _settle(self, encoder: Encoder | None, reason: str | None) -> None:
        self._encoder, self.reason = encoder, reason
        self.state = "failed" if encoder is None else "ready"
        self._settled.set()


def _thread(name: str, run: Callable[..., None], *arguments: object) -> None:
    threading.Thread(target=run, args=arguments, name=name, daemon=True).start()


def _lower_priority() -> bool:
    """Give this thread, and those that it starts, a low priority; return False if the system cannot."""
    if sys.platform != "linux":
        return False
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
    return True


def _embed_question(encoder: Encoder, text: str) -> EncodedQuery:
    if isinstance(encoder, TokenEncoder):
        return encoder.embed_question(text)
    return EncodedQuery(encoder.embed_query(text))


def _pieces(texts: Sequence[str]) -> Iterator[list[int]]:
    """Yield the indexes of all texts in pieces, the shortest texts first.

    A question may go first after each piece. Texts of similar length are grouped, because
    sentence-transformers pads a batch to its longest text.
    """
    piece: list[int] = []
    characters = 0
    for index in sorted(range(len(texts)), key=lambda index: len(texts[index])):
        if piece and (len(piece) == _PIECE_TEXTS or characters + len(texts[index]) > _PIECE_CHARACTERS):
            yield piece
            piece, characters = [], 0
        piece.append(index)
        characters += len(texts[index])
    if piece:
        yield piece


def _failure_message(what: str, error: Exception) -> str:
    if isinstance(error, EncoderError):
        return str(error)
    log.error("%s.", what, exc_info=error)
    return f"{what}: {type(error).__name__}: {error}. See the engine's log."


def _answer(answer: asyncio.Future[T], result: T) -> None:
    if not answer.done():
        answer.set_result(result)


def _fail(answer: asyncio.Future[Any], reason: str) -> None:
    if not answer.done():
        answer.set_exception(EncoderError(reason))
