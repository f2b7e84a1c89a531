"""One ingest: reads what changed below some paths, writes it document by document, and lets go what is not there any more.

Knows the order of work and what became of each file; does not know engines, connections or who is told. A
file that cannot be read becomes a failed document and never stops the rest. Interrupted at any place, the
next ingest goes on where this one ended, because what is written is as it was read.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from scrubjay.errors import InputError
from scrubjay.models.envelopes import Envelope, envelope
from scrubjay.models.records import Document
from scrubjay.models.requests import DocumentText, FileState, ForgetRecords
from scrubjay.models.results import Ingested, NotRead, Result
from scrubjay.reading import MAX_FILE, read
from scrubjay.records.documents import id_of_path
from scrubjay.records.ingest.tree import FileEntry, files_at
from scrubjay.store import conditions
from scrubjay.store.store import Store

log = logging.getLogger("scrubjay.records.ingest")

GONE = "Its file is gone."
_COLUMNS = ["id", "path", "status", "folder", "file_size", "file_mtime", "file_digest"]  # all but the text
Write = Callable[[Envelope], Awaitable[Result]]
Report = Callable[[int, int, str], Awaitable[None]]  # files done, files in all, the one in hand


@dataclass
class Ingest:
    """`paths` are absolute. `states` tells of each file that is not done yet: queued, extracting, or chunking. Lives for one run."""

    store: Store
    write: Write
    clock: Callable[[], datetime]
    scope: str
    source: str
    states: dict[str, str] = field(default_factory=dict)
    _taken: set[str] = field(default_factory=set)  # ids of documents

    async def run(self, paths: Sequence[str], report: Report, *, again: bool = False) -> Ingested:
        """Bring the documents of these files and folders up to date.

        Raises:
            InputError: there is nothing at one of the paths; nothing was done.
        """
        work = await self._differences(paths, again)
        self.states.update((file.path, "queued") for file, _ in work.to_read)
        moved: dict[str, Document] = {
            document.file_digest: document for document in work.gone if document.file_digest
        }
        done = _Done(unchanged=work.unchanged)
        try:
            for number, (file, document) in enumerate(work.to_read):
                await report(number, len(work.to_read), file.path)
                await self._take(file, document, _root(file, paths), moved, done)
                del self.states[file.path]
        finally:
            self.states.clear()
        kept = {document.id for document in done.renamed}
        if gone := [document.id for document in work.gone if document.id not in kept]:
            await self.write(self._envelope("forget", ForgetRecords(ids=gone, reason=GONE)))
        await report(len(work.to_read), len(work.to_read), "")
        return done.result(len(gone))

    async def _differences(self, paths: Sequence[str], again: bool) -> Differences:
        seen: list[FileEntry] = []
        missing: list[str] = []
        for path in paths:
            try:
                seen += await asyncio.to_thread(files_at, path)
            except InputError:
                missing.append(path)
        await self.store.flush()
        where = conditions.both(
            conditions.equal("scope", self.scope),
            conditions.present("path"),
            conditions.missing("custom_id"),
            conditions.NOT_FORGOTTEN,
        )
        known = await self.store.select(Document, where, columns=_COLUMNS)
        self._taken = {document.id for document in known}
        found = await asyncio.to_thread(differences, seen, known, paths, again=again)
        for path in missing:  # what was indexed and is deleted now is gone; what never was is a mistake
            if not any(
                document.path == path or (document.path or "").startswith(f"{path}/")
                for document in found.gone
            ):
                raise InputError(
                    f"There is nothing at {path[:300]!r} to index. Give the path of a file or a folder."
                )
        return found

    async def _take(
        self,
        file: FileEntry,
        document: Document | None,
        folder: str | None,
        moved: dict[str, Document],
        done: _Done,
    ) -> None:
        self.states[file.path] = "extracting"
        text = await asyncio.to_thread(_read, file, folder)
        state = text.file
        assert state is not None
        before = document
        if document is None and (before := moved.pop(state.digest, None)) is not None:
            done.renamed.append(before)
        id = before.id if before is not None else self._new_id(file.path, state.digest)
        text = text.model_copy(update={"document_id": id})  # so that nobody has to look for it by its path
        self.states[file.path] = "chunking"
        await self.write(await asyncio.to_thread(self._envelope, "document", text))
        if text.error is not None:
            done.failed.append(NotRead(path=file.path, reason=text.error))
        elif before is None:
            done.added += 1
        elif document is not None:
            same = document.status == "done" and document.file_digest == state.digest
            done.unchanged, done.changed = done.unchanged + same, done.changed + (not same)

    def _new_id(self, path: str, digest: str) -> str:
        """The id made of a path, unless its document has moved to another path by now."""
        id = id_of_path(self.scope, path)
        return id_of_path(self.scope, path, digest) if id in self._taken else id

    def _envelope(self, kind: Any, request: DocumentText | ForgetRecords) -> Envelope:
        return envelope(kind, request, scope=self.scope, source=self.source, at=self.clock())


@dataclass
class _Done:
    """Counts of one run."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    renamed: list[Document] = field(default_factory=list)
    failed: list[NotRead] = field(default_factory=list)

    def result(self, removed: int) -> Ingested:
        return Ingested(
            added=self.added,
            changed=self.changed,
            renamed=len(self.renamed),
            removed=removed,
            unchanged=self.unchanged,
            failed=self.failed,
        )


def _read(file: FileEntry, folder: str | None) -> DocumentText:
    """The text of a file with what it says of itself, or why it has none."""
    digest = ""
    try:
        with open(file.path, "rb") as opened:
            data = opened.read(MAX_FILE + 1)
        digest = hashlib.sha256(data).hexdigest()
        found = read(data, file.path)
    except (OSError, InputError) as error:
        reason = (
            str(error)
            if isinstance(error, InputError)
            else f"{file.path!r} cannot be read: {error.strerror}."
        )
        return DocumentText(error=reason[:2_000], path=file.path, file=_state(file, digest, folder))
    language = {"language": found.language} if found.language and found.kind == "code" else {}
    return DocumentText(
        content=found.text,
        path=file.path,
        type=found.kind,
        title=found.title,
        metadata={**language, **found.metadata},
        file=_state(file, digest, folder),
    )


def _state(file: FileEntry, digest: str, folder: str | None) -> FileState:
    return FileState(size=file.size, mtime=file.mtime, digest=digest, folder=folder)


def _root(file: FileEntry, paths: Sequence[str]) -> str | None:
    """The indexed folder that a file came with; None for one that was named itself."""
    return (
        None
        if file.named
        else max((path for path in paths if file.path.startswith(path)), key=len, default=None)
    )


@dataclass(frozen=True)
class Differences:
    """`to_read`: files that are new or touched, each with its document if it has one; `gone`: documents whose file is not there."""

    to_read: tuple[tuple[FileEntry, Document | None], ...]
    gone: tuple[Document, ...]
    unchanged: int


def differences(
    seen: Iterable[FileEntry], known: Iterable[Document], roots: Sequence[str], *, again: bool = False
) -> Differences:
    """`known` are the documents of a scope that are files, `roots` the paths that were looked at; `again` reads all files anew.

    A document is gone when its file is not on the disk; one that came with a folder also when the folder no
    longer gives it, because a .gitignore names it now.
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
        if path not in files
        and _within(path, roots)
        and (document.folder is not None or not os.path.lexists(path))
    ]
    unchanged = sum(_is_as_read(file, documents.get(path)) for path, file in files.items())
    return Differences(tuple(to_read), tuple(gone), 0 if again else unchanged)


def _is_as_read(file: FileEntry, document: Document | None) -> bool:
    return document is not None and (document.file_size, document.file_mtime) == (file.size, file.mtime)


def _within(path: str, roots: Sequence[str]) -> bool:
    return any(path == root or path.startswith(root.rstrip(os.sep) + os.sep) for root in roots)
