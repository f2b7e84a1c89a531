"""Finds records related to the first hits: by relation, by a tag, or by an entity that few records name."""

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from scrubjay.models.records import AnyRecord, Document, Memory, Turn
from scrubjay.models.results import Hit
from scrubjay.search.hits import as_hit
from scrubjay.search.retrieval.pools import by_ties, search
from scrubjay.search.retrieval.query import Question
from scrubjay.store import conditions
from scrubjay.store.cache import PassageRow
from scrubjay.store.store import Store
from scrubjay.text.entities import Tie, ties

FOLLOWED = 5  # hits whose ties are followed; the ties of a tenth hit are far from the question
MOST_RECORDS = 5
RARE = 8  # records that may share a tie of full weight; a tie shared by more means little
MOST_TIES = 60  # per look-up
MOST_PASSAGES = 200  # per look-up


@dataclass(frozen=True)
class _HitTies:
    """The ties of some hits by word, how many of the hits have each, and the records linked to the hits."""

    ties: Mapping[str, Tie]
    carriers: Mapping[str, int]
    linked: Mapping[str, Tie]  # the tie to each linked record, by its id


class _TiedRecord(NamedTuple):
    id: str
    tie: Tie  # the closest one
    closeness: tuple[bool, float, float]  # True for a relation; the strength; the date


async def related(
    store: Store, question: Question, hits: Sequence[tuple[Hit, AnyRecord]], *, excluded: Collection[str]
) -> list[Hit]:
    """Find at most `MOST_RECORDS` facts and turns related to these hits, closest first, each with its reason.

    They match the question's filters. `hits` come with their records, best first; `excluded` are the ids of
    the records that are already in the answer.
    """
    # Only facts and turns: a passage of a document means little alone, and the summary of a session names so
    # much that it is related to everything.
    srcs = tuple(src for src in question.srcs if src in ("memory", "turn"))
    hit_ties = _ties_of(hits[:FOLLOWED])
    if not srcs or not hit_ties.ties:
        return []
    narrowed = replace(question, srcs=srcs)
    (scored_passages,) = await search(store, narrowed, by_ties(store, hit_ties.ties, MOST_PASSAGES))
    passages = [passage for passage, _ in scored_passages]
    if hit_ties.linked:
        of_linked = conditions.both(narrowed.where(), conditions.one_of("record_id", hit_ties.linked))
        passages += await store.passages.matching(of_linked, MOST_PASSAGES)
    closest = _closest(passages, hit_ties, excluded)
    ids = [each.id for each in closest]
    turns, facts = await asyncio.gather(store.get(Turn, ids), store.get(Memory, ids))
    records: dict[str, Turn | Memory] = {**turns, **facts}
    return [
        as_hit(records[each.id]).model_copy(update={"reason": each.tie.reason, "via": each.tie.via})
        for each in closest
        if each.id in records and question.admits(records[each.id])
    ]


def _ties_of(hits: Sequence[tuple[Hit, AnyRecord]]) -> _HitTies:
    """Collect the ties in the text that is shown of these hits: a long turn names much that is irrelevant."""
    by_word: dict[str, Tie] = {}
    linked: dict[str, Tie] = {}
    carriers: Counter[str] = Counter()
    for hit, record in hits:
        files = record.files if isinstance(record, Turn) else ()
        parent_ids = record.parent_ids if isinstance(record, Memory) else ()
        linked_ids = (*parent_ids, *(() if isinstance(record, Document) else record.alike))
        linked.update((linked_id, Tie(linked_id, "relation", record.id, 1.0)) for linked_id in linked_ids)
        text = hit.memory or hit.chunk or ""
        for tie in ties(text, files=files, tags=record.tags, records=(record.id, *linked_ids)):
            by_word.setdefault(tie.word, tie._replace(via=record.id) if tie.reason == "relation" else tie)
            carriers[tie.word] += 1
    best = sorted(by_word, key=lambda word: -by_word[word].weight * carriers[word])[:MOST_TIES]
    return _HitTies({word: by_word[word] for word in best}, carriers, linked)


def _closest(
    passages: Sequence[PassageRow], hit_ties: _HitTies, excluded: Collection[str]
) -> list[_TiedRecord]:
    shared: dict[str, dict[str, Tie]] = {}
    dated: dict[str, float] = {}
    for row in passages:  # all passages of a parent turn are read, but only one has its ties
        tied = {word: hit_ties.ties[word] for word in (row.tied or "").split() if word in hit_ties.ties}
        shared.setdefault(row.record_id, {}).update(tied)
        dated[row.record_id] = row.dated_at
    counts = Counter(word for tied in shared.values() for word in tied)
    related_records = []
    for record_id, tied in shared.items():
        linked = hit_ties.linked.get(record_id)
        strength = {
            tie: tie.weight * hit_ties.carriers.get(tie.word, 1) / counts.get(tie.word, 1)
            for tie in (*tied.values(), *([linked] if linked else ()))
            if tie.reason == "relation" or counts[tie.word] <= RARE * tie.weight
        }
        if strength and record_id not in excluded:
            closest = max(strength, key=lambda tie: (tie.reason == "relation", strength[tie]))
            closeness = (closest.reason == "relation", sum(strength.values()), dated[record_id])
            related_records.append(_TiedRecord(record_id, closest, closeness))
    return sorted(related_records, key=lambda each: each.closeness, reverse=True)[:MOST_RECORDS]
