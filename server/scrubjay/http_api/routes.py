"""Declares routes: verb and path, a short summary, and the type of the answer."""

import functools
import json
import tomllib
from collections.abc import Awaitable, Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from fastapi import APIRouter, Request, Response
from starlette.routing import BaseRoute, Route

from scrubjay.http_api.answers import Answers, of_json
from scrubjay.http_api.refusals import ABSENT, refusal

Handler = TypeVar("Handler", bound=Callable[..., Awaitable[Any]])


class Routes:
    """Routes in the order in which their paths are tried."""

    def __init__(self, answers: Answers) -> None:
        self._answers, self._router = answers, APIRouter()

    def __iter__(self) -> Iterator[BaseRoute]:
        return iter(self._router.routes)

    def __call__(
        self, route: str, summary: str, answer: str = "", *, status: int = 200, **options: Any
    ) -> Callable[[Handler], Handler]:
        """Serve "VERB path" with the decorated function; `options` are FastAPI's.

        The function's result is sent as JSON without validation; the tests check every answer against the
        OpenAPI document. `answer` is a type of `Answers`.
        """
        verb, _, path = route.partition(" ")
        responses: dict[int | str, dict[str, Any]] = {}
        if answer:
            description = {"description": "Successful Response"}
            responses[status] = description | of_json(self._answers.schema(answer))
        responses |= options.pop("responses", {})
        options |= {"summary": summary, "status_code": status, "responses": responses}

        def serve(handler: Handler) -> Handler:
            @functools.wraps(handler)
            async def endpoint(**arguments: Any) -> Response:
                values = await handler(**arguments)
                return values if isinstance(values, Response) else json_response(values, status)

            self._router.add_api_route(path, endpoint, methods=[verb], response_model=None, **options)
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


def absent_routes() -> list[BaseRoute]:
    """Return the routes of `absent.toml`, which answer 404 with a sentence."""
    table = tomllib.loads(Path(__file__).with_name("absent.toml").read_text(encoding="utf-8"))
    routes: list[BaseRoute] = []
    for words, sentence in table.items():
        verbs = [word for word in words.split() if not word.startswith("/")]
        methods = verbs or ["GET", "POST", "PUT", "PATCH", "DELETE"]
        refuse = functools.partial(_refuse, sentence)
        for path in (word for word in words.split() if word.startswith("/")):
            base = path.removesuffix("*")
            for each in (base,) if base == path else (base, f"{base}/{{rest:path}}"):
                routes.append(Route(each, refuse, methods=methods, name=ABSENT))
    return routes


async def _refuse(sentence: str, request: Request) -> Response:
    return refusal(request, 404, sentence)
