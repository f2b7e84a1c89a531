"""Completes partial ids that callers give; `text.short_ids` shortens ids for display.

A caller names a record by its id or the beginning of it (with or without its kind: `mem_1a2b`, `1a2b`), and a
turn also by `SESSION/TURN`. It must match one record of the scopes that the caller may see. An id without a
match is returned unchanged, so that the code that needs the record reports that it does not exist.
"""

from collections.abc import Callable, Collection, Iterable
from datetime import datetime
from typing import Any, TypeVar

from scrubjay.errors import InputError
from scrubjay.models.records import AnyRecord, Document, Memory, Turn
from scrubjay.store import conditions
from scrubjay.store.conditions import Where
from scrubjay.store.store import Store

LEAST = 4  # characters of the beginning of an id, after its kind, or of a session's
NAMED = 4  # candidates in a sentence
_KINDS: dict[str, type[Any]] = {"mem": Memory, "turn": Turn, "doc": Document}
_LONGEST_NUMBER = 8  # digits of a turn

Scopes = Collection[str] | None  # None: all
T = TypeVar("T", Turn, Memory, Document)


async def full_id(store: Store, said: str, scopes: Scopes, kinds: Iterable[str] = tuple(_KINDS)) -> str:
    """Return the id of the record that is meant; `said` itself if it fits none.

    Raises:
        InputError: it fits several.
    """
    named, _, rest = said.partition("_")
    found: list[AnyRecord] = []
    for name in kinds:
        beginnings = [said] if named == name else [said, f"{name}_{said}"]
        if len(rest if named == name else said) >= LEAST and not f"{name}_".startswith(said):
            found += await _beginning_with(store, _KINDS[name], beginnings, scopes)
    if not found and "turn" in kinds:
        found += await _turns_called(store, said, scopes)
    if not found or any(record.id == said for record in found):
        return said
    if len(found) > 1:
        raise _ambiguous(said, [(_date(record), record.id, record.scope) for record in found])
    return found[0].id


async def full_document_id(store: Store, said: str, scopes: Scopes) -> str:
    """Return the id of the document that is meant; `said` itself if it is a custom_id, or fits none.

    Raises:
        InputError: it fits several.
    """
    where = conditions.matching(custom_id=said, scope=scopes)
    # First the staged ones, or a commit could hide one.
    if any(row.custom_id == said for row in store.staged(Document)) or await store.count(Document, where):
        return said
    return await full_id(store, said, scopes, ["doc"])


async def full_session_id(store: Store, said: str, scopes: Scopes) -> str:
    """Return the id of the session that is meant, of a turn or a fact; `said` itself if it fits none.

    Raises:
        InputError: it fits several.
    """
    if len(said) < LEAST:
        return said
    sessions: dict[str, tuple[datetime, str, str]] = {}
    where = conditions.starts_with("session_id", said)
    turns = await _as_written(store, Turn, scopes, where, ["session_id"], lambda row: _in_session(row, said))
    facts = await _as_written(
        store, Memory, scopes, where, ["session_id"], lambda row: _in_session(row, said)
    )
    records: list[Turn | Memory] = [*turns, *facts]
    for record in records:
        place = (_date(record), record.session_id or "", record.scope)
        sessions[place[1]] = max(place, sessions.get(place[1], place))
    if not sessions or said in sessions:
        return said
    if len(sessions) > 1:
        raise _ambiguous(said, sessions.values())
    return next(iter(sessions))


def _in_session(record: Turn | Memory, beginning: str) -> bool:
    return (record.session_id or "").startswith(beginning)


async def _beginning_with(
    store: Store, kind: type[T], beginnings: Collection[str], scopes: Scopes
) -> list[T]:
    where = conditions.either(*(conditions.starts_with("id", each) for each in beginnings))
    return await _as_written(store, kind, scopes, where, [], lambda row: row.id.startswith(tuple(beginnings)))


async def _turns_called(store: Store, said: str, scopes: Scopes) -> list[Turn]:
    """Return the turns that `said` may mean as SESSION/TURN, of a session of just that name if any."""
    session, _, number = said.rpartition("/")
    if not session or not number.isascii() or not number.isdigit() or len(number) > _LONGEST_NUMBER:
        return []
    turn, whole = int(number), len(session) < LEAST
    named = conditions.equal if whole else conditions.starts_with
    where = conditions.both(named("session_id", session), conditions.equal("turn", turn))

    def fits(row: Turn) -> bool:
        return row.turn == turn and (row.session_id == session or (not whole and _in_session(row, session)))

    rows = await _as_written(store, Turn, scopes, where, ["session_id", "turn"], fits)
    return [row for row in rows if row.session_id == session] or rows


async def _as_written(
    store: Store, kind: type[T], scopes: Scopes, where: Where, columns: list[str], fits: Callable[[T], bool]
) -> list[T]:
    """Return the records of these scopes that match, staged or committed, with these columns at least.

    `fits` decides of a record what `where` decides of a row.
    """
    here = conditions.both(where, conditions.matching(scope=scopes))
    columns = ["id", "scope", "started_at" if kind is Turn else "created_at", *columns]

    def fits_here(row: T) -> bool:
        return fits(row) and (scopes is None or row.scope in scopes)

    return await store.select_newest(kind, here, fits_here, columns=columns)


def _date(record: AnyRecord) -> datetime:
    return record.started_at if isinstance(record, Turn) else record.created_at


def _ambiguous(said: str, candidates: Iterable[tuple[datetime, str, str]]) -> InputError:
    ordered = sorted(candidates, reverse=True)
    named = ", ".join(f"{name} ({date:%Y-%m-%d}, {scope})" for date, name, scope in ordered[:NAMED])
    more = f" and {len(ordered) - NAMED:,} more" if len(ordered) > NAMED else ""
    return InputError(f"{said[:80]!r} may mean each of these: {named}{more}. Say more of the one you mean.")
