"""One encoder in one thread, for callers on an event loop: questions go ahead, documents wait in small pieces.
Knows threads, queues and states; does not know models, and keeps no text longer than its vector is awaited."""

from __future__ import annotations

import asyncio
import itertools
import logging
import queue
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from scrubjay.encoders.protocol import Encoder, TokenEncoder
from scrubjay.encoders.token_codes import Asked, Embedded
from scrubjay.errors import EncoderError

log = logging.getLogger("scrubjay.encoders")

State = Literal["cold", "loading", "ready", "failed"]
Vectors = NDArray[np.float32]
T = TypeVar("T")

_QUESTIONS_KEPT = 256
# Where there is one thread, a question waits for one piece at most. 1,024 characters are 250 to 350 tokens, some 0.09 s of the
# bundled model on one core; pieces of twice that size gain 5 % of bulk speed, of four times 8 %.
_PIECE_CHARACTERS = 1_024
_PIECE_TEXTS = 32
_LEAVE, _QUESTION, _DOCUMENTS = range(3)  # in this order a thread takes work


@dataclass(frozen=True)
class _Job(Generic[T]):
    run: Callable[[Encoder], T]
    answer: asyncio.Future[T]


class _Jobs(queue.PriorityQueue[tuple[int, int, _Job[Any] | None]]):
    """By urgency, then in the order of asking."""


class EmbeddingWorker:
    """Owns the encoder that `open` returns and the threads that call it: one, or a second one for questions where the encoder bears it.

    All methods belong to one event loop. A failed load is kept as a reason and raised to whoever asks; `start` tries
    again. A caller that is cancelled leaves nothing behind: work that has not begun is dropped.
    """

    def __init__(self, open: Callable[[], Encoder]) -> None:
        self._open = open
        self._state: State = "cold"
        self._reason: str | None = None
        self._encoder: Encoder | None = None
        self._settled = asyncio.Event()
        self._jobs, self._asked = _Jobs(), _Jobs()  # the second is used by an encoder that bears two threads
        self._numbers = itertools.count()
        self._waiting: set[asyncio.Future[Any]] = set()
        self._questions: OrderedDict[str, Asked] = OrderedDict()
        self._closed = False

    @property
    def state(self) -> State:
        return self._state

    @property
    def reason(self) -> str | None:
        """Why the last load failed, as a sentence; None in any other state."""
        return self._reason

    def start(self) -> None:
        """Begin to load in the thread, unless that is done or under way; returns at once."""
        if self._closed or self._state in ("loading", "ready"):
            return
        self._state, self._reason = "loading", None
        self._settled.clear()
        # A daemon, so that a process that ends does not wait for a model of gigabytes to finish loading.
        threading.Thread(
            target=self._live, args=(asyncio.get_running_loop(),), name="scrubjay-encoder", daemon=True
        ).start()

    async def ready(self) -> Encoder:
        """The encoder, as soon as it has made its first vector; starts it when nobody has.

        Raises:
            EncoderError: the load failed, or the worker was closed.
        """
        if self._state == "cold":
            self.start()
        if self._state == "loading":
            await self._settled.wait()
        if self._closed:
            raise EncoderError("The engine is closing: nothing is embedded any more. Repeat the call.")
        if self._encoder is None:
            raise EncoderError(self._reason or "The model is not loaded.")
        return self._encoder

    async def query(self, text: str) -> Vectors:
        """The vector of a question, read-only, shape (dim,); goes ahead of all waiting documents.

        Raises:
            EncoderError: as `ready`, or the encoder failed on this text.
        """
        return (await self.question(text)).vector

    async def question(self, text: str) -> Asked:
        """As `query`, with the question's tokens where the encoder knows them."""
        known = self._questions.get(text)
        if known is None:
            known = await self._ask(_QUESTION, lambda encoder: _asked(encoder, text))
            for array in known:
                if array is not None:
                    array.setflags(write=False)
            self._questions[text] = known
        self._questions.move_to_end(text)
        if len(self._questions) > _QUESTIONS_KEPT:
            self._questions.popitem(last=False)
        return known

    async def documents(self, texts: Sequence[str], *, soon: bool = False) -> Vectors:
        """The vectors of stored texts, shape (len(texts), dim), in their order; with `soon`, ahead of those that wait without.

        Raises:
            EncoderError: as `ready`, or the encoder failed on one of the texts.
        """
        vectors = np.empty((len(texts), (await self.ready()).space.dim), np.float32)
        async for piece, made in self._made(_vectors, texts, soon):
            vectors[piece] = made
        return vectors

    async def passages(self, texts: Sequence[str], *, soon: bool = False) -> Embedded:
        """As `documents`, with the codes of their tokens; the encoder must be a `TokenEncoder`."""
        vectors = np.empty((len(texts), (await self.ready()).space.dim), np.float32)
        codes = [b""] * len(texts)
        async for piece, made in self._made(_embedded, texts, soon):
            vectors[piece] = made.vectors
            for place, code in zip(piece, made.codes, strict=True):
                codes[place] = code
        return Embedded(vectors, tuple(codes))

    async def _made(
        self, embed: Callable[[Any, Sequence[str]], T], texts: Sequence[str], soon: bool
    ) -> AsyncIterator[tuple[list[int], T]]:
        """What is made of each piece of the texts, with the places of these.

        One piece is asked for after another; `soon`, all at once, because whatever else waits would slip in between.
        """
        asked = (
            (piece, self._ask(_DOCUMENTS, _on([texts[place] for place in piece], embed)))
            for piece in _pieces(texts)
        )
        if soon:
            pieces, asking = zip(*asked, strict=True) if texts else ((), ())
            for piece, made in zip(pieces, await asyncio.gather(*asking), strict=True):
                yield piece, made
        else:
            for piece, answer in asked:
                yield piece, await answer

    def close(self) -> None:
        """Let the thread go after the piece in hand; whoever still waits gets an EncoderError."""
        self._closed = True
        self._settled.set()
        for answer in list(self._waiting):
            _fail(answer, "The engine is closing: this text was not embedded. Repeat the call.")
        self._waiting.clear()
        for jobs in (self._jobs, self._asked):
            jobs.put((_LEAVE, next(self._numbers), None))

    async def _ask(self, urgency: int, run: Callable[[Any], T]) -> T:
        encoder = await self.ready()
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.add(answer)
        answer.add_done_callback(self._waiting.discard)
        jobs = self._asked if urgency == _QUESTION and encoder.parallel else self._jobs
        jobs.put((urgency, next(self._numbers), _Job(run, answer)))
        return await answer

    # What follows runs in the threads, except for the callbacks that it sends to the loop.

    def _live(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            try:
                encoder = self._open()
                # Runtimes load on their first text; a model is ready when it has answered.
                encoder.embed_query("ready")
                parallel = encoder.parallel
            except Exception as error:  # the edge of the thread: whatever a runtime raises becomes the reason
                loop.call_soon_threadsafe(
                    self._settle, None, _sentence("The model could not be loaded", error)
                )
                return
            loop.call_soon_threadsafe(self._settle, encoder, None)
        except RuntimeError:
            log.debug("The event loop ended before the model was loaded.")
            return
        if parallel:
            threading.Thread(
                target=self._work, args=(encoder, self._asked, loop), name="scrubjay-questions", daemon=True
            ).start()
        self._work(encoder, self._jobs, loop)

    def _work(self, encoder: Encoder, jobs: _Jobs, loop: asyncio.AbstractEventLoop) -> None:
        try:
            while (job := jobs.get()[2]) is not None:
                self._serve(encoder, job, loop)
        except RuntimeError:
            # The loop was closed under us, which ends its callers too.
            log.debug("The event loop ended before an encoder's thread.")

    def _serve(self, encoder: Encoder, job: _Job[Any], loop: asyncio.AbstractEventLoop) -> None:
        if job.answer.done():
            return
        try:
            made = job.run(encoder)
        except (
            Exception
        ) as error:  # the edge of the thread: one text that breaks a runtime must not end the others
            loop.call_soon_threadsafe(_fail, job.answer, _sentence("A text could not be embedded", error))
        else:
            loop.call_soon_threadsafe(_answer, job.answer, made)

    def _settle(self, encoder: Encoder | None, reason: str | None) -> None:
        self._encoder, self._reason = encoder, reason
        self._state = "failed" if encoder is None else "ready"
        self._settled.set()


def _on(batch: Sequence[str], embed: Callable[[Any, Sequence[str]], T]) -> Callable[[Any], T]:
    return lambda encoder: embed(encoder, batch)


def _asked(encoder: Encoder, text: str) -> Asked:
    return (
        encoder.embed_question(text)
        if isinstance(encoder, TokenEncoder)
        else Asked(encoder.embed_query(text))
    )


def _vectors(encoder: Encoder, batch: Sequence[str]) -> Vectors:
    return encoder.embed_documents(batch)


def _embedded(encoder: TokenEncoder, batch: Sequence[str]) -> Embedded:
    return encoder.embed_passages(batch)


def _pieces(texts: Sequence[str]) -> Iterator[list[int]]:
    """The places of all texts, shortest first, cut where a question may go ahead.

    Like lengths come together, because sentence-transformers pads a batch to its longest text.
    """
    piece: list[int] = []
    characters = 0
    for place in sorted(range(len(texts)), key=lambda place: len(texts[place])):
        if piece and (len(piece) == _PIECE_TEXTS or characters + len(texts[place]) > _PIECE_CHARACTERS):
            yield piece
            piece, characters = [], 0
        piece.append(place)
        characters += len(texts[place])
    if piece:
        yield piece


def _sentence(what: str, error: Exception) -> str:
    if isinstance(error, EncoderError):
        return str(error)
    log.error("%s.", what, exc_info=error)
    return f"{what}: {type(error).__name__}: {error}. See the engine's log."


def _answer(answer: asyncio.Future[T], made: T) -> None:
    if not answer.done():
        answer.set_result(made)


def _fail(answer: asyncio.Future[Any], reason: str) -> None:
    if not answer.done():
        answer.set_exception(EncoderError(reason))
