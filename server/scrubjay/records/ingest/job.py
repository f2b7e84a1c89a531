"""One ingest: reads the changed files below some paths, writes their documents, and forgets deleted ones.

A file that cannot be read becomes a failed document. After an interruption, the next ingest continues,
because each document stores the state of the file that was read.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from scrubjay.errors import InputError
from scrubjay.home.files import open_regular
from scrubjay.models.envelopes import Envelope, envelope
from scrubjay.models.records import Document
from scrubjay.models.requests import DocumentText, FileState, ForgetRecords
from scrubjay.models.results import Ingested, NotRead, Result
from scrubjay.reading import SECONDS, read_file
from scrubjay.records.documents import fields_read, id_of_path
from scrubjay.records.ingest.tree import FileEntry, Tree, as_text, files_at
from scrubjay.store import conditions
from scrubjay.store.store import Store

MOST_PASSED_OVER = 20  # folders that the result lists
GONE = "Its file is gone."
# The columns that a comparison needs; the text is not read.
_COLUMNS = "id path status folder file_size file_mtime file_digest forgotten_at forget_reason".split()
Write = Callable[[Envelope], Awaitable[Result]]
Report = Callable[[int, int, str], Awaitable[None]]  # files done, all files, the current file


@dataclass
class Ingest:
    """One run. `states` has the state of each file that is not done: queued, extracting, or chunking."""

    store: Store
    write: Write
    clock: Callable[[], datetime]
    scope: str
    source: str
    states: dict[str, str] = field(default_factory=dict)
    _known_ids: set[str] = field(default_factory=set)  # ids of documents
    # Documents whose file is gone, by the digest of its bytes.
    _movable: dict[str, Document] = field(default_factory=dict)
    _counts: Counter[str] = field(default_factory=Counter)  # of files that were added, changed, or unchanged
    _renamed: set[str] = field(default_factory=set)  # ids of documents
    _failed: list[NotRead] = field(default_factory=list)

    async def run(
        self, paths: Sequence[str], report: Report, *, again: bool = False, hidden: bool = False
    ) -> Ingested:
        """Bring the documents of these files and folders up to date; `paths` are absolute.

        Raises InputError if one of the paths is missing or cannot be read; then nothing is changed.
        """
        found = {path: await asyncio.to_thread(files_at, path, hidden=hidden) for path in paths}
        trees = {path: tree for path, tree in found.items() if tree is not None}
        work = await self._differences(paths, trees, again)
        self._counts["unchanged"] = work.unchanged
        self._movable = {row.file_digest: row for row in work.gone if row.file_digest}
        self.states.update((file.name, "queued") for file, _ in work.to_read)
        try:
            for number, (file, document) in enumerate(work.to_read):
                await report(number, len(work.to_read), file.name)
                await self._read(file, document, _root(file, paths))
                del self.states[file.name]
        finally:
            self.states.clear()
        if gone := [document.id for document in work.gone if document.id not in self._renamed]:
            await self.write(self._envelope("forget", ForgetRecords(ids=gone, reason=GONE)))
        await report(len(work.to_read), len(work.to_read), "")
        not_read = [each for tree in trees.values() for each in tree.not_read]
        passed_over = [folder for tree in trees.values() for folder in tree.passed_over]
        return Ingested(
            added=self._counts["added"],
            changed=self._counts["changed"],
            unchanged=self._counts["unchanged"],
            renamed=len(self._renamed),
            removed=len(gone),
            forgotten=work.forgotten,
            failed=[*not_read[:MOST_PASSED_OVER], *self._failed],
            passed_over=passed_over[:MOST_PASSED_OVER],
            left_out=[each for path, tree in trees.items() for each in tree.why_left_out(path)],
        )

    async def _differences(self, paths: Sequence[str], trees: Mapping[str, Tree], again: bool) -> Differences:
        files = [file for tree in trees.values() for file in tree.files]
        unreadable = [place for tree in trees.values() for place in tree.unreadable]
        await self.store.flush()
        by_path = conditions.both(conditions.present("path"), conditions.missing("custom_id"))
        where = conditions.both(conditions.matching(scope=self.scope), by_path)
        documents = await self.store.select(Document, where, columns=_COLUMNS)
        current = [document for document in documents if document.forgotten_at is None]
        self._known_ids = {document.id for document in current}
        unwanted = {row.path for row in documents if row.forgotten_at and row.forget_reason != GONE}
        roots = [as_text(path) for path in paths]
        current = [row for row in current if row.path is None or not _within(row.path, unreadable)]
        work = await asyncio.to_thread(differences, files, current, roots, unwanted=unwanted, again=again)
        gone = [document.path or "" for document in work.gone]
        for path in paths:  # a path that was never indexed is a mistake, not a deleted one
            if path not in trees and not any(_within(each, [as_text(path)]) for each in gone):
                problem = f"There is nothing at {path[:300]!r} to index."
                raise InputError(f"{problem} Give the path of a file or a folder.")
        return work

    async def _read(self, file: FileEntry, document: Document | None, folder: str | None) -> None:
        """Read a file, and write it to its document; if it has none, to that of a moved file or to a new one.

        If the file cannot be read now, its document keeps its text.
        """
        if not file.named and not os.path.lexists(file.path):  # gone since the folder was listed
            return
        if document is not None and document.status == "done" and (why := _open_error(file.path)):
            self._failed.append(NotRead(path=file.name, reason=f"{file.name!r} cannot be read now: {why}."))
            return
        self.states[file.name] = "extracting"
        text, digest = await asyncio.to_thread(_read, file, folder)
        earlier = document
        if document is None and (earlier := self._movable.pop(digest, None)) is not None:
            self._renamed.add(earlier.id)
        document_id = earlier.id if earlier is not None else self._new_id(file.name, digest)
        text = text.model_copy(update={"document_id": document_id})  # an id prevents a lookup by path
        self.states[file.name] = "chunking"
        await self.write(await asyncio.to_thread(self._envelope, "document", text))
        if text.error is not None:
            self._failed.append(NotRead(path=file.name, reason=text.error))
        elif earlier is None:
            self._counts["added"] += 1
        elif document is not None:
            is_same = document.status == "done" and document.file_digest == digest
            self._counts["unchanged" if is_same else "changed"] += 1

    def _new_id(self, path: str, digest: str) -> str:
        """Return the id derived from a path, or another id if the document with that id has moved away."""
        path_id = id_of_path(self.scope, path)
        return id_of_path(self.scope, path, digest) if path_id in self._known_ids else path_id

    def _envelope(self, kind: Any, request: DocumentText | ForgetRecords) -> Envelope:
        return envelope(kind, request, scope=self.scope, source=self.source, at=self.clock())


def _read(file: FileEntry, folder: str | None) -> tuple[DocumentText, str]:
    """Return a file's text and metadata, or why it cannot be read, and the digest of its bytes."""
    digest = ""
    try:
        content = read_file(file.path, seconds=SECONDS)
    except InputError as error:
        fields: dict[str, Any] = {"error": str(error)[:2_000]}
    else:
        digest, fields = content.digest or "", fields_read(content)
    state = FileState(size=file.size, mtime=file.mtime, digest=digest, folder=folder)
    return DocumentText(path=file.name, file=state, **fields), digest


def _open_error(path: str) -> str | None:
    """Return why a file cannot be opened, or None if it can be."""
    try:
        open_regular(path, own=False).close()
    except OSError as error:
        return error.strerror
    return None


def _root(file: FileEntry, paths: Sequence[str]) -> str | None:
    """Return the indexed folder that a file is in, or None for a file that the caller named."""
    if file.named:
        return None
    folder = max((path for path in paths if file.path.startswith(path)), key=len, default=None)
    return None if folder is None else as_text(folder)


@dataclass(frozen=True)
class Differences:
    """What changed below some paths since the last ingest."""

    to_read: tuple[tuple[FileEntry, Document | None], ...]  # new or changed files, each with its document
    gone: tuple[Document, ...]  # documents whose file is missing
    unchanged: int
    forgotten: int = 0  # files left out because a user forgot their documents


def differences(
    entries: Iterable[FileEntry],
    documents: Iterable[Document],
    roots: Sequence[str],
    *,
    unwanted: Collection[str | None] = (),
    again: bool = False,
) -> Differences:
    """Compare the files below `roots` with the documents of a scope that come from files.

    A document is gone if its file is missing or if the folder that it was indexed with no longer includes it,
    as when a new .gitignore rule names it. `again` reads all files again. A file whose document a user forgot
    (`unwanted`, by path) is read only if the caller names the file.
    """
    by_path = {document.path: document for document in documents if document.path is not None}
    all_files = {file.name: file for file in entries}
    named_or_known = {path for path, file in all_files.items() if file.named or path in by_path}
    files = {path: all_files[path] for path in all_files if path in named_or_known or path not in unwanted}
    # An empty file becomes a document only if the caller named it.
    indexable = [
        (file, by_path.get(path)) for path, file in files.items() if file.size or path in named_or_known
    ]
    to_read = [(file, row) for file, row in indexable if again or not _is_up_to_date(file, row)]
    missing = [path for path in by_path if path not in files and _within(path, roots)]
    gone = [
        by_path[path]
        for path in missing
        if _was_indexed_with(by_path[path], path, roots) or not os.path.lexists(path)
    ]
    unchanged = 0 if again else sum(_is_up_to_date(file, by_path.get(path)) for path, file in files.items())
    return Differences(tuple(to_read), tuple(gone), unchanged, len(all_files) - len(files))


def _is_up_to_date(file: FileEntry, document: Document | None) -> bool:
    return document is not None and (document.file_size, document.file_mtime) == (file.size, file.mtime)


def _was_indexed_with(document: Document, path: str, roots: Sequence[str]) -> bool:
    """Return True if a document was indexed with the root that its file is in, or with a folder above it."""
    folder = document.folder
    return folder is not None and any(_within(root, [folder]) for root in roots if _within(path, [root]))


def _within(path: str, roots: Sequence[str]) -> bool:
    return any(path == root or path.startswith(root.rstrip(os.sep) + os.sep) for root in roots)
