"""What may be put beside a prompt before it is answered: the few recalled lines that clear a floor, or nothing."""

from __future__ import annotations

from scrubjay.models.results import Hit, MemoryHits

FLOOR = 0.6  # least relevance; below it silence is better than a guess
HITS = 5
OPEN, CLOSE = "<scrubjay-memory>", "</scrubjay-memory>"
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
    text = " ".join((hit.memory or hit.chunk or "").split()).replace(OPEN, "").replace(CLOSE, "")
    origin = f"session {hit.session_id}, turn {hit.turn}" if hit.src == "turn" else "fact"
    return f"- {hit.date:%Y-%m-%d} ({origin}): {text}"
