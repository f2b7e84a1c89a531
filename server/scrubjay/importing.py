"""Records from an export, taken into this store. Knows which of them are new here, which are here already and which are here otherwise;
does not know files or lines. Nothing that is here is ever changed by an import.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from scrubjay.ids import content_hash
from scrubjay.models.envelopes import Envelope
from scrubjay.models.exchange import Differing, Imported, ImportRecords, record_of
from scrubjay.models.records import AnyRecord, Turn
from scrubjay.models.requests import parse
from scrubjay.plans import Plan
from scrubjay.searchable import passages_of
from scrubjay.store.changes import TABLE_OF, Change
from scrubjay.store.store import Store
from scrubjay.writes import redacted

USE = frozenset({"last_accessed_at", "access_count"})  # what recalls leave behind: a record is the same whatever they say
SHOWN = 20  # records that an answer names as different


async def plan_import(store: Store, envelope: Envelope, now: datetime) -> Plan[Imported]:
    """What importing these records does: each that is not here is kept as it is, with its id, dates, versions and what was forgotten.

    One whose id is here already stays as it is here, and is counted as the same or named as different; so a repetition adds what an
    interruption left out and nothing twice.
    """
    records = [record_of(values) for values in parse(ImportRecords, envelope.args).records]
    known = await _known(store, records)
    fresh: dict[str, AnyRecord] = {}
    same, differing = 0, []
    for record in records:
        here = known.get(record.id) or fresh.get(record.id)
        if here is None:
            fresh[record.id] = record
        elif fields := _differences(here, record):
            differing.append(Differing(id=record.id, fields=fields))
        else:
            same += 1
    # In a thread, because large documents take seconds to cut, in which others want their answers.
    changes = await asyncio.to_thread(_changes, fresh.values())
    named = tuple(differing[:SHOWN])
    answer = Imported(added=len(changes), same=same, different=len(differing), differing=named, redacted=envelope.redacted)
    return Plan(changes[0] if changes else None, answer, tuple(changes[1:]))


def cleaned(record: AnyRecord) -> tuple[AnyRecord, int]:
    """A record without its secrets, and how many there were: an export made by hand may hold some; one of ours comes back unchanged."""
    values, count = redacted({name: value for name, value in record if isinstance(value, str | dict | tuple)})
    if not count:
        return record, 0
    if not isinstance(record, Turn):
        values["content_hash"] = content_hash(values["content"])
    return record.model_copy(update={name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}), count


def together(answers: Iterable[Imported]) -> Imported:
    """What several imports did, as one."""
    given = list(answers)
    sums: dict[str, Any] = {name: sum(getattr(each, name) for each in given) for name in ("added", "same", "different", "redacted")}
    return Imported(**sums, differing=tuple(one for each in given for one in each.differing)[:SHOWN])


async def _known(store: Store, records: Iterable[AnyRecord]) -> dict[str, AnyRecord]:
    found: dict[str, AnyRecord] = {}
    for kind in TABLE_OF:
        if ids := [record.id for record in records if isinstance(record, kind)]:
            found.update(await store.get(kind, ids))
    return found


def _differences(here: AnyRecord, other: AnyRecord) -> list[str]:
    return [name for name in type(here).model_fields if name not in USE and getattr(here, name) != getattr(other, name)]


def _changes(records: Iterable[AnyRecord]) -> list[Change]:
    return [Change(record, passages_of(record)) for record in records]
