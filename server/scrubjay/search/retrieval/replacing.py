"""Finds candidates with a value that a newer fact has replaced, so that they come after that fact.

The versions of a fact show the change: the words that the newest version no longer has. An older text has the
old value if it contains most of these words, about as many of the unchanged ones, and none of the new ones.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np

from scrubjay.models.records import Memory
from scrubjay.search.retrieval.candidates import Candidates, whole_texts
from scrubjay.search.retrieval.ranking import QUOTED, Floats, Ints
from scrubjay.store import conditions
from scrubjay.store.schema import micros
from scrubjay.store.store import Store
from scrubjay.text.terms import compared_words

LOST, COMMON = 0.6, 0.5  # an old text has these shares of the removed and of the unchanged words
# How far the old value comes after the new one, in ranking sum. Recency and importance, with their usual
# weights, cannot make up for it.
BEHIND = 0.4

Replacement = tuple[str, datetime]  # the current fact, and since when it holds


async def with_replaced(store: Store, candidates: Candidates, total: Floats, first: Ints) -> Candidates:
    """Move replaced candidates among the `first` behind their replacement; fill in `replaced`.

    Replaced candidates lose the bonus of a quotation, so that a repeated question gets the current answer.
    """
    places = {candidates.ids[at]: at for at in first.tolist()}
    fact_ids = [record_id for record_id, at in places.items() if candidates.src(at) == "memory"]
    rows = await store.get(Memory, fact_ids, columns=["id", "relation", "root_id", "content", "created_at"])
    changed = [row for row in rows.values() if row.relation == "updates"]
    if not changed:
        return candidates
    versions = await _earlier_versions(store, {row.root_id for row in changed})
    texts = await whole_texts(store, candidates, places.values())
    shift, replaced = np.zeros(len(total)), dict[str, Replacement]()
    quoted = candidates.signals.quoted.copy()
    total = total - QUOTED * quoted
    for fact in changed:
        at = places[fact.id]
        stale = [
            other
            for record_id, other in places.items()
            if record_id != fact.id
            and candidates.dated_at[other] < micros(fact.created_at)
            and any(has_old_value(texts[other], old, fact.content) for old in versions[fact.root_id])
        ]
        if stale:
            best = max(float(total[at]), *(float(total[other]) for other in stale))
            shift[at] = best - total[at]
            shift[stale] = np.minimum(0.0, best - BEHIND - total[stale])
            quoted[stale] = False
            replaced.update((candidates.ids[other], (fact.id, fact.created_at)) for other in stale)
    return replace(candidates.with_signals(current=shift, quoted=quoted), replaced=replaced)


async def _earlier_versions(store: Store, roots: Iterable[str]) -> Mapping[str, Sequence[str]]:
    """Read the texts of all versions of facts except the latest, by the id of their root."""
    where = conditions.both(conditions.one_of("root_id", roots), conditions.negation(conditions.LATEST))
    texts: dict[str, list[str]] = {root: [] for root in roots}
    for row in await store.select(Memory, where, columns=["root_id", "content"]):
        texts[row.root_id].append(row.content)
    return texts


def has_old_value(text: str, old: str, new: str) -> bool:
    """Return True if a text has a fact's old value, and not its new one.

    >>> old, new = "Uploads are kept for 48 hours.", "Uploads are kept for 72 hours."
    >>> has_old_value("Keep the uploads 48 hours.", old, new), has_old_value("From 48 to 72 hours.", old, new)
    (True, False)
    """
    before, after, present = ({*compared_words(each)} for each in (old, new, text))
    lost, gained, common = before - after, after - before, before & after
    if not lost or gained & present & _identifying(gained):
        return False
    return _share(lost, present) >= LOST and _share(common, present) >= COMMON


def _identifying(words: set[str]) -> set[str]:
    """Return the words that identify a value: those with digits, if there are any."""
    return {word for word in words if any(map(str.isdigit, word))} or words


def _share(words: set[str], present: set[str]) -> float:
    return len(words & present) / len(words) if words else 1.0
