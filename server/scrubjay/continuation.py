"""What a text becomes when somebody sends it again: the whole of it anew, or only what came after. Knows lines; does not know whose text
it is. Pure; standard library only.
"""

from __future__ import annotations

from collections import Counter

REVISED = 0.5  # of the old text's characters, found again line by line: then the new text is a later state of it


def continued(old: str, new: str) -> str:
    """The text after `new` was sent under the name of `old`.

    `new` replaces `old` where it holds it whole, or half of its lines; it changes nothing where `old` ends with it already, as when a
    call is repeated; else it was what came after, and stands behind `old`, so that in doubt nothing is lost.

    >>> continued("user: hi", "assistant: hello")
    'user: hi\\n\\nassistant: hello'
    >>> continued("user: hi", "user: hi\\nassistant: hello")
    'user: hi\\nassistant: hello'
    """
    before, after, piece = old.strip(), new.strip(), new.rstrip().lstrip("\r\n")
    if not before or before in after:
        return new
    if old.rstrip().endswith(f"\n{piece}"):
        return old
    return new if _kept(before, after) >= REVISED else f"{old.rstrip()}\n\n{piece}"


def _kept(old: str, new: str) -> float:
    """The share of the old text's characters that stand in lines of the new one too."""
    had, have = (Counter(filter(None, map(str.strip, text.splitlines()))) for text in (old, new))
    whole = sum(len(line) * count for line, count in had.items())
    return sum(len(line) * count for line, count in (had & have).items()) / whole
