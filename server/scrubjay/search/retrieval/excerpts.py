"""Chooses the sentences of a long text that answer a question."""

import re

from scrubjay.search.retrieval.asked import parse_question
from scrubjay.search.retrieval.words import stems_in
from scrubjay.text.answer_kinds import holds
from scrubjay.text.sentences import shorten

MOST_SENTENCES = 400  # sentences of a text that are compared; the longest facts have about as many
# Bonuses of the beginning of a text, of a sentence with a number, and of a sentence with the wanted kind of
# answer; all words of the query together count 1.
_FIRST, _NUMBER, _ANSWER = 0.1, 0.05, 0.2
_EQUAL = 1e-6  # a smaller difference is a rounding error
_SENTENCE_END = re.compile(r"(?<=[.!?:;])\s+|\n+")


def excerpt(text: str, query: str, room: int) -> str:
    """Choose the run of sentences, at most `room` characters, that answers the query best.

    That is the run with the most words of the query, weighted by rarity, and the wanted kind of answer. Of
    equal runs, the last that begins with a relevant sentence wins. Numbers get a small bonus, and so does the
    beginning of the text, so that it is chosen if no word of the query occurs.

    >>> excerpt("It is late. The port is 8421. Good night.", "which port?", 20)
    'The port is 8421. …'
    """
    if len(text) <= room:
        return text
    parsed = parse_question(query)
    kind = parsed.answer
    sentences = [sentence for sentence in _SENTENCE_END.split(text) if sentence.strip()][:MOST_SENTENCES]
    stems, total = frozenset(parsed.weights), sum(parsed.weights.values()) or 1.0
    matched = [stems_in(sentence, stems) for sentence in sentences]
    bonus = [
        _NUMBER * any(map(str.isdigit, sentence)) + _ANSWER * bool(kind and holds(kind, sentence))
        for sentence in sentences
    ]
    best, chosen = -1.0, range(1)
    for start in range(len(sentences)):
        end, length = start + 1, len(sentences[start])
        while end < len(sentences) and length + 1 + len(sentences[end]) <= room - 2:
            length += 1 + len(sentences[end])
            end += 1
        covered = sum(parsed.weights[word] for word in frozenset().union(*matched[start:end])) / total
        worth = covered + _FIRST * (start == 0) + max(bonus[start:end])
        is_relevant = bool(matched[start]) or bonus[start] >= _ANSWER
        if worth > best + _EQUAL or (worth >= best - _EQUAL and covered > 0 and is_relevant):
            best, chosen = worth, range(start, end)
    return shorten(" ".join(sentences[at] for at in chosen) + " …" * (len(chosen) < len(sentences)), room)
