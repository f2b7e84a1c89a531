"""Converts a record into a hit: all of a short record, the best passage or the summary of a long one."""

from scrubjay.models.records import AnyRecord, Document, Memory, Turn, fields_of
from scrubjay.models.results import Hit, MemoryHits, Tokens
from scrubjay.records.passages import speeches
from scrubjay.search.retrieval.candidates import Match
from scrubjay.search.retrieval.excerpts import excerpt
from scrubjay.text.sentences import shorten

WHOLE = 900  # characters up to which a turn is shown whole
QUESTION = 300  # characters of the user's words before the answer, in a longer turn
_USER, _ASSISTANT = "user: ", "\n\nassistant: "  # the parts of an exchange, as `turn_text` writes it
# Fields that a hit copies from its record.
_AS_IS = ("id", "scope", "partition_id", "tags", "source", "metadata")


def as_hit(record: AnyRecord, match: Match | None = None) -> Hit:
    """Convert a record into a hit without scores; `match` holds the passage that was found."""
    if isinstance(record, Memory):
        return _fact_as_hit(record)
    if isinstance(record, Document):
        return chunk_as_hit(record, match.text if match else record.content[:WHOLE], hit_id=record.id)
    return _turn_as_hit(record, match)


def no_hits(period: str | None) -> MemoryHits:
    """Return an answer without hits; `period` is the period that the search was limited to, if any."""
    tokens = Tokens(spent=0)
    return MemoryHits(
        confidence="none", results=[], total=0, timing=0.0, tokens=tokens, records={}, period=period
    )


def chunk_as_hit(document: Document, text: str, *, hit_id: str) -> Hit:
    """Convert a passage of a document into a hit without scores."""
    fields = fields_of(document, *_AS_IS, "title") | {"id": hit_id}
    return Hit(**fields, src="chunk", chunk=text, date=document.updated_at)


def turn_text(turn: Turn) -> str:
    """Return all text of a turn; if there are several speakers, each is named."""
    parts = speeches(turn)
    if len(parts) == 1:
        return parts[0][1]
    return "\n\n".join(f"{role}: {text}" for role, text in parts)


def condensed(hit: Hit, query: str, *, question: int, answer: int) -> Hit:
    """Cut a hit to what answers the query: `question` characters of the user's words, `answer` of the rest.

    A fact or a single speaker's text gets `answer` characters; a shorter hit is not changed.
    """
    text = hit.memory or hit.chunk or ""
    if len(text) <= question + answer:
        return hit
    user, separator, assistant = text.partition(_ASSISTANT)
    if separator and user.startswith(_USER):
        question_text = excerpt(user.removeprefix(_USER), query, question)
        short = f"{_USER}{question_text}{_ASSISTANT}{excerpt(assistant, query, answer)}"
    else:
        short = excerpt(text, query, answer)
    return _truncated(hit, short)


def cut(hit: Hit, length: int) -> Hit:
    """Cut the text of a hit to `length` characters."""
    return _truncated(hit, shorten(hit.memory or hit.chunk or "", length))


def _truncated(hit: Hit, text: str) -> Hit:
    return hit.model_copy(update={"chunk" if hit.memory is None else "memory": text, "truncated": True})


def _fact_as_hit(memory: Memory) -> Hit:
    fields = "session_id", "turn", "version", "forgotten_at", "forget_reason", "expires_at"
    return Hit(
        **fields_of(memory, *_AS_IS, *fields),
        src="memory",
        memory=memory.content,
        date=memory.created_at,
        is_latest=None if memory.is_latest else False,
    )


def _turn_as_hit(turn: Turn, match: Match | None) -> Hit:
    text, truncated, role = turn_text(turn), None, turn.role
    parts = speeches(turn)
    if turn.capture == "summary_only" and turn.summary:
        text, truncated, role = turn.summary, True, "summary"
    elif len(text) > WHOLE:
        truncated = True
        if match is not None and match.role == "user" and (match.answer or turn.summary):
            # Similar questions match the user's words, which alone do not contain the answer.
            question = match.text if len(match.text) <= QUESTION else shorten(match.text, QUESTION + 2)
            text, role = f"{_USER}{question}{_ASSISTANT}{match.answer or turn.summary}", None
        elif match is not None:
            text, role = match.text, match.role
        else:
            text, role = (turn.summary or text[:WHOLE]), "summary" if turn.summary else role
    elif len(parts) == 1:
        role = parts[0][0] or None
    fields = fields_of(turn, *_AS_IS, "session_id", "turn")
    return Hit(**fields, src="turn", memory=text, role=role, date=turn.started_at, truncated=truncated)
