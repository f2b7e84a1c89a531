"""Retrieval: from a question to ranked candidates, each with its relevance."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

import numpy as np

from scrubjay.encoders.token_codes import Bits, EncodedQuery, matches
from scrubjay.home.scopes import display_name
from scrubjay.models.results import Confidence
from scrubjay.search.retrieval.candidates import Candidate, Candidates, labels, lay_out
from scrubjay.search.retrieval.pools import Pools, search_legs
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
from scrubjay.search.retrieval.relevance import (
    EVIDENCE_DEPTH,
    NAMED_COVERS,
    PARAPHRASE,
    WEAK,
    behind,
    chance,
    chances_right,
    confidence,
    coverage,
    evidence,
    falls,
    relevance,
)
from scrubjay.search.retrieval.replacing import with_replaced
from scrubjay.store.store import Store
from scrubjay.text.dates import periods
from scrubjay.text.terms import mentions, remove_names

# A query's vector and tokens; None while meaning cannot be searched.
Embed = Callable[[str], Awaitable[EncodedQuery | None]]
# candidates for late interaction; any@10 on LoCoMo's dev half is the same with 40 and falls with 20
EXAMINED = 30
_LONG = 200_000  # bytes of token codes


@dataclass(frozen=True)
class Grounds:
    """What relevance was computed from. `positions` gives the ranking's order; the arrays are not in it."""

    positions: Ints
    signals: Signals
    parts: dict[str, Floats]  # of the ranking sum
    total: Floats  # their sum
    evidence: float  # of the best among the first
    chance: float
    right: Floats  # chance of each of the first `EXAMINED` to be right, in their order
    matched: tuple[Floats, Floats, Floats]  # cosine, tokens and coverage of these
    fall: Floats  # see `falls`; in their order


@dataclass(frozen=True)
class Ranking:
    """Candidates, and the relevance in [0, 1] of those at `grounds.positions`, by ranking sum, best first."""

    candidates: Candidates
    relevance: Floats
    grounds: Grounds

    def confidence(self, *, weak: float = WEAK) -> Confidence:
        """Say how far the hits are to be relied on; from a chance of `weak` they are worth showing."""
        if not len(self.grounds.positions):
            return "none"
        return confidence(self.grounds.chance, quoted=bool(self.grounds.signals.quoted.any()), weak=weak)

    @property
    def rows(self) -> list[Candidate]:
        """The candidates, best first."""
        return [self.candidates.at(at) for at in self.grounds.positions.tolist()]


async def retrieve(store: Store, question: Question, embed: Embed) -> Ranking:
    """Rank what may answer the question. The caller has committed everything."""
    speakers = await store.names.speakers(question.scopes)
    names = speakers | _projects(question.scopes)
    # A name that every turn carries dominates a small model's sentence vector: dense alone 46 -> 67 % on
    # LoCoMo without it.
    embedding = asyncio.ensure_future(embed(remove_names(question.text, names)))
    pools = await search_legs(store, question, embedding)
    keys = dict.fromkeys(
        (passage.scope, passage.session_id)
        for passage in pools.best.values()
        if passage.src == "turn" and passage.session_id is not None
    )
    sessions = await store.sessions.of(keys)
    named = mentions(question.text, speakers)
    candidates = lay_out(
        pools,
        {key: question.in_sight(session) for key, session in sessions.items()},
        query=question.text,
        periods=periods(question.text, question.now),
        speaker=named[0] if len(named) == 1 else None,
        with_neighbours=not question.filtered,
    )
    query = await embedding
    if query is not None and query.tokens is not None:
        candidates = await _with_late_interaction(store, candidates, query.tokens)
    total = ranking_sum(candidates.signals)
    candidates = await with_replaced(store, candidates, total, order(total)[:EXAMINED])
    return _rank(candidates, pools, question.text)


async def _with_late_interaction(store: Store, candidates: Candidates, tokens: Bits) -> Candidates:
    """Fill in the `late` signal of the first candidates; passages without token codes stay unknown."""
    signals = candidates.signals
    examined = order(ranking_sum(signals))[:EXAMINED]
    near = np.flatnonzero(with_neighbours(examined, signals.session, signals.place))
    known = await _token_matches(store, candidates, near, tokens)
    late = late_interaction(known, examined, signals.session, signals.place)
    own = np.full(len(signals), np.nan)
    own[examined] = known[examined].mean(axis=1)
    return replace(candidates, signals=replace(signals, late=late, tokens=own))


async def _token_matches(store: Store, candidates: Candidates, positions: Ints, tokens: Bits) -> Floats:
    """Match each token with the best passage of these candidates: (candidates, tokens), NaN elsewhere."""
    rows = {candidates.ids[at]: at for at in positions.tolist()}
    pieces = await store.token_codes(rows)
    codes = [code for _, code in pieces]
    # In a thread if it takes milliseconds, because the loop serves other clients meanwhile.
    if sum(map(len, codes)) > _LONG:
        values = await asyncio.to_thread(matches, tokens, codes)
    else:
        values = matches(tokens, codes)
    best = np.full((len(candidates.ids), len(tokens)), np.nan)
    most = np.full(len(candidates.ids), -np.inf)
    for (record_id, _), value, total in zip(pieces, values, values.sum(axis=1).tolist(), strict=True):
        at = rows[record_id]
        if total > most[at]:
            best[at], most[at] = value, total
    return best


def _rank(candidates: Candidates, pools: Pools, query: str) -> Ranking:
    signals = candidates.signals
    columns = parts(signals)
    total = sum(columns.values(), np.zeros(len(signals)))
    positions = order(total)
    some = positions[:EXAMINED]
    covered = coverage(query, [_evident_text(candidates, pools, at) for at in some.tolist()])
    apart = behind(total, quoted=signals.quoted)[some]
    covered = np.maximum(covered, NAMED_COVERS * signals.named[some])
    # The words of a text that waits for its vector stand for its meaning.
    near = np.where(signals.unembedded[some], PARAPHRASE * covered, signals.cosine[some])
    tokens = np.where(np.isnan(signals.tokens[some]), covered, signals.tokens[some])
    matched = near, tokens, covered
    right = chances_right(apart, *matched, signals.late[some])
    own = [candidates.passages[at] is not None for at in some[:EVIDENCE_DEPTH].tolist()]
    first = np.flatnonzero(own)
    words_only = (signals.unembedded | np.isnan(signals.cosine).all())[some]
    likely = chance(signals.cosine[some][first], covered[first], words_only=words_only[first])
    fall = falls(behind(total, quoted=signals.quoted)[positions], right)
    values = relevance(fall, likely, quoted=signals.quoted[positions])
    best = float(evidence(signals.cosine[some][first], covered[first]).max(initial=0.0))
    grounds = Grounds(positions, signals, columns, total, best, likely, right, matched, fall)
    return Ranking(candidates, values, grounds)


def _evident_text(candidates: Candidates, pools: Pools, at: int) -> str:
    """Write out who says a candidate's best passage, the passage, and the query's entities in its record.

    A fact's tags and the name of its partition count as if it said them.
    """
    passage, names = candidates.passages[at], pools.entities.get(candidates.ids[at], ())
    text = f"{passage.text} {labels(passage)}" if passage else ""
    if passage is not None and passage.role == "user":  # what was asked alone does not say what was answered
        text += f" {candidates.answers.get(candidates.ids[at], '')}"
    return f"{candidates.roles[at] or ''} {text} {' '.join(tie.via for tie in names)}"


def _projects(scopes: tuple[str, ...] | None) -> frozenset[str]:
    """Take the projects' own names out of the names of their scopes."""
    return frozenset(name for scope in scopes or () if (name := display_name(scope)) != scope)
