"""Declares routes: the verb and path of each, what it does in a few words, and what its 404 means."""

from collections.abc import Callable
from typing import Any, TypeVar

from fastapi import APIRouter

Handler = TypeVar("Handler", bound=Callable[..., Any])


class Routes:
    """The routes of one family; `router` holds them, in the order in which paths are tried."""

    def __init__(self) -> None:
        self.router = APIRouter()

    def __call__(
        self, route: str, summary: str, *, missing: str = "", **options: Any
    ) -> Callable[[Handler], Handler]:
        """Serve "VERB path" by the function that is decorated; `options` are FastAPI's.

        `missing` says when it answers 404; the type of an `answer` counts before the function's own.
        """
        verb, _, path = route.partition(" ")
        responses = {**({404: {"description": missing}} if missing else {}), **options.pop("responses", {})}
        if "answer" in options:
            options["response_model"] = options.pop("answer")
        return self.router.api_route(path, methods=[verb], summary=summary, responses=responses, **options)
