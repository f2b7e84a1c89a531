"""Makes facts from the entries of other memories, with texts, tags and metadata that we can store."""

from __future__ import annotations

import hashlib
import json
import math
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from scrubjay.histories.disk import parsed
from scrubjay.histories.stored import Fact, Fields, pieces
from scrubjay.home.capture import storable
from scrubjay.models.fields import MAX_METADATA_NUMBER, MAX_METADATA_TEXT

_LONGEST_ID, _LONGEST_NAME = 1_000, 200  # characters
MAX_TAGS = 20  # of one entry; other programs may have any number


def rows_of(database: sqlite3.Connection, table: str, *, required: bool = False) -> Iterator[Fields]:
    """Yield the rows of a table as dicts, because columns differ by version; none if the table is missing.

    Raises:
        sqlite3.Error: the table is required but missing, or damaged.
    """
    exists = database.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    if exists or required:
        yield from map(dict, database.execute(f'SELECT * FROM "{table}"'))


def storable_facts(facts: Iterable[Fact]) -> Iterator[Fact]:
    """Yield the facts that have text, in a form that we can store.

    A fact that is too long is cut into several, at the end of a line or word.
    """
    for fact in facts:
        text = storable(fact.content).strip()
        whole = replace(
            fact,
            id=fact.id if 0 < len(fact.id) <= _LONGEST_ID else digest(fact.id or text),
            session_id=fact.session_id if len(fact.session_id or "") <= _LONGEST_NAME else None,
        )
        parts = pieces(text)
        if len(parts) == 1:
            yield replace(whole, content=text)
            continue
        for number, part in enumerate(parts, 1):
            yield replace(whole, id=f"{whole.id}/{number}", content=part, earlier=())


def paragraphs(*texts: str) -> str:
    """Join the texts that are not empty, with blank lines between them."""
    return "\n\n".join(text.strip() for text in texts if text.strip())


def tags_of(*names: str) -> tuple[str, ...]:
    """Return tags without repetitions; characters that a tag may not have become a dash."""
    tags = (re.sub(r"[^A-Za-z0-9_.:-]+", "-", name).strip("-")[:100] for name in names)
    return tuple(dict.fromkeys(filter(None, tags)))[:MAX_TAGS]


def strings(value: object) -> list[str]:
    """Return the texts in a list, or in the JSON of a list."""
    if isinstance(value, str):
        try:
            value = parsed(value)
        except ValueError:
            return []
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def flattened(values: Mapping[str, Any]) -> Fields:
    """Return metadata as we can store it, without values that are empty or not JSON."""
    flat = {name: _plain(value) for name, value in values.items() if 0 < len(name.strip()) <= _LONGEST_NAME}
    return {name: value for name, value in flat.items() if value not in (None, "", [])}


def _plain(value: Any) -> Any:
    """Return a value for metadata: nested values as JSON, None for values that no field can hold."""
    if isinstance(value, dict) or (isinstance(value, list) and any(not isinstance(e, str) for e in value)):
        return _plain(json.dumps(value, ensure_ascii=False))
    if isinstance(value, str):
        return storable(value)[:MAX_METADATA_TEXT]
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, int):
        return value if abs(value) <= MAX_METADATA_NUMBER else str(value)
    return value if isinstance(value, float) and math.isfinite(value) else None


def digest(text: str) -> str:
    """Return an id of 32 characters for a text."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]
