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

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the import that every command would pay
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from scrubjay.home.paths import Home
    from scrubjay.pipe.link import Link
    from scrubjay.wire.hello import Hello

    OnProgress = Callable[[dict[str, Any]], None]

# Calls that must be answered within CALL_SECONDS; of a loading engine within STARTING_SECONDS of the start.
# Others may take minutes while the engine is alive.
READS = frozenset("show list sessions tags search search_documents documents scopes profile".split())
PROMPT = READS | frozenset("add edit forget restore undo open reload finish".split())
_LOOK_SECONDS = 1.0  # between two checks of a silent engine


class EngineClient:
    """A connection to the engine for one call at a time; close it, or use it as a context manager.

    `since` is when the engine was called, by the monotonic clock.
    """

    def __init__(self, link: Link, since: float | None = None) -> None:
        self.engine = link.answer  # the engine's hello
        self._link = link
        self._lines = link.lines(_LOOK_SECONDS if link.answer.get("beats") else None, self._should_listen)
        self._ids = itertools.count(1)
        is_ready = link.answer.get("ready", True)
        self._loads_until = 0.0 if is_ready else (since or time.monotonic()) + STARTING_SECONDS
        self._due: float | None = None  # the deadline of the current call
        self._end = "The engine stopped."

    def __enter__(self) -> EngineClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(self, method: str, params: Mapping[str, Any], on_progress: OnProgress | None = None) -> Any:
        """Return the result of one call; `on_progress` receives each progress report.

        Raises:
            ScrubjayError: the error that the engine reports, with its class.
            EngineError: the engine stopped before it answered, shows no sign of life, or is late.
        """
        number = next(self._ids)
        now = time.monotonic()
        due = max(now + CALL_SECONDS, self._loads_until)
        self._late = f"The engine is starting or busy: no answer within {due - now:.2g} seconds."
        self._due = due if method in PROMPT else None
        self._link.asked = None
        try:
            self._link.send(line_of({"id": number, "method": method, "params": dict(params)}))
        except OSError as error:
            raise EngineError(f"The engine stopped before it received {method}. Try again.") from error
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
        rest = (
            "Try again."
            if method in READS
            else f"{method} may or may not have been done; repeating it is safe."
        )
        raise EngineError(f"{self._end} {rest}")

    def _should_listen(self) -> bool:
        """Return True if it is worth listening on after a silence."""
        if self._due is not None and time.monotonic() >= self._due:
            self._end = self._late
        elif self._link.has_stalled(STALL_SECONDS):
            silent = f"The engine (pid {self.engine.get('pid')}) shows no sign of life"
            self._end = f"{silent}: it is stopped, or the machine is overloaded."
        else:
            return True
        return False

    def close(self) -> None:
        """Close the connection."""
        self._link.close()


def open_client(
    home: Home, hello: Hello, env: Mapping[str, str], *, start: bool = True, command: list[str] | None = None
) -> EngineClient:
    """Open a client of the engine of `home`; `start` an engine if none or only an older one is running.

    Raises:
        EngineError: no engine is running and none may or can be started, or it cannot be reached.
    """
    since, most = time.monotonic(), STARTING_SECONDS
    wanted = (command or engine_command()) if start else None
    return EngineClient(reach(home, hello, wanted, env, start_seconds=most, most_seconds=most), since)


def _error(fields: Mapping[str, Any]) -> ScrubjayError:
    kind = getattr(errors, str(fields.get("kind")), EngineError)
    if not (isinstance(kind, type) and issubclass(kind, ScrubjayError)):
        kind = EngineError
    return kind(fields.get("message") or "The engine reported an error without a message.")
