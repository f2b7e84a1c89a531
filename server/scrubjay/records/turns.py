"""Turns: how one is identified, completed and summarised."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from scrubjay.errors import InputError
from scrubjay.models.envelopes import Envelope
from scrubjay.models.records import AnyRecord, Document, Turn, changed, derived_id, fields_of
from scrubjay.models.requests import RecordTurn, parse
from scrubjay.models.results import TurnRecorded
from scrubjay.records.passages import TURN_PASSAGE, record_change, speeches, turn_summary
from scrubjay.store.changes import Plan
from scrubjay.store.sessions import Place
from scrubjay.store.store import Store
from scrubjay.text.summary import gist

PARTITION = "mem_episodic"  # Hebb Mind's name of the partition for turns
# Fields that a new turn copies from its request.
_COPIED_FIELDS = "metadata session_id prompt_id user assistant role text summary".split()
SOURCE = "conversation"  # source of a conversation's document, and of its turns
_OWN_COMMANDS = ("/mcp__scrubjay__", "/mcp__plugin_scrubjay_scrubjay__", "/scrubjay:")  # as hosts write them


def is_own_command(turn: Turn) -> bool:
    """Return True if the prompt of a turn is one of Scrubjay's commands; its answer repeats stored text."""
    return (turn.user or "").startswith(_OWN_COMMANDS)


async def plan_record(store: Store, envelope: Envelope, now: datetime) -> Plan[TurnRecorded]:
    """Plan the recording of a turn: a new turn, the completion of a recorded one, or nothing.

    A turn is identified by (scope, session, prompt_id), else (scope, session, turn), else by its envelope. A
    request without prompt_id and turn may also repeat the session's last turn word for word. Raises
    InputError if the recorded turn has another text of the user (or of the same speaker).
    """
    request = _with_roles(parse(RecordTurn, envelope.args))
    key = (envelope.scope, request.session_id)
    places = (await store.sessions.of([key]))[key].places
    recorded = await _find_recorded(store, envelope, request, places)
    if recorded is None:
        turn = new_turn(envelope, request, _number(request, places), now)
    elif recorded.purged_at is not None:
        turn = recorded  # a purged turn stays purged, even if a transcript still has its texts
    else:
        turn = _complete(recorded, request, now)
    is_updated = recorded is not None and turn is not recorded
    changes = [record_change(turn, is_known=is_updated)] if recorded is None or is_updated else []
    answer = TurnRecorded(
        id=turn.id,
        session_id=turn.session_id,
        turn=turn.turn,
        stored=recorded is None,
        updated=is_updated,
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


async def _find_recorded(
    store: Store, envelope: Envelope, request: RecordTurn, places: tuple[Place, ...]
) -> Turn | None:
    """Return the recorded turn that a request repeats or completes; None for a new turn."""
    expected_id = turn_id(envelope, request)
    if request.prompt_id is None and request.turn is not None:
        expected_id = next((place.id for place in places if place.turn == request.turn), expected_id)
    if any(place.id == expected_id for place in places):
        return (await store.get(Turn, [expected_id])).get(expected_id)
    if request.prompt_id is None and request.turn is None and places and not places[-1].forgotten:
        last = (await store.get(Turn, [places[-1].id])).get(places[-1].id)
        return last if last is not None and _is_repetition(last, request) else None
    return None  # the session lists its turns, so a new one needs no read of the disk


def _is_repetition(turn: Turn, request: RecordTurn) -> bool:
    """Return True if a request repeats a turn, as a client does if it never got the answer."""
    texts = "user", "assistant", "role", "text"
    is_equal = fields_of(request, *texts) == fields_of(turn, *texts)
    return is_equal and request.ts in (None, turn.started_at)


def turn_id(envelope: Envelope, request: RecordTurn) -> str:
    """Return the id of the turn that a request records."""
    key = ("envelope", envelope.id)
    if request.prompt_id is not None:
        key = ("prompt", request.prompt_id)
    elif request.turn is not None:
        key = ("turn", str(request.turn))
    return derived_id("turn", envelope.scope, request.session_id, *key)


def _number(request: RecordTurn, places: tuple[Place, ...]) -> int:
    """Return the number that a turn asks for if it is free, else the next number of the session."""
    numbers = {place.turn for place in places}
    if request.turn is not None and request.turn not in numbers:
        return request.turn
    return max(numbers, default=-1) + 1


def new_turn(envelope: Envelope, request: RecordTurn, number: int, now: datetime) -> Turn:
    """Return the turn of a request, with this number in its session."""
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
        **fields_of(request, *_COPIED_FIELDS),
    )
    return turn if request.summary else turn.model_copy(update={"summary": summary_of(turn)})


def summary_of(turn: Turn) -> str | None:
    """Return the extractive summary of a turn, or None for a short turn, which it would only repeat.

    Under the policy `summary_only`, a short turn has one too, because nothing else of it is searched.
    """
    if turn.capture == "summary_only":
        return gist(turn.user, turn.assistant or turn.text) or None
    if 0 < sum(len(text) for _, text in speeches(turn)) <= TURN_PASSAGE:
        return None
    return turn_summary(turn) or None


def _complete(turn: Turn, request: RecordTurn, now: datetime) -> Turn:
    """Return a recorded turn with what a request adds; the same object if it adds nothing."""
    if request.role is not None and turn.role is not None and request.role != turn.role:
        problem = f"Turn {turn.turn} of this session was said by {turn.role!r}, not {request.role!r}."
        raise InputError(f"{problem} Use another turn number.")
    values = {
        "user": _extended(turn, "user", turn.user, request.user),
        "text": _extended(turn, "text", turn.text, request.text),
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
    """Return a turn with these values (see `changed`), and a new summary unless a caller gave the old one."""
    completed = changed(turn, values, now)
    if completed is not turn and completed.summary == turn.summary == summary_of(turn):
        completed = completed.model_copy(update={"summary": summary_of(completed)})
    return completed


def _extended(turn: Turn, field: str, recorded: str | None, new: str | None) -> str | None:
    """Return the longer of two texts of a field. Raises InputError if neither contains the other."""
    longer = _longer(recorded, new, join=False)
    if longer is None and new is not None:
        raise InputError(
            f"Turn {turn.turn} of session {turn.session_id!r} already has another {field} text. "
            "A turn keeps what was said; record this one under another turn or prompt_id."
        )
    return longer


def _longer(recorded: str | None, new: str | None, *, join: bool) -> str | None:
    """Return the text that contains the other; if neither does, both joined (`join`) or None."""
    if recorded is None or new is None:
        return recorded if new is None else new
    if new in recorded:
        return recorded
    if recorded in new:
        return new
    return f"{recorded}\n\n{new}" if join else None


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
