"""Ties: what a record shares with others, as short strings that an index can look up: entities, tags, and records it builds on.

Knows how a tie is spelled and how much one says. Does not know who else has it. Pure; standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2b
from typing import Literal, NamedTuple

from scrubjay.entities import entities

_TAG, _RECORD = "tag:", "id:"  # an entity has no colon behind a word, so it needs no prefix
LEAST_NAMED = 0.5  # a single word, though in backticks, is no name to look up
Reason = Literal["relation", "tag", "entity"]


class Tie(NamedTuple):
    """One tie of a record. `via` is how to name it to somebody; `weight` in (0, 1] is how much it says by itself."""

    key: str
    reason: Reason
    via: str
    weight: float

    @property
    def word(self) -> str:
        """The key as one word for an index of words: 16 hexadecimal digits, which say nothing of what is named."""
        return blake2b(self.key.encode(), digest_size=8).hexdigest()


def ties(text: str, *, files: Iterable[str] = (), tags: Iterable[str] = (), records: Iterable[str] = ()) -> tuple[Tie, ...]:
    """What ties a record of this text, with these files and tags, to others; `records` are the ids of those it builds on.

    >>> [tie.key for tie in ties("HttpClient retries", tags=["net"])]
    ['tag:net', 'httpclient']
    """
    related = (Tie(f"{_RECORD}{id}", "relation", id, 1.0) for id in records)
    tagged = (Tie(f"{_TAG}{tag}", "tag", tag, 0.7) for tag in tags)
    named = (Tie(entity.form, "entity", entity.said, entity.specificity) for entity in entities(text, files))
    return (*related, *tagged, *named)


def tied(text: str, *, files: Iterable[str] = (), tags: Iterable[str] = (), records: Iterable[str] = ()) -> str | None:
    """What is stored of the ties of a record: their words, between blanks; None of a record without any."""
    return " ".join(dict.fromkeys(tie.word for tie in ties(text, files=files, tags=tags, records=records))) or None


def named(query: str) -> list[Tie]:
    """The entities that a query names. A hyphen is taken for code here: what no record names by it costs nothing."""
    hyphened = " ".join(f"`{word}`" for word in re.findall(r"(?<![\w-])[A-Za-z]\w*(?:-\w+)+(?![\w-])", query))
    return [tie for tie in ties(f"{query} {hyphened}") if tie.weight >= LEAST_NAMED]
