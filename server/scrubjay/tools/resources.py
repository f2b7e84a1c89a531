"""The three resources: a whole memory, turn or document by its id."""

from __future__ import annotations

import re

from mcp.types import ResourceTemplate, TextResourceContents

from scrubjay.engine.engine import Engine
from scrubjay.errors import NotFound
from scrubjay.models.records import AnyRecord, Document, Memory
from scrubjay.tools.render import one_line

_URI = re.compile(r"^scrubjay://(memory|turn|document)/([A-Za-z0-9_-]{1,100})$")
_NAMES = {"memory": "A fact that was kept", "turn": "One recorded turn, word for word", "document": "The whole text of a document"}


def templates() -> list[ResourceTemplate]:
    return [
        ResourceTemplate(name=kind, title=title, uri_template=f"scrubjay://{kind}/{{id}}", description=title, mime_type="text/plain")
        for kind, title in _NAMES.items()
    ]


async def read(engine: Engine, uri: str) -> TextResourceContents:
    """The full text behind a `scrubjay://` address, under a line that says where it is from.

    Raises:
        NotFound: the address is not one of ours, or names nothing of that kind.
    """
    match = _URI.match(uri)
    if match is None:
        raise NotFound(
            f"{uri[:200]!r} is no resource here. Addresses look like scrubjay://turn/ID, scrubjay://memory/ID, scrubjay://document/ID."
        )
    kind, id = match.groups()
    record = await (await engine.core()).find(id)
    if record is None or record.forgotten_at is not None or _kind(record) != kind:
        raise NotFound(f"There is no {kind} with the id {id!r}. Take the id of a search result.")
    return TextResourceContents(uri=uri, mime_type="text/plain", text=full_text(record))


def _kind(record: AnyRecord) -> str:
    return "memory" if isinstance(record, Memory) else "document" if isinstance(record, Document) else "turn"


def full_text(record: AnyRecord) -> str:
    """Everything a record says, headed by its date and origin."""
    if isinstance(record, Memory):
        return f"[fact · {record.created_at:%Y-%m-%d} · {record.scope}]\n{record.content}"
    if isinstance(record, Document):
        return f"[document · {one_line(record.title or record.id)} · {record.updated_at:%Y-%m-%d} · {record.scope}]\n{record.content}"
    said = [("user", record.user), ("assistant", record.assistant), (record.role or "text", record.text)]
    body = "\n\n".join(f"{one_line(role)}:\n{text}" for role, text in said if text)
    files = f"\n\nfiles: {', '.join(record.files)}" if record.files else ""
    tools = f"\ntools: {', '.join(record.tools)}" if record.tools else ""
    head = f"[turn {record.turn} of session {one_line(record.session_id)} · {record.started_at:%Y-%m-%d %H:%M} · {record.scope}]"
    return f"{head}\n{body}{files}{tools}"
