"""Errors in the form that each family of clients parses.

supermemory: {"error": sentence}; for an invalid request {"success": false, "error": [{"message", "path"}]}.
Hebb Mind: {"detail": ...}.
Clients retry 409 and 5xx three times, so a permanent error never has such a status: a request for what this
server does not have is answered with 404 and a sentence, and not with 501.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Match, Route

from scrubjay.errors import InputError, NotFound, ScrubjayError
from scrubjay.http_api.permissions import Forbidden
from scrubjay.models.input_errors import mistake

if TYPE_CHECKING:
    from fastapi import FastAPI

HEBB = "/api/"  # the prefix of Hebb Mind's routes
ABSENT = "absent"  # the name of every route that only says why it is absent
# What may follow a namespace in a path.
_RESOURCES = frozenset({"document", "search", "profile", "list", "memories", "connectors"})
# What the framework says -> the sentence for the client.
_SENTENCES = {
    "Not Found": "Nothing is at this path. GET / says what this server answers.",
    "There was an error parsing the body": "The body must be JSON in UTF-8, without deep nesting.",
    "Missing boundary in multipart.": "The Content-Type of this form has no boundary. Leave this header to "
    "your HTTP library, which sets it for a form with a file.",
}


def add_error_handlers(app: FastAPI) -> None:
    """Let an application answer every error in the form of the family."""
    from fastapi.exceptions import RequestValidationError  # takes 6 MB, and the page does not need it

    @app.exception_handler(ScrubjayError)
    async def _on_scrubjay_error(request: Request, error: ScrubjayError) -> JSONResponse:
        return refusal(request, status_of(error), str(error))

    @app.exception_handler(HTTPException)
    async def _on_http_error(request: Request, error: HTTPException) -> JSONResponse:
        if error.status_code == 404 and (sentence := _bad_namespace(request.url.path)):
            return refusal(request, 400, sentence)
        if error.status_code == 405:
            if not (verbs := ", ".join(_verbs(request))):  # only absent routes have this path
                return refusal(request, 404, _SENTENCES["Not Found"])
            sentence = f"{request.method} does nothing here; use {verbs}."
            return refusal(request, 405, sentence, {"Allow": verbs})
        sentence = _SENTENCES.get(error.detail, error.detail)
        return refusal(request, error.status_code, sentence, error.headers)

    @app.exception_handler(RequestValidationError)
    async def _on_invalid_request(request: Request, error: RequestValidationError) -> JSONResponse:
        if request.url.path.startswith(HEBB):
            mistakes = [
                {"type": item["type"], "loc": item["loc"], "msg": _mistake(item)} for item in error.errors()
            ]
            return JSONResponse({"detail": mistakes}, 422)
        mistakes_by_place: dict[tuple[int | str, ...], list[str]] = {}
        for item in error.errors():
            mistakes_by_place.setdefault(_place(item, error.body), []).append(_mistake(item))
        # Several mistakes at one place say that the value is of no kind that is allowed there.
        problems = [_problem(place, " or ".join(said)) for place, said in mistakes_by_place.items()]
        return JSONResponse({"success": False, "error": problems}, 400)

    @app.exception_handler(Exception)  # the outermost edge
    async def _on_bug(request: Request, error: Exception) -> JSONResponse:
        operation = f"{request.method} {request.scope.get('path', '')[:80]}"
        return refusal(request, 500, request.app.state.engine.report_bug(operation, error))


def refusal(request: Request, status: int, sentence: str, headers: Any = None) -> JSONResponse:
    """Return an error response in the form of the family that the path belongs to."""
    name = "detail" if request.url.path.startswith(HEBB) else "error"
    return JSONResponse({name: sentence}, status, headers=headers)


def _bad_namespace(path: str) -> str | None:
    """Return an error if the namespace in a path is empty or has a slash, which clients do not escape."""
    if not path.startswith("/ns/"):
        return None
    name, *rest = path.removeprefix("/ns/").split("/")
    if name and (not rest or rest[0] in _RESOURCES):
        return None
    rule = "its name has 1 to 100 letters (A to Z), digits or . _ : -, so it is neither empty nor has a slash"
    return f"{path[:120]} names no namespace: {rule}."


def status_of(error: ScrubjayError) -> int:
    """Return the HTTP status of an error."""
    if isinstance(error, NotFound):
        return 404
    if isinstance(error, Forbidden):
        return 403
    return 400 if isinstance(error, InputError) else 503


def _verbs(request: Request) -> list[str]:
    """Return the verbs that a path accepts; the router itself only uses the first route that matches.

    The list is empty if every route with this path is absent.
    """
    routes = [each for each in request.app.routes if isinstance(each, Route) and each.name != ABSENT]
    matching = [route for route in routes if route.matches(request.scope)[0] is not Match.NONE]
    # /documents/list also matches /documents/{id}.
    paths = [route.path for route in matching]
    closest = min(paths, key=lambda path: (path.count("{"), -len(path)), default=None)
    verbs = {verb for route in matching if route.path == closest for verb in route.methods or ()}
    return sorted(verbs | {"HEAD"} if "GET" in verbs else verbs)


def _problem(place: tuple[int | str, ...], mistake: str) -> dict[str, Any]:
    return {"message": f"{'.'.join(map(str, place)) or 'the body'}: {mistake}", "path": list(place)}


def _place(error: Any, body: Any) -> tuple[int | str, ...]:
    """Return the names and indexes that lead to a mistake, without pydantic's names for kinds of values."""
    # The first part is body, query or path. In JSON with an error, the second is its place.
    parts = [] if error["type"] == "json_invalid" else list(error["loc"][1:])
    place: list[int | str] = []
    value = body
    for part in parts:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            is_missing = error["type"] == "missing" and part == parts[-1]
            if place and not is_missing:
                continue
        place.append(part)
    return tuple(place)


def _mistake(error: Any) -> str:
    if isinstance(error.get("input"), bytes):  # the body, which was not read as JSON
        return "is not sent as JSON; send it with the header Content-Type: application/json"
    place = f", at character {error['loc'][-1]}" if error["type"] == "json_invalid" else ""
    return mistake(error) + place
