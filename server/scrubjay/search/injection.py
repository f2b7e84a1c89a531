"""Injection: a few remembered lines added to a prompt, and the fence around any injected text."""

from collections.abc import Iterable, Mapping
from typing import Any

from scrubjay.models.requests import SearchMemories
from scrubjay.models.results import Hit, MemoryHits
from scrubjay.text.foreign import one_line
from scrubjay.text.short_ids import short_id
from scrubjay.text.terms import content_words, expand

# Least relevance. On LoCoMo, nothing is injected for 85 % of the questions that the store does not answer,
# nearly as many as with 0.6 and the published model, and injections are right more often (BENCHMARKS,
# "Injection").
FLOOR = 0.75
HITS = 5
MOST_BYTES = 2048  # of a block, unless the hook gives a size
LEAST_WORDS = 2  # content words of a prompt: "continue" and "yes, do it" trigger no search
OPEN, CLOSE = "<scrubjay-memory>", "</scrubjay-memory>"
_HEAD = "Quoted from this user's earlier sessions, for reference; it may be outdated."


def search_for(event: Mapping[str, Any]) -> SearchMemories | None:
    """Return the search for a prompt (`prompt` of a hook's event); None if it has too few content words."""
    prompt = event.get("prompt")
    if not isinstance(prompt, str) or not has_enough_words(prompt):
        return None
    return SearchMemories(query=prompt[:2_000], top_k=20, threshold=FLOOR)


def room(event: Mapping[str, Any]) -> int:
    """Return how many bytes of UTF-8 a hook's event has room for (`max_bytes`)."""
    limit = event.get("max_bytes", MOST_BYTES)
    return limit if isinstance(limit, int) else 0


def has_enough_words(prompt: str) -> bool:
    """Return True if a prompt has enough content words to search with."""
    return len(set(content_words(expand(prompt)))) >= LEAST_WORDS


def injection(hits: MemoryHits, *, session_id: str | None, max_bytes: int, floor: float = FLOOR) -> str:
    """Return the block for a prompt, at most `max_bytes` of UTF-8; "" if the answer is doubtful or empty.

    Even in a strong answer, each hit must reach the floor, because injection was not requested. Turns of the
    prompt's own session are left out, because the model sees them anyway.
    """
    if hits.confidence != "strong":
        return ""
    lines = [
        _line(hit)
        for hit in hits.results
        if (hit.relevance_score or 0.0) >= floor and (session_id is None or hit.session_id != session_id)
    ]
    return block(_HEAD, lines[:HITS], max_bytes)[0]


def block(
    head: str, lines: Iterable[str], max_bytes: int, max_chars: int | None = None
) -> tuple[str, list[str]]:
    """Put the lines that fit between the tags, in order; return the block and these lines.

    `max_bytes` of UTF-8 and `max_chars` limit the whole block; "" if not one line fits.
    """
    text, included = f"{OPEN}\n{head}\n", []
    for line in lines:
        longer = f"{text}{one_line(line)}\n"
        size, chars = len(f"{longer}{CLOSE}".encode()), len(longer) + len(CLOSE)
        if size <= max_bytes and chars <= (max_chars or max_bytes):
            text = longer
            included.append(line)
    return (text + CLOSE, included) if included else ("", [])


def _line(hit: Hit) -> str:
    origin = short_id(hit.src, hit.id, hit.session_id, hit.turn)
    return f"- {hit.date:%Y-%m-%d} ({origin}): {hit.memory or hit.chunk}"
