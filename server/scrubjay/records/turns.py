"""Turns: how one is identified, completed and summarised."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from scrubjay.errors import InputError
from scrubjay.models.envelopes import Envelope
from scrubjay.models.records import AnyRecord, Document, Turn, changed, derived_id, fields_of
from scrubjay.models.requests import RecordTurn, parse
from scrubjay.models.results import TurnRecorded
from scrubjay.records.passages import TURN_PASSAGE, speeches, together, written
from scrubjay.store.changes import Plan
from scrubjay.store.sessions import Place
from scrubjay.store.store import Store
from scrubjay.text.summary import gist

PARTITION = "mem_episodic"  # Hebb Mind's name of where turns belong
# Fields of a new turn that are as in its request.
_SAME = "metadata session_id prompt_id user assistant role text summary".split()
SOURCE = "conversation"  # of a conversation's document, and of its turns


async def plan_record(store: Store, envelope: Envelope, now: datetime) -> Plan[TurnRecorded]:
    """Plan the recording of a turn: a new turn, the completion of a known one, or nothing.

    A turn is known by (scope, session, prompt_id), else (scope, session, turn), else by its envelope. One
    without prompt_id and turn is also known if it repeats the session's last turn word for word.

    Raises:
        InputError: another text of the user (or of the same speaker) stands under the same key.
    """
    request = _with_roles(parse(RecordTurn, envelope.args))
    key = (envelope.scope, request.session_id)
    places = (await store.sessions.of([key]))[key].places
    known = await _find_known(store, envelope, request, places)
    if known is None:
        turn = new_turn(envelope, request, _number(request, places), now)
    elif known.purged_at is not None:
        turn = known  # nothing restores a purged turn, not even a transcript
    else:
        turn = _completed(known, request, now)
    updated = known is not None and turn is not known
    changes = [written(turn, is_known=updated)] if known is None or updated else []
    answer = TurnRecorded(
        id=turn.id,
        session_id=turn.session_id,
        turn=turn.turn,
        stored=known is None,
        updated=updated,
        indexed=not changes and not await store.records_without_vectors([turn.id]),
        forgotten=turn.forgotten_at is not None,
        redacted=envelope.redacted,
    )
    return Plan(answer, changes)


def _with_roles(request: RecordTurn) -> RecordTurn:
    """Move a `text` of the role 'user' or 'assistant' into the field of that name."""
    side = (request.role or "").lower()
    if side not in ("user", "assistant"):
        return request
    return request.model_copy(update={side: request.text, "text": None, "role": None})


async def _find_known(
    store: Store, envelope: Envelope, request: RecordTurn, places: tuple[Place, ...]
) -> Turn | None:
    wanted = turn_id(envelope, request)
    if request.prompt_id is None and request.turn is not None:
        wanted = next((place.id for place in places if place.turn == request.turn), wanted)
    if any(place.id == wanted for place in places):
        return (await store.get(Turn, [wanted])).get(wanted)
    if request.prompt_id is None and request.turn is None and places and not places[-1].forgotten:
        last = (await store.get(Turn, [places[-1].id])).get(places[-1].id)
        return last if last is not None and _repeats(last, request) else None
    return None  # the session knows its turns: a new one costs no look at the disk


def _repeats(turn: Turn, request: RecordTurn) -> bool:
    """Return True if a client repeats a recorded turn because it never got the answer."""
    texts = (request.user, request.assistant, request.role, request.text)
    same = texts == (turn.user, turn.assistant, turn.role, turn.text)
    return same and request.ts in (None, turn.started_at)


def turn_id(envelope: Envelope, request: RecordTurn) -> str:
    """Return the id of the turn that a request records."""
    key = ("envelope", envelope.id)
    if request.prompt_id is not None:
        key = ("prompt", request.prompt_id)
    elif request.turn is not None:
        key = ("turn", str(request.turn))
    return derived_id("turn", envelope.scope, request.session_id, *key)


def _number(request: RecordTurn, places: tuple[Place, ...]) -> int:
    taken = {place.turn for place in places}
    free = request.turn is not None and request.turn not in taken
    return request.turn if free and request.turn is not None else max(taken, default=-1) + 1


def new_turn(envelope: Envelope, request: RecordTurn, number: int, now: datetime) -> Turn:
    """Return the turn of a request, as the one of this number in its session."""
    started = request.ts or envelope.at
    turn = Turn(
        id=turn_id(envelope, request),
        scope=envelope.scope,
        partition_id=PARTITION,
        tags=tuple(request.tags),
        source=envelope.source,
        created_at=now,
        updated_at=now,
        last_accessed_at=started,
        turn=number,
        tools=tuple(dict.fromkeys(request.tools)),
        files=tuple(dict.fromkeys(request.files)),
        host=envelope.host,
        capture=envelope.capture,
        started_at=started,
        **fields_of(request, *_SAME),
    )
    return turn if request.summary else turn.model_copy(update={"summary": summary_of(turn)})


def summary_of(turn: Turn) -> str | None:
    """Return the extractive summary of a turn; None for a short one, which it would only copy.

    Under the policy `summary_only` searches find only the summary, so a short turn has one too.
    """
    if turn.capture == "summary_only":
        return gist(turn.user, turn.assistant or turn.text) or None
    if 0 < sum(len(text) for _, text in speeches(turn)) <= TURN_PASSAGE:
        return None
    return together(turn) or None


def _completed(turn: Turn, request: RecordTurn, now: datetime) -> Turn:
    """Return the known turn with what the request adds; the very same object if it adds nothing."""
    if request.role is not None and turn.role is not None and request.role != turn.role:
        problem = f"Turn {turn.turn} of this session was said by {turn.role!r}, not {request.role!r}."
        raise InputError(f"{problem} Use another turn number.")
    values = {
        "user": _same(turn, "user", turn.user, request.user),
        "text": _same(turn, "text", turn.text, request.text),
        "role": turn.role or request.role,
        "assistant": _longer(turn.assistant, request.assistant, join=True),
        "tools": tuple(dict.fromkeys((*turn.tools, *request.tools))),
        "files": tuple(dict.fromkeys((*turn.files, *request.files))),
        "tags": tuple(dict.fromkeys((*turn.tags, *request.tags))),
        "metadata": {**turn.metadata, **request.metadata},
        "started_at": min(turn.started_at, request.ts) if request.ts else turn.started_at,
        "summary": request.summary or turn.summary,
    }
    return with_more(turn, values, now)


def with_more(turn: Turn, values: Mapping[str, Any], now: datetime) -> Turn:
    """Return a turn with these values, and a summary of them unless it has one of its own; see `changed`."""
    completed = changed(turn, values, now)
    if completed is not turn and completed.summary == turn.summary == summary_of(turn):
        completed = completed.model_copy(update={"summary": summary_of(completed)})
    return completed


def _same(turn: Turn, field: str, known: str | None, new: str | None) -> str | None:
    longer = _longer(known, new, join=False)
    if longer is None and new is not None:
        raise InputError(
            f"Turn {turn.turn} of session {turn.session_id!r} already has another {field} text. "
            "A turn keeps what was said; record this one under another turn or prompt_id."
        )
    return longer


def _longer(known: str | None, new: str | None, *, join: bool) -> str | None:
    """Return the text that contains the other; else both (`join`) or None."""
    if known is None or new is None:
        return known if new is None else new
    if new in known:
        return known
    if known in new:
        return new
    return f"{known}\n\n{new}" if join else None


async def conversation_turns(store: Store, records: Iterable[AnyRecord]) -> list[Turn]:
    """Return the turns of the conversations whose documents are among these records, forgotten ones too."""
    keys = [
        (row.scope, row.custom_id)
        for row in records
        if isinstance(row, Document) and row.source == SOURCE and row.custom_id
    ]
    sessions = (await store.sessions.of(keys)).values() if keys else ()
    turns = await store.get(Turn, [turn_id for session in sessions for turn_id in session.positions])
    return [turn for turn in turns.values() if turn.source == SOURCE]
