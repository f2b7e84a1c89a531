"""Short forms of ids, for users and models that repeat them; `records.full_ids` resolves them.

A short form has a fixed length, so that it can be made without the store. Eight hex digits are 32 bits: among
100,000 records about one pair shares a form. A request for a shared form returns both records.
"""

import re

DIGITS = 8  # digits of a derived id that are shown
_DERIVED = re.compile(r"[a-z]+_[0-9a-f]{24}")  # made by `models.records.derived_id`
# Session ids that hosts generate, and how many characters to show. A UUID of version 7 (Codex) begins with
# 48 bits of time; the first 32 change only once a minute. OpenCode's ids also begin with the time.
_GENERATED = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"), 13),
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), DIGITS),
    (re.compile(r"[0-9a-f]{32}"), DIGITS),
    (re.compile(r"ses_[0-9a-f]{12}[0-9A-Za-z]{14}"), 16),
)
_PLAIN = re.compile(r"[A-Za-z0-9_.:-]{1,24}")  # short enough to show; also names chosen by users


def short_id(src: str, record_id: str, session_id: str | None = None, turn: int | None = None) -> str:
    """Return the short form of a record's id: `SESSION/TURN` for a turn, else the beginning of the id.

    >>> short_id("memory", "mem_0123456789abcdef01234567")
    'mem_01234567'
    >>> short_id("turn", "turn_0123456789abcdef01234567", "66288832-1c1a-4b0e-9c3f-2d8a5f1e7b6c", 5)
    '66288832/5'
    """
    if src == "turn" and session_id is not None and turn is not None:
        session = short_session(session_id)
        if _PLAIN.fullmatch(session):
            return f"{session}/{turn}"
    return record_id[: record_id.index("_") + 1 + DIGITS] if _DERIVED.fullmatch(record_id) else record_id


def short_session(session_id: str) -> str:
    """Return the short form of a session's id; a name chosen by the user is returned whole.

    >>> short_session("66288832-1c1a-4b0e-9c3f-2d8a5f1e7b6c"), short_session("standup")
    ('66288832', 'standup')
    """
    length = next(
        (length for pattern, length in _GENERATED if pattern.fullmatch(session_id)), len(session_id)
    )
    return session_id[:length]
