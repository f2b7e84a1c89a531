"""The first line that each side of a connection to the engine sends: its fields and its bytes.

Standard library only and Python 3.9 syntax, because hook scripts run it with the interpreter they find.

client: {"protocol": 1, "version": "0.1.0", "kind": "pipe", "project_dir": "/p", "cwd": "/p", "pid": 7,
         "env": {}}
engine: {"protocol": 1, "version": "0.1.0", "kind": "engine", "pid": 5, "auto": true, "home": [8, 99],
         "ready": false, "notices": []}
engine: the same with "error": a sentence, and "retry": true if the next engine may be asked at once
"""

from __future__ import annotations

import json
import os
from collections import namedtuple

from scrubjay import VERSION
from scrubjay.errors import EngineError

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the import that every hook would pay
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

PROTOCOL = 1  # a client and an engine with different numbers cannot talk
KINDS = ("pipe", "hook", "cli")
_LONGEST_WAIT = 3_600.0  # seconds; a longer `waited` counts as 0
HELLO_LIMIT = 64 * 1024  # bytes; a longer first line is not a hello

_PROJECT_VARIABLES = ("CLAUDE_PROJECT_DIR", "CURSOR_PROJECT_DIR")
_REQUIRED = {"protocol": int, "version": str, "kind": str, "project_dir": str, "cwd": str, "pid": int}
_OPTIONAL = {"scope": str, "token": str, "env": dict, "replace": bool, "waited": float}


def working_dir() -> str:
    """Return the working directory, or the root if it was deleted under this process."""
    try:
        return os.getcwd()
    except OSError:
        return os.path.abspath(os.sep)


class Hello(
    namedtuple(
        "Hello",
        "kind project_dir cwd pid scope env version protocol token replace waited",
        defaults=(None, {}, VERSION, PROTOCOL, None, False, 0.0),
    )
):
    """A client's identity, and the folder where it works.

    `kind` is one of KINDS; `scope` is named by the user, or None if the engine derives it from the project;
    `env` holds the client's SCRUBJAY_* variables without SCRUBJAY_HOME; `token` is needed only on a
    loopback port; `replace` asks an engine that a pipe started to finish and make room; `waited` is how many
    seconds a call has waited for an engine.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Hello({self.kind} {self.version} of pid {self.pid} in {self.project_dir!r})"

    def copy(self, **changes: Any) -> Hello:
        """Return the same hello with some fields changed."""
        return self._replace(**changes)


def hello_from(
    kind: str,
    env: Mapping[str, str],
    cwd: str,
    pid: int,
    scope: str | None = None,
    version: str = VERSION,
) -> Hello:
    """Return the hello of a client with the environment `env` in the folder `cwd`.

    The project is the first of CLAUDE_PROJECT_DIR, CURSOR_PROJECT_DIR and `cwd`; the scope is `scope`, else
    SCRUBJAY_SCOPE.
    """
    project = next((env[name] for name in _PROJECT_VARIABLES if env.get(name)), cwd)
    settings = {name: env[name] for name in env if name.startswith("SCRUBJAY_") and name != "SCRUBJAY_HOME"}
    scope = scope or env.get("SCRUBJAY_SCOPE") or None
    return Hello(kind, project, os.path.abspath(cwd), pid, scope=scope, env=settings, version=version)


def encode(hello: Hello) -> bytes:
    """Encode a hello as a line with its newline; empty optional fields are left out."""
    return line_of({name: value for name, value in hello._asdict().items() if value or name in _REQUIRED})


def decode(line: bytes) -> Hello:
    """Decode the hello in `line`. Unknown fields are ignored, so that a newer client can be answered.

    Raises:
        EngineError: the line is not a hello; the message names the wrong field.
    """
    fields = fields_of(line)
    kinds = {**_REQUIRED, **{name: kind for name, kind in _OPTIONAL.items() if name in fields}}
    for name, kind in kinds.items():
        if type(fields.get(name)) is not kind:
            raise _not_a_hello(f"{name} must be {kind.__name__}, and is {fields.get(name)!r}")
    hello = Hello(**{name: fields[name] for name in kinds})
    if hello.kind not in KINDS:
        raise _not_a_hello(f"kind must be one of {', '.join(KINDS)}, and is {hello.kind!r}")
    if not all(isinstance(value, str) for value in hello.env.values()):
        raise _not_a_hello("env must map names to strings")
    return hello if 0 <= hello.waited < _LONGEST_WAIT else hello.copy(waited=0.0)


def line_of(fields: Mapping[str, Any]) -> bytes:
    """Encode a JSON object as one line with its newline."""
    return json.dumps(fields, separators=(",", ":")).encode("ascii") + b"\n"


def fields_of(line: bytes) -> dict[str, Any]:
    """Decode the JSON object in a line of either side.

    Raises EngineError if the line is not a JSON object.
    """
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise _not_a_hello(f"{bytes(line[:80])!r} is not a JSON object")
    return fields


def is_newer(one: str, other: str) -> bool:
    """Return True if version `one` is newer than `other`. Parts that are not numbers count as 0.

    >>> is_newer("0.10.0", "0.9.9"), is_newer("1.0", "1.0.0"), is_newer("0.1", "0.2")
    (True, False, False)
    """
    return _numbers(one) > _numbers(other)


def _not_a_hello(reason: str) -> EngineError:
    return EngineError(f"The first line is not a hello: {reason}.")


def _numbers(version: str) -> list[int]:
    parts = [int(part) if part.isdigit() else 0 for part in version.split(".")[:3]]
    return parts + [0] * (3 - len(parts))
