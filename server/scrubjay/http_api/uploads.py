"""An uploaded file as the text of a document. Knows what becomes of one that cannot be read; how files are read is `reading`'s."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from typing import Any

from fastapi import UploadFile

from scrubjay.errors import InputError
from scrubjay.models.records import derived_id
from scrubjay.models.requests import DocumentText
from scrubjay.reading import MAX_FILE, read

LONGEST_NAME = 500  # characters, as of a title


async def text_of(
    file: UploadFile, scope: str, said: Mapping[str, Any], *, failing: bool = True
) -> DocumentText:
    """What a file says, with what is `said` of it (fields of a `DocumentText`); metadata of the file's own stands behind that.

    A file that cannot be read becomes the text of a failed document, which says why and is known again by its bytes.

    Raises:
        InputError: it cannot be read, and not `failing`.
    """
    data, name = await file.read(MAX_FILE + 1), file.filename or "file"
    return await asyncio.to_thread(_text, data, name, scope, said, failing)


def _text(data: bytes, name: str, scope: str, said: Mapping[str, Any], failing: bool) -> DocumentText:
    given = {"task_type": "memory", "title": name[:LONGEST_NAME], **said}
    try:
        found = read(data, name)
    except InputError as error:
        if not failing:
            raise
        own = (
            {}
            if "custom_id" in said
            else {"document_id": derived_id("doc", scope, "file", hashlib.sha256(data).hexdigest())}
        )
        return DocumentText.model_validate({**given, **own, "error": str(error)[:2_000]})
    language = {"language": found.language} if found.language and found.kind == "code" else {}
    about = {**language, **found.metadata, **said.get("metadata", {})}
    title = found.title or given["title"]
    return DocumentText.model_validate(
        {**given, "content": found.text, "type": found.kind, "title": title, "metadata": about}
    )
