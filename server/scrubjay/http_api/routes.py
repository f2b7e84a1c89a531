"""Declares routes: verb and path, a short summary, and the type of the answer."""

import functools
import json
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, TypeVar

from fastapi import APIRouter, Response

from scrubjay.http_api.answers import Answers

Handler = TypeVar("Handler", bound=Callable[..., Awaitable[Any]])


class Routes:
    """The routes of one family; `router` tries their paths in the order of declaration."""

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
        """Serve "VERB path" with the decorated function; `options` are FastAPI's.

        The function's result is sent as JSON without validation; the tests check every answer against the
        OpenAPI document. `answer` is a type of `Answers`, and `missing` says when the answer is 404.
        """
        verb, _, path = route.partition(" ")
        responses: dict[int | str, dict[str, Any]] = {404: {"description": missing}} if missing else {}
        responses |= options.pop("responses", {})
        if answer:
            response = {"description": "Successful Response", **responses.get(status, {})}
            content = {"application/json": {"schema": self._answers.schema(answer)}}
            responses[status] = {**response, "content": content | response.get("content", {})}
        options |= {"summary": summary, "status_code": status, "responses": responses}

        def serve(handler: Handler) -> Handler:
            @functools.wraps(handler)
            async def endpoint(**arguments: Any) -> Response:
                values = await handler(**arguments)
                return values if isinstance(values, Response) else json_response(values, status)

            self.router.add_api_route(path, endpoint, methods=[verb], response_model=None, **options)
            return handler

        return serve


def json_response(values: Any, status: int = 200) -> Response:
    """Return values as a JSON response; None is a response without a body."""
    body = None
    if values is not None:
        body = json.dumps(values, default=format_time, ensure_ascii=False, allow_nan=False)
    return Response(body, status, media_type="application/json")


def format_time(time: datetime) -> str:
    """Return a time as all clients read it: ISO 8601 in UTC, to the millisecond."""
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
