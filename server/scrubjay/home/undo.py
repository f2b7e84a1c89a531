"""The last changes that `scrubjay undo` can take back: `<home>/undo.json`, which names ids and no texts."""

from __future__ import annotations

import json
from typing import Literal, NamedTuple

from scrubjay.home.files import parsed, read_whole
from scrubjay.home.paths import Home
from scrubjay.home.spool import durable_write

MOST = 50  # changes that are remembered

Did = Literal["forget", "restore", "edit"]


class Step(NamedTuple):
    """One change and its records; for an edit, the new version and the previous one."""

    did: Did
    ids: list[str]


def read(home: Home) -> list[Step]:
    """Return the changes that can be taken back, oldest first; an unreadable file has none."""
    try:
        return [
            Step(each["did"], [str(one) for one in each["ids"]]) for each in parsed(read_whole(home.undo))
        ]
    except (OSError, ValueError, LookupError, TypeError):
        return []


def write(home: Home, steps: list[Step]) -> None:
    """Remember the last of these changes.

    Raises:
        OSError: the disk refused.
    """
    content = json.dumps([step._asdict() for step in steps[-MOST:]])
    durable_write(home, home.undo, content.encode("ascii"))
