"""Injection: a few remembered lines added to a prompt, and the fence around any injected text."""

from collections.abc import Iterable, Mapping
from typing import Any

from scrubjay.home.given import sums
from scrubjay.models.requests import SearchMemories
from scrubjay.models.results import Hit, MemoryHits
from scrubjay.text.foreign import one_line
from scrubjay.text.short_ids import short_id
from scrubjay.text.terms import content_words, expand

# Hits with less relevance are not injected. On LoCoMo, nothing is injected for 85 % of the questions that the
# store does not answer. With 0.6 and the published model the share is a little greater, but injections are
# right less often (BENCHMARKS, "Injection").
FLOOR = 0.75
HITS = 5  # most hits in a block
MOST_BYTES = 2048  # most bytes of a block, unless the hook gives a limit
LEAST_WORDS = 2  # with fewer content words, as in "continue" or "yes, do it", a prompt triggers no search
OPEN, CLOSE = "<scrubjay-memory>", "</scrubjay-memory>"
_HEAD = "Quoted from this user's earlier sessions, for reference; it may be outdated."


def search_for(event: Mapping[str, Any]) -> SearchMemories | None:
    """Return the search for a prompt (`prompt` of a hook's event), or None if it has too few words."""
    prompt = event.get("prompt")
    if not isinstance(prompt, str) or not has_enough_words(prompt):
        return None
    return SearchMemories(query=prompt[:2_000], top_k=20, threshold=FLOOR)


def room(event: Mapping[str, Any]) -> int:
    """Return how many bytes of UTF-8 a hook accepts (`max_bytes` of its event)."""
    limit = event.get("max_bytes", MOST_BYTES)
    return limit if isinstance(limit, int) else 0


def has_enough_words(prompt: str) -> bool:
    """Return True if a prompt has enough content words to search with."""
    return len(set(content_words(expand(prompt)))) >= LEAST_WORDS


def injection(
    hits: MemoryHits,
    *,
    session_id: str | None,
    max_bytes: int,
    floor: float = FLOOR,
    given: object = (),
) -> str:
    """Return the block to add to a prompt, or "" if the answer is doubtful or empty.

    The block has at most `max_bytes` of UTF-8. Even in a strong answer each hit must reach the floor, because
    the user did not ask for it. Turns of the prompt's own session are left out, because the model sees them
    anyway, and so are lines that it was shown before: `given` is a list of their checksums, as hooks send it.
    """
    if hits.confidence != "strong":
        return ""
    checksums = given if isinstance(given, list) else []
    lines = [
        line
        for hit in hits.results
        if (hit.relevance_score or 0.0) >= floor
        and (session_id is None or hit.session_id != session_id)
        and sums(line := one_line(_line(hit)))[0] not in checksums
    ]
    return block(_HEAD, lines[:HITS], max_bytes)[0]


def block(
    head: str, lines: Iterable[str], max_bytes: int, max_chars: int | None = None
) -> tuple[str, list[str]]:
    """Return a block with the lines that fit between the tags, in order, and a list of these lines.

    `max_bytes` of UTF-8 and `max_chars` limit the whole block. If no line fits, the block is "".
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
