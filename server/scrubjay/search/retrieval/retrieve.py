"""The whole way from a question to ranked candidates, each with its relevance."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

import numpy as np

from scrubjay.encoders.token_codes import Asked, Bits, matches
from scrubjay.search.retrieval.candidates import Candidate, Candidates, lay_out
from scrubjay.search.retrieval.pools import both_legs
from scrubjay.search.retrieval.query import Question
from scrubjay.search.retrieval.ranking import Floats, Ints, Signals, beside, late, order, parts, ranking_sum
from scrubjay.search.retrieval.relevance import PROOF, chance, coverage, evidence, relevance
from scrubjay.store.store import Store
from scrubjay.text.dates import periods
from scrubjay.text.terms import mentions, remove_names

Embed = Callable[
    [str], Awaitable[Asked | None]
]  # a query's vector and tokens; None where meaning cannot be searched now


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
    asking = asyncio.ensure_future(embed(remove_names(question.text, names)))
    pools = await both_legs(store, question, asking)
    keys = [
        (row.scope, row.session_id)
        for row in pools.found.values()
        if row.src == "turn" and row.session_id is not None
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
    said = [
        f"{rows[at].role or ''} {found.text} {found.spelled}" for at in first if (found := rows[at].found)
    ]
    covered = coverage(query, said)
    words_only = signals.unembedded | np.isnan(signals.cosine).all()
    likely = chance(signals.cosine[first], covered, words_only=words_only[first])
    values = relevance(total, likely, quoted=signals.quoted)
    proof = float(evidence(signals.cosine[first], covered).max(initial=0.0))
    return Ranked(
        tuple(rows[at] for at in positions),
        values[positions],
        Grounds(positions, signals, made_of, total, proof, likely),
    )


def _projects(scopes: tuple[str, ...] | None) -> frozenset[str]:
    """The projects' own names, out of `repo_<name>__<hash>`."""
    return frozenset(
        scope[5:].rpartition("__")[0] for scope in scopes or () if scope.startswith("repo_") and "__" in scope
    )


LOOKED_AT = 30  # candidates; any@10 on LoCoMo's dev half is the same with 40 and falls with 20


async def look_closely(store: Store, candidates: Candidates, question: Bits) -> Candidates:
    """The candidates with their `late` signal: what their best passages' tokens add. Passages without codes are simply unknown."""
    signals = candidates.signals
    looked = order(ranking_sum(signals))[:LOOKED_AT]
    wanted = np.flatnonzero(beside(looked, signals.session, signals.place))
    known = await _matches(store, candidates, wanted, question)
    return replace(
        candidates, signals=replace(signals, late=late(known, looked, signals.session, signals.place))
    )


async def _matches(store: Store, candidates: Candidates, wanted: Ints, question: Bits) -> Floats:
    """Of each wanted candidate's best passage, how well it matches each token of the question: (candidates, tokens), else NaN."""
    rows = {candidates.rows[at].id: at for at in wanted.tolist()}
    pieces = await store.token_codes(rows)
    # A thread, because the loop serves other clients meanwhile: numpy lets go of the interpreter in long operations.
    values = await asyncio.to_thread(matches, question, [code for _, code in pieces])
    best = np.full((len(candidates.rows), len(question)), np.nan)
    most = np.full(len(candidates.rows), -np.inf)
    for (record_id, _), value, total in zip(pieces, values, values.sum(axis=1).tolist(), strict=True):
        at = rows[record_id]
        if total > most[at]:
            best[at], most[at] = value, total
    return best
