"""Reads an uploaded file as the text of a document; one that cannot be read becomes a failed document."""

import asyncio
import hashlib
from collections.abc import Mapping
from typing import Any

from fastapi import UploadFile

from scrubjay.errors import InputError
from scrubjay.models.records import derived_id
from scrubjay.models.requests import DocumentText
from scrubjay.reading import CALL_SECONDS, MAX_FILE, read
from scrubjay.records.documents import title_in

LONGEST_NAME = 500  # characters, as of a title


async def read_upload(
    file: UploadFile, scope: str, values: Mapping[str, Any], *, may_fail: bool = True
) -> DocumentText:
    """Return the text of a file with these values, fields of a `DocumentText` that win over the file's own.

    A file that cannot be read becomes a failed document, which says why and is known again by its bytes.

    Raises:
        InputError: it cannot be read, and not `may_fail`.
    """
    data, name = await file.read(MAX_FILE + 1), file.filename or "file"
    return await asyncio.to_thread(_document, data, name, scope, values, may_fail)


def _document(data: bytes, name: str, scope: str, values: Mapping[str, Any], may_fail: bool) -> DocumentText:
    fields = {"task_type": "memory", "title": name[:LONGEST_NAME], **values}
    try:
        text = read(data, name, seconds=CALL_SECONDS)
    except InputError as error:
        if not may_fail:
            raise
        if "custom_id" not in values:
            fields["document_id"] = derived_id("doc", scope, "file", hashlib.sha256(data).hexdigest())
        return DocumentText.model_validate({**fields, "error": str(error)[:2_000]})
    language = {"language": text.language} if text.language and text.kind == "code" else {}
    fields |= {
        "content": text.text,
        "type": text.kind,
        "title": title_in(values.get("metadata", {})) or text.title or fields["title"],
        "metadata": {**language, **text.metadata, **values.get("metadata", {})},
    }
    return DocumentText.model_validate(fields)
