"""Reads an uploaded file as the text of a document; one that cannot be read becomes a failed document."""

import asyncio
from collections.abc import Mapping
from typing import Any

from fastapi import UploadFile

from scrubjay.engine.verbs.documents import document_in
from scrubjay.models.requests import DocumentText
from scrubjay.reading import MAX_FILE


async def read_upload(
    file: UploadFile, scope: str, values: Mapping[str, Any], *, may_fail: bool = True
) -> DocumentText:
    """Return the text of a file with these values; see `engine.verbs.documents.document_in`.

    Raises:
        InputError: it cannot be read, and not `may_fail`.
    """
    data, name = await file.read(MAX_FILE + 1), file.filename or "file"
    return await asyncio.to_thread(document_in, data, name, scope, values, may_fail=may_fail)
