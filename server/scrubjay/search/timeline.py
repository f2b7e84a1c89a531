"""Timelines: the records of the period that a question asks about, in the order of time.

"What did we do yesterday?" names a period and nothing to search for. "What did we decide about retries last
week?" names both; it is first searched within that period.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np

from scrubjay.models.records import AnyRecord, Memory, Turn
from scrubjay.models.requests import SearchMemories
from scrubjay.models.results import MemoryHits, Tokens
from scrubjay.records.session_summaries import brief
from scrubjay.search.choosing import FRAME, Measure, ScoredCandidate, Selector
from scrubjay.search.hits import as_hit, no_hits
from scrubjay.search.retrieval.asked import coverage
from scrubjay.search.retrieval.candidates import record_src
from scrubjay.search.retrieval.pools import by_words, search
from scrubjay.search.retrieval.query import Question
from scrubjay.search.retrieval.ranking import recency
from scrubjay.search.retrieval.retrieve import Embed, Ranking, retrieve
from scrubjay.store import conditions
from scrubjay.store.cache import PassageRow
from scrubjay.store.schema import micros, moment
from scrubjay.store.store import Store
from scrubjay.text.dates import DAY, Period, periods
from scrubjay.text.time_asked import EPOCH, Event, PastSessions, name_in_days, time_asked

MOST = 12  # most hits, unless the request gives a number
ROOM = 800  # most tokens of the answer, unless the request gives a number
SUMMARIES_ROOM = 250  # most tokens of an answer that consists of sessions' summaries
BRIEF = 150  # least characters of each summary; if they do not all fit, some summaries are left out
QUIET = timedelta(minutes=10)  # a session whose last turn is younger may be the caller's
NEAREST = 3  # sessions that answer a question about the time before something
RECENT = 30 * DAY  # past sessions are first sought in this period before the question
READ = 20_000  # most passages of a period that are read
NAMING = 100  # most passages read that name an event
WHOLE = 1.0 - 1e-9  # full coverage, allowing for rounding of the weights
LIKELY = 0.5  # a hit of the period with at least this relevance is not compared with hits from anywhere
NEARLY = 0.7  # any other hit of the period needs at least this share of the best proof from anywhere

Key = tuple[str, str]  # a scope and a session, or the day of facts without one


@dataclass(frozen=True)
class Span:
    """The period that a question asks about, as a narrower question. `period` is its name in words.

    Attributes:
        words: the other content words of the question; if there are any, they are the text of `question`.
        backwards: the period has no beginning, so the records nearest to its end come first.
        named: the period as the question names it, if it has a beginning.
    """

    question: Question
    period: str
    words: tuple[str, ...]
    backwards: bool = False
    named: Period | None = None


async def span_asked(store: Store, question: Question) -> Span | None:
    """Return the period that a question asks about; None if it names none, or if only words can answer.

    The last session is the newest whose last turn is older than `QUIET`, because a younger one may be the
    caller's; if all are younger, it is the newest of all. An event is dated by the newest of the sessions
    that mention it at least half as much as the session that mentions it most.
    """
    asked = time_asked(question.text, question.now)
    srcs = tuple(src for src in question.srcs if src != "chunk")
    if asked is None or not srcs or (isinstance(asked.when, Period) and asked.words and not asked.certain):
        return None
    inside = replace(question, text=asked.rest) if asked.words else replace(question, srcs=srcs)
    if isinstance(asked.when, PastSessions):
        return None if question.session_id else await _past_sessions(store, inside, asked.when, asked.words)
    if isinstance(asked.when, Event):
        # "What did she feel after the race?" is answered by any mention of the race, at any time.
        is_limited = not (asked.words and asked.when.after)
        return await _around_event(store, inside, asked.when, asked.words) if is_limited else None
    start, end = asked.when.start, asked.when.end
    within, name = _within(inside, start, end), name_in_days(start, end)
    if start <= EPOCH:
        return Span(within, name, asked.words, backwards=True)
    return Span(within, name, asked.words, named=asked.when)


async def timeline(
    store: Store, request: SearchMemories, anywhere: Question, span: Span, measure: Measure
) -> MemoryHits:
    """Answer with the turns and facts of a period in the order of time, all with the score 1.

    If every session has a summary and no size is requested, the answer consists of the summaries. If the
    records do not all fit, those shown are spread over the sessions, summaries first. `left_out` counts the
    others. `measure` returns the characters of a hit. If the period has no records, the facts that name it
    answer; they are sought with `anywhere`, the question without its period.
    """
    question = span.question
    period: str | None = span.period
    entries = await _entries(store, span.question)
    matching = [entry for entry in entries if entry.src in span.question.srcs]
    if request.top_k is None and request.max_tokens is None and _is_summarised(entries):
        return await _summaries(store, span, [entry for entry in entries if entry.src == "summary"], measure)
    limit, max_tokens = request.top_k or MOST, request.max_tokens or ROOM
    room = 4 * (max_tokens - FRAME)  # in characters
    shown = await _afforded(store, matching, limit, room, measure) if len(matching) <= limit else matching
    if len(shown) < len(matching) or len(matching) > limit:
        groups = _sessions_of(entries)
        chosen = _alternating(groups[-NEAREST:] if span.backwards else groups)
        shown = await _afforded(store, chosen[: 4 * limit], limit, room, measure)
    if not shown and span.named is not None and "memory" in question.srcs:
        question, period = replace(anywhere, srcs=("memory",)), None
        matching = await _facts_that_name(store, question, span.named)
        shown = await _afforded(store, matching, limit, room, measure)
    started_at = {entry.id: group[0].dated_at for group in _sessions_of(shown) for entry in group}
    shown.sort(key=lambda entry: started_at[entry.id] if entry.src == "summary" else entry.dated_at)
    if not shown:
        return no_hits(span.period)
    whole = {"top_k": len(shown), "max_tokens": max_tokens, "prev_turns": 0, "next_turns": 0}
    whole_request = request.model_copy(update=whole)
    selector = Selector(store, whole_request, question, False, False, "strong", measure)
    hits = await selector.select(_same_score(question, shown))
    left_out = len(matching) - sum(entry.src in question.srcs for entry in shown)
    return hits.model_copy(update={"period": period, "left_out": left_out or None})


async def _facts_that_name(store: Store, question: Question, asked: Period) -> list[PassageRow]:
    """Find facts that name a time within a period, such as "The release is on 5 December"."""
    (mentions,) = await search(store, question, by_words(store, question.text, NAMING))
    zone = question.now.tzinfo
    return [
        passage
        for passage, _ in mentions
        if any(
            _is_within(named, asked)
            for named in periods(passage.text, moment(passage.dated_at).astimezone(zone))
        )
    ]


def _is_within(named: Period, asked: Period) -> bool:
    """Return True if a named time begins within a period; the year counts only if both name one."""
    if not (named.any_year or asked.any_year):
        return asked.start <= named.start < asked.end
    last = asked.end - timedelta(microseconds=1)
    days = [(day.month, day.day) for day in (asked.start, named.start, last)]
    return days == sorted(days)


def _is_summarised(entries: Sequence[PassageRow]) -> bool:
    """Return True if there is more than one turn, and each session has a summary."""
    turn_keys = [_session_or_day(entry) for entry in entries if entry.src == "turn"]
    summarised = {_session_or_day(entry) for entry in entries if entry.src == "summary"}
    return len(turn_keys) > 1 and set(turn_keys) <= summarised


async def _summaries(
    store: Store, span: Span, summaries: Sequence[PassageRow], measure: Measure
) -> MemoryHits:
    """Answer with the title and the outcome of each session, in the order of time."""
    room = 4 * (SUMMARIES_ROOM - FRAME)
    chosen = {entry.id for entry in _alternating([[entry] for entry in summaries])[: room // BRIEF]}
    shown = [entry for entry in summaries if entry.id in chosen]
    records = await _records(store, shown)
    whole = [as_hit(records[entry.record_id]) for entry in shown if entry.record_id in records]
    frames = sum(measure(hit.model_copy(update={"memory": ""})) for hit in whole)
    room_each = (room - frames) // (len(whole) or 1)
    hits = [
        hit.model_copy(update={"memory": brief(hit.memory or "", room_each), "score": 1.0, "truncated": True})
        for hit in whole
    ]
    spent = math.ceil(sum(map(measure, hits)) / 4)
    changes = {
        "confidence": "strong",
        "results": hits,
        "total": len(hits),
        "tokens": Tokens(spent=spent, budget=SUMMARIES_ROOM),
        "left_out": len(summaries) - len(hits) or None,
        "records": dict(records),
    }
    return no_hits(span.period).model_copy(update=changes)


async def retrieve_in_time(
    store: Store, question: Question, span: Span, embed: Embed
) -> tuple[Question, Ranking]:
    """Rank the records of a period, or records from anywhere if those are much likelier to answer.

    What happened before an event is often told later, so a period without a beginning needs at least as much
    proof as records from anywhere. Any other period with a likely record is not compared with them.
    """
    inside = await retrieve(store, span.question, embed)
    best, proof = float(inside.relevance.max(initial=0.0)), inside.verdict.get("proof", 0.0)
    is_found = inside.confidence() != "none"
    if is_found and best >= LIKELY and not span.backwards:
        return span.question, inside
    anywhere = await retrieve(store, question, embed)
    least_proof = anywhere.verdict.get("proof", 0.0) * (1.0 if span.backwards else NEARLY)
    return (span.question, inside) if is_found and proof >= least_proof else (question, anywhere)


def period_searched(question: Question) -> str | None:
    """Return the name of the period that a question is limited to, or None."""
    if question.since is None and question.until is None:
        return None
    zone = question.now.tzinfo
    start, end = question.since or EPOCH, question.until or max(question.now, question.since or EPOCH)
    return name_in_days(start.astimezone(zone), end.astimezone(zone))


def _within(question: Question, start: datetime, end: datetime) -> Question:
    """Narrow a question to a period."""
    since = max(start, question.since) if question.since else start
    until = min(end, question.until) if question.until else end
    return replace(question, since=since, until=until)


async def _past_sessions(
    store: Store, question: Question, past: PastSessions, words: tuple[str, ...]
) -> Span:
    turns = replace(question, srcs=("turn",), until=question.until or question.now)
    needed = past.back + past.count
    recent = _sessions_of(await _entries(store, _within(turns, question.now - RECENT, question.now)))
    sessions = recent if len(recent) > needed else _sessions_of(await _entries(store, turns))
    sessions.sort(key=lambda session: session[-1].dated_at)
    last_quiet = micros(question.now - QUIET)
    finished = [session for session in sessions if session[-1].dated_at <= last_quiet] or sessions
    end = len(finished) - past.back + 1
    chosen = finished[max(0, end - past.count) : max(0, end)]
    name = f"the last {past.count} sessions"
    if past.count == 1:
        name = "the last session" if past.back == 1 else f"the session {past.back} sessions ago"
    if not chosen:
        return Span(_within(question, question.now, question.now), name, words)
    dates = [entry.dated_at for session in chosen for entry in session]
    first, last = (moment(date).astimezone(question.now.tzinfo) for date in (min(dates), max(dates)))
    inside = _within(question, first, last + timedelta(microseconds=1))
    if len(chosen) == 1:
        # Facts derived from a session are younger than its turns.
        inside = replace(question, session_id=chosen[0][0].session_id)
    return Span(inside, f"{name}, {name_in_days(first, last)}", words)


async def _around_event(
    store: Store, question: Question, event: Event, words: tuple[str, ...]
) -> Span | None:
    narrowed = replace(question, text=event.words, srcs=("memory", "turn"))
    (mentions,) = await search(store, narrowed, by_words(store, event.words, NAMING))
    covered = coverage(event.words, [passage.text for passage, _ in mentions])
    last_quiet = micros(question.now - QUIET)
    dates: dict[Key, list[int]] = {}
    scores: dict[Key, float] = {}
    for (passage, score), share in zip(mentions, covered.tolist(), strict=True):
        if share > WHOLE and passage.dated_at <= last_quiet:
            key = _session_or_day(passage)
            dates.setdefault(key, []).append(passage.dated_at)
            scores[key] = scores.get(key, 0.0) + score
    if not dates:
        return None
    greatest = max(scores.values())
    # Lists compare by their first date, so this is the newest session.
    newest = max(dates[key] for key, score in scores.items() if 2 * score >= greatest)
    date = moment(min(newest)).astimezone(question.now.tzinfo)
    if event.after:
        return Span(_within(question, date, question.now), name_in_days(date, question.now), words)
    return Span(_within(question, EPOCH, date), name_in_days(EPOCH, date), words, backwards=True)


async def _entries(store: Store, question: Question) -> list[PassageRow]:
    """Read one passage of each record that matches the question's conditions, in the order of time.

    For turns, the summaries of their sessions are included.
    """
    srcs = question.srcs + (("summary",) if "turn" in question.srcs else ())
    where = conditions.both(replace(question, srcs=srcs).where(), conditions.equal("part", 0))
    entries = {row.record_id: row for row in await store.passages.matching(where, READ)}
    return sorted(entries.values(), key=lambda row: (row.dated_at, row.record_id))


def _sessions_of(entries: Iterable[PassageRow]) -> list[list[PassageRow]]:
    """Group entries by session, in the order of their beginnings."""
    sessions: dict[Key, list[PassageRow]] = {}
    for entry in entries:
        sessions.setdefault(_session_or_day(entry), []).append(entry)
    return list(sessions.values())


def _session_or_day(entry: PassageRow) -> Key:
    return entry.scope, entry.session_id or f"{moment(entry.dated_at):%Y-%m-%d}"


def _alternating(groups: Sequence[Sequence[PassageRow]]) -> list[PassageRow]:
    """Order entries so that the first ones come from all groups: their summaries, then their ends."""
    orders = []
    for group in groups:
        turns = [entry for entry in group if entry.src != "summary"]
        summaries = [entry for entry in group if entry.src == "summary"]
        orders.append([*summaries, *(turns[at] for at in _spread(len(turns)))])
    longest = max(map(len, orders), default=0)
    places = list(_spread(len(orders)))
    return [orders[at][turn] for turn in range(longest) for at in places if turn < len(orders[at])]


def _spread(count: int) -> Iterator[int]:
    """Yield positions 0 to `count` - 1 so that each is far from the earlier ones: the ends, then middles.

    >>> list(_spread(5))
    [0, 4, 2, 1, 3]
    """
    if count > 0:
        yield 0
    if count > 1:
        yield count - 1
    gaps = [(0, count - 1)]
    for low, high in gaps:  # the loop appends to them
        if high - low > 1:
            middle = (low + high) // 2
            yield middle
            gaps += [(low, middle), (middle, high)]


async def _afforded(
    store: Store, entries: Sequence[PassageRow], limit: int, room: int, measure: Measure
) -> list[PassageRow]:
    """Return the entries, at most `limit`, that fit into `room` characters; the first one always fits."""
    records = await _records(store, entries)
    shown: list[PassageRow] = []
    for entry in entries:
        if len(shown) == limit:
            break
        if (record := records.get(entry.record_id)) is not None:
            length = measure(as_hit(record))
            if length <= room or not shown:
                shown.append(entry)
                room -= length
    return shown


async def _records(store: Store, entries: Sequence[PassageRow]) -> Mapping[str, AnyRecord]:
    turns = await store.get(Turn, [entry.record_id for entry in entries if entry.src == "turn"])
    facts = await store.get(Memory, [entry.record_id for entry in entries if entry.src != "turn"])
    return {**turns, **facts}


def _same_score(question: Question, entries: Sequence[PassageRow]) -> list[ScoredCandidate]:
    """Return entries as candidates in their order, all with the score 1; turns are shown whole."""
    dates = np.array([entry.dated_at for entry in entries], dtype=float)
    candidates = []
    for entry, fresh in zip(entries, recency(micros(question.now), dates).tolist(), strict=True):
        fields = dict.fromkeys(("score", "relevance_score", "ranking_score"), 1.0)
        fields |= {"importance_score_normalized": entry.importance_score / 10, "recency_score": fresh}
        candidates.append(ScoredCandidate(entry.record_id, record_src(entry), None, fields, 1.0))
    return candidates
