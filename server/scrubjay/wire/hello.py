"""The first line each side of an engine connection says. Knows its fields and its bytes; does not know sockets.

Standard library only and Python 3.9 syntax, because hook scripts speak it with the interpreter they find.

    client: {"protocol": 1, "version": "0.1.0", "kind": "pipe", "project_dir": "/p", "cwd": "/p", "pid": 7, "env": {}}
    engine: {"protocol": 1, "version": "0.1.0", "kind": "engine", "pid": 5, "auto": true, "home": [8, 99], "ready": false, "notices": []}
    engine: the same with "error": a sentence, and "retry": true when the next engine may be asked at once
"""

from __future__ import annotations

import json
import os

from scrubjay import VERSION
from scrubjay.errors import EngineError

PROTOCOL = 1  # the major: a client and an engine with different numbers cannot talk
KINDS = ("pipe", "hook", "cli")
HELLO_LIMIT = 64 * 1024  # bytes; a first line above this is not a hello

_PROJECT_VARIABLES = ("CLAUDE_PROJECT_DIR", "CURSOR_PROJECT_DIR")


class Hello:
    """Who a client is and where it works.

    `kind` is one of KINDS; `scope` is the one the user named, or None when the engine is to find it from the project;
    `env` holds the client's SCRUBJAY_* variables without SCRUBJAY_HOME; `token` is needed on a loopback port only;
    `replace` asks an engine that was started by a pipe to finish and make room.
    """

    __slots__ = (
        "cwd",
        "env",
        "kind",
        "pid",
        "project_dir",
        "protocol",
        "replace",
        "scope",
        "token",
        "version",
    )

    def __init__(
        self,
        kind,
        project_dir,
        cwd,
        pid,
        scope=None,
        env=None,
        version=VERSION,
        protocol=PROTOCOL,
        token=None,
        replace=False,
    ):
        # type: (str, str, str, int, str | None, dict | None, str, int, str | None, bool) -> None
        self.kind = kind
        self.project_dir = project_dir
        self.cwd = cwd
        self.pid = pid
        self.scope = scope
        self.env = dict(env or {})
        self.version = version
        self.protocol = protocol
        self.token = token
        self.replace = replace

    def __repr__(self):
        # type: () -> str
        return f"Hello({self.kind} {self.version} of pid {self.pid} in {self.project_dir!r})"

    def but(self, **changes):
        # type: (object) -> Hello
        """The same hello with some fields changed."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        fields.update(changes)
        return Hello(**fields)


def hello_from(kind, env, cwd, pid, scope=None, version=VERSION):
    # type: (str, dict, str, int, str | None, str) -> Hello
    """The hello of a client with the environment `env` in the folder `cwd`.

    The project is the first of CLAUDE_PROJECT_DIR, CURSOR_PROJECT_DIR and `cwd`; the scope is `scope`, else SCRUBJAY_SCOPE.
    """
    project = next((env[name] for name in _PROJECT_VARIABLES if env.get(name)), cwd)
    own = {
        name: value for name, value in env.items() if name.startswith("SCRUBJAY_") and name != "SCRUBJAY_HOME"
    }
    return Hello(
        kind,
        project,
        os.path.abspath(cwd),
        pid,
        scope=scope or env.get("SCRUBJAY_SCOPE") or None,
        env=own,
        version=version,
    )


def encode(hello):
    # type: (Hello) -> bytes
    """The line of a hello, its newline included; a field that says nothing is left out."""
    fields = {name: getattr(hello, name) for name in hello.__slots__}
    return line_of({name: value for name, value in fields.items() if value or name in _REQUIRED})


def decode(line):
    # type: (bytes) -> Hello
    """The hello in `line`; fields this version does not know are ignored, so that a newer client can be answered.

    Raises:
        EngineError: the line is not a hello; the sentence names the field that is wrong.
    """
    fields = fields_of(line)
    for name, kind in _REQUIRED.items():
        value = fields.get(name)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise EngineError(
                f"The first line is not a hello: {name} must be {kind.__name__}, and is {value!r}."
            )
    if fields["kind"] not in KINDS:
        raise EngineError(
            f"The first line is not a hello: kind must be one of {', '.join(KINDS)}, and is {fields['kind']!r}."
        )
    for name in ("scope", "token"):
        if not isinstance(fields.get(name), (str, type(None))):
            raise EngineError(
                f"The first line is not a hello: {name} must be a string, and is {fields[name]!r}."
            )
    env = fields.get("env", {})
    if not isinstance(env, dict) or not all(isinstance(value, str) for value in env.values()):
        raise EngineError("The first line is not a hello: env must map names to strings.")
    return Hello(
        fields["kind"],
        fields["project_dir"],
        fields["cwd"],
        fields["pid"],
        scope=fields.get("scope"),
        env=env,
        version=fields["version"],
        protocol=fields["protocol"],
        token=fields.get("token"),
        replace=fields.get("replace") is True,
    )


_REQUIRED = {"protocol": int, "version": str, "kind": str, "project_dir": str, "cwd": str, "pid": int}


def line_of(fields):
    # type: (dict) -> bytes
    """A JSON object as one line, its newline included."""
    return json.dumps(fields, separators=(",", ":")).encode("ascii") + b"\n"


def fields_of(line):
    # type: (bytes) -> dict
    """The JSON object in a line of either side.

    Raises:
        EngineError: the line is not a JSON object.
    """
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise EngineError(f"The first line is not a hello: {bytes(line[:80])!r} is not a JSON object.")
    return fields


def newer(one: str, other: str) -> bool:
    """Whether version `one` is newer than `other`: dotted numbers, compared as numbers; junk counts as 0.

    >>> newer("0.10.0", "0.9.9"), newer("1.0", "1.0.0"), newer("0.1", "0.2")
    (True, False, False)
    """
    return _numbers(one) > _numbers(other)


def _numbers(version: str) -> tuple:
    parts = [int(part) if part.isdigit() else 0 for part in version.split(".")[:3]]
    return tuple(parts + [0] * (3 - len(parts)))
