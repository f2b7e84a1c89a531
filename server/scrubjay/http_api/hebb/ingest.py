"""`POST /api/v1/ingest`: a conversation as another program exported it, recorded turn by turn."""

import asyncio
import hashlib
from typing import Any

from scrubjay.errors import InputError
from scrubjay.http_api.answers import Answer, unknown_fields
from scrubjay.http_api.hebb.answers import ANSWERS
from scrubjay.http_api.hebb.bodies import IngestRequest
from scrubjay.http_api.hebb.chat_exports import FORMATS, Exchange, Format, read
from scrubjay.http_api.hebb.context import HebbRequest
from scrubjay.http_api.hebb.partitions import MISSING, require_partition
from scrubjay.http_api.routes import Routes
from scrubjay.models.fields import MAX_TURN_TEXT
from scrubjay.models.requests import RecordTurn, parse
from scrubjay.models.results import TurnRecorded
from scrubjay.records.turns import PARTITION

MOST_WARNINGS = 20

route = Routes(ANSWERS)


@route("POST /api/v1/ingest", "Record a conversation", "IngestResponse", missing=MISSING, status=201)
async def ingest(request: HebbRequest, item: IngestRequest) -> Answer:
    """`memories_created` counts the turns that were not known before.

    Importance and partition are a turn's own: 5 and mem_episodic.
    """
    scope = request.writes()
    await require_partition(request, item.partition_id)
    hint: Format | None = next((name for name in FORMATS if name == item.format_hint), None)
    export = await asyncio.to_thread(read, item.content, hint)
    warnings = [*unknown_fields(item).get("warnings", ()), *export.warnings]
    if item.format_hint and hint is None:
        unknown = f"format_hint {item.format_hint!r} is not one of {', '.join(FORMATS)}"
        warnings.append(f"{unknown}; the text was read as {export.format}.")
    if item.partition_id not in (PARTITION, IngestRequest.model_fields["partition_id"].default):
        warnings.append(f"The turns of a conversation are kept in {PARTITION}, not in {item.partition_id}.")
    # A session without a name is named by its text, so that the same text is the same session.
    unnamed = f"ingest-{hashlib.sha256(item.content.strip().encode()).hexdigest()[:16]}"
    created, source = 0, item.source or "ingest"
    for turn in export.turns:
        try:
            record = _request(turn, unnamed)
            result: TurnRecorded = await request.write("turn", record, scope=scope, source=source)
            created += result.stored
        except InputError as error:  # a turn that contradicts a recorded one does not invalidate the others
            warnings.append(str(error))
    counts = dict(turns_parsed=len(export.turns), memories_created=created)
    return dict(format_detected=export.format, **counts, warnings=warnings[:MOST_WARNINGS])


def _request(turn: Exchange, unnamed: str) -> RecordTurn:
    values: dict[str, Any] = {
        "session_id": turn.session_id or unnamed,
        "prompt_id": turn.prompt_id,
        "turn": None if turn.prompt_id else turn.turn,
        "user": _clean(turn.user),
        "assistant": _clean(turn.assistant),
        "tools": list(turn.tools),
        "files": list(turn.files),
        "metadata": dict(turn.metadata),
        "ts": turn.started_at,
    }
    return parse(RecordTurn, {name: value for name, value in values.items() if value is not None})


def _clean(text: str | None) -> str | None:
    """Cut a side of a turn to the longest that is stored, without invalid characters; None if it is empty."""
    cleaned = (text or "").replace("\x00", "").encode("utf-8", "replace").decode()
    return cleaned[:MAX_TURN_TEXT] if cleaned.strip() else None
