"""Marks in a text what matched a question: its words, and tokens with nearly the same meaning."""

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from scrubjay.search.retrieval.words import stem
from scrubjay.text.terms import compared_words

# Cosine from which two tokens in their sentences count as equal in meaning. Chosen by eye: of the tokens of
# 27 answers, 0.6 to 4.7 % were as near to one of a question, among them MB to "memory" and "runs" to
# "deploy".
NEAR = 0.5
# A word as a reader sees it: a name of several parts, or a number with its commas, is one word.
_WORD = re.compile(r"\d+(?:[.,]\d+)+|(?:(?<!_)_++)?[^\W_]+(?:['\u2019._-][^\W_]+)*_*")

Place = tuple[int, int]  # from the first character to after the last
Piece = tuple[str, Literal["", "word", "token"]]  # a part of a text, and how it matched


def marked(query: str, text: str, tokens: Iterable[tuple[int, int, float]] = ()) -> list[Piece]:
    """Split a text at the words that match a query, by the rules of `retrieval.relevance.coverage`.

    `tokens` are places in the text, each with its cosine to the nearest token of the query. A word with a
    token from `NEAR` on is marked whole.


    >>> marked("which port?", "The ports are 80.")
    [('The ', ''), ('ports', 'word'), (' are 80.', '')]
    """
    wanted = {stem(word) for word in compared_words(query)}
    near = [(start, end) for start, end, cosine in tokens if cosine >= NEAR]
    pieces: list[Piece] = []
    done = 0
    for word in _WORD.finditer(text):
        by: Literal["", "word", "token"] = ""
        own = set(map(stem, compared_words(word[0])))
        # 5,000 and 1,000 both contain the other's last digits
        if own & wanted and (own <= wanted or not word[0][0].isdigit()):
            by = "word"
        elif _overlaps(word.span(), near):
            by = "token"
        if by:
            pieces += [(text[done : word.start()], ""), (word[0], by)]
            done = word.end()
    return [piece for piece in [*pieces, (text[done:], "")] if piece[0]]


def _overlaps(word: Place, places: Sequence[Place]) -> bool:
    return any(start < word[1] and word[0] < end for start, end in places)
