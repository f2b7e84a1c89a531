"""Declares routes: the verb and path of each, what it does in a few words, and what it answers."""

import functools
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from fastapi import APIRouter, Response
from pydantic import TypeAdapter

from scrubjay.http_api.answers import Answers

Handler = TypeVar("Handler", bound=Callable[..., Awaitable[Any]])
_JSON = TypeAdapter(Any)


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

        What it returns is sent as JSON as it is, because whoever makes it knows what `answer`, a type of
        `Answers`, says; the tests check every answer by the document. `missing` says when there is a 404.
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
    """Return values of JSON, times among them, as a response; None is one without a body."""
    body = None if values is None else _JSON.dump_json(values)
    return Response(body, status, media_type="application/json")
