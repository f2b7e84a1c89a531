"""Short forms of ids, for people and models who say them again; `records.full_ids` finds what is meant.

A form has a fixed length, so that showing one costs no look at the store. Eight hex digits are 32 bits: of
100,000 records about one pair shares a form. What is said of such a pair is answered with both of them.
"""

import re

DIGITS = 8  # of a derived id that are shown
_DERIVED = re.compile(r"[a-z]+_[0-9a-f]{24}")  # as `models.records.derived_id` makes them
# Names of sessions that a host drew, and what of them is shown. A UUID of version 7 (Codex) begins with 48
# bits of time, of which the first 32 are the same for a minute; OpenCode's also begin with the time.
_DRAWN = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"), 13),
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), DIGITS),
    (re.compile(r"[0-9a-f]{32}"), DIGITS),
    (re.compile(r"ses_[0-9a-f]{12}[0-9A-Za-z]{14}"), 16),
)
_PLAIN = re.compile(r"[A-Za-z0-9_.:-]{1,24}")  # a name that somebody chose, short enough to say


def short_id(src: str, record_id: str, session_id: str | None = None, turn: int | None = None) -> str:
    """Return the form in which to show a record: `SESSION/TURN` of a turn, else the beginning of its id.

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
    """Return the form in which to show the id of a session; a name that somebody chose is shown whole.

    >>> short_session("66288832-1c1a-4b0e-9c3f-2d8a5f1e7b6c"), short_session("standup")
    ('66288832', 'standup')
    """
    length = next((length for drawn, length in _DRAWN if drawn.fullmatch(session_id)), len(session_id))
    return session_id[:length]
