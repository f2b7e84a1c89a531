"""A real encoder of 64 dimensions for tests that need vectors and no model: a signed, hashed bag of word
stems. Knows only spelling: texts that share words are near, all others are about orthogonal.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from scrubjay.encoders.protocol import Space
from scrubjay.encoders.token_codes import EncodedQuery, EncodedTexts, is_content_token, signs

WIDTH = 64
_WORDS = re.compile(r"[^\W_]+")
_ENDINGS = ("ing", "ed", "es", "s")


@lru_cache(maxsize=10_000)
def _drawn(place: int, width: int) -> NDArray[np.float64]:
    return np.random.RandomState(place).standard_normal(width)


class HashingEncoder:
    """Feature hashing with signs (Weinberger et al. 2009); deterministic on every machine and in every
    process.

    `salt` moves all words to other places: two encoders with different salts are two models of equal width.
    """

    parallel = False

    def __init__(self, salt: str = "", width: int = WIDTH) -> None:
        self._salt, self._width = salt, width
        digest = hashlib.sha256(salt.encode()).hexdigest()
        self.space = Space(
            model="hashing", weights=digest, tokenizer=digest, dim=width, pooling="sum", max_seq_length=None
        )

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([self._vector(text) for text in texts], dtype=np.float32).reshape(
            len(texts), self._width
        )

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self._vector(text)

    def embed_passages(self, texts: Sequence[str]) -> EncodedTexts:
        return EncodedTexts(self.embed_documents(texts), tuple(self._codes(text).tobytes() for text in texts))

    def embed_question(self, text: str) -> EncodedQuery:
        codes = self._codes(text)
        return EncodedQuery(self.embed_query(text), codes if len(codes) else None)

    def places(self, text: str) -> list[tuple[int, int]]:
        return [word.span() for word in _WORDS.finditer(text) if is_content_token(word[0].lower())]

    def _codes(self, text: str) -> NDArray[np.uint64]:
        """A word's vector is drawn from its stem, so that like words have like signs and others differ in
        half of them.
        """
        places = [
            self._place(_stem(word))[0] for word in _WORDS.findall(text.lower()) if is_content_token(word)
        ]
        states = [_drawn(place, self._width) for place in places]
        return signs(np.array(states, np.float32).reshape(len(states), self._width).T)

    def _vector(self, text: str) -> NDArray[np.float32]:
        vector = np.zeros(self._width, dtype=np.float32)
        for word in _WORDS.findall(text.lower()):
            place, sign = self._place(_stem(word))
            vector[place] += sign
        if not vector.any():
            vector[0] = 1.0
        return vector / np.linalg.norm(vector)

    def _place(self, stem: str) -> tuple[int, float]:
        number = int.from_bytes(hashlib.blake2b((self._salt + stem).encode(), digest_size=8).digest(), "big")
        return number % self._width, 1.0 if number >> 63 else -1.0


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return word[: -len(ending)]
    return word


class Gated(HashingEncoder):
    """Records what it embeds, and blocks at a text with all of the `marks` until the test opens the gate."""

    def __init__(self, *marks: str, salt: str = "", parallel: bool = False) -> None:
        super().__init__(salt)
        self.parallel, self._marks = parallel, marks
        self.gate, self.reached, self.said = threading.Event(), threading.Event(), list[str]()

    def embed_passages(self, texts: Sequence[str]) -> EncodedTexts:
        if any(all(mark in text for mark in self._marks) for text in texts):
            self.reached.set()
            assert self.gate.wait(30)
        self.said += texts
        return super().embed_passages(texts)
