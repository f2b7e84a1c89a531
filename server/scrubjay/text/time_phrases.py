"""Rewrites times in other words, and in six other languages, as the English that `dates` reads."""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import NamedTuple

from scrubjay.text import tables
from scrubjay.text.languages import UNSPACED, function_words, language_of, unspaced_language
from scrubjay.text.terms import words

LONGEST = 1_000  # characters; a longer text only mentions a time
UNMARKED = 30  # characters; in a shorter text, such as "la semana pasada", any language may be meant

_SURE = ("de", "nl")  # languages in which "hier" is here, not yesterday
_LANGUAGES = ("en", "de", "fr", "es", "pt")
_ALIKE = {"es", "pt"}  # they share most function words of a short question
_DIGIT = re.compile(r"\d")
_NAMED = re.compile(r"\{([a-z_]+)\}")


class _Phrase(NamedTuple):
    """A pattern, what its groups stand for, and the English template for them."""

    pattern: re.Pattern[str]
    kinds: tuple[str, ...]
    meanings: tuple[Mapping[str, str], ...]
    template: str

    def english(self, match: re.Match[str]) -> str:
        """Return a match in English."""
        pairs = zip(self.meanings, match.groups(), strict=True)
        return self.template.format("", *(meaning.get(group.lower(), group) for meaning, group in pairs))


@lru_cache(maxsize=64)  # a question is read for its ranking and for its period
def in_english(text: str) -> str:
    """Rewrite the times that a text names; other words do not change.

    >>> in_english("Was haben wir vor zwei Wochen gemacht?"), in_english("from Monday to Friday")
    ('Was haben wir two week ago gemacht?', 'from on monday to on friday')
    """
    if len(text) > LONGEST:
        return text
    if unspaced := unspaced_language(text):
        for phrase in _phrases(unspaced)[0]:
            text = phrase.pattern.sub(phrase.english, text)
    language = language_of(words(text))  # "hier" is a day in French, a place in German
    for said in _LANGUAGES:
        is_meant = said in ("en", language) or {said, language} == _ALIKE
        if is_meant or (language not in _SURE and len(text) <= UNMARKED):
            phrases, first_words = _phrases(said)
            # Few texts have any such word, and comparing them with every pattern would take a millisecond.
            tokens = {token for word in words(text) for token in (word, "0" if _DIGIT.match(word) else word)}
            absent = {kind for kind, firsts in first_words.items() if firsts.isdisjoint(tokens)}
            for phrase in phrases:
                if absent.isdisjoint(phrase.kinds):
                    text = phrase.pattern.sub(phrase.english, text)
    return text


def foreign_function_words(text: str) -> frozenset[str]:
    """Return the function words of the language of a text; none for English, whose own are `STOP`."""
    return function_words().get(language_of(words(text)), frozenset())


@cache
def _phrases(language: str) -> tuple[list[_Phrase], dict[str, frozenset[str]]]:
    """Return the phrases of a language, and the words with which each kind begins; "0" is any number."""
    table = tables.table("times")
    meanings = {kind: _meanings(listed) for kind, listed in table[language]["words"].items()}
    groups = {kind: f"({'|'.join(sorted(said, key=len, reverse=True))})" for kind, said in meanings.items()}
    groups.update({kind: f"({pattern})" for kind, pattern in table["parts"].items()})
    phrases = []
    for line in table[language]["phrases"].strip().splitlines():
        said, template = line.split(" = ")
        kinds = tuple(_NAMED.findall(said))
        said = tables.filled(said, groups)
        if language in UNSPACED:
            template = f" {template} "
        else:
            said = rf"(?<![\w-]){said}(?![\w-])"
        pattern = re.compile(said, re.IGNORECASE)
        phrases.append(_Phrase(pattern, kinds, tuple(meanings.get(kind, {}) for kind in kinds), template))
    first_words = {
        kind: frozenset("0" if _DIGIT.search(word) or "\\d" in word else words(word)[0] for word in said)
        for kind, said in meanings.items()
    }
    return phrases, first_words | dict.fromkeys(table["parts"], frozenset({"0"}))


def _meanings(listed: str) -> dict[str, str]:
    """Map what is said to its English."""
    pairs = (pair.rpartition("-") for pair in listed.split())
    return {(said or english).replace("+", " "): english for said, _, english in pairs}
