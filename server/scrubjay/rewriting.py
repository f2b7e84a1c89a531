"""Rewriting: other ways to put a question, so that a search can ask it more than once. Deterministic, by words alone; knows no model
and nothing that is stored. Pure; standard library only.
"""

from __future__ import annotations

import re

from scrubjay.entities import entities
from scrubjay.terms import content_words

MOST = 6  # ways together: each is a search of its own
_LEAST_WORDS = 2  # that say something, in one part of a question
_BETWEEN = re.compile(r"[?;\n]+|,?\s+(?:and|or|but)\s+|,\s+", re.IGNORECASE)


def rewrites(query: str) -> list[str]:
    """The question as it is, without its wording, part by part where it has several, and what it names; each once, at most `MOST`.

    >>> rewrites("When did we rename tick() and who asked for it?")
    ['When did we rename tick() and who asked for it?', 'rename tick asked', 'When did we rename tick()', 'tick()']
    """
    parts = [part.strip() for part in _BETWEEN.split(query) if part.strip()]
    telling = [part for part in parts if len(content_words(part)) >= _LEAST_WORDS] if len(parts) > 1 else []
    named = [entity.said for entity in entities(query)]
    ways = (query, " ".join(content_words(query)), *telling, *([" ".join(named)] if named else []))
    return list(dict.fromkeys(way for way in ways if way))[:MOST]
