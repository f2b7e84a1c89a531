"""The whole way from a question to ranked candidates, each with its relevance."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scrubjay.dates import periods
from scrubjay.ranking import Floats, evidence, order, ranking_sum, relevance
from scrubjay.retrieval.candidates import Candidate, Candidates, lay_out
from scrubjay.retrieval.pools import both_legs
from scrubjay.retrieval.query import Question
from scrubjay.store.store import Store
from scrubjay.terms import content_words, mentioned, without

PROOF = 5  # candidates from the top whose own evidence says how good the best answer is
Embed = Callable[[str], Awaitable[NDArray[np.float32] | None]]  # a query's vector; None where meaning cannot be searched now


@dataclass(frozen=True)
class Ranked:
    """Candidates with their relevance in [0, 1], in the order of their ranking sum, best first."""

    rows: tuple[Candidate, ...]
    relevance: Floats


async def retrieve(store: Store, question: Question, embed: Embed) -> Ranked:
    """Rank what may answer the question. Staged writes are committed first, so that everything acknowledged is seen."""
    await store.flush()
    speakers = await store.speakers(question.scopes)
    names = speakers | _projects(question.scopes)
    # A name that every turn carries dominates a small model's sentence vector: dense alone 46 -> 67 % on LoCoMo without it.
    pools = await both_legs(store, question, embed(without(question.text, names)))
    keys = [(row.scope, row.session_id) for row in pools.found.values() if row.src == "turn" and row.session_id is not None]
    named = mentioned(question.text, speakers)
    candidates = lay_out(
        pools,
        await store.sessions.places(keys),
        query=question.text,
        periods=periods(question.text, question.now),
        speaker=named[0] if len(named) == 1 else None,
        with_neighbours=not question.filtered,
    )
    return _ranked(candidates, question.text)


def _ranked(candidates: Candidates, query: str) -> Ranked:
    if not candidates.rows:
        return Ranked((), np.zeros(0))
    signals = candidates.signals
    total = ranking_sum(signals)
    positions = order(total)
    top = [at for at in positions[:PROOF] if candidates.rows[at].found is not None]
    texts = [f"{candidates.rows[at].role or ''} {candidates.rows[at].found.text}" for at in top]  # type: ignore[union-attr]
    proof = evidence(signals.cosine[top], np.array([coverage(query, text) for text in texts], dtype=float))
    values = relevance(total, float(proof.max(initial=0.0)), quoted=signals.quoted)
    return Ranked(tuple(candidates.rows[at] for at in positions), values[positions])


def coverage(query: str, text: str) -> float:
    """The share of the query's content words that the text holds, in [0, 1]."""
    wanted = {_stem(word) for word in content_words(query)}
    return len(wanted & {_stem(word) for word in content_words(text)}) / len(wanted) if wanted else 0.0


def _stem(word: str) -> str:
    """A word without its commonest English endings: enough to count coverage, too coarse to search with."""
    for ending in ("ings", "ing", "ies", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _projects(scopes: tuple[str, ...] | None) -> frozenset[str]:
    """The projects' own names, out of `repo_<name>__<hash>`."""
    return frozenset(scope[5:].rpartition("__")[0] for scope in scopes or () if scope.startswith("repo_") and "__" in scope)
