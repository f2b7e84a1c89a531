"""Runs the stories of one official client with that client's own interpreter, and prints how each ended.
Standard library only: the client is installed in an environment of its own.

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
    """Run the stories named in the arguments, or all, each with a client of its own. Prints {story: None or
    what went wrong}.
    """
    stories = {name: value for name, value in module.items() if name.startswith("it_")}
    told: dict[str, str | None] = {}
    for name in sys.argv[1:] or stories:
        try:
            with client() as connected:
                stories[name](connected)
            told[name] = None
        except Exception:  # the outermost level: a failing story is a result
            told[name] = traceback.format_exc()
    print(json.dumps(told))


def until(look: Callable[[], Any], what: str) -> Any:
    """Poll until there is a result; return it."""
    end = time.monotonic() + PATIENCE
    while not (seen := look()):
        assert time.monotonic() < end, f"never: {what}"
        select.select([], [], [], 0.02)
    return seen


def done(client: Any, id: str) -> Any:
    """The document of the v3 client, once it is processed; it exists from the start."""
    return until(
        lambda: (seen := client.documents.get(id)).status in ("done", "failed") and seen, f"{id} is done"
    )


def whole(model: Any) -> Any:
    """Check that every documented field of a client's model arrived with its type, and return the model; the
    client itself silently turns missing ones into None.
    """
    type(model).model_validate(model.to_dict())
    return model


def refused(error: type[Exception], status: int, call: Callable[[], Any]) -> str:
    """The message of the client's own exception for a refused call."""
    try:
        call()
    except error as refusal:
        assert isinstance(refusal, error) and refusal.status_code == status, refusal  # type: ignore[attr-defined]
        body = refusal.body  # type: ignore[attr-defined]
        sentence = body["error"]
        assert sentence, body
        return sentence if isinstance(sentence, str) else sentence[0]["message"]
    raise AssertionError(f"nothing was refused with {error.__name__}")
