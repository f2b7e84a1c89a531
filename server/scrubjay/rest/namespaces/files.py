"""Files of a namespace: upload one, put one in the place of a document, or change what is said of it. Knows forms; how a file is read is
`reading`'s.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Form, UploadFile
from pydantic import BeforeValidator, Field, WithJsonSchema

from scrubjay.models.fields import Metadata
from scrubjay.rest.namespaces.document import About, Context, Date, Dreaming, Group, Ref, TaskType
from scrubjay.rest.namespaces.documents import UNKNOWN, changed
from scrubjay.rest.namespaces.place import DocumentId, Writing
from scrubjay.rest.uploads import text_of
from scrubjay.rest.visit import SOURCE

router = APIRouter()


def _absent(value: Any) -> Any:
    """An empty field of a form as one that was not sent."""
    return None if value == "" else value


def _from_json(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise ValueError('must be a JSON object such as {"lang": "go"}') from None


def _spelled(says: str) -> tuple[Any, ...]:
    """How a form carries an object: as JSON text, or empty for none."""
    schema = {"type": "string", "contentMediaType": "application/json", "description": says}
    return BeforeValidator(_from_json), BeforeValidator(_absent), WithJsonSchema(schema)


_METADATA, _GROUP = (_spelled(f"A JSON object: {what}.") for what in ("names and values", "names and values that known memories must have"))


class Said(About):
    """What a form says of a file. An empty field is one that was not sent."""

    supporting_context: Annotated[Context, BeforeValidator(_absent)] = None
    metadata: Annotated[Metadata | None, *_METADATA] = None
    group: Annotated[Group | None, *_GROUP] = None
    date: Annotated[Date, BeforeValidator(_absent)] = None
    task_type: Annotated[TaskType, BeforeValidator(_absent)] = None
    dreaming: Annotated[Dreaming, BeforeValidator(_absent)] = None
    file_type: Annotated[str | None, Field(description="Without effect: what a file is shows in its bytes and its name.")] = None
    mime_type: Annotated[str | None, Field(description="Without effect, as fileType.")] = None

    def said(self) -> dict[str, Any]:
        task = {} if self.task_type is None else {"task_type": self.task_type}
        return {**super().said(), **task}


class Upload(Said):
    file: UploadFile


class Reupload(Said):
    file: UploadFile | None = None


@router.post("/ns/{namespace}/document/file", summary="Upload a file")
async def upload(place: Writing, body: Annotated[Upload, Form(media_type="multipart/form-data")]) -> Ref:
    """Reads a file (text, Markdown, source code, HTML, PDF, Word, PowerPoint, sheets, notebooks, mails; at most 50 MB) and adds its text.

    One that cannot be read becomes a document with the status failed. The file itself is not kept.
    """
    await place.visit.core.scope_settings.keep_context(place.namespace, body.supporting_context, place.visit.now)
    text = await text_of(body.file, place.namespace, body.said())
    filed = await place.visit.core.filing.add(text, scope=place.namespace, source=SOURCE)
    return Ref(id=filed.id, status=filed.status)


@router.post("/ns/{namespace}/document/file/{id:path}", summary="Replace a document by a file", responses=UNKNOWN)
async def replace(place: Writing, id: DocumentId, body: Annotated[Upload, Form(media_type="multipart/form-data")]) -> Ref:
    """A document gets the text of a file, its title, and the metadata that is sent with it, in place of its own; its id stays."""
    row = await place.document(id)
    text = await text_of(body.file, place.namespace, body.said(), failing=False)
    values = {name: getattr(text, name) for name in ("content", "type", "title", "metadata", *body.said())}
    return await changed(place, row, values, body.supporting_context)


@router.patch("/ns/{namespace}/document/file/{id:path}", summary="Change a document that was a file", responses=UNKNOWN)
async def change(place: Writing, id: DocumentId, body: Annotated[Reupload, Form(media_type="multipart/form-data")]) -> Ref:
    """A file that is sent replaces the text; what is left out stays as it was."""
    row = await place.document(id)
    values = body.said()
    if body.file is not None:
        kept = {"metadata": row.metadata, **values}
        text = await text_of(body.file, place.namespace, kept, failing=False)
        values = {**{name: getattr(text, name) for name in ("content", "type", "title", "metadata")}, **values}
    return await changed(place, row, values, body.supporting_context)
