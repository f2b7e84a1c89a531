"""Completes partial ids that callers give; `text.short_ids` shortens ids for display.

A caller names a record by its id or the beginning of its id (with or without its kind: `mem_1a2b`, `1a2b`),
and a turn also by `SESSION/TURN`. If the name matches several records of the scopes that the caller may see,
the functions raise InputError. An id without a match is returned unchanged; the code that needs the record
then reports that it does not exist.
"""

from collections.abc import Callable, Collection, Iterable
from datetime import datetime
from typing import Any, TypeVar

from scrubjay.errors import InputError
from scrubjay.models.records import AnyRecord, Document, Memory, Turn
from scrubjay.store import conditions
from scrubjay.store.conditions import Where
from scrubjay.store.store import Store

LEAST = 4  # characters that a partial id must have, without its kind
NAMED = 4  # candidates that an error lists
_KINDS: dict[str, type[Any]] = {"mem": Memory, "turn": Turn, "doc": Document}
_LONGEST_NUMBER = 8  # digits of a turn's number

Scopes = Collection[str] | None  # None: all scopes
T = TypeVar("T", Turn, Memory, Document)


async def full_id(store: Store, partial_id: str, scopes: Scopes, kinds: Iterable[str] = tuple(_KINDS)) -> str:
    """Return the id of the only record that matches, or `partial_id` itself if no record matches."""
    kind, _, rest = partial_id.partition("_")
    matches: list[AnyRecord] = []
    for prefix in kinds:
        beginnings = [partial_id] if kind == prefix else [partial_id, f"{prefix}_{partial_id}"]
        if len(rest if kind == prefix else partial_id) >= LEAST and not f"{prefix}_".startswith(partial_id):
            where = conditions.either(*(conditions.starts_with("id", each) for each in beginnings))
            is_match = _id_begins_with(*beginnings)
            matches += await _select(store, _KINDS[prefix], scopes, where, [], is_match)
    if not matches and "turn" in kinds:
        matches += await _turns_by_number(store, partial_id, scopes)
    if not matches or any(record.id == partial_id for record in matches):
        return partial_id
    if len(matches) > 1:
        raise _ambiguous(partial_id, [(_date(record), record.id, record.scope) for record in matches])
    return matches[0].id


async def full_document_id(store: Store, partial_id: str, scopes: Scopes) -> str:
    """Return the id of the only document that matches, or `partial_id` if it is a custom_id or unknown."""
    where = conditions.equal("custom_id", partial_id)
    is_custom_id = await _select(
        store, Document, scopes, where, ["custom_id"], lambda row: row.custom_id == partial_id
    )
    return partial_id if is_custom_id else await full_id(store, partial_id, scopes, ["doc"])


async def full_session_id(store: Store, partial_id: str, scopes: Scopes) -> str:
    """Return the id of the only session that matches, or `partial_id` itself if no session matches."""
    if len(partial_id) < LEAST:
        return partial_id
    where = conditions.starts_with("session_id", partial_id)

    def is_match(row: Turn | Memory) -> bool:
        return (row.session_id or "").startswith(partial_id)

    turns = await _select(store, Turn, scopes, where, ["session_id"], is_match)
    facts = await _select(store, Memory, scopes, where, ["session_id"], is_match)
    records: list[Turn | Memory] = [*turns, *facts]
    candidates = sorted((_date(record), record.session_id or "", record.scope) for record in records)
    sessions = {candidate[1]: candidate for candidate in candidates}  # the last record of each
    if not sessions or partial_id in sessions:
        return partial_id
    if len(sessions) > 1:
        raise _ambiguous(partial_id, sessions.values())
    return next(iter(sessions))


async def _turns_by_number(store: Store, partial_id: str, scopes: Scopes) -> list[Turn]:
    """Return the turns that match SESSION/TURN; a session with exactly this id excludes all others."""
    session, _, number = partial_id.rpartition("/")
    if not session or not number.isascii() or not number.isdigit() or len(number) > _LONGEST_NUMBER:
        return []
    turn, is_exact = int(number), len(session) < LEAST
    condition = conditions.equal if is_exact else conditions.starts_with
    where = conditions.both(condition("session_id", session), conditions.equal("turn", turn))

    def is_match(row: Turn) -> bool:
        is_in_session = row.session_id == session if is_exact else row.session_id.startswith(session)
        return row.turn == turn and is_in_session

    rows = await _select(store, Turn, scopes, where, ["session_id", "turn"], is_match)
    return [row for row in rows if row.session_id == session] or rows


async def _select(
    store: Store,
    kind: type[T],
    scopes: Scopes,
    where: Where,
    columns: list[str],
    is_match: Callable[[T], bool],
) -> list[T]:
    """Return the matching records of these scopes, staged or committed, with at least these columns.

    `is_match` tests a staged record as `where` tests a committed row.
    """
    in_scopes = conditions.both(where, conditions.matching(scope=scopes))
    columns = ["id", "scope", "started_at" if kind is Turn else "created_at", *columns]

    def is_match_in_scopes(row: T) -> bool:
        return is_match(row) and (scopes is None or row.scope in scopes)

    return await store.select_newest(kind, in_scopes, is_match_in_scopes, columns=columns)


def _id_begins_with(*beginnings: str) -> Callable[[AnyRecord], bool]:
    return lambda row: row.id.startswith(beginnings)


def _date(record: AnyRecord) -> datetime:
    return record.started_at if isinstance(record, Turn) else record.created_at


def _ambiguous(partial_id: str, candidates: Iterable[tuple[datetime, str, str]]) -> InputError:
    ordered = sorted(candidates, reverse=True)
    listed = ", ".join(f"{name} ({date:%Y-%m-%d}, {scope})" for date, name, scope in ordered[:NAMED])
    more = f" and {len(ordered) - NAMED:,} more" if len(ordered) > NAMED else ""
    return InputError(f"{partial_id[:80]!r} is ambiguous: {listed}{more}. Give more characters of the id.")
