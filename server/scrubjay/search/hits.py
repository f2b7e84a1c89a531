"""How a record is shown as a hit: short ones whole, long ones by their best passage or their summary."""

from __future__ import annotations

from scrubjay.models.records import AnyRecord, Document, Memory, Turn
from scrubjay.models.results import Hit
from scrubjay.records import memories
from scrubjay.records.turns import speeches
from scrubjay.search.retrieval.pools import Found

WHOLE = 900  # characters up to which a turn is shown whole
ASKED = 300  # characters of the user's words beside the answer of a longer one


def as_hit(record: AnyRecord, found: Found | None = None) -> Hit:
    """A record as a hit without scores; `found` is the passage that matched, None for a neighbour."""
    if isinstance(record, Memory):
        return memories.as_hit(record)
    if isinstance(record, Document):
        return chunk_as_hit(record, found.text if found else record.content[:WHOLE], id=record.id)
    return _turn(record, found)


def turn_text(turn: Turn) -> str:
    """Everything said in a turn; with more than one voice each is named."""
    said = speeches(turn)
    if len(said) == 1:
        return said[0][1]
    return "\n\n".join(f"{role}: {text}" for role, text in said)


def _turn(turn: Turn, found: Found | None) -> Hit:
    text, truncated, role = turn_text(turn), None, turn.role
    said = speeches(turn)
    if turn.capture == "summary_only" and turn.summary:
        text, truncated, role = turn.summary, True, "summary"
    elif len(text) > WHOLE:
        truncated = True
        if found is not None and found.role == "user" and (found.answer or turn.summary):
            # A question is found by questions like it; alone it tells nobody what was answered.
            text, role = f"user: {_clipped(found.text)}\n\nassistant: {found.answer or turn.summary}", None
        elif found is not None:
            text, role = found.text, found.role
        else:
            text, role = (turn.summary or text[:WHOLE]), "summary" if turn.summary else role
    elif len(said) == 1:
        role = said[0][0] or None
    return Hit(
        id=turn.id,
        src="turn",
        memory=text,
        session_id=turn.session_id,
        turn=turn.turn,
        role=role,
        date=turn.started_at,
        scope=turn.scope,
        partition_id=turn.partition_id,
        tags=turn.tags,
        source=turn.source,
        metadata=turn.metadata,
        truncated=truncated,
    )


def _clipped(text: str) -> str:
    return text if len(text) <= ASKED else text[:ASKED].rsplit(maxsplit=1)[0] + " …"


def chunk_as_hit(document: Document, text: str, *, id: str) -> Hit:
    """A passage of a document as a hit without scores, under its own id or its document's."""
    return Hit(
        id=id,
        src="chunk",
        chunk=text,
        title=document.title,
        date=document.updated_at,
        scope=document.scope,
        partition_id=document.partition_id,
        tags=document.tags,
        source=document.source,
        metadata=document.metadata,
    )
