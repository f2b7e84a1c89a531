"""Calls the engine for the command line: requests, results and progress as lines of JSON.

{"id": 1, "method": "status", "params": {}}  ->  {"id": 1, "progress": {...}}*  then  {"id": 1, "result": ...}
                                              or {"id": 1, "error": {"message": "...", "kind": "InputError"}}
"""

from __future__ import annotations

import itertools
import json
import time

from scrubjay import errors
from scrubjay.errors import EngineError, ScrubjayError
from scrubjay.pipe.link import CALL_SECONDS, STALL_SECONDS, STARTING_SECONDS
from scrubjay.pipe.reach import reach
from scrubjay.pipe.spawn import engine_command
from scrubjay.wire.hello import line_of

TYPE_CHECKING = False  # instead of typing.TYPE_CHECKING, whose import would slow down every command
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from scrubjay.home.paths import Home
    from scrubjay.pipe.link import Link
    from scrubjay.wire.hello import Hello

    OnProgress = Callable[[dict[str, Any]], None]

# PROMPT_CALLS must be answered within CALL_SECONDS or, while the engine loads, within STARTING_SECONDS of its
# start. Other calls may take minutes while the engine is alive.
READ_CALLS = frozenset("show list sessions tags search search_documents documents scopes profile".split())
PROMPT_CALLS = READ_CALLS | frozenset("add edit forget restore undo open reload finish".split())
_LOOK_SECONDS = 1.0  # between two checks of a silent engine


class EngineClient:
    """A connection to the engine for one call at a time; close it, or use it as a context manager.

    `since` is the monotonic time at which the search for the engine began.
    """

    def __init__(self, link: Link, since: float | None = None) -> None:
        self.engine = link.answer  # the engine's hello
        self._link = link
        self._lines = link.lines(_LOOK_SECONDS if link.answer.get("beats") else None, self._should_listen)
        self._ids = itertools.count(1)
        is_ready = link.answer.get("ready", True)
        self._loads_until = 0.0 if is_ready else (since or time.monotonic()) + STARTING_SECONDS
        self._deadline: float | None = None  # the deadline of the current call
        self._end_reason = "The engine stopped."

    def __enter__(self) -> EngineClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(self, method: str, params: Mapping[str, Any], on_progress: OnProgress | None = None) -> Any:
        """Return the result of one call; `on_progress` receives each progress report.

        Raises the error that the engine reports, with its class; EngineError if the engine
        stopped before it answered, shows no sign of life, or is late.
        """
        request_id = next(self._ids)
        now = time.monotonic()
        deadline = max(now + CALL_SECONDS, self._loads_until)
        self._late_reason = f"The engine is starting or busy: no answer within {deadline - now:.2g} seconds."
        self._deadline = deadline if method in PROMPT_CALLS else None
        self._link.asked_at = None
        try:
            self._link.send(line_of({"id": request_id, "method": method, "params": dict(params)}))
        except OSError as error:
            raise EngineError(f"The engine stopped before it received {method}. Try again.") from error
        for line in self._lines:
            answer = json.loads(line)
            if answer.get("id") != request_id:
                continue
            if "progress" in answer:
                if on_progress is not None:
                    on_progress(answer["progress"])
            elif "error" in answer:
                raise _error(answer["error"])
            else:
                return answer.get("result")
        unsure = f"{method} may or may not have been done; repeating it is safe."
        raise EngineError(f"{self._end_reason} {'Try again.' if method in READ_CALLS else unsure}")

    def _should_listen(self) -> bool:
        """Return True to keep listening after a silence; otherwise note why the call ends."""
        if self._deadline is not None and time.monotonic() >= self._deadline:
            self._end_reason = self._late_reason
        elif self._link.has_stalled(STALL_SECONDS):
            sentence = f"The engine (pid {self.engine.get('pid')}) shows no sign of life"
            self._end_reason = f"{sentence}: it is stopped, or the machine is overloaded."
        else:
            return True
        return False

    def close(self) -> None:
        """Close the connection."""
        self._link.close()


def open_client(
    home: Home, hello: Hello, env: Mapping[str, str], *, start: bool = True, command: list[str] | None = None
) -> EngineClient:
    """Connect to the engine of `home`. With `start`, start an engine if only an older one or none is running.

    Raises:
        EngineError: no engine is running and none may or can be started, or the engine cannot be reached.
    """
    since = time.monotonic()
    start_command = (command or engine_command()) if start else None
    limits = {"start_seconds": STARTING_SECONDS, "max_seconds": STARTING_SECONDS}
    return EngineClient(reach(home, hello, start_command, env, **limits), since)


def _error(fields: Mapping[str, Any]) -> ScrubjayError:
    kind: type[ScrubjayError] = getattr(errors, str(fields.get("kind")), EngineError)
    return kind(fields.get("message") or "The engine reported an error without a message.")
