"""Reads the file of an `add_document`: only below the client's project or a folder the user allowed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence

from scrubjay.errors import InputError
from scrubjay.models.fields import MAX_DOCUMENT
from scrubjay.models.requests import AddDocument, DocumentText

SUFFIXES = (".md", ".markdown", ".txt", ".rst", ".text", "")


async def read_document(request: AddDocument, folder: str | None, roots: Sequence[str]) -> DocumentText:
    """The text to add, from `content` or from the file at `path` (relative ones below `folder`, symbolic links resolved).

    Raises:
        InputError: the file is outside the allowed folders, missing, too large, or not UTF-8 text.
    """
    given = {name: getattr(request, name) for name in request.model_fields_set & {"title", "custom_id", "metadata"}}
    if request.content is not None:
        size = len(request.content.encode())
        if size > MAX_DOCUMENT:
            raise InputError(f"content has {size:,} bytes; at most {MAX_DOCUMENT:,} are allowed, so split the document.")
        return DocumentText(content=request.content, **given)
    assert request.path is not None
    path = _allowed(request.path, folder, roots)
    return DocumentText(content=await asyncio.to_thread(_read, path), path=path, **given)


def _allowed(named: str, folder: str | None, roots: Sequence[str]) -> str:
    path = os.path.realpath(os.path.join(folder or "/", os.path.expanduser(named)))
    inside = [os.path.realpath(root) for root in (*([folder] if folder else []), *roots)]
    if not any(path == root or path.startswith(root.rstrip(os.sep) + os.sep) for root in inside):
        raise InputError(
            f"path = {named[:200]!r} is outside the project{f' {folder}' if folder else ''}. Give the text as content, "
            "or let the user allow its folder with `scrubjay config roots FOLDER`."
        )
    if os.path.splitext(path)[1].lower() not in SUFFIXES:
        raise InputError(f"path = {named[:200]!r}: only plain text and Markdown ({', '.join(filter(None, SUFFIXES))}) can be read.")
    return path


def _read(path: str) -> str:
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_DOCUMENT + 1)
    except OSError as error:
        raise InputError(f"path = {path!r} cannot be read: {error.strerror}.") from error
    if len(data) > MAX_DOCUMENT:
        raise InputError(f"path = {path!r} is larger than {MAX_DOCUMENT:,} bytes; split it.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"path = {path!r} is not UTF-8 text; convert it first.") from None
    if "\x00" in text or not text.strip():
        raise InputError(f"path = {path!r} is {'binary' if text.strip() else 'empty'}; nothing was added.")
    return text
