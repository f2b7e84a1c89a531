"""Reads the files that a client wants to add as documents, if they are in folders that it may name."""

import asyncio
import os
from collections.abc import Sequence
from typing import Any

from scrubjay.errors import InputError
from scrubjay.models.fields import MAX_DOCUMENT
from scrubjay.models.requests import AddDocument, DocumentText
from scrubjay.reading import content_fields, read_file


async def read_document(request: AddDocument, folder: str | None, roots: Sequence[str]) -> DocumentText:
    """Read the text to add, from `content` or from the file at `path` (relative to `folder`, links resolved).

    A file's own properties (author, date, language, ...) become metadata, unless the caller gives other
    values. Raises InputError if the file is outside the allowed folders, or it cannot be read.
    """
    caller_fields = request.model_dump(include={"title", "custom_id", "metadata"}, exclude_unset=True)
    if request.content is not None:
        size = len(request.content.encode())
        if size > MAX_DOCUMENT:
            limit = f"at most {MAX_DOCUMENT:,} are allowed"
            raise InputError(f"content has {size:,} bytes; {limit}, so split the document.")
        file_fields = await asyncio.to_thread(content_fields, request.content)
        metadata = {**file_fields.get("metadata", {}), **caller_fields.get("metadata", {})}
        fields = {**file_fields, **caller_fields}
        return DocumentText(**(fields | {"metadata": metadata} if metadata else fields))
    assert request.path is not None
    path = allowed_path(request.path, folder, roots)
    return await asyncio.to_thread(_read, path, caller_fields)


def _read(path: str, caller_fields: dict[str, Any]) -> DocumentText:
    try:
        content = read_file(path)
    except InputError as error:
        raise InputError(f"path = {error}") from None
    language = {"language": content.language} if content.language and content.kind == "code" else {}
    metadata = {**language, **content.metadata, **caller_fields.get("metadata", {})}
    file_fields = {"content": content.text, "path": path, "type": content.kind, "title": content.title}
    return DocumentText(**{**file_fields, **caller_fields, "metadata": metadata})


def allowed_path(given_path: str, folder: str | None, roots: Sequence[str]) -> str:
    """Return the resolved path of a file or folder that a client names.

    Raises InputError if the path is neither in the client's project nor in a folder that the user allowed.
    """
    path = os.path.realpath(os.path.join(folder or "/", os.path.expanduser(given_path)))
    allowed_roots = [os.path.realpath(root) for root in (*([folder] if folder else []), *roots)]
    if not any(path == root or path.startswith(root.rstrip(os.sep) + os.sep) for root in allowed_roots):
        raise InputError(
            f"path = {given_path[:200]!r} is outside the project{f' {folder}' if folder else ''}. "
            "Give the text as content, or let the user allow its folder with `scrubjay config roots FOLDER`."
        )
    return path
