"""`POST /api/v1/ingest`: a conversation as another program exported it, recorded turn by turn."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

from fastapi import APIRouter

from scrubjay.errors import InputError
from scrubjay.http_api.hebb.bodies import IngestRequest, IngestResponse
from scrubjay.http_api.hebb.chat_exports import FORMATS, Exchange, Format, read
from scrubjay.http_api.hebb.context import Staying
from scrubjay.http_api.hebb.partitions import require
from scrubjay.models.fields import MAX_TURN_TEXT
from scrubjay.models.requests import RecordTurn, parse
from scrubjay.models.results import TurnRecorded
from scrubjay.records.turns import PARTITION

router = APIRouter(prefix="/api/v1")
MOST_WARNINGS = 20
MISSING: dict[int | str, dict[str, Any]] = {404: {"description": "There is no such partition."}}


@router.post(
    "/ingest",
    status_code=201,
    response_model=IngestResponse,
    responses=MISSING,
    summary="Record an exported conversation",
)
async def ingest(stay: Staying, item: IngestRequest) -> IngestResponse:
    """`memories_created` counts the turns that were not known before. Importance and partition are a turn's own: 5 and mem_episodic."""
    scope = stay.writes()
    await require(stay, item.partition_id)
    hint: Format | None = next((name for name in FORMATS if name == item.format_hint), None)
    export = await asyncio.to_thread(read, item.content, hint)
    warnings = list(export.warnings)
    if item.format_hint and hint is None:
        warnings.append(
            f"format_hint {item.format_hint!r} is none of {', '.join(FORMATS)}; the text was taken for {export.format}."
        )
    if item.partition_id not in (PARTITION, IngestRequest.model_fields["partition_id"].default):
        warnings.append(f"The turns of a conversation are kept in {PARTITION}, not in {item.partition_id}.")
    unnamed = f"ingest-{hashlib.sha256(item.content.strip().encode()).hexdigest()[:16]}"  # the same text is the same session
    created = 0
    for turn in export.turns:
        try:
            made: TurnRecorded = await stay.context.write(
                "turn", _request(turn, unnamed), scope=scope, source=item.source or "ingest"
            )
            created += made.stored
        except (
            InputError
        ) as error:  # one turn that contradicts what is recorded; the others are not less true for it
            warnings.append(str(error))
    return IngestResponse(
        format_detected=export.format,
        turns_parsed=len(export.turns),
        memories_created=created,
        warnings=warnings[:MOST_WARNINGS],
    )


def _request(turn: Exchange, unnamed: str) -> RecordTurn:
    given: dict[str, Any] = {
        "session_id": turn.session_id or unnamed,
        "prompt_id": turn.prompt_id,
        "turn": None if turn.prompt_id else turn.turn,
        "user": _said(turn.user),
        "assistant": _said(turn.assistant),
        "tools": list(turn.tools),
        "files": list(turn.files),
        "ts": turn.started_at,
    }
    return parse(RecordTurn, {name: value for name, value in given.items() if value is not None})


def _said(text: str | None) -> str | None:
    """A side of a turn as it can be kept: without the characters that are none."""
    cleaned = (text or "").replace("\x00", "").encode("utf-8", "replace").decode()
    return cleaned[:MAX_TURN_TEXT] if cleaned.strip() else None
