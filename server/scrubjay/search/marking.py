"""Marks the parts of a text that matched a question: its words, and tokens with nearly the same meaning."""

import re
from collections.abc import Iterable
from typing import Literal

from scrubjay.search.retrieval.words import stem
from scrubjay.text.terms import compared_words

# Two tokens, encoded within their sentences, count as equal in meaning if their cosine is at least this. It
# was chosen by eye: of the tokens of 27 answers, 0.6 to 4.7 % were this near to a token of the question, for
# example MB to "memory" and "runs" to "deploy".
NEAR = 0.5
# A word as a reader sees it: a name of several parts, or a number with its commas, is one word.
_WORD = re.compile(r"\d+(?:[.,]\d+)+|(?:(?<!_)_++)?[^\W_]+(?:['\u2019._-][^\W_]+)*_*")

Piece = tuple[str, Literal["", "word", "token"]]  # a part of a text, and how it matched


def marked(query: str, text: str, tokens: Iterable[tuple[int, int, float]] = ()) -> list[Piece]:
    """Split a text at the words that match a query, by the rules of `retrieval.asked.coverage`.

    `tokens` are places in the text, each with its cosine to the nearest token of the query. A word is marked
    as a whole if the cosine of one of its tokens is at least `NEAR`.

    >>> marked("which port?", "The ports are 80.")
    [('The ', ''), ('ports', 'word'), (' are 80.', '')]
    """
    query_stems = {stem(word) for word in compared_words(query)}
    similar = [(start, end) for start, end, cosine in tokens if cosine >= NEAR]
    pieces: list[Piece] = []
    position = 0
    for word in _WORD.finditer(text):
        reason: Literal["", "word", "token"] = ""
        stems = set(map(stem, compared_words(word[0])))
        # All parts of a number must match, because 5,000 and 1,000 share their last digits.
        if stems & query_stems and (stems <= query_stems or not word[0][0].isdigit()):
            reason = "word"
        elif any(start < word.end() and word.start() < end for start, end in similar):
            reason = "token"
        if reason:
            pieces += [(text[position : word.start()], ""), (word[0], reason)]
            position = word.end()
    return [piece for piece in [*pieces, (text[position:], "")] if piece[0]]
