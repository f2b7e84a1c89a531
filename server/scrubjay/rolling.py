"""What a stretch of a session was about: what was asked, what was decided, and the files it touched, in sentences of its turns' own
summaries. Extractive and deterministic, as `summary` is for one turn. Pure; standard library only.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from scrubjay.summary import clipped, decides, joined, listing, sentences
from scrubjay.terms import content_words

LIMIT = 1_000  # characters, about what the model reads of a text (256 tokens)
_ASKED = 0.4  # of the room, at most, for what was asked; what was decided answers more questions later
LONGEST = 160  # characters of one sentence: twenty turns share the room
_LEAST_WORDS = 2  # that say something: "thanks" and "go on" are about nothing
_UNSAID = ("Files", "Tools")  # lines of a turn's summary that are no sentences


def rolling_summary(summaries: Sequence[str], *, files: Iterable[str] = (), limit: int = LIMIT) -> str:
    """At most `limit` characters in lines `Asked:`, `Decided:` (or `Answered:`, where nothing was decided) and `Files:`.

    Args:
        summaries: of the turns in order, each as `summary.summarise` or a caller wrote it.
        files: those touched, once for each turn that did; the most touched come first.

    Returns:
        The lines that have something to say; "" where none has.
    """
    asked, answered = _sides(summaries)
    listed = listing("Files", [name for name, _ in Counter(files).most_common()], limit // 6)
    room = limit - (len(listed) + 1 if listed else 0)
    decided = [sentence.text for text in answered for sentence in sentences(text) if decides(sentence.text)]
    first = _line("Asked", asked, int(_ASKED * room) if answered or decided else room)
    room -= len(first) + 1 if first else 0
    second = _line("Decided", decided, room) or _line("Answered", answered, room)
    return "\n".join(line for line in (first, second, listed) if line)


def _sides(summaries: Sequence[str]) -> tuple[list[str], list[str]]:
    """What the summaries give of questions and of answers; a line without a label, which a caller wrote, is taken for an answer."""
    asked: list[str] = []
    answered: list[str] = []
    for line in (line for summary in summaries for line in summary.split("\n")):
        label, colon, said = line.partition(": ")
        if colon and label == "Asked":
            asked.append(said)
        elif not (colon and label in _UNSAID):
            answered.append(said if colon and label == "Answered" else line)
    return asked, answered


def _line(label: str, texts: Iterable[str], room: int) -> str:
    """`label: sentences` that together say the most different things, as many as fit, in their order; "" when there is none."""
    room -= len(label) + 2
    said = [clipped(sentence.text, LONGEST) for text in dict.fromkeys(texts) for sentence in sentences(text)]
    words = [set(content_words(sentence)) for sentence in said]
    left = [at for at in range(len(said)) if len(words[at]) >= _LEAST_WORDS]
    chosen: list[int] = []
    known: set[str] = set()
    while left := [at for at in left if len(said[at]) <= room and not words[at] <= known]:
        best = max(left, key=lambda at: (len(words[at] - known) / math.sqrt(len(words[at]) + 1), -at))
        chosen.append(best)
        known |= words[best]
        room -= len(said[best]) + 2  # a semicolon, a space
    return f"{label}: {joined([said[at] for at in sorted(chosen)])}" if chosen else ""
