"""Routes that clients know and that have no meaning here: each answers 501 with the reason."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from scrubjay.rest.refusals import refusal


def absent(reasons: Mapping[str, str]) -> APIRouter:
    """A router that answers each path, whatever the verb, with its sentence.

    It stays out of the OpenAPI document: a server that answers 501 on purpose would fail every test made from its own document.
    """
    router = APIRouter(include_in_schema=False)
    for path, sentence in reasons.items():
        _answer(router, path, sentence)
    return router


def _answer(router: APIRouter, path: str, sentence: str) -> None:
    @router.api_route(path, methods=["GET", "POST", "PUT", "PATCH", "DELETE"])
    async def nothing_here(request: Request) -> JSONResponse:
        return refusal(request, 501, sentence)
