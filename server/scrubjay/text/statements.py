"""Parses a fact into its content words: their roles, and what is negated or changed.

Each content word has a stem shared by its inflections and synonyms, its preposition, and a mark if it is
negated. The tables in `words.toml` are English; for German, French, Spanish and Portuguese they have only
negations, articles, prepositions and words of change, for Chinese only negations and words of change.
"""

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from scrubjay.text import tables
from scrubjay.text.terms import NUMBER_WORDS, STOP

_NEGATIONS = tables.words("negations")
_CHANGES = tables.words("changes")
_OPPOSITES = tables.pairs("opposites")
_SYNONYMS = tables.first_of_line("synonyms")
_MARKERS = tables.first_of_line("markers")
_SAYING_NOTHING = STOP | tables.words("saying_nothing") | _CHANGES
_BE = frozenset("is are was were be been being ist sind wird werden est sont es son é são".split())
# Tokens that join the items of a list or two clauses, and tokens that end a clause.
_JOINTS = frozenset({",", "and", "or", "und", "oder", "et", "ou", "y", "o"})
_TURNS = frozenset({",", ";", ".", ":", "!", "?", "(", ")", "but", "sondern", "aber", "mais", "sino", "pero"})
_REWRITTEN = tuple(
    (re.compile(tables.filled(source, tables.table("statements")["parts"]), re.IGNORECASE), new)
    for source, new in tables.table("statements")["rewritten"]
)
_REASON = tables.pattern("statements", "reason")
# A word with the backtick of code before it is never wording: `just test` is not "just a test".
_TOKEN = re.compile(r"[`~#/.@]{0,3}\w+(?:[./:@'\u2019-]+\w+)*%?|[,;.:!?()]")
_TENS = zip("thirty forty fifty sixty seventy eighty ninety".split(), range(30, 100, 10), strict=True)
_NUMBERS = {word: str(number) for number, word in enumerate(NUMBER_WORDS)} | {
    word: str(number) for word, number in _TENS
}
# Inflectional endings, and how many letters must precede them; the first ending that matches is cut off.
_SUFFIXES = tuple(
    zip("ations ation ments ment ings ing ed es s e".split(), (4, 4, 4, 4, 3, 3, 3, 3, 3, 3), strict=True)
)
# Words for the extent of a fact; the two groups of an axis exclude each other.
_EXTENTS = {
    word: (axis, extent)
    for axis, lines in enumerate(
        ("may might can could|must shall should", "all every each always|some sometimes often")
    )
    for extent, line in enumerate(lines.split("|"))
    for word in line.split()
}


# Verbs and nouns with little meaning of their own, by stem.
LIGHT = frozenset("use run keep need app cod class fil region cluster".split())
LIMITS = frozenset("only except unless".split())
PARTS = tables.first_of_line("parts")
CONTRARIES = tables.first_of_line("contraries")
# Verbs whose subject is the value of a fact: the owner may change, but another owned thing makes another
# fact.
HOLDING = frozenset("maintain lead review approv handl manag serv hold host takeover render".split())


class Word(NamedTuple):
    """A content word: its stem, numbered if the word is repeated, and its function in the sentence."""

    stem: str
    role: str = ""  # its preposition
    is_negated: bool = False
    is_name: bool = False  # a name, a number or code; if it differs, so does the fact
    is_listed: bool = False  # joined to the word before it, as by "and"
    is_after_be: bool = False  # as in "is owned"


@dataclass(frozen=True)
class Statement:
    """The words of a fact in order, the stems of its reason, and other properties that distinguish facts."""

    words: tuple[Word, ...]
    is_change: bool
    reason: frozenset[str]
    extents: frozenset[tuple[int, int]]
    negations: int

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of the fact's words."""
        return frozenset(word.stem for word in self.words)


@lru_cache(maxsize=256)  # a new fact is compared with some twenty older ones
def statement(text: str) -> Statement:
    """Parse a fact.

    >>> [word.stem for word in statement("The build now needs Node 20, because 18 is old.").words]
    ['built', 'need', 'nod', '20']
    """
    plain = " ".join(unicodedata.normalize("NFKC", text).split())
    for pattern, new in _REWRITTEN:
        plain = pattern.sub(new, plain)
    reasons = " ".join(match[0] for match in _REASON.finditer(plain))
    tokens = _TOKEN.findall(_REASON.sub(" ", plain))
    reason = frozenset(word.stem for word in _Reader(_TOKEN.findall(reasons)).read())
    is_change = any(token.casefold() in _CHANGES for token in tokens)
    extents = frozenset(_EXTENTS[word] for word in map(str.casefold, tokens) if word in _EXTENTS)
    return Statement(_numbered(_Reader(tokens).read()), is_change, reason, extents, _count_negations(tokens))


def stem(word: str) -> str:
    """Return the stem that a word shares with its inflections and synonyms.

    >>> stem("deployments"), stem("stored"), stem("running")
    ('deploy', 'keep', 'run')
    """
    if word in _SYNONYMS or word in _NUMBERS or not word.isalpha():
        return _SYNONYMS.get(word) or _NUMBERS.get(word, word)
    if len(word) > 4 and word.endswith(("ies", "ied")):
        return f"{word[:-3]}y"
    for ending, least in () if word.endswith("ss") else _SUFFIXES:
        if word.endswith(ending) and len(word) - len(ending) >= least:
            word = word[: -len(ending)]
            is_doubled = len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsfz"
            word = word[:-1] if is_doubled else word
            break
    return _SYNONYMS.get(word, word)


# Things that take the place of each other, by their stems: each with the first of its group.
RIVALS = {stem(word): first for word, first in tables.first_of_line("rivals").items()}


class _Reader:
    """Reads tokens from left to right, and remembers the preposition and the negation for the next word."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._words: list[Word] = []
        self._clause_start = 0
        self._role = ""
        self._negation_start: int | None = None
        self._is_listed = self._has_verb = self._is_after_be = False

    def read(self) -> list[Word]:
        """Return the content words."""
        for at, token in enumerate(self._tokens):
            word = token.casefold()
            if word in _JOINTS and self._joins_list(at):
                self._is_listed = True
            elif word in _TURNS or word in _JOINTS:
                self._end_clause("" if word in _TURNS else "+")
            elif word in _NEGATIONS:
                self._negation_start = len(self._words)
            elif word in _MARKERS:
                self._role = _MARKERS[word]
                if self._negation_start is not None and self._negation_start < len(self._words):
                    self._negation_start = None
            elif word in _BE:
                self._role, self._has_verb, self._is_after_be = "", True, True
            elif word in HOLDING or word not in _SAYING_NOTHING:
                self._add(token, word)
        self._end_clause("")
        return self._words

    def _joins_list(self, position: int) -> bool:
        """Return True if a comma or an "and" joins the items of a list, not two clauses."""
        after = self._tokens[position + 1 : position + 4]
        if self._tokens[position] == ",":
            return any(token in _JOINTS for token in after[:2])
        return not (self._has_verb and any(token in _BE for token in after))

    def _end_clause(self, role: str) -> None:
        """End a clause; a negation at its end applies to the whole clause. `role` is the next word's."""
        if self._negation_start == len(self._words):
            clause = [word._replace(is_negated=True) for word in self._words[self._clause_start :]]
            self._words[self._clause_start :] = clause
        self._role, self._negation_start = role, None
        self._is_listed, self._clause_start = False, len(self._words)

    def _add(self, token: str, word: str) -> None:
        """Add a content word with the role and the negation that were noted for it."""
        bare = re.sub(r"['\u2019]s$", "", word).lstrip("`")
        opposite = _OPPOSITES.get(bare)
        self._words.append(
            Word(
                stem(opposite or bare),
                self._role if word.endswith(bare) else "of",
                (self._negation_start is not None) != (opposite is not None),
                not word.isalpha() or token != word or word in _NUMBERS,
                self._is_listed,
                self._is_after_be,
            )
        )
        self._is_listed = self._is_after_be = False


def _count_negations(tokens: list[str]) -> int:
    """Count the negations; "any more" after a negation does not count."""
    words = [word for word in map(str.casefold, tokens) if word in _NEGATIONS or word in _OPPOSITES]
    return len(words) - words.count("nolonger") or len(words[:1])


def _numbered(words: list[Word]) -> tuple[Word, ...]:
    """Number repeated stems, so that each is distinct."""
    counts: Counter[str] = Counter()
    numbered = []
    for word in words:
        counts[word.stem] += 1
        count = counts[word.stem]
        numbered.append(word if count == 1 else word._replace(stem=f"{word.stem}#{count}"))
    return tuple(numbered)
