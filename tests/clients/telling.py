"""Runs the stories of one official client with that client's own interpreter, and prints how each ended.
Standard library only: what is told of is installed in an environment of its own.

A story is a function whose name starts with `it_` and is a sentence; it takes the client.
"""

from __future__ import annotations

import json
import select
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any

PATIENCE = 30.0  # seconds; the bound of every wait


def tell(module: Mapping[str, Any], client: Callable[[], Any]) -> None:
    """Run the stories named in the arguments, all without one, each with a client of its own. Prints {story:
    None or what went wrong}.
    """
    stories = {name: value for name, value in module.items() if name.startswith("it_")}
    told: dict[str, str | None] = {}
    for name in sys.argv[1:] or stories:
        try:
            with client() as connected:
                stories[name](connected)
            told[name] = None
        except Exception:  # the outermost edge: a story that fails is an answer
            told[name] = traceback.format_exc()
    print(json.dumps(told))


def until(look: Callable[[], Any], what: str) -> Any:
    """Look again and again, until there is something; returns it."""
    end = time.monotonic() + PATIENCE
    while not (seen := look()):
        assert time.monotonic() < end, f"never: {what}"
        select.select([], [], [], 0.02)
    return seen


def done(client: Any, id: str) -> Any:
    """The document of the client of v3, once it is processed; it is there from the first moment."""
    return until(
        lambda: (seen := client.documents.get(id)).status in ("done", "failed") and seen, f"{id} is done"
    )


def whole(model: Any) -> Any:
    """The same model of a client, once it is known that every field it documents came, with its type: alone
    they become None in silence.
    """
    type(model).model_validate(model.to_dict())
    return model


def refused(error: type[Exception], status: int, call: Callable[[], Any]) -> str:
    """The sentence that the client shows when a call is refused with this exception of its own."""
    try:
        call()
    except error as refusal:
        assert isinstance(refusal, error) and refusal.status_code == status, refusal  # type: ignore[attr-defined]
        body = refusal.body  # type: ignore[attr-defined]
        sentence = body["error"]
        assert sentence, body
        return sentence if isinstance(sentence, str) else sentence[0]["message"]
    raise AssertionError(f"nothing was refused with {error.__name__}")
