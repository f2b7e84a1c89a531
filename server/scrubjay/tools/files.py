"""Reads the file of an `add_document`: only below the client's project or a folder the user allowed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Any

from scrubjay.errors import InputError
from scrubjay.models.fields import MAX_DOCUMENT
from scrubjay.models.requests import AddDocument
from scrubjay.models.texts import DocumentText
from scrubjay.reading import read_file


async def read_document(request: AddDocument, folder: str | None, roots: Sequence[str]) -> DocumentText:
    """The text to add, from `content` or from the file at `path` (relative ones below `folder`, symbolic links resolved).

    What a file says of itself (author, date, language, ...) becomes metadata, unless the caller says otherwise.

    Raises:
        InputError: the file is outside the allowed folders, or cannot be read: missing, too large, binary, protected, damaged.
    """
    given = {name: getattr(request, name) for name in request.model_fields_set & {"title", "custom_id", "metadata"}}
    if request.content is not None:
        size = len(request.content.encode())
        if size > MAX_DOCUMENT:
            raise InputError(f"content has {size:,} bytes; at most {MAX_DOCUMENT:,} are allowed, so split the document.")
        return DocumentText(content=request.content, **given)
    assert request.path is not None
    path = allowed(request.path, folder, roots)
    return await asyncio.to_thread(_read, path, given)


def _read(path: str, given: dict[str, Any]) -> DocumentText:
    try:
        found = read_file(path)
    except InputError as error:
        raise InputError(f"path = {error}") from None
    language = {"language": found.language} if found.language and found.kind == "code" else {}
    about = {**language, **found.metadata, **given.get("metadata", {})}
    return DocumentText(**{"content": found.text, "path": path, "type": found.kind, "title": found.title, **given, "metadata": about})


def allowed(named: str, folder: str | None, roots: Sequence[str]) -> str:
    """The real path of a file or folder that a client names.

    Raises:
        InputError: it is not below the client's project or a folder that the user allowed.
    """
    path = os.path.realpath(os.path.join(folder or "/", os.path.expanduser(named)))
    inside = [os.path.realpath(root) for root in (*([folder] if folder else []), *roots)]
    if not any(path == root or path.startswith(root.rstrip(os.sep) + os.sep) for root in inside):
        raise InputError(
            f"path = {named[:200]!r} is outside the project{f' {folder}' if folder else ''}. Give the text as content, "
            "or let the user allow its folder with `scrubjay config roots FOLDER`."
        )
    return path
