"""What a document is about, in its own words: its first heading, then the sentences nearest to the middle of what it says.

Extractive and deterministic, as `summary` is for turns. Of source code it gives what is written above it and the names it defines.
Pure; standard library only.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from scrubjay.summary import LONGEST, Sentence, clipped, joined, sentences
from scrubjay.terms import content_words

LIMIT = 600  # characters
READ = 60_000  # characters: the middle of a book's first forty pages is near enough to that of the book
LEAST_WORDS = 4  # that say something; a shorter sentence is a label
LEAD = 1.5  # times the worth of the first sentence: authors begin with what it is about
_NAMES = 12
_ONCE = 0.1  # what a word counts that stands in one sentence only: just enough to choose where all do
_LEAST_SHARE = 0.2  # of the best sentence's worth; what is further from the middle only fills room
_COMMENT = re.compile(r'\A\s*(?:#![^\n]*\n)?\s*(?:("""|\'\'\')(.*?)\1|/\*+(.*?)\*/|((?:[ \t]*(?:#|//|--)[^\n]*\n)+))', re.DOTALL)
_MARKS = re.compile(r"^[ \t]*(?:#+|//+|--+|\*+)[ \t]?", re.MULTILINE)


def abstract(text: str, *, heading: str | None = None, names: Iterable[str] = (), code: bool = False, limit: int = LIMIT) -> str:
    """At most `limit` characters: the heading, then the most central sentences in the order of the text.

    Of `code` the comment at its top, then the first of the `names` that it defines. No word is cut; "" where there is nothing to say.
    """
    lines = [clipped(heading, limit)] if heading else []
    room = limit - sum(len(line) + 1 for line in lines)
    prose = _top_comment(text) if code else text[:READ]
    if said := _central(list(sentences(prose)), room):
        lines.append(said)
        room -= len(said) + 1
    if code and (listed := _defined([name for name in dict.fromkeys(names) if not name.startswith("_")][:_NAMES], room)):
        lines.append(listed)
    return "\n".join(lines)


def _central(found: Sequence[Sentence], room: int) -> str:
    """The sentences whose words the whole text uses most, each new word counted once, as many as fit."""
    words = [set(content_words(sentence.text)) for sentence in found]
    used = Counter(word for each in words for word in each)
    left = [at for at, each in enumerate(words) if len(each) >= LEAST_WORDS] or [at for at, each in enumerate(words) if each]
    chosen: dict[int, str] = {}
    said: set[str] = set()
    least = _LEAST_SHARE * max((_worth(words[at], said, used) for at in left), default=0.0)
    while left:
        worth = {at: _worth(words[at], said, used) * (LEAD if at == 0 else 1.0) for at in left}
        best = max(left, key=lambda at: (worth[at], -at))
        if worth[best] < least:
            break
        chosen[best] = clipped(found[best].text, min(room, LONGEST))
        room -= len(chosen[best]) + 2  # a semicolon, a space
        said |= words[best]
        left = [at for at in left if at not in chosen and len(found[at].text) <= min(room, LONGEST) and not words[at] <= said]
    return joined([chosen[at] for at in sorted(chosen) if chosen[at]])


def _worth(words: set[str], said: set[str], used: Counter[str]) -> float:
    """How much of what the text speaks of a sentence holds, what was said before half; long ones are not better for being long."""
    return sum((_ONCE + math.log(used[word])) * (0.5 if word in said else 1.0) for word in words) / math.sqrt(len(words) + 1)


def _top_comment(text: str) -> str:
    match = _COMMENT.match(text[:READ])
    if match is None:
        return ""
    return match[2] or _MARKS.sub("", match[3] or match[4] or "")


def _defined(names: Sequence[str], room: int) -> str:
    for count in range(len(names), 0, -1):
        line = f"Defines {', '.join(names[:count])}."
        if len(line) <= room:
            return line
    return ""
