"""What may be put beside a prompt before it is answered: the few recalled lines that clear a floor, or nothing."""

from __future__ import annotations

import re

from scrubjay.models.results import Hit, MemoryHits

FLOOR = 0.6  # least relevance; below it silence is better than a guess
HITS = 5
OPEN, CLOSE = "<scrubjay-memory>", "</scrubjay-memory>"
_TAG = re.compile("(scrubjay)-(memory)", re.IGNORECASE)  # parted and not removed: what is left of a removal can be a tag again
_HEAD = "Quoted from this user's earlier sessions, for reference; it may be outdated."


def injection(hits: MemoryHits, *, session_id: str | None, max_bytes: int) -> str:
    """The block for a prompt, at most `max_bytes` of UTF-8, cut between items; "" when nothing is relevant enough.

    Turns of the prompt's own session are left out: they are in front of the model already.
    """
    lines: list[str] = []
    room = max_bytes - len(f"{OPEN}\n{_HEAD}\n{CLOSE}".encode())
    for hit in hits.results:
        if (hit.relevance_score or 0.0) < FLOOR or (session_id is not None and hit.session_id == session_id):
            continue
        line = _line(hit)
        room -= len(line.encode()) + 1
        if room < 0 or len(lines) == HITS:
            break
        lines.append(line)
    return "\n".join([OPEN, _HEAD, *lines, CLOSE]) if lines else ""


def _line(hit: Hit) -> str:
    origin = f"session {hit.session_id}, turn {hit.turn}" if hit.src == "turn" else "fact"
    line = " ".join(f"- {hit.date:%Y-%m-%d} ({origin}): {hit.memory or hit.chunk}".split())
    return _TAG.sub(r"\1 \2", line)
