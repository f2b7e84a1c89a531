"""The work on documents, memories, profiles and scopes that the routes of both versions share.

Version 4 calls a scope a container tag, version 5 a namespace.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar

from fastapi import Depends, Request, UploadFile
from pydantic import BaseModel, ValidationError

from scrubjay.engine.verbs.counts import ScopeCounts
from scrubjay.engine.verbs.documents import DocumentState, document_in
from scrubjay.errors import InputError, NotFound
from scrubjay.home.scope_settings import ScopeSettings
from scrubjay.http_api.answers import Answer
from scrubjay.http_api.context import SOURCE, RequestContext
from scrubjay.http_api.supermemory.fields import DocumentDetails
from scrubjay.models.filters import Filter
from scrubjay.models.input_errors import sentences
from scrubjay.models.records import AnyRecord, Document
from scrubjay.models.requests import DocumentText, ForgetMatching, ForgetRecords, parse
from scrubjay.models.results import Hit
from scrubjay.reading import MAX_FILE, content_fields
from scrubjay.records.documents import title_in

T = TypeVar("T")
R = TypeVar("R", bound=AnyRecord)

DELETED = "deleted over HTTP"
PROFILE_TOKENS = 1_500  # of static and dynamic facts together; static facts get at most three fifths
_EARLIEST = datetime(1, 1, 2, tzinfo=UTC)  # sorts documents without a date before all others


class NewDocument(NamedTuple):
    """A document to add, its scope, and the body of the request with its other fields."""

    scope: str
    text: DocumentText
    body: Any  # a `DocumentDetails`


async def as_text(body: Any, task_type: str | None = None) -> DocumentText:
    """Return a body with content as the engine's `DocumentText`; HTML is converted to its text."""
    return DocumentText.model_validate({"task_type": task_type or "memory", **await changes(body)})


async def changes(body: Any) -> dict[str, Any]:
    """Return the values of a body as fields of a `DocumentText`; HTML content is converted to its text.

    HTML without any text stays as it is.
    """
    values: dict[str, Any] = body.values()
    if not body.content:
        return values
    page: dict[str, Any] = {"content": body.content}
    with suppress(InputError):
        page = await asyncio.to_thread(content_fields, body.content)
    page.pop("metadata", None)
    if title_in(values.get("metadata", {})):
        page.pop("title", None)
    return {**page, **values}


async def add_document(context: RequestContext, new: NewDocument) -> Answer:
    """Add one document; it is on disk when this function returns."""
    await _store_background(context, new.scope, new.body)
    return as_ref(await context.core.documents.add(new.text, scope=new.scope, source=SOURCE))


async def add_batch(
    context: RequestContext,
    items: Sequence[T],
    read: Callable[[T], Awaitable[NewDocument]],
    kind: type[BaseModel],
) -> list[tuple[NewDocument, DocumentState] | str]:
    """Add documents, the earliest date first; return each with its state, or what is wrong with the item.

    `read` makes the document of an item, which must be valid as this kind.
    """
    results: dict[int, tuple[NewDocument, DocumentState] | str] = {}
    documents: dict[int, NewDocument] = {}
    for number, item in enumerate(items):
        try:
            documents[number] = await read(item)
        except ValidationError as error:
            results[number] = sentences(kind.model_fields, error.errors(include_url=False))
        except InputError as error:
            results[number] = str(error)
    order = sorted(documents, key=lambda number: documents[number].body.date or _EARLIEST)
    for number in order:
        await _store_background(context, documents[number].scope, documents[number].body)
    texts = [(documents[number].text, documents[number].scope) for number in order]
    states = await context.core.documents.add_all(texts, source=SOURCE)
    for number, state in zip(order, states, strict=True):
        results[number] = str(state) if isinstance(state, InputError) else (documents[number], state)
    return [results[number] for number in range(len(items))]


async def change_document(
    context: RequestContext, document: Document, body: DocumentDetails, values: Mapping[str, Any]
) -> Answer:
    """Change these fields of a document, named as in `DocumentText`; new content replaces its text."""
    await _store_background(context, document.scope, body)
    return as_ref(await context.core.documents.change(document, values, source=SOURCE))


async def check_one_file(request: Request) -> None:
    """Raise InputError for a form with several files, because only the last one would be read."""
    files = (await request.form()).getlist("file")
    if len(files) > 1:
        raise InputError(f"file: {len(files)} files are sent, and a document has one. Send each by itself.")


ONE_FILE = Depends(check_one_file)


async def read_upload(
    file: UploadFile, scope: str, values: Mapping[str, Any], **options: Any
) -> DocumentText:
    """Read an uploaded file as the text of a document with these values, as `document_in` does."""
    data, name = await file.read(MAX_FILE + 1), file.filename or "file"
    return await asyncio.to_thread(document_in, data, name, scope, values, **options)


def as_ref(state: DocumentState) -> Answer:
    """Return the answer to a write of a document, the same in both versions."""
    return dict(id=state.id, status=state.status)


async def delete_each(
    context: RequestContext, names: Iterable[str], find: Callable[[str], Awaitable[R]]
) -> tuple[list[R], list[Answer]]:
    """Forget the records that `find` returns for these names; return them, and errors for other names."""
    rows: dict[str, R] = {}
    errors: list[Answer] = []
    for name in dict.fromkeys(names):
        try:
            row = await find(name)
            rows[row.id] = row
        except (InputError, NotFound) as error:
            errors.append(dict(id=name, error=str(error)))
    await delete_records(context, rows.values())
    return list(rows.values()), errors


async def delete_records(context: RequestContext, rows: Iterable[AnyRecord]) -> None:
    """Forget records, with one write for each scope."""
    ids_by_scope: dict[str, list[str]] = {}
    for row in rows:
        ids_by_scope.setdefault(context.permissions.write_scope(row.scope), []).append(row.id)
    for scope, ids in ids_by_scope.items():
        await forget(context, ids, scope, DELETED)


async def forget(context: RequestContext, ids: Iterable[str], scope: str, reason: str | None = None) -> None:
    """Forget records of one scope: searches and profiles leave them out, but they stay as history."""
    await context.write("forget", parse(ForgetRecords, {"ids": list(ids), "reason": reason}), scope=scope)


async def forget_matching(context: RequestContext, scope: str, query: str, **options: Any) -> list[Hit]:
    """Forget the facts that a query is about, or with `dry_run` only find them; return them best first."""
    request = parse(ForgetMatching, {"query": query, "scope": scope, **options})
    return (await context.core.removal.forget_matching(request, SOURCE)).candidates


class Profile(NamedTuple):
    """The facts of a profile: lasting facts, recent facts, and the facts of each bucket."""

    static: list[Hit]
    dynamic: list[Hit]
    buckets: dict[str, list[Hit]]


async def read_profile(
    context: RequestContext,
    scopes: tuple[str, ...],
    filters: Filter | None,
    names: Iterable[str] | None,
    sections: Collection[str] = Profile._fields,
) -> Profile:
    """Read these sections of a profile; `names` selects buckets, and None selects all."""
    facts, buckets = None, dict[str, list[Hit]]()
    if scopes and {"static", "dynamic"} & set(sections):
        facts = await context.core.search.profile(scopes, PROFILE_TOKENS, filters)
    if "buckets" in sections:
        all_buckets = await context.core.search.profile_buckets(scopes, filters)
        selected = all_buckets.keys() if names is None else set(names)
        buckets = {name: list(hits) for name, hits in all_buckets.items() if name in selected}
    return Profile(facts.static, facts.recent, buckets) if facts else Profile([], [], buckets)


async def _store_background(context: RequestContext, scope: str, body: DocumentDetails) -> None:
    await context.core.scope_settings.keep_context(scope, body.background, context.now)


@dataclass(frozen=True)
class ScopeView:
    """One scope, with the numbers of documents and memories that a search can find in it.

    The times are those of the first and the last write of a record or setting.
    """

    name: str
    settings: ScopeSettings
    documents: int
    memories: int
    created_at: datetime | None
    updated_at: datetime | None


def _view(name: str, settings: ScopeSettings, counts: ScopeCounts | None) -> ScopeView:
    """Join a scope's settings with the counts of its records; a scope without records has no counts."""
    parts: list[ScopeSettings | ScopeCounts] = [settings] if counts is None else [settings, counts]
    created = [part.created_at for part in parts if part.created_at]
    updated = [part.updated_at for part in parts if part.updated_at]
    return ScopeView(
        name=name,
        settings=settings,
        documents=counts.documents if counts else 0,
        memories=counts.memories if counts else 0,
        created_at=min(created, default=None),
        updated_at=max(updated, default=None),
    )


async def every_scope(context: RequestContext) -> list[ScopeView]:
    """Return the scopes that the caller reaches and that have records or settings."""
    counts, settings = await context.core.counts.by_scope(), context.core.scope_settings
    names = dict.fromkeys([*counts, *settings.all()])
    visible = filter(context.permissions.reaches, names)
    return [_view(name, settings.of(name), counts.get(name)) for name in visible]


async def delete_scope(context: RequestContext, name: str) -> Answer:
    """Delete a scope permanently, and return how many documents and memories it had."""
    counts = await context.core.scopes.delete(name, SOURCE)
    documents, memories = (counts.documents + counts.commits, counts.memories) if counts else (0, 0)
    return {"deletedDocumentsCount": documents, "deletedMemoriesCount": memories}


async def scope_view(context: RequestContext, name: str, missing_message: str | None = None) -> ScopeView:
    """Return one scope; with a `missing_message`, raise NotFound if it has neither records nor settings."""
    counts, settings = await context.core.counts.by_scope(name), context.core.scope_settings
    if missing_message and name not in counts and name not in settings.all():
        raise NotFound(missing_message)
    return _view(name, settings.of(name), counts.get(name))
