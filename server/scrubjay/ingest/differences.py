"""What changed in a tree of files since it was indexed: files against documents, by time and size alone. Pure: both sides are handed in."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scrubjay.ingest.tree import Seen
from scrubjay.models.records import Document


@dataclass(frozen=True)
class Differences:
    """`to_read`: files that are new or touched, each with its document if it has one; `gone`: documents whose file is not there."""

    to_read: tuple[tuple[Seen, Document | None], ...]
    gone: tuple[Document, ...]
    unchanged: int


def differences(seen: Iterable[Seen], known: Iterable[Document], roots: Sequence[str], *, again: bool = False) -> Differences:
    """`known` are the documents of a scope that are files, `roots` the paths that were looked at; `again` reads all files anew.

    A document is gone when its file is not on the disk; one that came with a folder also when the folder no longer gives it, because
    a .gitignore names it now.
    """
    files = {file.path: file for file in seen}
    documents = {document.path: document for document in known if document.path is not None}
    to_read = [
        (file, documents.get(path))
        for path, file in files.items()
        if again or not _is_as_read(file, documents.get(path))
        if file.size or file.named or path in documents  # an empty file that nobody named is no document
    ]
    gone = [
        document
        for path, document in documents.items()
        if path not in files and _within(path, roots) and (document.folder is not None or not os.path.lexists(path))
    ]
    unchanged = sum(_is_as_read(file, documents.get(path)) for path, file in files.items())
    return Differences(tuple(to_read), tuple(gone), 0 if again else unchanged)


def _is_as_read(file: Seen, document: Document | None) -> bool:
    return document is not None and (document.file_size, document.file_mtime) == (file.size, file.mtime)


def _within(path: str, roots: Sequence[str]) -> bool:
    return any(path == root or path.startswith(root.rstrip(os.sep) + os.sep) for root in roots)
