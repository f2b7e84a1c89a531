"""Turns: how one is identified, completed, and made searchable. Plans a write; the engine journals and commits it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from scrubjay.errors import InputError
from scrubjay.models.envelopes import Envelope
from scrubjay.models.records import AnyRecord, Document, Passage, Turn, derived_id
from scrubjay.models.requests import RecordTurn, parse
from scrubjay.models.results import TurnRecorded
from scrubjay.records.plans import Plan
from scrubjay.store.changes import Change
from scrubjay.store.facets import facets
from scrubjay.store.sessions import Place
from scrubjay.store.store import Store
from scrubjay.text.chunking import split
from scrubjay.text.entities import tie_words
from scrubjay.text.summary import summarise
from scrubjay.text.terms import expand

PARTITION = "mem_episodic"  # how seed 002's API sees a turn
PASSAGE_SIZE = 900  # characters; whole long turns rank worse than their passages
PLAIN_ROLES = frozenset({"user", "assistant", "system", "tool", "document"})  # never spoken of by name


async def plan_record(store: Store, envelope: Envelope, now: datetime) -> Plan[TurnRecorded]:
    """What recording this turn does: a new turn, the completion of a known one, or nothing.

    A turn is known by (scope, session, prompt_id), else (scope, session, turn), else by its envelope; one
    that nothing names is also known when it repeats the session's last turn word for word.

    Raises:
        InputError: another text of the user (or of the same speaker) stands under the same key.
    """
    request = _with_roles(parse(RecordTurn, envelope.args))
    key = (envelope.scope, request.session_id)
    places = (await store.sessions.of([key]))[key].places
    existing = await _existing(store, envelope, request, places)
    if existing is not None and existing.purged_at is not None:
        turn = existing  # nothing brings back what was deleted for good, a transcript least of all
    else:
        turn = (
            _new(envelope, request, places, now) if existing is None else _completed(existing, request, now)
        )
    fresh, changed = existing is None, existing is not None and turn is not existing
    change = Change(turn, passages(turn), rewritten=changed) if fresh or changed else None
    indexed = change is None and not await store.records_without_vectors([turn.id])
    return Plan(
        change,
        TurnRecorded(
            id=turn.id,
            session_id=turn.session_id,
            turn=turn.turn,
            stored=fresh,
            updated=changed,
            indexed=indexed,
            redacted=envelope.redacted,
        ),
    )


def passages(turn: Turn) -> tuple[Passage, ...]:
    """The searchable pieces of a turn: each side in pieces of at most `PASSAGE_SIZE` characters, and its summary."""
    found: list[Passage] = []
    if turn.capture != "summary_only":
        for role, text in speeches(turn):
            found += [
                _passage(turn, role, part, text[start:end])
                for part, (start, end) in enumerate(split(text, PASSAGE_SIZE))
            ]
    if turn.summary:
        found.append(_passage(turn, "summary", 0, turn.summary))
    if found:
        found[-1 if turn.summary else 0] = _with_files(turn, found[-1 if turn.summary else 0])
    return tuple({piece.id: piece for piece in found}.values())


def _with_files(turn: Turn, piece: Passage) -> Passage:
    """The passage that also answers for what the turn touched without saying so, and for what ties the turn to others."""
    said = "" if turn.capture == "summary_only" else "\n".join(text for _, text in speeches(turn))
    unsaid = [file for file in turn.files if file not in piece.text]
    return piece.model_copy(
        update={
            "search_text": f"{piece.search_text}\n{expand(' '.join(unsaid))}"
            if unsaid
            else piece.search_text,
            "tied": tie_words(said or piece.text, files=turn.files, tags=turn.tags, records=turn.alike),
        }
    )


def speeches(turn: Turn) -> list[tuple[str, str]]:
    """Who said what in a turn, in order: (role, text)."""
    sides = (("user", turn.user), ("assistant", turn.assistant), (turn.role or "", turn.text))
    return [(role, text) for role, text in sides if text]


def _passage(turn: Turn, role: str, part: int, text: str) -> Passage:
    named = text if role.lower() in PLAIN_ROLES or role == "summary" else f"{role}: {text}"
    return Passage(
        id=derived_id("p", turn.id, role, named),
        src="turn",
        record_id=turn.id,
        part=part,
        role=role,
        text=text,
        search_text=expand(named),
        embed_text=named if named != text else None,
        scope=turn.scope,
        partition_id=turn.partition_id,
        tags=turn.tags,
        importance_score=turn.importance_score,
        session_id=turn.session_id,
        turn=turn.turn,
        dated_at=turn.started_at,
        expires_at=turn.expires_at,
        facets=facets(turn.metadata),
        hidden=turn.forgotten_at is not None,
        hidden_at=turn.forgotten_at,
    )


def _with_roles(request: RecordTurn) -> RecordTurn:
    """`text` said by 'user' or 'assistant' belongs into the field of that name."""
    side = (request.role or "").lower()
    if side not in ("user", "assistant"):
        return request
    return request.model_copy(update={side: request.text, "text": None, "role": None})


async def _existing(
    store: Store, envelope: Envelope, request: RecordTurn, places: tuple[Place, ...]
) -> Turn | None:
    id = turn_id(envelope, request)
    if request.prompt_id is None and request.turn is not None:
        id = next((place.id for place in places if place.turn == request.turn), id)
    if any(place.id == id for place in places):
        return (await store.get(Turn, [id])).get(id)
    if request.prompt_id is None and request.turn is None and places and not places[-1].forgotten:
        last = (await store.get(Turn, [places[-1].id])).get(places[-1].id)
        return last if last is not None and _repeats(last, request) else None
    return None  # the session knows its turns: a new one costs no look at the disk


def _repeats(turn: Turn, request: RecordTurn) -> bool:
    """Whether a turn that nothing names is the session's last one again, from a client that never heard that it was recorded."""
    said = (request.user, request.assistant, request.role, request.text)
    return said == (turn.user, turn.assistant, turn.role, turn.text) and request.ts in (None, turn.started_at)


def turn_id(envelope: Envelope, request: RecordTurn) -> str:
    if request.prompt_id is not None:
        return derived_id("turn", envelope.scope, request.session_id, "prompt", request.prompt_id)
    if request.turn is not None:
        return derived_id("turn", envelope.scope, request.session_id, "turn", str(request.turn))
    return derived_id("turn", envelope.scope, request.session_id, "envelope", envelope.id)


def _new(envelope: Envelope, request: RecordTurn, places: tuple[Place, ...], now: datetime) -> Turn:
    taken = {place.turn for place in places}
    number = (
        request.turn if request.turn is not None and request.turn not in taken else max(taken, default=-1) + 1
    )
    started = request.ts or envelope.at
    turn = Turn(
        id=turn_id(envelope, request),
        scope=envelope.scope,
        partition_id=PARTITION,
        tags=tuple(request.tags),
        source=envelope.source,
        metadata=request.metadata,
        created_at=now,
        updated_at=now,
        last_accessed_at=started,
        session_id=request.session_id,
        turn=number,
        prompt_id=request.prompt_id,
        user=request.user,
        assistant=request.assistant,
        role=request.role,
        text=request.text,
        summary=request.summary,
        tools=tuple(dict.fromkeys(request.tools)),
        files=tuple(dict.fromkeys(request.files)),
        host=envelope.host,
        capture=envelope.capture,
        started_at=started,
    )
    return turn if request.summary else turn.model_copy(update={"summary": summary_of(turn)})


def summary_of(turn: Turn) -> str | None:
    """The extractive summary of a turn, or None where it would only repeat a short text of one speaker."""
    if turn.user is None and turn.assistant is None and len(turn.text or "") <= PASSAGE_SIZE:
        return None
    return summarise(turn.user, turn.assistant or turn.text, tools=turn.tools, files=turn.files) or None


def _completed(turn: Turn, request: RecordTurn, now: datetime) -> Turn:
    """The known turn with what the request adds; the very same object if it adds nothing."""
    if request.role is not None and turn.role is not None and request.role != turn.role:
        raise InputError(
            f"Turn {turn.turn} of this session was said by {turn.role!r}, not {request.role!r}. Use another turn number."
        )
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
    }
    completed = turn.model_copy(update=values)
    if request.summary:
        completed = completed.model_copy(update={"summary": request.summary})
    if completed == turn:
        return turn
    if completed.summary == turn.summary and turn.summary == summary_of(turn):
        completed = completed.model_copy(update={"summary": summary_of(completed)})
    return completed.model_copy(update={"updated_at": now})


def _same(turn: Turn, field: str, known: str | None, given: str | None) -> str | None:
    longer = _longer(known, given, join=False)
    if longer is None and given is not None:
        raise InputError(
            f"Turn {turn.turn} of session {turn.session_id!r} already has another {field} text. "
            "A turn keeps what was said; record this one under another turn or prompt_id."
        )
    return longer


def _longer(known: str | None, given: str | None, *, join: bool) -> str | None:
    """The text that contains the other; else both (`join`) or None."""
    if known is None or given is None:
        return known if given is None else given
    if given in known:
        return known
    if known in given:
        return given
    return f"{known}\n\n{given}" if join else None


SOURCE = "conversation"  # of the document of one, and of its turns


async def conversation_turns(store: Store, records: Iterable[AnyRecord]) -> list[Turn]:
    """The turns of those conversations whose documents are among these records, whatever became of them."""
    keys = [
        (row.scope, row.custom_id)
        for row in records
        if isinstance(row, Document) and row.source == SOURCE and row.custom_id
    ]
    sessions = (await store.sessions.of(keys)).values() if keys else ()
    rows = await store.get(Turn, [id for session in sessions for id in session.positions])
    return [row for row in rows.values() if row.source == SOURCE]
