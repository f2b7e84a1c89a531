"""The last changes that `scrubjay undo` can take back: `<home>/undo.json`, which names ids and no texts."""

from __future__ import annotations

import json
from typing import Literal, NamedTuple

from scrubjay.home.files import parse_json, read_whole
from scrubjay.home.paths import Home
from scrubjay.home.spool import durable_write

MAX_STEPS = 50  # changes that can be taken back

Action = Literal["forget", "restore", "edit"]


class Step(NamedTuple):
    """One change and the ids of its records; for an edit, the new version and the previous one."""

    did: Action
    ids: list[str]


def read(home: Home) -> list[Step]:
    """Return the changes that can be taken back, oldest first; an unreadable file has none."""
    try:
        steps = parse_json(read_whole(home.undo))
        return [Step(step["did"], [str(each) for each in step["ids"]]) for step in steps]
    except (OSError, ValueError, LookupError, TypeError):
        return []


def write(home: Home, steps: list[Step]) -> None:
    """Write the last `MAX_STEPS` of these changes. Raises OSError if the disk refused."""
    content = json.dumps([step._asdict() for step in steps[-MAX_STEPS:]])
    durable_write(home, home.undo, content.encode("ascii"))
