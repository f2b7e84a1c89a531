"""Files documents for clients that name them: finds out which document is meant, and whether its text is sent whole or goes on.

Knows how far each is; does not know what is learned of one (`learned`), or how its text was read.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Literal, NamedTuple, cast

from scrubjay.engine.writing import Writer
from scrubjay.errors import InputError
from scrubjay.models.envelopes import Envelope, envelope
from scrubjay.models.records import Document, Memory, content_hash, derived_id
from scrubjay.models.requests import DocumentText
from scrubjay.models.results import DocumentAdded
from scrubjay.records.documents import Lookup, plan_add
from scrubjay.records.extracted import LARGE
from scrubjay.store import conditions
from scrubjay.store.store import Store
from scrubjay.text.paragraphs import SHORT

Status = Literal["queued", "embedding", "done", "failed"]
_COLUMNS = ["id", "scope", "custom_id", "updated_at", "forgotten_at"]


class DocumentState(NamedTuple):
    """What became of a document that somebody sent; `changed` is False where its text was there already."""

    id: str
    status: Status
    changed: bool
    redacted: int


class Documents:
    """Takes one document after another: what a text goes on from must not change meanwhile.

    `searchable` says that vectors can be made.
    """

    def __init__(
        self, store: Store, writer: Writer, clock: Callable[[], datetime], searchable: Callable[[], bool]
    ) -> None:
        self._store, self._writer, self._clock, self._searchable = store, writer, clock, searchable
        self._order = asyncio.Lock()

    async def add(self, text: DocumentText, *, scope: str, source: str) -> DocumentState:
        """Add a document; under the custom_id of a known one go on with that, as `scrubjay.engine.verbs.documents` has it.

        What the text does not say (metadata, date, ...) stays as it is known. With `document_id` that very
        document gets this text.

        Raises:
            InputError: the text has an error where a known document has none.
        """
        made = await self._stamped(text, scope, source)
        async with self._order:
            await self._writer.drain()
            return await self._file(text, made, LookedUp(self._store))

    async def add_all(
        self, texts: Sequence[tuple[DocumentText, str]], *, source: str
    ) -> list[DocumentState | InputError]:
        """Add documents to their scopes, in this order, with few look-ups for all of them; what became of each, or why it was refused."""
        made = [await self._stamped(text, scope, source) for text, scope in texts]
        filed: list[DocumentState | InputError] = []
        async with self._order:
            await self._writer.drain()
            known = LookedUp(self._store)
            await known.look(made)
            for (text, _), stamped in zip(texts, made, strict=True):
                try:
                    filed.append(await self._file(text, stamped, known))
                except InputError as error:
                    filed.append(error)
                known.learn()
        return filed

    async def change(self, document: Document, values: Mapping[str, Any], *, source: str) -> DocumentState:
        """Give a document other values for some fields of a `DocumentText`; another `content` replaces its text."""
        said = (
            {"content": document.content, "error": document.error}
            if document.status == "done"
            else {"error": document.error}
        )
        given = {name: value for name, value in {**said, **values}.items() if value is not None}
        custom_id = str(values.get("custom_id") or "")
        if any(
            row.id != document.id and row.forgotten_at is None
            for row in await self.named(custom_id, [document.scope])
        ):
            raise InputError(
                f"custom_id = {custom_id[:80]!r} is another document's. Give this one another, or change that one."
            )
        if "content" in given:
            given.pop("error", None)
        text = DocumentText.model_validate({**given, "document_id": document.id})
        made = await self._stamped(text, document.scope, source)
        async with self._order:
            await self._writer.drain()
            return await self._file(text, made, LookedUp(self._store))

    async def named(self, custom_id: str, scopes: Collection[str]) -> list[Document]:
        """The documents of these scopes with this custom_id, without their texts, those not forgotten first, the latest first."""
        where = conditions.both(conditions.equal("custom_id", custom_id), conditions.one_of("scope", scopes))
        rows = {row.id: row for row in await self._store.select(Document, where, columns=_COLUMNS)}
        rows.update((row.id, row) for row in self._store.staged(Document))
        found = [row for row in rows.values() if row.custom_id == custom_id and row.scope in scopes]
        return sorted(found, key=lambda row: (row.forgotten_at is None, row.updated_at), reverse=True)

    async def statuses(self, rows: Sequence[Document]) -> dict[str, Status]:
        """How far each of these documents is, by id: queued until it is in the tables, embedding until meaning finds it."""
        staged = {row.id for row in self._store.staged(Document)}
        waiting = (
            await self._store.records_without_vectors([row.id for row in rows])
            if rows and self._searchable()
            else set()
        )
        return {row.id: _status(row, row.id in staged, row.id in waiting) for row in rows}

    async def _stamped(self, text: DocumentText, scope: str, source: str) -> Envelope:
        stamp = partial(envelope, "document", text, scope=scope, source=source, at=self._clock())
        return await asyncio.to_thread(stamp) if len(text.content or "") > LARGE else stamp()

    async def _file(self, text: DocumentText, made: Envelope, found: LookedUp) -> DocumentState:
        known, id = await self._meant(text, made, found)
        here = known if known is not None and known.forgotten_at is None else None
        if here is not None and here.status == "done" and text.error is not None:
            raise InputError(f"{text.error} The document {here.id} stays as it was.")
        args = {**_kept(known), **made.args, "document_id": id}
        if text.document_id is None and here is not None and "content" in args:
            args["content"] = await asyncio.to_thread(continued, here.content, args["content"])
        same = (
            here
            if here is not None and here.status == "done" and here.content == args.get("content")
            else None
        )
        if same is not None:
            args = {"title": same.title, "type": same.type, **args}
        made = made.model_copy(
            update={"args": {name: value for name, value in args.items() if value is not None}}
        )
        planned = partial(plan_add, lookup=Lookup(known, id, found.facts_of(made.scope)))
        answer = cast(DocumentAdded, await self._writer.write(made, planned))
        failed: Status = "failed" if answer.status == "failed" else "queued"
        return DocumentState(
            id, failed if same is None else (await self.statuses([same]))[id], same is None, answer.redacted
        )

    async def _meant(
        self, text: DocumentText, made: Envelope, found: LookedUp
    ) -> tuple[Document | None, str]:
        """The document that a text is for, None for a new one, and its id."""
        id = id_of(made)
        known = await found.document(id)
        if text.document_id is not None:
            return known, id
        if text.custom_id is not None:
            if known is None and (named := await self.named(text.custom_id, [made.scope])):
                return await found.document(named[0].id), named[0].id  # it got this custom_id later
            return known, id
        digest = content_hash(made.args.get("content") or "")
        for again in range(1, 1_000):  # the document that these words named may have got other words since
            if known is None or known.content_hash == digest:
                break
            id = derived_id("doc", made.scope, "content", digest, str(again))
            known = await found.document(id)
        return known, id


def _kept(known: Document | None) -> dict[str, Any]:
    """What stays of a known document where nothing else is given."""
    if known is None:
        return {}
    return {"metadata": known.metadata, "custom_id": known.custom_id, "path": known.path}


def _status(row: Document, staged: bool, waits: bool) -> Status:
    if row.status == "failed":
        return "failed"
    return "queued" if staged else "embedding" if waits else "done"


class LookedUp:
    """Lives for one batch, in which nobody else files documents, and learns what each of its writes adds."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._documents: dict[str, Document | None] = {}
        self._facts: dict[
            str, dict[str, Memory | None]
        ] = {}  # by scope and hash of words; None where nobody says that

    async def document(self, id: str) -> Document | None:
        """The document that has this id."""
        if id not in self._documents:
            self._documents[id] = (await self._documents_of([id])).get(id)
        return self._documents[id]

    def facts_of(self, scope: str) -> Mapping[str, Memory | None]:
        """What was looked up of the facts of a scope."""
        return self._facts.get(scope, {})

    async def look(self, made: Sequence[Envelope]) -> None:
        """Look up the documents that these envelopes may mean, and the facts that say what their short texts say."""
        ids = [id_of(each) for each in made]
        rows = await self._documents_of(ids)
        self._documents |= {id: rows.get(id) for id in ids}
        for each in made:
            if len(content := str(each.args.get("content") or "").strip()) <= SHORT:
                self._facts.setdefault(each.scope, {})[content_hash(content)] = None
        for scope, facts in self._facts.items():
            where = conditions.both(
                conditions.one_of("content_hash", sorted(facts)),
                conditions.equal("scope", scope),
                conditions.NOT_FORGOTTEN,
                conditions.LATEST,
            )
            if known := await self._store.select(Memory, where, columns=["id"]):
                facts_there = await self._store.get(Memory, [row.id for row in known])
                facts.update((row.content_hash, row) for row in facts_there.values())
        self.learn()

    async def _documents_of(self, ids: Sequence[str]) -> dict[str, Document]:
        """Whole rows of those that are there.

        Most are not, and to look for an id takes 3 ms where every column takes 7.
        """
        there = await self._store.get(Document, ids, columns=["id"])
        return await self._store.get(Document, there) if there else {}

    def learn(self) -> None:
        """Take in what is staged."""
        self._documents.update((row.id, row) for row in self._store.staged(Document))
        for fact in self._store.staged(Memory):
            if fact.content_hash in (facts := self._facts.get(fact.scope, {})):
                facts[fact.content_hash] = fact


def id_of(made: Envelope) -> str:
    """The id of the document that an envelope names, else of the first one of its custom_id, or of its words."""
    if named := made.args.get("document_id"):
        return str(named)
    if named := made.args.get("custom_id"):
        return derived_id("doc", made.scope, "custom", named)
    return derived_id("doc", made.scope, "content", content_hash(made.args.get("content") or ""))


REVISED = (
    0.5  # of the old text's characters, found again line by line: then the new text is a later state of it
)


def continued(old: str, new: str) -> str:
    """The text after `new` was sent under the name of `old`.

    `new` replaces `old` where it holds it whole, or half of its lines; it changes nothing where `old` ends
    with it already, as when a call is repeated; else it was what came after, and stands behind `old`, so that
    in doubt nothing is lost.

    >>> continued("user: hi", "assistant: hello")
    'user: hi\\n\\nassistant: hello'
    >>> continued("user: hi", "user: hi\\nassistant: hello")
    'user: hi\\nassistant: hello'
    """
    before, after, piece = old.strip(), new.strip(), new.rstrip().lstrip("\r\n")
    if not before or before in after:
        return new
    if old.rstrip().endswith(f"\n{piece}"):
        return old
    return new if _share_kept(before, after) >= REVISED else f"{old.rstrip()}\n\n{piece}"


def _share_kept(old: str, new: str) -> float:
    """The share of the old text's characters that stand in lines of the new one too."""
    had, have = (Counter(filter(None, map(str.strip, text.splitlines()))) for text in (old, new))
    whole = sum(len(line) * count for line, count in had.items())
    return sum(len(line) * count for line, count in (had & have).items()) / whole
