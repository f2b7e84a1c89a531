"""Session openings prepared in advance: `<home>/openings/<scope>.json`.

A session usually starts before its engine, and a hook does not wait for the engine. So the engine writes the
opening of a project's next session in advance, and removes it before it acknowledges a change. With
`inject = "edit"`, the file also has hints to show before an edit or a command. Standard library only and
Python 3.9 syntax, because hooks read openings.
"""

from __future__ import annotations

import json
import os

from scrubjay.home import spool
from scrubjay.home.files import move_aside_nonfile, parse_json, read_whole

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the import that every hook would pay
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from scrubjay.home.paths import Home

COUNTS = ("sessions", "facts")


def read(home: Home, scope: str, now: float, host: str | None = None) -> dict[str, Any] | None:
    """Return the opening of a scope's next session: its text ("" if nothing is remembered) and its counts.

    A host with its own memory has a separate opening.

    Return None if the opening is unknown: it was not written since the last change, it has a fact that
    expired before `now` (seconds since 1970), or writes or answers in the spool are waiting for an engine.
    """
    try:
        opening = parse_json(read_whole(_path(home, scope), own=True))
        until = opening["until"]
        entry = opening.get("by_host", {}).get(host, opening)
        result = {"text": str(entry["text"]), **{name: int(entry.get(name, 0)) for name in COUNTS}}
        is_valid = opening["scope"] == scope and (until is None or now < float(until))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None
    return result if is_valid and not (spool.pending(home) or spool.events(home, "answer")) else None


def hints(home: Home, scope: str) -> dict[str, Any]:
    """Return the hints that hooks of tools may show in a scope (see `search/hints`), or {} if unknown."""
    try:
        opening = parse_json(read_whole(_path(home, scope), own=True))
        values = opening["hints"] if opening["scope"] == scope else {}
    except (OSError, ValueError, LookupError, TypeError):
        return {}
    return values if isinstance(values, dict) else {}


def write(
    home: Home,
    scope: str,
    text: str,
    until: float | None,
    by_host: dict[str, Any] | None = None,
    hints: Mapping[str, Any] | None = None,
    **counts: int,
) -> None:
    """Write the opening of a scope, valid until `until` (seconds since 1970; None: until a change).

    `counts` say how many sessions and facts the text names (`COUNTS`). `by_host` has separate texts and
    counts for some hosts. `hints` are for hooks of tools. Raises OSError if the disk refused.
    """
    os.makedirs(home.openings, mode=0o700, exist_ok=True)
    rest = {"by_host": by_host or {}, "hints": hints or {}}
    opening = {"scope": scope, "text": text, "until": until, **counts, **rest}
    spool.durable_write(home, _path(home, scope), json.dumps(opening).encode("ascii"))


def remove(home: Home, scope: str) -> bool:
    """Remove the opening of a scope; return True if it existed."""
    path = _path(home, scope)
    move_aside_nonfile(path)
    try:
        os.unlink(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def scopes_with_opening(home: Home) -> list[str]:
    """Return the scopes that have an opening."""
    try:
        names = os.listdir(home.openings)
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [name[: -len(".json")].replace("~", ":") for name in names]


def _path(home: Home, scope: str) -> str:
    # A scope has only letters, digits and _.:-, and a file name on Windows has no colon. The file itself
    # names its scope, for disks that ignore case.
    return os.path.join(home.openings, scope.replace(":", "~") + ".json")
