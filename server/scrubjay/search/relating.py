"""Records tied to the first hits of a search: by relation, by a tag, or by an entity that few records name.

Knows which ties are worth a mention. Does not know why a hit was found, or what room is left.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from scrubjay.models.records import AnyRecord, Memory, Passage, Turn
from scrubjay.models.results import Hit
from scrubjay.search.hits import as_hit
from scrubjay.search.retrieval.query import Question
from scrubjay.store import conditions
from scrubjay.store.conditions import Where
from scrubjay.store.store import Store
from scrubjay.text.entities import Tie, ties

FOLLOWED = 5  # hits whose ties are followed: what ties the tenth to others is far from the question
BROUGHT = 5  # records at most
RARE = 8  # records of the asked scopes that may share a tie of full weight; what more of them share says nothing about any
ASKED = 60  # ties in one look-up
LOOKED_AT = 200  # passages that a look-up returns
_COLUMNS = ("record_id", "src", "dated_at")


@dataclass(frozen=True)
class _Asked:
    """The ties of some hits: by their word, how many of the hits have each, and the records they build on."""

    ties: Mapping[str, Tie]
    carriers: Mapping[str, int]
    parents: Mapping[str, Tie]  # id of a parent -> the tie to it


class _Tied(NamedTuple):
    id: str
    tie: Tie  # the closest one
    closeness: tuple[bool, float, float]  # a relation first, then by strength, then the newest


async def related(
    store: Store, question: Question, hits: Sequence[tuple[Hit, AnyRecord]], *, besides: Collection[str]
) -> list[Hit]:
    """At most `BROUGHT` further facts and turns that pass the question's filters, the closest first, each with its reason.

    `hits` are what was found with their records, best first; `besides`, the ids that the answer has already.
    """
    # A passage of a document says little by itself; the summary of a session names so much that it is tied to everything.
    srcs = tuple(src for src in question.srcs if src in ("memory", "turn"))
    asked = _asked(hits[:FOLLOWED])
    if not srcs or not asked.ties:
        return []
    where = replace(question, srcs=srcs).where()
    rows = await _sharing(store, where, asked.ties, asked.parents)
    close = _closest(rows, asked, besides)
    src = {row.record_id: row.src for row in rows}
    turns, facts = await asyncio.gather(
        store.get(Turn, [item.id for item in close if src[item.id] == "turn"]),
        store.get(Memory, [item.id for item in close if src[item.id] == "memory"]),
    )
    records: dict[str, Turn | Memory] = {**turns, **facts}
    return [
        as_hit(records[item.id]).model_copy(update={"reason": item.tie.reason, "via": item.tie.via})
        for item in close
        if item.id in records and question.admits(records[item.id])
    ]


async def _sharing(store: Store, where: Where, words: Collection[str], ids: Collection[str]) -> list[Passage]:
    """The passages that hold one of the ties, the rarest first, and those of the records with these ids."""
    found = await store.by_ties(words, where, LOOKED_AT, _COLUMNS) if words else []
    if ids:
        found += await store.passages(
            conditions.both(where, conditions.one_of("record_id", ids)),
            limit=LOOKED_AT,
            columns=[*_COLUMNS, "tied"],
        )
    return found


def _asked(hits: Sequence[tuple[Hit, AnyRecord]]) -> _Asked:
    """What ties these hits to others, as far as they show it: a long turn names much that is not why it was found."""
    found: dict[str, Tie] = {}
    parents: dict[str, Tie] = {}
    carriers: Counter[str] = Counter()
    for hit, record in hits:
        own = (
            (*record.parent_ids, *record.alike)
            if isinstance(record, Memory)
            else record.alike
            if isinstance(record, Turn)
            else ()
        )
        files = record.files if isinstance(record, Turn) else ()
        parents.update((id, Tie(id, "relation", record.id, 1.0)) for id in own)
        for tie in ties(
            hit.memory or hit.chunk or "", files=files, tags=record.tags, records=(record.id, *own)
        ):
            found.setdefault(tie.word, tie._replace(via=record.id) if tie.reason == "relation" else tie)
            carriers[tie.word] += 1
    best = sorted(found, key=lambda word: -found[word].weight * carriers[word])[:ASKED]
    return _Asked({word: found[word] for word in best}, carriers, parents)


def _closest(rows: Sequence[Passage], asked: _Asked, besides: Collection[str]) -> list[_Tied]:
    """The records that share the most with the hits, by ties that few records have."""
    shared: dict[str, dict[str, Tie]] = {}
    dated: dict[str, float] = {}
    for row in rows:  # of a turn that a hit builds on all passages come, and one of them holds its ties
        held = {word: asked.ties[word] for word in (row.tied or "").split() if word in asked.ties}
        shared.setdefault(row.record_id, {}).update(held)
        dated[row.record_id] = row.dated_at.timestamp()
    common = Counter(word for held in shared.values() for word in held)
    found = []
    for id, held in shared.items():
        if id in besides:
            continue
        rare = [
            tie for word, tie in held.items() if tie.reason == "relation" or common[word] <= RARE * tie.weight
        ]
        if parent := asked.parents.get(id):
            rare.append(parent)
        if rare:
            strength = {
                tie: tie.weight * asked.carriers.get(tie.word, 1) / common.get(tie.word, 1) for tie in rare
            }
            closest = max(rare, key=lambda tie: (tie.reason == "relation", strength[tie]))
            closeness = (closest.reason == "relation", sum(strength.values()), dated[id])
            found.append(_Tied(id, closest, closeness))
    return sorted(found, key=lambda item: item.closeness, reverse=True)[:BROUGHT]
