"""The engine as the command line calls it: requests, results and progress as lines of JSON.

{"id": 1, "method": "status", "params": {}}  ->  {"id": 1, "progress": {...}}*  then  {"id": 1, "result": ...}
                                              or {"id": 1, "error": {"message": "...", "kind": "InputError"}}
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping
from typing import Any

from scrubjay import errors
from scrubjay.errors import EngineError, ScrubjayError
from scrubjay.home.paths import Home
from scrubjay.pipe.link import Link
from scrubjay.pipe.reach import reach
from scrubjay.pipe.spawn import engine_command
from scrubjay.wire.hello import Hello, line_of

OnProgress = Callable[[dict[str, Any]], None]


class EngineClient:
    """A conversation with the engine, one call at a time; close it, or use it as a context manager."""

    def __init__(self, link: Link) -> None:
        self.engine = link.answer  # the engine's hello
        self._link = link
        self._lines = link.lines()
        self._ids = itertools.count(1)

    def __enter__(self) -> EngineClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(self, method: str, params: Mapping[str, Any], on_progress: OnProgress | None = None) -> Any:
        """Return the result of one call; `on_progress` takes each report of its progress.

        Raises:
            ScrubjayError: what the engine reports, of the class that it names.
            EngineError: the engine stopped before it answered.
        """
        number = next(self._ids)
        try:
            self._link.send(line_of({"id": number, "method": method, "params": dict(params)}))
        except OSError as error:
            raise EngineError(f"The engine stopped before it took {method}. Call it again.") from error
        for line in self._lines:
            answer = json.loads(line)
            if answer.get("id") != number:
                continue
            if "progress" in answer:
                if on_progress is not None:
                    on_progress(answer["progress"])
            elif "error" in answer:
                raise _error(answer["error"])
            else:
                return answer.get("result")
        raise EngineError(
            f"The engine stopped during {method}. Whether it was done is not known; repeating it is safe."
        )

    def close(self) -> None:
        """End the conversation."""
        self._link.close()


def open_client(
    home: Home, hello: Hello, env: Mapping[str, str], *, start: bool = True, command: list[str] | None = None
) -> EngineClient:
    """Open a client of the engine of `home`; `start` an engine if there is none, or in place of an older one.

    Raises:
        EngineError: there is none and none may or can be started, or it cannot be reached.
    """
    return EngineClient(reach(home, hello, (command or engine_command()) if start else None, env))


def _error(fields: Mapping[str, Any]) -> ScrubjayError:
    kind = getattr(errors, str(fields.get("kind")), EngineError)
    if not (isinstance(kind, type) and issubclass(kind, ScrubjayError)):
        kind = EngineError
    return kind(fields.get("message") or "The engine reported an error without a message.")
