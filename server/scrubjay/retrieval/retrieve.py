"""The whole way from a question to ranked candidates, each with its relevance."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import numpy as np

from scrubjay.dates import periods
from scrubjay.encoders.token_codes import Asked
from scrubjay.ranking import Floats, Ints, Signals, order, parts
from scrubjay.relevance import PROOF, chance, coverage, evidence, relevance
from scrubjay.retrieval.candidates import Candidate, Candidates, lay_out
from scrubjay.retrieval.close import look_closely
from scrubjay.retrieval.pools import both_legs
from scrubjay.retrieval.query import Question
from scrubjay.store.store import Store
from scrubjay.terms import mentioned, without

Embed = Callable[[str], Awaitable[Asked | None]]  # a query's vector and tokens; None where meaning cannot be searched now


@dataclass(frozen=True)
class Grounds:
    """What relevance was made of. Columns stand in the order of the candidates; `positions` lists the ranked in these columns."""

    positions: Ints
    signals: Signals
    parts: dict[str, Floats]  # of the ranking sum
    total: Floats  # their sum
    evidence: float  # of the best among the first
    chance: float


@dataclass(frozen=True)
class Ranked:
    """Candidates with their relevance in [0, 1], in the order of their ranking sum, best first."""

    rows: tuple[Candidate, ...]
    relevance: Floats
    grounds: Grounds


async def retrieve(store: Store, question: Question, embed: Embed) -> Ranked:
    """Rank what may answer the question. Staged writes are committed first, so that everything acknowledged is seen."""
    await store.flush()
    speakers = await store.names.speakers(question.scopes)
    names = speakers | _projects(question.scopes)
    # A name that every turn carries dominates a small model's sentence vector: dense alone 46 -> 67 % on LoCoMo without it.
    asking = asyncio.ensure_future(embed(without(question.text, names)))
    pools = await both_legs(store, question, asking)
    keys = [(row.scope, row.session_id) for row in pools.found.values() if row.src == "turn" and row.session_id is not None]
    named = mentioned(question.text, speakers)
    candidates = lay_out(
        pools,
        {key: question.in_sight(session) for key, session in (await store.sessions.of(keys)).items()},
        query=question.text,
        periods=periods(question.text, question.now),
        speaker=named[0] if len(named) == 1 else None,
        with_neighbours=not question.filtered,
    )
    asked = await asking
    if asked is not None and asked.tokens is not None:
        candidates = await look_closely(store, candidates, asked.tokens)
    return _ranked(candidates, question.text)


def _ranked(candidates: Candidates, query: str) -> Ranked:
    signals, rows = candidates.signals, candidates.rows
    made_of = parts(signals)
    total = sum(made_of.values(), np.zeros(len(rows)))
    positions = order(total)
    first = [at for at in positions[:PROOF] if rows[at].found is not None]
    said = [f"{rows[at].role or ''} {found.text} {found.spelled}" for at in first if (found := rows[at].found)]
    covered = coverage(query, said)
    words_only = signals.unembedded | np.isnan(signals.cosine).all()
    likely = chance(signals.cosine[first], covered, words_only=words_only[first])
    values = relevance(total, likely, quoted=signals.quoted)
    proof = float(evidence(signals.cosine[first], covered).max(initial=0.0))
    return Ranked(tuple(rows[at] for at in positions), values[positions], Grounds(positions, signals, made_of, total, proof, likely))


def _projects(scopes: tuple[str, ...] | None) -> frozenset[str]:
    """The projects' own names, out of `repo_<name>__<hash>`."""
    return frozenset(scope[5:].rpartition("__")[0] for scope in scopes or () if scope.startswith("repo_") and "__" in scope)
