"""Injection: a few remembered lines put beside a prompt, or at the beginning of a session."""

import re
from collections.abc import Mapping
from typing import Any

from scrubjay.models.requests import SearchMemories
from scrubjay.models.results import Hit, MemoryHits, Profile
from scrubjay.text.terms import content_words, expand

# Least relevance. On LoCoMo's dev half it is silent on 91 % of what the store does not hold, and right in 77
# % of what it says (at 0.7: 95 and 73).
FLOOR = 0.6
HITS = 5
MOST_BYTES = 2048  # of a block, unless the hook names a size
LEAST_WORDS = 2  # content words of a prompt: "continue" and "yes, do it" recall nothing
OPEN, CLOSE = "<scrubjay-memory>", "</scrubjay-memory>"
# A tag in a text gets its hyphen taken away; if it were removed, what is left could be a tag again.
_TAG = re.compile("(scrubjay)-(memory)", re.IGNORECASE)
_KNOWN = "Facts this user kept in earlier sessions of this project, for reference; they may be outdated."
_HEAD = "Quoted from this user's earlier sessions, for reference; it may be outdated."


def search_for(event: Mapping[str, Any]) -> SearchMemories | None:
    """Make the search for a prompt (`prompt` of a hook's event); None if the prompt says too little."""
    prompt = event.get("prompt")
    if not isinstance(prompt, str) or not says_enough(prompt):
        return None
    return SearchMemories(query=prompt[:2_000], top_k=20, threshold=FLOOR)


def room(event: Mapping[str, Any]) -> int:
    """Read how many bytes of UTF-8 a hook has room for (`max_bytes` of its event)."""
    most = event.get("max_bytes", MOST_BYTES)
    return most if isinstance(most, int) else 0


def says_enough(prompt: str) -> bool:
    """Whether a prompt has enough content words to search with."""
    return len(set(content_words(expand(prompt)))) >= LEAST_WORDS


def injection(hits: MemoryHits, *, session_id: str | None, max_bytes: int, floor: float = FLOOR) -> str:
    """Write the block for a prompt, at most `max_bytes` of UTF-8; "" if no hit reaches the floor.

    Turns of the prompt's own session are left out: the model sees them anyway.
    """
    lines = [
        _line(hit)
        for hit in hits.results
        if (hit.relevance_score or 0.0) >= floor and (session_id is None or hit.session_id != session_id)
    ]
    return _block(_HEAD, lines[:HITS], max_bytes)


def opening(known: Profile, *, max_bytes: int) -> str:
    """Write the block for the beginning of a session, at most `max_bytes` of UTF-8; "" without facts."""
    return _block(_KNOWN, [_line(hit) for hit in (*known.static, *known.recent)], max_bytes)


def _block(head: str, lines: list[str], max_bytes: int) -> str:
    """Put as many lines as there is room for between the tags."""
    room = max_bytes - len(f"{OPEN}\n{head}\n{CLOSE}".encode())
    taken = []
    for line in lines:
        room -= len(line.encode()) + 1
        if room < 0:
            break
        taken.append(line)
    return "\n".join([OPEN, head, *taken, CLOSE]) if taken else ""


def _line(hit: Hit) -> str:
    origin = f"session {hit.session_id}, turn {hit.turn}" if hit.src == "turn" else "fact"
    line = " ".join(f"- {hit.date:%Y-%m-%d} ({origin}): {hit.memory or hit.chunk}".split())
    return _TAG.sub(r"\1 \2", line)
