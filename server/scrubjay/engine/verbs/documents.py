"""Adds and changes documents for clients that name them by custom_id.

A text sent with the custom_id of an existing document replaces its text or continues it.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, NamedTuple, cast

from scrubjay.engine.verbs.verb import Verb
from scrubjay.errors import InputError
from scrubjay.models.envelopes import Envelope, envelope
from scrubjay.models.records import Document, content_hash, derived_id
from scrubjay.models.requests import DocumentText
from scrubjay.models.results import DocumentAdded
from scrubjay.reading import CALL_SECONDS, read
from scrubjay.records.documents import LONGEST_TITLE, fields_read, plan_add, stored_document, title_in
from scrubjay.records.extracted import LARGE
from scrubjay.store import conditions

# the new text replaces the old one if lines with this share of the old characters are in both
REVISED = 0.5
Status = Literal["queued", "embedding", "done", "failed"]
_COLUMNS = ["id", "scope", "custom_id", "updated_at", "forgotten_at"]


class DocumentState(NamedTuple):
    """The result for a sent document; `changed` is False if its text was already stored."""

    id: str
    status: Status
    changed: bool
    redacted: int


@dataclass(eq=False)
class Documents(Verb):
    """Adds one document at a time, because a text that is being continued must not change meanwhile."""

    _order: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def add(self, text: DocumentText, *, scope: str, source: str) -> DocumentState:
        """Add a document, or replace or continue the one with its custom_id; see `continue_text`.

        Fields that are missing (metadata, date, ...) do not change. With `document_id`, that document gets
        the text.

        Raises:
            InputError: the new text has an error, and the existing document has none.
        """
        sent = await self._envelope(text, scope, source)
        async with self._order:
            await self._writer.drain()
            return await self._write(text, sent)

    async def add_all(
        self, texts: Sequence[tuple[DocumentText, str]], *, source: str
    ) -> list[DocumentState | InputError]:
        """Add documents to their scopes, in order; return the state or the error of each."""
        envelopes = [await self._envelope(text, scope, source) for text, scope in texts]
        states: list[DocumentState | InputError] = []
        async with self._order:
            await self._writer.drain()
            for (text, _), sent in zip(texts, envelopes, strict=True):
                try:
                    states.append(await self._write(text, sent))
                except InputError as error:
                    states.append(error)
        return states

    async def change(self, document: Document, values: Mapping[str, Any], *, source: str) -> DocumentState:
        """Change fields of a document, named as in `DocumentText`; a new `content` replaces its text."""
        custom_id = str(values.get("custom_id") or "")
        same_name = await self.with_custom_id(custom_id, [document.scope])
        if any(row.id != document.id and row.forgotten_at is None for row in same_name):
            advice = "Use another custom_id, or change that document."
            raise InputError(f"custom_id = {custom_id[:80]!r} belongs to another document. {advice}")
        fields: dict[str, Any] = {"document_id": document.id, "error": document.error}
        if document.status == "done":
            fields["content"] = document.content
        fields = {name: value for name, value in {**fields, **values}.items() if value is not None}
        if "content" in fields:
            fields.pop("error", None)
        return await self.add(DocumentText.model_validate(fields), scope=document.scope, source=source)

    async def with_custom_id(self, custom_id: str, scopes: Collection[str]) -> list[Document]:
        """Return the documents of these scopes with this custom_id, without their texts.

        Documents that are not forgotten come first; otherwise the latest come first.
        """
        where = conditions.matching(custom_id=custom_id, scope=scopes)
        rows = await self._store.select_newest(
            Document, where, lambda row: row.custom_id == custom_id and row.scope in scopes, columns=_COLUMNS
        )
        return sorted(rows, key=lambda row: (row.forgotten_at is None, row.updated_at), reverse=True)

    async def statuses(self, rows: Sequence[Document]) -> dict[str, Status]:
        """Return the status of each of these documents, by id.

        A document is queued until it is in the tables, and embedding until it has all its vectors.
        """
        ids = [row.id for row in rows]
        staged = {row.id for row in self._store.staged(Document)}
        may_wait = ids and not self._indexer.trouble
        waiting = await self._store.records_without_vectors(ids) if may_wait else set()

        def status(row: Document) -> Status:
            if row.status == "failed":
                return "failed"
            return "queued" if row.id in staged else "embedding" if row.id in waiting else "done"

        return {row.id: status(row) for row in rows}

    async def _envelope(self, text: DocumentText, scope: str, source: str) -> Envelope:
        fields: Any = dict(scope=scope, source=source, at=self._clock())
        if len(text.content or "") > LARGE:
            return await self._writer.seal("document", text, **fields)
        return envelope("document", text, **fields)

    async def _write(self, text: DocumentText, sent: Envelope) -> DocumentState:
        old, document_id = await self._target(text, sent)
        current = old if old is not None and old.forgotten_at is None else None
        complete = current if current is not None and current.status == "done" else None
        if complete is not None and text.error is not None:
            raise InputError(f"{text.error} The document {complete.id} is unchanged.")
        kept = {} if current is None else current.model_dump(include={"metadata", "custom_id", "path"})
        args = {**kept, **sent.args, "document_id": document_id}
        if text.document_id is None and current is not None and "content" in args:
            args["content"] = await asyncio.to_thread(continue_text, current.content, args["content"])
        unchanged = complete if complete is not None and complete.content == args.get("content") else None
        if unchanged is not None:
            args = {"type": unchanged.type, **args}
            # If the titles differ, the title changes.
            if title_in(args.get("metadata", {})) == title_in(unchanged.metadata):
                args = {"title": unchanged.title, **args}
        args = {name: value for name, value in args.items() if value is not None}
        planner = partial(plan_add, lookup=(old, document_id))
        answer = await self._writer.write(sent.model_copy(update={"args": args}), planner)
        added = cast(DocumentAdded, answer)
        status: Status = "failed" if added.status == "failed" else "queued"
        if unchanged is not None:
            status = (await self.statuses([unchanged]))[document_id]
        return DocumentState(document_id, status, unchanged is None, added.redacted)

    async def _target(self, text: DocumentText, sent: Envelope) -> tuple[Document | None, str]:
        """Return the stored document that a text is for (None if it is new), and its id."""
        document_id = _id_of(sent)
        old = await stored_document(self._store, document_id)
        if text.document_id is not None:
            return old, document_id
        if text.custom_id is not None:
            if old is None and (named := await self.with_custom_id(text.custom_id, [sent.scope])):
                # The document got this custom_id later.
                return await stored_document(self._store, named[0].id), named[0].id
            return old, document_id
        digest, place = content_hash(sent.args.get("content") or ""), text.filepath
        # The document whose id comes from this content may have other content by now, or another filepath.
        for attempt in range(1, 1_000):
            if old is None or (old.content_hash == digest and (not place or old.filepath in (None, place))):
                break
            parts = (digest, str(attempt), *filter(None, [place]))
            document_id = derived_id("doc", sent.scope, "content", *parts)
            old = await stored_document(self._store, document_id)
        return old, document_id


def continue_text(old: str, new: str) -> str:
    """Return the text of a document after `new` was sent under its name.

    `new` replaces `old` if it contains all of it, or lines with half of its characters. If `old` already ends
    with `new`, as after a repeated call, nothing changes. Otherwise `new` continues `old`, so that nothing is
    lost.

    >>> continue_text("user: hi", "assistant: hello")
    'user: hi\\n\\nassistant: hello'
    """
    old_text, new_text, piece = old.strip(), new.strip(), new.rstrip().lstrip("\r\n")
    if not old_text or old_text in new_text:
        return new
    if old.rstrip().endswith(f"\n{piece}"):
        return old
    return new if _share_in_both(old_text, new_text) >= REVISED else f"{old.rstrip()}\n\n{piece}"


def _share_in_both(old: str, new: str) -> float:
    """Return the share of the old text's characters that are in lines which the new text has too."""
    old_lines, new_lines = (Counter(filter(None, map(str.strip, text.splitlines()))) for text in (old, new))
    total = sum(len(line) * count for line, count in old_lines.items())
    return sum(len(line) * count for line, count in (old_lines & new_lines).items()) / total


def _id_of(sent: Envelope) -> str:
    """Return the document id that an envelope names, or else the id for its custom_id or its content."""
    if document_id := sent.args.get("document_id"):
        return str(document_id)
    if custom_id := sent.args.get("custom_id"):
        return derived_id("doc", sent.scope, "custom", custom_id)
    return derived_id("doc", sent.scope, "content", content_hash(sent.args.get("content") or ""))


def document_in(
    data: bytes,
    name: str,
    scope: str,
    values: Mapping[str, Any],
    *,
    earlier: Mapping[str, Any] | None = None,
    may_fail: bool = True,
) -> DocumentText:
    """Read a file, given as its bytes, as the text of a document.

    This may take seconds, so call it in a thread. `values` are fields of a `DocumentText`, and take
    precedence over the properties of the file. Without metadata among them, the `earlier` metadata of the
    document stays, as far as the file has no other. A file that cannot be read becomes a failed document
    with the reason, which is recognised by its bytes when it is sent again.

    Raises:
        InputError: the file cannot be read, and `may_fail` is not set.
    """
    fields = {"task_type": "memory", "title": name[:LONGEST_TITLE], **values}
    try:
        text = read(data, name, seconds=CALL_SECONDS)
    except InputError as error:
        if not may_fail:
            raise
        if "custom_id" not in values:
            fields["document_id"] = derived_id("doc", scope, "file", hashlib.sha256(data).hexdigest())
        return DocumentText.model_validate({**fields, "error": str(error)[:2_000]})
    file_fields, sent = fields_read(text), values.get("metadata", {})
    kept = {} if "metadata" in values else earlier or {}
    title = title_in(sent or kept) or text.title or fields["title"]
    metadata = {**kept, **file_fields["metadata"], **sent}
    return DocumentText.model_validate({**fields, **file_fields, "title": title, "metadata": metadata})
