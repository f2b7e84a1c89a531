"""Declares routes: the verb and path of each, what it does in a few words, and what it answers."""

import functools
import json
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, TypeVar

from fastapi import APIRouter, Response

from scrubjay.http_api.answers import Answers

Handler = TypeVar("Handler", bound=Callable[..., Awaitable[Any]])


class Routes:
    """The routes of one family; `router` holds them, in the order in which paths are tried."""

    def __init__(self, answers: Answers) -> None:
        self._answers, self.router = answers, APIRouter()

    def __call__(
        self,
        route: str,
        summary: str,
        answer: str = "",
        *,
        missing: str = "",
        status: int = 200,
        **options: Any,
    ) -> Callable[[Handler], Handler]:
        """Serve "VERB path" by the function that is decorated; `options` are FastAPI's.

        What it returns is sent as JSON without validation; the tests check every answer against the OpenAPI
        document, which has `answer`, a type of `Answers`. `missing` says when the answer is 404.
        """
        verb, _, path = route.partition(" ")
        responses: dict[int | str, dict[str, Any]] = {404: {"description": missing}} if missing else {}
        responses |= options.pop("responses", {})
        if answer:
            own = {"description": "Successful Response", **responses.get(status, {})}
            content = {"application/json": {"schema": self._answers.schema(answer)}}
            responses[status] = {**own, "content": content | own.get("content", {})}
        options |= {"summary": summary, "status_code": status, "responses": responses}

        def serve(handler: Handler) -> Handler:
            @functools.wraps(handler)
            async def answered(**given: Any) -> Response:
                values = await handler(**given)
                return values if isinstance(values, Response) else json_response(values, status)

            self.router.add_api_route(path, answered, methods=[verb], response_model=None, **options)
            return handler

        return serve


def json_response(values: Any, status: int = 200) -> Response:
    """Return values as a JSON response, times in milliseconds; None is a response without a body."""
    body = None if values is None else json.dumps(values, default=spell, ensure_ascii=False, allow_nan=False)
    return Response(body, status, media_type="application/json")


def spell(moment: datetime) -> str:
    """Write a time as all clients read it: ISO 8601 in UTC, to the millisecond."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
