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
# A line above a list of tests that fail. Such a list is open only if the session ends with it.
_FAILING = re.compile(
    r"(?i)\b(?:(?:still|now|currently) (?:fail(?:s|ing)?|red|broken)"
    r"|[1-9]\d{0,4}(?: \w{1,20}){0,2} (?:fail(?:s|ed|ing|ures?)?|red))\b[^.?!\d]{0,20}:[\s*_]*$"
)
_ALL_PASS = re.compile(r"(?i)\ball\b[^.\n]{0,40}\bpass(?:es|ed)?\b")
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


def begins_list(line: str, is_end: bool) -> bool:
    """Return True for a line above a list of open points; `is_end` says that the session ends there."""
    return bool(_HEADING.match(line) or (is_end and _FAILING.search(line)))


def says_all_pass(answer: str) -> bool:
    """Return True if an answer says that all tests pass, and names no failing ones below that."""
    *_, rest = _ALL_PASS.split(answer)
    return rest != answer and not any(map(_FAILING.search, rest.split("\n")))


def task_of(line: str) -> str | None:
    """Return the text of a task that is not ticked; None for any other line."""
    task = _UNTICKED.match(line)
    return task[1] if task else None
