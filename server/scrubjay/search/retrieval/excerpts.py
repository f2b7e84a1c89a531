"""The sentences of a long text that bear on a question."""

import re

from scrubjay.search.retrieval.asked import Asked, read
from scrubjay.search.retrieval.words import held
from scrubjay.text.answer_kinds import holds
from scrubjay.text.sentences import shorten

MOST_SENTENCES = 100  # sentences of a text that are compared when it is cut
# Bonus of the beginning of a text, of a sentence with a number and of one with the wanted kind of answer,
# where all words of the query are worth 1.
_FIRST, _NUMBER, _FITS = 0.1, 0.05, 0.2
_EQUAL = 1e-6
_SENTENCE_END = re.compile(r"(?<=[.!?:;])\s+|\n+")


def excerpt(text: str, query: str, room: int) -> str:
    """Choose the run of sentences, at most `room` characters, that answers the query best.

    It has most of the query's words by their rarity, and the wanted kind of answer. Of equal runs, the one
    that begins with the relevant sentence wins. Numbers count a little, and so does the beginning, which
    decides if no word of the query occurs.


    >>> excerpt("It is late. The port is 8421. Good night.", "which port?", 20)
    'The port is 8421. …'
    """
    if len(text) <= room:
        return text
    asked = read(query)
    sentences = [sentence for sentence in _SENTENCE_END.split(text) if sentence.strip()][:MOST_SENTENCES]
    wanted, total = frozenset(asked.weights), sum(asked.weights.values()) or 1.0
    words = [held(wanted, sentence) for sentence in sentences]
    extra = [_NUMBER * any(map(str.isdigit, each)) + _FITS * _is_wanted(asked, each) for each in sentences]
    best, chosen = -1.0, range(1)
    for start in range(len(sentences)):
        end, length = start + 1, len(sentences[start])
        while end < len(sentences) and length + 1 + len(sentences[end]) <= room - 2:
            length += 1 + len(sentences[end])
            end += 1
        covered = sum(asked.weights[word] for word in frozenset().union(*words[start:end])) / total
        worth = covered + _FIRST * (start == 0) + max(extra[start:end])
        counts = bool(words[start]) or extra[start] >= _FITS
        if worth > best + _EQUAL or (worth >= best - _EQUAL and covered > 0 and counts):
            best, chosen = worth, range(start, end)
    return shorten(" ".join(sentences[at] for at in chosen) + " …" * (len(chosen) < len(sentences)), room)


def _is_wanted(asked: Asked, sentence: str) -> bool:
    return asked.answer is not None and holds(asked.answer, sentence)
