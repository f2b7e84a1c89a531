"""Errors as each family of clients parses them.

supermemory: {"error": sentence}, or for a misfit {"success": false, "error": [{"message", "path"}]}.
Hebb Mind: {"detail": ...}.
409 and 5xx make clients try again three times, so nothing permanent is answered with them: what this
server does not have is 404 with a sentence, and not 501.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Match, Route

from scrubjay.errors import InputError, NotFound, ScrubjayError
from scrubjay.http_api.permissions import Forbidden

if TYPE_CHECKING:
    from fastapi import APIRouter, FastAPI

HEBB = "/api/"  # where Hebb Mind's routes begin
NAMESPACES = "/ns/"  # and those of version 5 of supermemory
# What may follow a namespace there.
_NOUNS = frozenset({"document", "search", "profile", "list", "memories", "connectors"})


def refuse(app: FastAPI, routes: Sequence[BaseRoute]) -> None:
    """Make this application, which has these routes, answer every error in its family's shape."""
    from fastapi.exceptions import RequestValidationError  # 6 MB, which the page does without

    @app.exception_handler(ScrubjayError)
    async def _known(request: Request, error: ScrubjayError) -> JSONResponse:
        return refusal(request, status_of(error), str(error))

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> JSONResponse:
        if error.status_code == 404 and (sentence := misnamed(request.url.path)):
            return refusal(request, 400, sentence)
        if error.status_code == 405:
            verbs = ", ".join(_verbs(request, routes)) or "nothing"
            sentence = f"{request.method} does nothing here; {verbs} does."
            return refusal(request, 405, sentence, {"Allow": verbs})
        return refusal(request, error.status_code, str(error.detail), error.headers)

    @app.exception_handler(RequestValidationError)
    async def _invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        if request.url.path.startswith(HEBB):
            mistakes = [{key: each[key] for key in ("type", "loc", "msg")} for each in error.errors()]
            return JSONResponse({"detail": mistakes}, 422)
        return JSONResponse({"success": False, "error": [_problem(each) for each in error.errors()]}, 400)

    @app.exception_handler(Exception)  # the outermost edge
    async def _unforeseen(request: Request, error: Exception) -> JSONResponse:
        called = f"{request.method} {request.scope.get('path', '')[:80]}"
        return refusal(request, 500, request.app.state.engine.unforeseen(called, error))


def refusal(request: Request, status: int, sentence: str, headers: Any = None) -> JSONResponse:
    """Return one refusal in the shape of the family that the path belongs to."""
    name = "detail" if request.url.path.startswith(HEBB) else "error"
    return JSONResponse({name: sentence}, status, headers=headers)


def misnamed(path: str) -> str | None:
    """Return the error for a path whose namespace is empty or has a slash, which clients do not escape."""
    if not path.startswith(NAMESPACES):
        return None
    name, *rest = path.removeprefix(NAMESPACES).split("/")
    if name and (not rest or rest[0] in _NOUNS):
        return None
    rule = "its name has 1 to 100 letters (A to Z), digits or . _ : -, so it is neither empty nor has a slash"
    return f"{path[:120]} names no namespace: {rule}."


def status_of(error: ScrubjayError) -> int:
    """Return the status of an error that is raised on purpose."""
    if isinstance(error, NotFound):
        return 404
    if isinstance(error, Forbidden):
        return 403
    return 400 if isinstance(error, InputError) else 503


def _verbs(request: Request, routes: Iterable[BaseRoute]) -> list[str]:
    """Return the verbs of a path; the router itself names only those of the first route that matches it."""
    listed = [route for route in routes if isinstance(route, Route) and route.include_in_schema]
    paths = {route.path for route in listed if route.matches(request.scope)[0] is not Match.NONE}
    # /documents/list also matches /documents/{id}.
    closest = min(paths, key=lambda path: (path.count("{"), -len(path)), default=None)
    return sorted({verb for route in listed if route.path == closest for verb in route.methods or ()})


def _problem(error: Any) -> dict[str, Any]:
    path = list(error["loc"][1:])  # the first part says where in the request: body, query or path
    message = str(error["msg"]).removeprefix("Value error, ")
    return {"message": f"{'.'.join(map(str, path)) or 'the body'}: {message}", "path": path}


def absent(reasons: Mapping[str, str]) -> APIRouter:
    """Make a router that answers 404 with a sentence. Each key has verbs and a path, separated by blanks.

    No verb means every verb. A path that ends in `*` means itself and all below it, one that ends
    in `/*` all below it. The router stays out of the OpenAPI document.
    """
    from fastapi import APIRouter

    router = APIRouter(include_in_schema=False)
    for routes, sentence in reasons.items():
        words = routes.split()
        verbs = [word for word in words if not word.startswith("/")]
        for path in (word for word in words if word.startswith("/")):
            whole, rest = path.removesuffix("*"), path.removesuffix("*").rstrip("/") + "/{rest:path}"
            paths = (path,) if whole == path else (rest,) if whole.endswith("/") else (whole, rest)
            for each in paths:
                _answer(router, verbs or ["GET", "POST", "PUT", "PATCH", "DELETE"], each, sentence)
    return router


def _answer(router: APIRouter, verbs: list[str], path: str, sentence: str) -> None:
    @router.api_route(path, methods=verbs)
    async def nothing_here(request: Request) -> JSONResponse:
        return refusal(request, 404, sentence)
