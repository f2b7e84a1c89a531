"""Repetition: what becomes of a fact that is said again in the same words. Knows occasions and importance; does not know how a fact is
recognised.
"""

from __future__ import annotations

from datetime import datetime

from scrubjay.models.records import Memory

STEP = 0.5  # of importance, for each further occasion
MOST = 8.0  # that repetition can give; what lies above was said by somebody to be so


def said_again(memory: Memory, session_id: str | None, at: datetime) -> Memory:
    """The fact after it was said again; the very same object where that says nothing new about its importance.

    importance = min(8, importance as given + 0.5 * occasions). An occasion is a session, or where none is named a day (UTC), each counted
    once; the session and the day in which the fact was added are none.
    """
    occasion = session_id or f"{at:%Y-%m-%d}"
    if occasion in (memory.session_id, f"{memory.created_at:%Y-%m-%d}", *memory.occasions) or memory.importance_score >= MOST:
        return memory
    return memory.model_copy(
        update={
            "importance_score": min(MOST, memory.importance_score + STEP),
            "occasions": (*memory.occasions, occasion),
            "last_accessed_at": max(memory.last_accessed_at, at),  # what is said again is fresh again
        }
    )
