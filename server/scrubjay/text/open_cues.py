"""Words that say that something is left open, or nothing is: lists from `cues.toml`, and patterns."""

import re

from scrubjay.text import tables

LATER, STATE = tables.cues("later"), tables.cues("state")
PLAN, NOTHING_OPEN = tables.cues("plan"), tables.cues("nothing_open")
SIGNS = {name: tables.cues(name, "signs") for name in tables.table("cues")["signs"]}
# How the next prompt begins if it says that the open point is done, or asks to do it.
_DONE = re.compile(
    r"(?i)\s*(?:(?:i |we )?(?:did|done|ran|fixed|sent|merged)\b"
    r"|(?:(?:ok(?:ay)?|yes|and|now|then|please|pls),? )*(?:do|fix|port|add|run|make|write|finish|handle)"
    r" (?:it|that|this|these|them|those|both|so)\b)"
)
# A line above a list of open points.
_HEADING = re.compile(
    r"""[\s#*_]*(?:still\ |what\ is\ |what's\ )*(?:remaining|to-?dos?|to\ do|next|left(?:\ to\ do)?
    |missing|later|open(?:\ questions?)?|not\ (?:yet\ )?(?:done|covered|tested)(?:\ yet)?|follow-?ups?
    |outstanding|pending|known\ (?:gaps|issues|problems))
    (?:\ (?:work|steps?|items?|tasks?|points?|issues?|for\ later|now|before\ [\w\s]{1,40}))?[\s:*_]*$""",
    re.IGNORECASE | re.VERBOSE,
)
# A task that is not ticked.
_UNTICKED = re.compile(r"\s*[-*+] \[ \] +(.+)")
# A question to the user that names something not done.
ASKS = re.compile(
    r"(?i)\?$|^(?:what|which|why|who|when|where|how|does|do|is|are|can|anything)\b|\bcan (?:we|you|i)\b"
)
OFFER = re.compile(
    r"(?i)(?:shall|should|may|can) (?:i|we)\b|(?:so |next )?(?:i|we) (?:can|could|would)\b"
    r"|(?:do you want|would you like)\b|one thing i need\b"
)


def is_done(prompt: str) -> bool:
    """Return True if a prompt begins by saying that the open point is done, or by asking to do it."""
    return _DONE.match(prompt) is not None


def begins_list(line: str) -> bool:
    """Return True for a line above a list of open points."""
    return _HEADING.match(line) is not None


def task_of(line: str) -> str | None:
    """Return the text of a task that is not ticked; None for any other line."""
    task = _UNTICKED.match(line)
    return task[1] if task else None
