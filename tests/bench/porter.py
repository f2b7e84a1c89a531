"""Porter's stemmer: English words cut back to what their forms share. Knows spelling only; for baselines that
need no package.

M. F. Porter, An algorithm for suffix stripping, Program 14 (1980) 130-137; the names of the steps are his.
"""

from __future__ import annotations

import re
from functools import lru_cache

_C, _V = "(?:[^aeiouy]|(?<![^aeiou])y)", "(?:[aeiou]|(?<=[^aeiou])y)"
_MEASURE = re.compile(f"{_V}+{_C}+")
_VOWEL = re.compile(_V)
_DOUBLE = re.compile(r"([^aeioulsz])\1$")
_PAST = re.compile("(?:ed|ing)$")
_SHORT = re.compile(f"{_C}{_V}(?![wxy]){_C}$")  # ends consonant, vowel, consonant: a word like hop

_STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "abli": "able", "alli": "al", "entli": "ent",
    "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al", "iveness": "ive", "fulness": "ful",
    "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble",
}  # fmt: skip
_STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_STEP_4 = dict.fromkeys(
    "al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize".split(),
    "",
)


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """The stem of a word in lower case.

    >>> [stem(word) for word in ("caresses", "ponies", "hopping", "relational", "painting", "paintings",
    "adoption", "happily")]
    ['caress', 'poni', 'hop', 'relat', 'paint', 'paint', 'adopt', 'happili']
    """
    if len(word) <= 2:
        return word
    word = _past(_plural(word))
    if word.endswith("y") and _VOWEL.search(word[:-1]):  # 1c
        word = word[:-1] + "i"
    word = _replaced(word, _STEP_2, 1)
    word = _replaced(word, _STEP_3, 1)
    word = _replaced(word, _STEP_4, 2)
    if word.endswith("e") and (
        _measure(word[:-1]) > 1 or (_measure(word[:-1]) == 1 and not _SHORT.search(word[:-1]))
    ):  # 5a
        word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word  # 5b


def _measure(stem: str) -> int:
    """How many times a run of vowels is followed by one of consonants."""
    return len(_MEASURE.findall(stem))


def _plural(word: str) -> str:
    """Step 1a."""
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str) -> str:
    """Step 1b."""
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    cut = _PAST.sub("", word)
    if cut == word or not _VOWEL.search(cut):
        return word
    if cut.endswith(("at", "bl", "iz")):
        return cut + "e"
    if _DOUBLE.search(cut):
        return cut[:-1]
    return cut + "e" if _measure(cut) == 1 and _SHORT.search(cut) else cut


def _replaced(word: str, endings: dict[str, str], least: int) -> str:
    """The longest ending of the list that the word has, replaced if `least` measures are before it."""
    ending = max((end for end in endings if word.endswith(end)), key=len, default="")
    before = word.removesuffix(ending)
    if not ending or _measure(before) < least or (ending == "ion" and not before.endswith(("s", "t"))):
        return word
    return before + endings[ending]
