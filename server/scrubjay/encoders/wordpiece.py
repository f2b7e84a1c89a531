"""BERT's uncased tokenizer: lower-case words without accents, cut into the longest pieces of a vocabulary.

It produces the same tokens as the package `tokenizers`, except for some 800 characters that are in no
vocabulary: that package has the categories of Unicode 8, this module those of the interpreter.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from unicodedata import category, normalize

UNKNOWN = "[UNK]"  # the token for a word that the vocabulary cannot spell
_SPECIAL = ("[PAD]", UNKNOWN, "[CLS]", "[SEP]", "[MASK]")  # each is a single token, even in a text
_AROUND_SPECIAL = re.compile(f"({'|'.join(map(re.escape, _SPECIAL))})")
_LONGEST_WORD = 100  # characters; a longer word is unknown
_CACHED_WORDS = 1 << 14
# Each character in these Chinese blocks is a word. `tokenizers` has the gap from 2B820 too.
_CHINESE = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)


class WordPiece:
    """A vocabulary from a file with one token per line; a token's id is the number of its line."""

    def __init__(self, file: Path) -> None:
        self.tokens = tuple(file.read_text("utf-8").removesuffix("\n").split("\n"))
        self._ids = {token: number for number, token in enumerate(self.tokens)}
        self._unknown = (self._ids[UNKNOWN],)
        self._spell = lru_cache(_CACHED_WORDS)(self._cut)

    def ids(self, text: str) -> list[int]:
        """Return the ids of a text's tokens, without [CLS] and [SEP]."""
        return [piece for word in _words(text) for piece in self._pieces(word)]

    def number(self, token: str) -> int | None:
        """Return the id of a token; None if the vocabulary does not have it."""
        return self._ids.get(token)

    def places(self, text: str) -> list[tuple[int, int]]:
        """Return the start and the end (exclusive) in the text of each token in `ids`.

        The list is empty if the text contains a special token, whose brackets have no position.
        """
        if _AROUND_SPECIAL.search(text):
            return []
        places: list[tuple[int, int]] = []
        word, sources = "", list[int]()
        plain_text = [_PLAIN[ord(character)] for character in text]
        for position, letters in enumerate([*plain_text, " "]):
            for letter in letters:
                if not letter.isspace():
                    word += letter
                    sources.append(position)
                elif word:
                    places += self._piece_places(word, sources)
                    word, sources = "", []
        return places

    def _piece_places(self, word: str, sources: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Yield the position of each piece of a word; `sources` are the positions of its letters."""
        start, pieces = 0, self._pieces(word)
        for piece in pieces:
            length = len(self.tokens[piece].removeprefix("##" if start else ""))
            end = len(word) if pieces == self._unknown else start + length
            yield sources[start], sources[end - 1] + 1
            start = end

    def unknown(self, text: str) -> str:
        """Return the words of a text that the vocabulary cannot spell, in lower case, without accents."""
        words = " ".join(word for word in _words(text) if self._pieces(word) == self._unknown)
        return normalize("NFC", words)

    def _pieces(self, word: str) -> tuple[int, ...]:
        return self._spell(word) if len(word) <= _LONGEST_WORD else self._unknown

    def _cut(self, word: str) -> tuple[int, ...]:
        """Cut a word from its beginning, each time after the longest possible token."""
        pieces: list[int] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if prefix + word[start:end] in self._ids), None)
            if end is None:
                return self._unknown
            pieces.append(self._ids[prefix + word[start:end]])
            start = end
        return tuple(pieces)


def _words(text: str) -> Iterator[str]:
    for part in _AROUND_SPECIAL.split(text):
        if part in _SPECIAL:
            yield part
        else:
            yield from part.translate(_PLAIN).split()


class _Plain(dict[int, str]):
    """The replacement of each character, by code point, for `str.translate`."""

    def __missing__(self, code: int) -> str:
        self[code] = plain = _plain(chr(code))
        return plain


_PLAIN = _Plain()


def _plain(character: str) -> str:
    """Return a character in lower case, without accents; a word of one character gets spaces around it."""
    kind = category(character)
    if character in "\t\n\r" or kind[0] == "Z":
        return " "
    if character == "\ufffd" or (kind[0] == "C" and kind != "Cn"):
        return ""
    plain = "".join(map(_plain_part, normalize("NFD", character)))
    is_chinese = any(first <= ord(character) <= last for first, last in _CHINESE)
    return f" {plain} " if is_chinese else plain


def _plain_part(character: str) -> str:
    kind = category(character)
    if kind == "Mn":  # an accent
        return ""
    is_punctuation = kind[0] == "P" or character in "$+<=>^`|~"
    return f" {character} " if is_punctuation else character.lower()
