"""What may be put beside a prompt before it is answered, or at the beginning of a session: a few lines, or nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from scrubjay.models.requests import SearchMemories
from scrubjay.models.results import Hit, MemoryHits, Profile
from scrubjay.text.terms import content_words, expand

FLOOR = 0.6  # least relevance: on LoCoMo's dev half silent on 91 % of what is not there, right in 77 % of what it says (0.7: 95, 73)
HITS = 5
MOST_BYTES = 2048  # of a block, where a hook names no size of its own
LEAST_WORDS = (
    2  # content words of a prompt; "continue" and "yes, do it" recall nothing, whoever said the like before
)
OPEN, CLOSE = "<scrubjay-memory>", "</scrubjay-memory>"
_TAG = re.compile(
    "(scrubjay)-(memory)", re.IGNORECASE
)  # parted and not removed: what is left of a removal can be a tag again
_KNOWN = "Facts this user kept in earlier sessions of this project, for reference; they may be outdated."
_HEAD = "Quoted from this user's earlier sessions, for reference; it may be outdated."


def question(event: Mapping[str, Any]) -> SearchMemories | None:
    """What to look for on behalf of a prompt (`prompt` of a hook's event); None when it recalls nothing."""
    prompt = event.get("prompt")
    if not isinstance(prompt, str) or not asks(prompt):
        return None
    return SearchMemories(query=prompt[:2_000], top_k=20, threshold=FLOOR)


def room(event: Mapping[str, Any]) -> int:
    """How many bytes of UTF-8 a hook has room for (`max_bytes` of its event)."""
    most = event.get("max_bytes", MOST_BYTES)
    return most if isinstance(most, int) else 0


def asks(prompt: str) -> bool:
    """Whether a prompt says enough to recall anything for it."""
    return len(set(content_words(expand(prompt)))) >= LEAST_WORDS


def injection(hits: MemoryHits, *, session_id: str | None, max_bytes: int, floor: float = FLOOR) -> str:
    """The block for a prompt, at most `max_bytes` of UTF-8, cut between items; "" when nothing reaches the floor.

    Turns of the prompt's own session are left out: they are in front of the model already.
    """
    lines = [
        _line(hit)
        for hit in hits.results
        if (hit.relevance_score or 0.0) >= floor and (session_id is None or hit.session_id != session_id)
    ]
    return _block(_HEAD, lines[:HITS], max_bytes)


def opening(known: Profile, *, max_bytes: int) -> str:
    """The block for the beginning of a session: the facts of a profile, at most `max_bytes` of UTF-8; "" when nothing is known."""
    return _block(_KNOWN, [_line(hit) for hit in (*known.static, *known.recent)], max_bytes)


def _block(head: str, lines: list[str], max_bytes: int) -> str:
    """As many lines as there is room for, from the first on."""
    room = max_bytes - len(f"{OPEN}\n{head}\n{CLOSE}".encode())
    kept = []
    for line in lines:
        room -= len(line.encode()) + 1
        if room < 0:
            break
        kept.append(line)
    return "\n".join([OPEN, head, *kept, CLOSE]) if kept else ""


def _line(hit: Hit) -> str:
    origin = f"session {hit.session_id}, turn {hit.turn}" if hit.src == "turn" else "fact"
    line = " ".join(f"- {hit.date:%Y-%m-%d} ({origin}): {hit.memory or hit.chunk}".split())
    return _TAG.sub(r"\1 \2", line)
