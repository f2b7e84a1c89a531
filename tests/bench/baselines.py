"""Baselines: what simpler systems would return, by chance, words, meaning, and both by rank. Knows rankings
over one haystack; the real system is not in here, except that the vectors are those of its bundled model and
the stop words are its own.

random   a shuffle that is the same in every run
bm25     BM25, k1 0.9 and b 0.4 (Anserini's defaults), Porter's stems
dense    cosine of the question and the turn
rrf      reciprocal-rank fusion of the two, k = 60 (Cormack, Clarke and Buettcher, SIGIR 2009)
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from locomo import Question, Turn
from metrics import Found, filling
from numpy.typing import NDArray
from porter import stem

from scrubjay.encoders import open_encoder
from scrubjay.text.terms import content_words

Floats = NDArray[np.float64]

NAMES = ("random", "bm25", "dense", "rrf")
K1, B = 0.9, 0.4
RRF_K = 60


def text_of(turn: Turn) -> str:
    """The indexed text of a turn, with the speaker's name, as in the real system."""
    return f"{turn.role}: {turn.text}"


def tokens_of(turn: Turn) -> int:
    """The tokens of the bare text of a turn, ceil(characters / 4)."""
    return math.ceil(len(turn.text) / 4)


class Vectors:
    """Unit vectors of texts by the bundled model, each made once."""

    def __init__(self) -> None:
        self._encoder = open_encoder()
        self._known: dict[str, NDArray[np.float32]] = {}

    def of(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Shape (len(texts), dim)."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known.update(zip(new, self._encoder.embed_documents(new), strict=True))
        return np.stack([self._known[text] for text in texts])


class Bm25:
    """BM25 with idf = ln(1 + (N - n + 0.5) / (n + 0.5)) over texts that are cut into stems."""

    def __init__(self, texts: Sequence[str]) -> None:
        documents = [Counter(_stems(text)) for text in texts]
        lengths = np.array([words.total() for words in documents], dtype=float)
        self._norm = K1 * (1 - B + B * lengths / max(lengths.mean(), 1e-9))
        at: dict[str, list[int]] = defaultdict(list)
        for number, words in enumerate(documents):
            for word in words:
                at[word].append(number)
        self._postings = {
            word: (np.array(where), np.array([documents[n][word] for n in where], float))
            for word, where in at.items()
        }

    def __call__(self, query: str) -> Floats:
        """A score per text, 0 if no word is shared."""
        scores = np.zeros(len(self._norm))
        for word, times in Counter(_stems(query)).items():
            if word in self._postings:
                where, often = self._postings[word]
                idf = math.log1p((len(scores) - len(where) + 0.5) / (len(where) + 0.5))
                scores[where] += times * idf * often * (K1 + 1) / (often + self._norm[where])
        return scores


class Index:
    """One haystack as each of the baselines sees it."""

    def __init__(self, turns: Sequence[Turn], vectors: Vectors) -> None:
        texts = [text_of(turn) for turn in turns]
        self._turns = turns
        self._vectors = vectors
        self._matrix = vectors.of(texts)
        self._bm25 = Bm25(texts)

    def rankings(self, question: Question) -> dict[str, NDArray[np.int64]]:
        """Every baseline's order of all turns, best first, as positions; equal scores keep the order
        of time.
        """
        words, cosine = self._bm25(question.text), self._matrix @ self._vectors.of([question.text])[0]
        chance = np.random.default_rng((question.conversation, question.number)).random(len(self._turns))
        scores = (chance, words, cosine, _reciprocal(words) + _reciprocal(cosine))
        return {name: np.argsort(-each, kind="stable") for name, each in zip(NAMES, scores, strict=True)}

    def found(self, ranking: NDArray[np.int64], arguments: Mapping[str, int]) -> Found:
        """The turns that a search with these arguments would have returned, had it ranked so."""
        if (budget := arguments.get("text_tokens")) is not None:
            costs = [tokens_of(self._turns[position]) for position in ranking.tolist()]
            return self._answer([int(ranking[at]) for at in filling(costs, budget)], [])
        hits = ranking[: arguments["top_k"]].tolist()
        before, after = arguments.get("prev_turns", 0), arguments.get("next_turns", 0)
        around = {
            near
            for hit in hits
            for near in range(hit - before, hit + after + 1)
            if self._same_session(hit, near)
        }
        return self._answer(hits, sorted(around.difference(hits)))

    def _same_session(self, one: int, other: int) -> bool:
        return 0 <= other < len(self._turns) and self._turns[one].session == self._turns[other].session

    def _answer(self, hits: Sequence[int], neighbours: Sequence[int]) -> Found:
        tokens = sum(tokens_of(self._turns[position]) for position in (*hits, *neighbours))
        return Found(
            [self._turns[position].key for position in hits],
            [self._turns[position].key for position in neighbours],
            tokens,
        )


def _stems(text: str) -> list[str]:
    return [stem(word) for word in content_words(text)]


def _reciprocal(scores: Floats) -> Floats:
    """1 / (k + rank) of what a retriever found; 0 for what it did not."""
    ranks = np.empty(len(scores))
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return np.where(scores > 0, 1 / (RRF_K + ranks), 0.0)
