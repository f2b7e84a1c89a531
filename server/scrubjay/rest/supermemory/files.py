"""Routes of files: upload one, and ask for it back. Knows forms; how a file is read is `reading`'s."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, UploadFile

from scrubjay.errors import NotFound
from scrubjay.rest.supermemory.addressed import Id, WithinTag, document
from scrubjay.rest.supermemory.documents import keep_context
from scrubjay.rest.supermemory.wire_answers import Accepted
from scrubjay.rest.supermemory.wire_documents import DocumentFields
from scrubjay.rest.uploads import text_of
from scrubjay.rest.visit import SOURCE, Visiting

router = APIRouter()


class Upload(DocumentFields):
    """A file and what is said of it: objects and lists as JSON text."""

    file: UploadFile
    file_type: Annotated[str | None, Form(description="Without effect: what a file is shows in its bytes and its name.")] = None
    mime_type: Annotated[str | None, Form(description="Without effect, as fileType.")] = None


@router.post("/v3/documents/file", response_model=Accepted, summary="Upload a file")
async def upload(visit: Visiting, body: Annotated[Upload, Form(media_type="multipart/form-data")]) -> Accepted:
    """Reads a file (text, Markdown, source code, HTML, PDF, Word, PowerPoint, sheets, notebooks, mails; at most 50 MB) and adds its text.

    One that cannot be read becomes a document with the status failed, whose errorMessage says why. The file itself is not kept.
    """
    scope = visit.leave.writes_to(body.tag())
    await keep_context(visit, body, scope)
    text = await text_of(body.file, scope, body.said())
    filed = await visit.core.filing.add(text, scope=scope, source=SOURCE)
    return Accepted(id=filed.id, status=filed.status)


@router.get(
    "/v3/documents/{id:path}/file-url",
    status_code=404,
    response_model=None,
    summary="The file of a document, which is not kept",
    responses={404: {"description": "Always: of a file its text is kept, and not the file."}},
)
async def file_url(visit: Visiting, id: Id, within: WithinTag = None) -> None:
    """Scrubjay keeps no files, so there is none to point to."""
    row = await document(visit, id, within)
    raise NotFound(f"Of {row.title or row.id} the text is kept and not the file. Read its content with GET /v3/documents/{row.id}.")
