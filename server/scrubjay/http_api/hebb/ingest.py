"""`POST /api/v1/ingest`: record an exported conversation of another program turn by turn."""

import asyncio
import hashlib
from collections import Counter

from scrubjay.errors import InputError
from scrubjay.histories.stored import Fields, instant
from scrubjay.http_api.answers import HEBB_ANSWERS, Answer, unknown_fields
from scrubjay.http_api.hebb.bodies import IngestRequest
from scrubjay.http_api.hebb.chat_exports import FORMATS, Format, read
from scrubjay.http_api.hebb.context import HebbRequest
from scrubjay.http_api.hebb.partitions import require_partition
from scrubjay.http_api.routes import Routes
from scrubjay.models.fields import MAX_TURN_TEXT
from scrubjay.models.requests import RecordTurn, parse
from scrubjay.models.results import TurnRecorded
from scrubjay.records.turns import PARTITION
from scrubjay.redaction.redact import Redactor
from scrubjay.transcripts.turn import fields_of

MOST_WARNINGS = 20
_LONGEST_ID = 200  # characters

route = Routes(HEBB_ANSWERS)


@route("POST /api/v1/ingest", "Record a conversation", "IngestResponse", status=201)
async def ingest(request: HebbRequest, item: IngestRequest) -> Answer:
    """`memories_created` counts the turns that were not known before.

    Importance and partition are a turn's own: 5 and mem_episodic.
    """
    scope = request.write_scope()
    await require_partition(request, item.partition_id)
    hint: Format | None = next((name for name in FORMATS if name == item.format_hint), None)
    export = await asyncio.to_thread(read, item.content, hint)
    warnings = [*unknown_fields(item).get("warnings", ()), *export.warnings]
    if item.format_hint and hint is None:
        problem = f"format_hint {item.format_hint!r} is not one of {', '.join(FORMATS)}"
        warnings.append(f"{problem}; the text was read as {export.format}.")
    if item.partition_id not in (PARTITION, IngestRequest.model_fields["partition_id"].default):
        warnings.append(f"The turns of a conversation are kept in {PARTITION}, not in {item.partition_id}.")
    # A session without an id gets one from its text, so that the same text is the same session.
    text_id = f"ingest-{hashlib.sha256(item.content.strip().encode()).hexdigest()[:16]}"
    created, source = 0, item.source or "ingest"
    numbers: Counter[str] = Counter()
    for turn in export.turns:
        session = turn["session_id"] if _is_id(turn["session_id"]) else text_id
        try:
            record = await asyncio.to_thread(_request, turn, session, numbers[session])
            result: TurnRecorded = await request.write("turn", record, scope=scope, source=source)
            created += result.stored
        except InputError as error:  # if a turn contradicts a recorded one, still record the others
            warnings.append(str(error))
        numbers[session] += 1
    counts = dict(turns_parsed=len(export.turns), memories_created=created)
    return dict(format_detected=export.format, **counts, warnings=warnings[:MOST_WARNINGS])


def _request(turn: Fields, session_id: str, number: int) -> RecordTurn:
    redactor = Redactor()

    def clean(text: str) -> str:
        valid = redactor.redact(text).replace("\x00", "").encode("utf-8", "replace").decode()
        return valid[:MAX_TURN_TEXT]

    prompt_id = turn["prompt_id"] or turn["uuid"]
    values = {"session_id": session_id, "ts": instant(turn["started_at"]), **fields_of(turn, clean)}
    values |= {"prompt_id": prompt_id} if _is_id(prompt_id) else {"turn": number}
    return parse(RecordTurn, {name: value for name, value in values.items() if value is not None})


def _is_id(value: str | None) -> bool:
    return value is not None and 0 < len(value.strip()) <= _LONGEST_ID and "\x00" not in value
