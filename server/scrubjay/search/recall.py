"""Recall, for `search_memories`: retrieves candidates, scores them and selects hits within a budget."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np

from scrubjay.errors import InputError
from scrubjay.home.scopes import search_scopes
from scrubjay.models.fields import resolve
from scrubjay.models.records import Memory, PassageSrc, fields_of
from scrubjay.models.requests import ForgetMatching, SearchMemories, SearchRecords
from scrubjay.models.results import Confidence, Explanation, Hit, MemoryHits, RetrieverResult, WeightedScore
from scrubjay.search.choosing import Measure, ScoredCandidate, Selector, text_length
from scrubjay.search.document_hint import Hints, document_hints, length, may_name_one
from scrubjay.search.hits import as_hit, no_hits
from scrubjay.search.retrieval.candidates import Candidates
from scrubjay.search.retrieval.query import Question
from scrubjay.search.retrieval.ranking import Floats, Ints, blend, order, recency
from scrubjay.search.retrieval.relevance import WEAK, behind, bounds
from scrubjay.search.retrieval.retrieve import Embed, Ranking, retrieve
from scrubjay.search.timeline import period_searched, retrieve_in_time, span_asked, timeline
from scrubjay.store.schema import micros
from scrubjay.store.store import Store
from scrubjay.text.terms import is_small_talk

MOST_CANDIDATES = 400  # candidates that get a score; the pools hold at most 400 records

Weights = tuple[float, float, float]  # of `_SCORES`
_SCORES = ("ranking", "importance", "recency")
_SRCS: dict[str, tuple[PassageSrc, ...]] = {
    "memories": ("memory", "turn"),
    "hybrid": ("memory", "turn", "chunk"),
    "documents": ("chunk",),
    "undistilled": ("turn",),  # for interfaces that cannot read turns in order
}


async def search_memories(
    store: Store,
    request: SearchMemories,
    *,
    scope: str | tuple[str, ...],
    now: datetime,
    embed: Embed,
    with_related: bool = True,
    programmatic: bool = False,
    timed: bool = True,
    least_score: float = 0.0,
    among: tuple[str, ...] | None = None,
    measure: Measure = text_length,
) -> MemoryHits:
    """Recall facts and turns, best first.

    score = weighted mean of relevance, importance / 10 and recency, each in [0, 1]. `related` holds the turns
    of windows in time order and then, with `with_related`, records related to the first hits. The interface
    fills in `timing` and `tokens.rendered`. If no filter applies and related records are wanted, `document`
    is a passage of a document that answers about as well, and `commits` are commits that answer as well.

    `scope` is the caller's project, or a tuple of the only scopes that the caller may see; the request may
    override the project and `now`. `programmatic` is for programs: it selects hits as if no window were
    requested, keeps each window within the partition of its hit, counts no tokens and includes doubtful hits.
    If it is False and `timed` is True, a question about a time is answered from that time, with the days of
    the time zone of `now`. No hit scores below `least_score`. If `among` is given, only records with these
    ids are hits. `measure` counts the characters of a hit as the interface shows it.
    """
    question_time = request.now or (request.as_of.astimezone(now.tzinfo) if request.as_of else now)
    question = replace(_question(request, scope, question_time), record_id=among)
    span = await span_asked(store, question) if timed and not programmatic else None
    if span is not None and not span.words:
        return await timeline(store, request, question, span, measure)
    is_narrow = question.is_filtered or question.session_id is not None
    if not (programmatic or is_narrow) and is_small_talk(question.text):
        return no_hits(period_searched(question))
    omits_documents = not programmatic and "chunk" not in question.srcs
    has_documents = omits_documents and await store.has_documents(question.scopes)
    hints_wanted = has_documents and with_related and not is_narrow and span is None and may_name_one(request)
    if span is None:
        ranking = await retrieve(store, question, embed, thorough=programmatic)
    else:
        question, ranking = await retrieve_in_time(store, question, span, embed)
    period = span.period if span is not None and question is span.question else period_searched(question)
    confidence = "strong" if programmatic else _confidence(ranking, request, is_narrow=is_narrow)
    hints = await document_hints(store, question, ranking) if hints_wanted else Hints()
    extras: dict[str, Any] = {"document": hints.document, "commits": list(hints.commits)}
    # An answer without hits says that there are documents, unless `hints` names some.
    without_hits = {"has_documents": (has_documents and hints == Hints()) or None}
    if confidence == "none":
        return no_hits(period).model_copy(update=extras | without_hits)
    weights = _weights(request, ranking)
    scored = await _scored(
        store, ranking, weights, request, least_score, question_time, programmatic=programmatic
    )
    hint_length = length(hints.document) + sum(map(measure, hints.commits))
    selector = Selector(
        store, request, question, with_related, programmatic, confidence, measure, spent=hint_length
    )
    hits = await selector.select(scored)
    extras["tokens"] = hits.tokens.model_copy(update={"spent": hits.tokens.spent - hint_length // 4})
    if not hits.results:
        extras |= without_hits
    if request.include.explain:
        extras["results"] = _explain(hits.results, ranking, weights)
    return hits.model_copy(update={"period": period, **extras})


async def facts_about(store: Store, request: ForgetMatching, now: datetime, embed: Embed) -> list[Hit]:
    """Return the facts that match a query to forget, best first; no token budget applies."""
    question = Question(text=request.query, scopes=(request.scope,), srcs=("memory",), now=now)
    ranking = await retrieve(store, question, embed, thorough=True)
    ids = [ranking.candidates.ids[at] for at in ranking.positions.tolist()]
    scored = zip(ids, ranking.similarity.tolist(), strict=True)
    above = [(fact_id, value) for fact_id, value in scored if value >= request.threshold]
    relevance = dict(sorted(above, key=lambda pair: -pair[1]))
    rows = await store.get(Memory, relevance)
    facts = [rows[fact_id] for fact_id in relevance if fact_id in rows and question.admits(rows[fact_id])]
    return [
        as_hit(fact).model_copy(update={"score": relevance[fact.id], "relevance_score": relevance[fact.id]})
        for fact in facts[: request.most]
    ]


def _confidence(ranking: Ranking, request: SearchMemories, *, is_narrow: bool) -> Confidence:
    """Return how reliable the hits are: never "none" if a filter applies and leaves any records."""
    has_size = request.top_k is not None or request.max_tokens is not None
    confidence: Confidence = ranking.confidence(weak=WEAK / 2 if has_size else WEAK)
    return "weak" if is_narrow and confidence == "none" and ranking.candidates.ids else confidence


def _question(request: SearchMemories, scope: str | tuple[str, ...], now: datetime) -> Question:
    since = resolve("since", request.since, now, end=False)
    until = resolve("until", request.until, now, end=True)
    if since and until and until <= since:
        raise InputError(f"until = '{request.until}': must be after since = '{request.since}'.")
    return Question(
        text=request.query,
        scopes=search_scopes(request.scope, scope),
        srcs=_srcs(request),
        now=now,
        partition_ids=tuple(request.partition_ids or ()) or None,
        tags=tuple(request.tags or ()),
        since=since,
        until=until,
        **fields_of(request, "session_id", "filters", "as_of"),
        forgotten=request.include.forgotten,
        host=request.host if isinstance(request, SearchRecords) else None,
    )


def _srcs(request: SearchMemories) -> tuple[PassageSrc, ...]:
    if isinstance(request, SearchRecords):
        return request.srcs
    srcs = _SRCS[request.search_mode]
    if request.include_turns:
        return srcs
    return tuple("summary" if src == "turn" else src for src in srcs)  # summaries replace turns


def _weights(request: SearchMemories, ranking: Ranking) -> Weights:
    """Return the request's weights; if the question names a time, the weight of recency is 0 by default."""
    relevance, importance, _ = request.weights
    has_default = "weight_recency" not in request.model_fields_set
    drops_recency = has_default and bool(ranking.candidates.signals.date.any())
    return (relevance, importance, 0.0) if drops_recency and relevance + importance > 0 else request.weights


async def _scored(
    store: Store,
    ranking: Ranking,
    weights: Weights,
    request: SearchMemories,
    least_score: float,
    now: datetime,
    *,
    programmatic: bool,
) -> Iterator[ScoredCandidate]:
    """Score candidates whose relevance reaches the threshold, best first, without repetitions.

    The threshold applies to the relevance of each record alone. The score uses relevance by rank instead,
    unless `programmatic` is set, because programs compare the scores of different answers.
    """
    candidates, positions = ranking.candidates, ranking.positions[:MOST_CANDIDATES]
    relevance: Floats = ranking.similarity[:MOST_CANDIDATES]
    ranked: Floats = relevance if programmatic else ranking.relevance[:MOST_CANDIDATES]
    facts = [candidates.ids[at] for at in positions.tolist() if candidates.src(at) == "memory"]
    dates = candidates.dated_at[positions].astype(float)
    # For programs a fact is as old as its last recall, as seed 002 asks; else, as old as its content.
    counts_recalls = programmatic and weights[2] > 0 and facts
    last_used = await _last_used(store, candidates, positions, facts) if counts_recalls else dates
    importance = candidates.importance[positions] / 10
    recencies = recency(micros(now), last_used)
    score = blend(ranked, importance, recencies, weights)
    best = order(score, ties=(ranked, dates))
    best = best[(relevance[best] >= request.threshold) & (score[best] >= least_score)]
    if "chunk" in map(candidates.src, positions.tolist()):
        rows = await store.get(Memory, facts, columns=["id", "document_ids"])
        documents = {fact_id: fact.document_ids for fact_id, fact in rows.items()}
        repeats = _repeats(candidates, positions[best].tolist(), documents)
        best = best[~np.isin(positions[best], list(repeats))]
    right = np.zeros(len(positions))
    right[: len(ranking.right)] = ranking.right
    columns = {
        "score": score,
        "relevance_score": relevance,
        "ranking_score": ranked,
        "importance_score_normalized": importance,
        "recency_score": recencies,
    }
    return (_candidate(candidates, int(positions[at]), columns, at, float(right[at])) for at in best.tolist())


async def _last_used(store: Store, candidates: Candidates, positions: Ints, facts: Sequence[str]) -> Floats:
    """Return when each candidate was last recalled, or else its date, in microseconds since 1970."""
    rows = await store.get(Memory, facts, columns=["id", "last_accessed_at"])
    recalled = {fact_id: micros(fact.last_accessed_at) for fact_id, fact in rows.items()}
    times = [recalled.get(candidates.ids[at], int(candidates.dated_at[at])) for at in positions.tolist()]
    return np.array(times, dtype=float)


def _candidate(
    candidates: Candidates, position: int, columns: Mapping[str, Floats], at: int, right: float
) -> ScoredCandidate:
    """Return the candidate at `position` with its values, which are at the index `at` of each column."""
    record_id = candidates.ids[position]
    fields: dict[str, object] = {name: float(column[at]) for name, column in columns.items()}
    if (replaced := candidates.replaced.get(record_id)) is not None:
        fields |= {"replaced_by": replaced[0], "replaced_at": replaced[1]}
    elif (amended := candidates.amended.get(record_id)) is not None:
        fields |= {"amended_by": amended[0], "amended_at": amended[1]}
    return ScoredCandidate(record_id, candidates.src(position), candidates.match(position), fields, right)


def _repeats(
    candidates: Candidates, positions: Sequence[int], documents: Mapping[str, Collection[str]]
) -> set[int]:
    """Return the positions of candidates to leave out, because a chunk and a fact in it say the same.

    Of the two, the later one in `positions`, which come best first, is left out. A chunk that contains
    nothing but a fact is left out even if it comes first. `documents` maps the id of each fact to those of
    its documents.
    """
    ranks = {at: rank for rank, at in enumerate(positions)}
    facts: dict[str, list[int]] = {}
    for at in positions:
        for document_id in documents.get(candidates.ids[at], ()):
            facts.setdefault(document_id, []).append(at)
    texts = {at: passage.text if (passage := candidates.passages[at]) else "" for at in positions}
    repeats: set[int] = set()
    for chunk in positions:
        if candidates.src(chunk) != "chunk":
            continue
        text = _one_line(texts[chunk])
        for fact in facts.get(candidates.ids[chunk], ()):
            whole = _one_line(texts[fact])
            without_heading = _one_line(texts[fact].partition("\n")[2])
            is_inside = whole in text or (bool(without_heading) and without_heading in text)
            if fact not in repeats and (text in whole or (is_inside and ranks[fact] < ranks[chunk])):
                repeats.add(chunk)
                break
            if is_inside:
                repeats.add(fact)
    return repeats


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _explain(hits: Sequence[Hit], ranking: Ranking, weights: Weights) -> list[Hit]:
    signals = ranking.candidates.signals
    positions = {record_id: at for at, record_id in enumerate(ranking.candidates.ids)}
    distance = behind(ranking.total, quoted=signals.quoted)
    fall = dict(zip(ranking.positions.tolist(), ranking.fall.tolist(), strict=True))
    low, high = bounds(signals.quoted)

    def explanation(hit: Hit) -> Explanation:
        at = positions[hit.id]
        scores = hit.ranking_score, hit.importance_score_normalized, hit.recency_score
        return Explanation(
            dense=_rank_and_value(signals.cosine, at),
            lexical=_rank_and_value(signals.bm25, at),
            parts={name: float(part[at]) for name, part in ranking.parts.items()},
            ranking_sum=float(ranking.total[at]),
            verdict=ranking.verdict,
            chance=ranking.chance,
            behind=float(distance[at]),
            fall=fall[at],
            bounds=(float(low[at]), float(high[at])),
            score_parts={
                name: WeightedScore(value=score or 0.0, weight=weight)
                for name, score, weight in zip(_SCORES, scores, weights, strict=True)
            },
        )

    return [hit.model_copy(update={"explain": explanation(hit)}) for hit in hits]


def _rank_and_value(values: Floats, at: int) -> RetrieverResult | None:
    """Return the rank and value of one candidate in a search; None if the search did not find it."""
    if np.isnan(values[at]):
        return None
    return RetrieverResult(rank=1 + int((values > values[at]).sum()), value=float(values[at]))
