"""Retrieval: from a question to ranked candidates, each with its relevance."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

import numpy as np

from scrubjay.encoders.token_codes import Bits, EncodedQuery, matches
from scrubjay.search.retrieval.candidates import Candidate, Candidates, lay_out
from scrubjay.search.retrieval.pools import search_legs
from scrubjay.search.retrieval.query import Question
from scrubjay.search.retrieval.ranking import (
    Floats,
    Ints,
    Signals,
    late_interaction,
    order,
    parts,
    ranking_sum,
    with_neighbours,
)
from scrubjay.search.retrieval.relevance import EVIDENCE_DEPTH, chance, coverage, evidence, relevance
from scrubjay.store.store import Store
from scrubjay.text.dates import periods
from scrubjay.text.terms import mentions, remove_names

# A query's vector and tokens; None while meaning cannot be searched.
Embed = Callable[[str], Awaitable[EncodedQuery | None]]
# candidates for late interaction; any@10 on LoCoMo's dev half is the same with 40 and falls with 20
EXAMINED = 30


@dataclass(frozen=True)
class Grounds:
    """What relevance was computed from. `positions` gives the ranking's order; the arrays are not in it."""

    positions: Ints
    signals: Signals
    parts: dict[str, Floats]  # of the ranking sum
    total: Floats  # their sum
    evidence: float  # of the best among the first
    chance: float


@dataclass(frozen=True)
class Ranking:
    """Candidates with their relevance in [0, 1], by their ranking sum, best first."""

    rows: tuple[Candidate, ...]
    relevance: Floats
    grounds: Grounds


async def retrieve(store: Store, question: Question, embed: Embed) -> Ranking:
    """Rank what may answer the question. The caller has committed everything."""
    speakers = await store.names.speakers(question.scopes)
    names = speakers | _projects(question.scopes)
    # A name that every turn carries dominates a small model's sentence vector: dense alone 46 -> 67 % on
    # LoCoMo without it.
    embedding = asyncio.ensure_future(embed(remove_names(question.text, names)))
    pools = await search_legs(store, question, embedding)
    keys = [
        (match.scope, match.session_id)
        for match in pools.matches.values()
        if match.src == "turn" and match.session_id is not None
    ]
    named = mentions(question.text, speakers)
    candidates = lay_out(
        pools,
        {key: question.in_sight(session) for key, session in (await store.sessions.of(keys)).items()},
        query=question.text,
        periods=periods(question.text, question.now),
        speaker=named[0] if len(named) == 1 else None,
        with_neighbours=not question.filtered,
    )
    query = await embedding
    if query is not None and query.tokens is not None:
        candidates = await _with_late_interaction(store, candidates, query.tokens)
    return _rank(candidates, question.text)


async def _with_late_interaction(store: Store, candidates: Candidates, tokens: Bits) -> Candidates:
    """Fill in the `late` signal of the first candidates; passages without token codes stay unknown."""
    signals = candidates.signals
    examined = order(ranking_sum(signals))[:EXAMINED]
    near = np.flatnonzero(with_neighbours(examined, signals.session, signals.place))
    known = await _token_matches(store, candidates, near, tokens)
    late = late_interaction(known, examined, signals.session, signals.place)
    return replace(candidates, signals=replace(signals, late=late))


async def _token_matches(store: Store, candidates: Candidates, positions: Ints, tokens: Bits) -> Floats:
    """Match each token with the best passage of these candidates: (candidates, tokens), NaN elsewhere."""
    rows = {candidates.rows[at].id: at for at in positions.tolist()}
    pieces = await store.token_codes(rows)
    # In a thread, because the loop serves other clients meanwhile: numpy releases the interpreter in long
    # operations.
    values = await asyncio.to_thread(matches, tokens, [code for _, code in pieces])
    best = np.full((len(candidates.rows), len(tokens)), np.nan)
    most = np.full(len(candidates.rows), -np.inf)
    for (record_id, _), value, total in zip(pieces, values, values.sum(axis=1).tolist(), strict=True):
        at = rows[record_id]
        if total > most[at]:
            best[at], most[at] = value, total
    return best


def _rank(candidates: Candidates, query: str) -> Ranking:
    signals, rows = candidates.signals, candidates.rows
    columns = parts(signals)
    total = sum(columns.values(), np.zeros(len(rows)))
    positions = order(total)
    first = [at for at in positions[:EVIDENCE_DEPTH] if rows[at].match is not None]
    texts = [
        f"{rows[at].role or ''} {match.text} {match.entity_names}"
        for at in first
        if (match := rows[at].match)
    ]
    covered = coverage(query, texts)
    words_only = signals.unembedded | np.isnan(signals.cosine).all()
    likely = chance(signals.cosine[first], covered, words_only=words_only[first])
    values = relevance(total, likely, quoted=signals.quoted)
    best = float(evidence(signals.cosine[first], covered).max(initial=0.0))
    return Ranking(
        tuple(rows[at] for at in positions),
        values[positions],
        Grounds(positions, signals, columns, total, best, likely),
    )


def _projects(scopes: tuple[str, ...] | None) -> frozenset[str]:
    """Take the projects' own names out of scopes such as `repo_<name>__<hash>`."""
    return frozenset(
        scope[5:].rpartition("__")[0] for scope in scopes or () if scope.startswith("repo_") and "__" in scope
    )
