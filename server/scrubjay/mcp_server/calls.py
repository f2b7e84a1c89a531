"""Calls a tool: parses the arguments, calls one verb of the engine, and answers in text.

Some hosts show a model only `structuredContent`, others only the text (see DECISIONS). So recalled text is
sent as fenced text, and as structure only to programs that ask for it. Tools that write send one line of text
and a structure; quoted text is fenced in both.
"""

import json
import math
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeVar

from scrubjay.engine.caller import Caller, caller
from scrubjay.engine.engine import Engine
from scrubjay.errors import InputError, NotFound, ScrubjayError
from scrubjay.home import given
from scrubjay.home.scopes import EVERY_SCOPE, USER_SCOPE, find_scope, list_scopes, search_scopes, write_scope
from scrubjay.mcp_server import render, render_documents, render_sessions
from scrubjay.mcp_server.catalog import BY_NAME, Offer
from scrubjay.mcp_server.files import allowed_path, read_document
from scrubjay.mcp_server.progress import Report
from scrubjay.models.requests import (
    MOST_TOKENS,
    AddDocument,
    AddMemory,
    DocumentText,
    Forget,
    Form,
    RecordTurn,
    Request,
    SearchDocuments,
    SearchMemories,
    parse,
)
from scrubjay.models.results import DocumentAdded, DocumentHits, MemoryHits, Result
from scrubjay.text.answers import plural
from scrubjay.text.foreign import defused, one_line

REASONS = 10  # records that shaped a file that are shown, unless the call gives a number
# Arguments of a search that exclude records, so that a wrong value hides all of them.
LIMITS = ("session_id", "tags", "partition_ids", "filters", "threshold", "as_of")
PIECE = 3_000  # tokens of turns to distill that are sent, unless the call gives a number

R = TypeVar("R", bound=Request)
Found = TypeVar("Found", bound=Result)
Hits = TypeVar("Hits", MemoryHits, DocumentHits)


@dataclass(frozen=True)
class Answer:
    """An answer as text and as structure, which is None if it was not requested."""

    text: str
    structure: dict[str, Any] | None


async def call(
    engine: Engine, name: str, arguments: dict[str, Any] | None, report: Report | None = None
) -> dict[str, Any]:
    """Call a tool in BY_NAME and return MCP's `CallToolResult`.

    A caller's mistake is returned as a sentence with `isError`, never as a protocol error.
    """
    async with caller().turn:
        return await _call_tool(engine, name, arguments, report)


async def _call_tool(
    engine: Engine, name: str, arguments: dict[str, Any] | None, report: Report | None
) -> dict[str, Any]:
    offer = BY_NAME[name]
    try:
        by = caller() if report is None else replace(caller(), report=report)
        flat, form = _split_form(offer.request, _merge_options(arguments or {}))
        flat = await _in_known_scope(engine, offer, flat, by)
        request = parse(offer.request, flat)
        if by.read_only and not offer.read_only:
            reason = "changes the memory, and this token may only read"
            raise InputError(f"{name} {reason}. Use another token.")
        reach = by.reach(getattr(request, "scope", None))
        request = await (await engine.core_soon()).ids.with_full_ids(request, by.visible_scopes, reach)
        answer = await _CALLS[offer.request](engine, await confine(engine, request, by), by, form)
        note_given(engine, name, by, answer.text)
    except ScrubjayError as error:
        return failure(str(error))
    except Exception as error:  # last resort: the model sees results, never a protocol error
        return failure(engine.report_bug(name, error))
    content = {"content": [{"type": "text", "text": answer.text}], "isError": False}
    return content if answer.structure is None else {**content, "structuredContent": answer.structure}


def note_given(engine: Engine, name: str, by: Caller, text: str) -> None:
    """Record how much recalled text a tool or a command returned, for `scrubjay given`."""
    if render.OPENING in text:
        scope, now = by.scope or USER_SCOPE, engine.clock().timestamp()
        given.note(engine.home, now, name, scope, given.tokens_of(text))


async def _in_known_scope(
    engine: Engine, offer: Offer, arguments: dict[str, Any], by: Caller
) -> dict[str, Any]:
    """Replace a scope's display name, which a model may take from an answer, with the full name.

    Raises InputError if there is no such scope, or a project has a similar name.
    """
    scope = arguments.get("scope")
    if not isinstance(scope, str) or by.confined or by.folder is None:
        return arguments
    known_scopes = {row["scope"] for row in list_scopes(engine.home)} | {by.scope or USER_SCOPE}
    if scope not in {*known_scopes, USER_SCOPE, EVERY_SCOPE}:
        known_scopes |= await (await engine.core_soon()).counts.scopes()
    may_be_new = not offer.read_only and offer.request is not Forget
    return {**arguments, "scope": find_scope(scope, known_scopes, may_be_new=may_be_new)}


def _merge_options(arguments: dict[str, Any]) -> dict[str, Any]:
    """Move the arguments in `options` to the top level.

    Raises InputError if `options` is not an object, or repeats an argument.
    """
    options = arguments.get("options")
    if options is None:
        return {name: value for name, value in arguments.items() if name != "options"}
    if not isinstance(options, dict):
        raise InputError(f"options = {str(options)[:80]!r}: give an object of arguments by name.")
    if repeated := sorted(options.keys() & arguments.keys()):
        raise InputError(f"{repeated[0]} is given both in options and outside; give it once.")
    return {name: value for name, value in arguments.items() if name != "options"} | options


def _split_form(kind: type[Request], arguments: dict[str, Any]) -> tuple[dict[str, Any], Form]:
    """Separate the requested form of the answer from the arguments, unless the tool has its own `include`."""
    if "include" in kind.model_fields or "include" not in arguments:
        return arguments, Form()
    rest = {name: value for name, value in arguments.items() if name != "include"}
    return rest, parse(_FormOnly, {"include": arguments["include"]}).include


class _FormOnly(Request):
    include: Form = Form()


def failure(sentence: str) -> dict[str, Any]:
    """Return an error result with a sentence about what went wrong."""
    return {"content": [{"type": "text", "text": defused(sentence)}], "isError": True}


async def _search_memories(engine: Engine, request: SearchMemories, by: Caller, _: Form) -> Answer:
    limits = tuple(name for name in LIMITS if getattr(request, name))
    frame = render.Frame(search_scopes(request.scope, by.visible_scopes), folder=by.folder, limits=limits)
    if request.search_mode == "undistilled":
        return await _undistilled(engine, request, by, frame)
    if request.path is not None:
        return await _reasons(engine, request, by, frame)
    structured = request.include.structured

    measure = partial(_length, render.length, frame, structured)
    hits: MemoryHits = await (await engine.core()).search.memories(
        request, by.visible_scopes, folder=by.folder, measure=measure
    )
    return fitted(hits, partial(render.memory_hits, frame=frame), render.trimmed, structured=structured)[1]


async def _reasons(engine: Engine, request: SearchMemories, by: Caller, frame: render.Frame) -> Answer:
    """Answer with what shaped a file or a definition, as `scrubjay why` does."""
    if by.folder is None:
        raise InputError("path = a file of the project: this client has no project folder. Leave path out.")
    place, scope = str(request.path), request.scope or by.scope or USER_SCOPE
    reasons = await (await engine.core()).why.reasons_for(
        place, by.folder, scope, request.top_k or REASONS, request.query
    )
    text = render.reasons(reasons, frame)
    while len(text) > 4 * (request.max_tokens or MOST_TOKENS) and reasons.results:
        reasons = reasons.model_copy(update={"results": reasons.results[:-1]})
        text = render.reasons(reasons, frame)
    return Answer(text, reasons.wire() if request.include.structured else None)


async def _undistilled(engine: Engine, request: SearchMemories, by: Caller, frame: render.Frame) -> Answer:
    """Answer with the next turns to distill; a read-only caller gets the same turns each time."""
    piece = await (await engine.core()).distilling.unread(
        request.scope or by.scope or USER_SCOPE,
        request.since,
        4 * (request.max_tokens or PIECE),
        lambda turn: len(render_sessions.whole_turn(turn, frame)),
        moves=not by.read_only,
    )
    return Answer(render_sessions.undistilled(piece, frame), None)


def _length(
    measure: Callable[[Found, render.Frame], int], frame: render.Frame, structured: bool, hit: Found
) -> int:
    """Return the longer of a hit's lengths as text and, if `structured`, as JSON."""
    return max(measure(hit, frame), len(compact(hit.wire())) + 1 if structured else 0)


def fitted(
    hits: Hits,
    write: Callable[[Hits], str],
    trim: Callable[[Hits, int], Hits | None],
    *,
    structured: bool = False,
) -> tuple[Hits, Answer]:
    """Trim hits until their answer fits its budget; return these hits and the answer."""
    while True:
        text, structure = write(hits), _structure(hits) if structured else None
        shorter = trim(hits, _tokens(text, structure))
        if shorter is None:
            return hits, Answer(text, _with_token_count(text, structure))
        hits = shorter


def _with_token_count(text: str, structure: dict[str, Any] | None) -> dict[str, Any] | None:
    """Set the number of rendered tokens in a structure, including the digits of that number."""
    if structure is not None:
        for _ in range(2):
            structure["tokens"]["rendered"] = _tokens(text, structure)
    return structure


def _structure(hits: MemoryHits | DocumentHits) -> dict[str, Any]:
    """Return hits as JSON values, with a token count that is replaced later."""
    structure = hits.wire()
    structure["tokens"]["rendered"] = MOST_TOKENS
    return structure


def _tokens(text: str, structure: dict[str, Any] | None) -> int:
    """Estimate the tokens that a model sees: some hosts show the text, others the structure."""
    return math.ceil(max(len(text), 0 if structure is None else len(compact(structure))) / 4)


def compact(value: Any) -> str:
    """Return JSON without white space, as hosts show it to a model."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


async def _search_documents(engine: Engine, request: SearchDocuments, by: Caller, form: Form) -> Answer:
    # Documents store absolute paths, but clients may give relative paths.
    if request.path is not None and by.folder is not None:
        path = os.path.realpath(os.path.join(by.folder, os.path.expanduser(request.path)))
        request = request.model_copy(update={"path": path})
    limits = ("filters",) if request.filters else ()
    frame = render.Frame(search_scopes(request.scope, by.visible_scopes), folder=by.folder, limits=limits)

    measure = partial(_length, render_documents.length, frame, form.structured)
    hits: DocumentHits = await (await engine.core()).search.documents(
        request, by.visible_scopes, measure=measure
    )
    place = " and ".join(filter(None, (frame.path(request.path), request.doc_id))) or None
    write = partial(render_documents.document_hits, frame=frame, place=place)
    return fitted(hits, write, render_documents.trimmed, structured=form.structured)[1]


async def _write(
    engine: Engine, kind: Literal["turn", "memory", "document"], request: Request, scope: str, by: Caller
) -> Any:
    core = await engine.core()
    entry = await core.writer.seal(kind, request, scope=scope, source=by.source, at=engine.clock())
    return await core.write(entry)


async def _add_memory(engine: Engine, request: AddMemory, by: Caller, form: Form) -> Answer:
    scope = write_scope(request.scope, by.scope)
    added = await _write(engine, "memory", request, scope, by)
    head, note = render.memory_added(added, render.Frame((scope,)))
    structure = added.wire()
    if not form.structured:
        structure.pop("similar", None)
        structure |= {"note": note} if note else {}
    return Answer("\n".join([head + _redactions(added.redacted), *([note] if note else [])]), structure)


async def _record_turn(engine: Engine, request: RecordTurn, by: Caller, _: Form) -> Answer:
    turn = await _write(engine, "turn", request, write_scope(request.scope, by.scope), by)
    outcome = "Recorded" if turn.stored else "Completed" if turn.updated else "Already recorded:"
    session = one_line(turn.session_id)
    redactions = _redactions(turn.redacted)
    note = " It was forgotten before and stays forgotten; a different text needs another turn number."
    forgotten = note if turn.forgotten else ""
    head = f"{outcome} turn {turn.turn} of session {session} ({turn.id})."
    return Answer(f"{head}{forgotten}{redactions}", turn.wire())


async def _add_document(engine: Engine, request: AddDocument, by: Caller, _: Form) -> Answer:
    roots, scope = engine.settings.roots, write_scope(request.scope, by.scope)
    if request.path is not None and os.path.isdir(path := allowed_path(request.path, by.folder, roots)):
        return await _add_folder(engine, request, path, by)
    text: DocumentText = await read_document(request, by.folder, roots)
    added = await _write(engine, "document", text, scope, by)
    head = f"Document {added.id}: {added.status}, {plural(added.chunks, 'chunk')}."
    return Answer(head + _redactions(added.redacted), added.wire())


async def _add_folder(engine: Engine, request: AddDocument, path: str, by: Caller) -> Answer:
    if invalid := sorted(request.model_fields_set & {"title", "custom_id", "metadata"}):
        raise InputError(f"{invalid[0]} applies to a single document, and {path} is a folder; leave it out.")
    core, scope = await engine.core(), write_scope(request.scope, by.scope)
    result = await core.ingest.run([path], scope=scope, source=by.source, report=by.report)
    return Answer(render_documents.ingested(result), DocumentAdded(status="done", ingested=result).wire())


async def _forget(engine: Engine, request: Forget, by: Caller, form: Form) -> Answer:
    scope = by.scope or USER_SCOPE
    result = await (await engine.core()).removal.forget(request, scope, by.source)
    searched, structure = request.scope or scope, result.wire()
    text = render.forgotten(result, render.Frame((scope,)), searched=searched, dry_run=request.dry_run)
    if request.dry_run and not form.structured:
        structure.pop("candidates", None)
        structure["note"] = text
    return Answer(text, structure)


def _redactions(count: int) -> str:
    secrets = "secret was" if count == 1 else "secrets were"
    return f" {count} {secrets} replaced by placeholders before storing." if count else ""


_CALLS: dict[type[Request], Callable[[Engine, Any, Caller, Form], Awaitable[Answer]]] = {
    SearchMemories: _search_memories,
    SearchDocuments: _search_documents,
    AddMemory: _add_memory,
    RecordTurn: _record_turn,
    AddDocument: _add_document,
    Forget: _forget,
}


async def confine(engine: Engine, request: R, by: Caller) -> R:
    """Check the request of a caller that is limited to one scope, and drop its `scope` argument.

    Requests of other callers are returned unchanged. Raises InputError if the request names another scope, or
    a file of this machine; NotFound if the request names an id that is unknown or in another scope.
    """
    if not by.confined:
        return request
    scope = getattr(request, "scope", None)
    if scope not in (None, by.scope):
        reach = f"this token only reaches the scope {by.scope!r}"
        raise InputError(f"scope = {scope!r}: {reach}. Leave scope out.")
    if isinstance(request, AddDocument) and request.path is not None:
        reason = "a token for one scope can only add texts"
        raise InputError(f"path = a file of the server: {reason}. Give the text as content.")
    ids = [*request.updates, *request.extends, *request.derives] if isinstance(request, AddMemory) else []
    for record_id in ids:
        record = await (await engine.core()).lists.find(record_id)
        if record is None or record.scope != by.scope:
            raise NotFound(
                f"There is no record with the id {record_id[:80]!r}. Use the id of a search result."
            )
    return request if scope is None else request.model_copy(update={"scope": None})
