"""The language of a question, and its function words.

Function words say nothing about the answer: in "Wie heißt die Datenbank?" only `heißt` and `Datenbank`
matter. Chinese and Japanese are written without spaces, so their function words are cut out of longer runs.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from scrubjay.text.tables import listed
from scrubjay.text.terms import STOP

_CHINESE = re.compile("|".join(listed("chinese")))
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
_HIRAGANA = re.compile(r"[\u3041-\u309f]+")
_JAPANESE = re.compile(r"[\u3041-\u30ff\u31f0-\u31ff]")
_WORD = re.compile(r"[^\W\d_]+")
UNSPACED = ("zh", "ja")  # languages written without spaces
_LATIN_END = 0x250
_ASKING = re.compile("|".join(listed("japanese_asking")))  # question words and phrases of Japanese


@lru_cache(maxsize=1)
def function_words() -> dict[str, frozenset[str]]:
    """Return the function words of each language except English, by its code."""
    lines = Path(__file__).with_name("function_words.tsv").read_text("utf-8").splitlines()
    rows = (line.split("\t") for line in lines if not line.startswith("#"))
    return {language: frozenset(words.split()) for language, words in rows}


def language_of(words: Sequence[str]) -> str:
    """Return the language that has the most function words among these words; English in a tie.

    >>> language_of("was ist der port".split())
    'de'
    """
    lists = function_words().items()
    counts = {language: sum(word in stop_words for word in words) for language, stop_words in lists}
    best = max(counts, key=lambda language: counts[language])
    return best if counts[best] > sum(word in STOP for word in words) else "en"


def unspaced_language(text: str) -> str | None:
    """Return "ja" for a text with kana, else "zh" for one with Han characters, else None."""
    if text.isascii():
        return None
    return "ja" if _JAPANESE.search(text) else "zh" if _HAN.search(text) else None


def is_english(text: str) -> bool:
    """Return True if a text has mostly Latin letters and no other language has more function words in it.

    >>> [is_english(text) for text in ("fix the port", "ändere den Port", "结账服务监听 7070 端口")]
    [True, False, False]
    """
    words = _WORD.findall(text.lower())
    latin = sum(ord(letter) < _LATIN_END for word in words for letter in word)
    return 2 * latin >= sum(map(len, words)) and language_of(words) == "en"


def without_function_words(text: str) -> str:
    """Replace the function words of Chinese and Japanese with spaces; other text does not change.

    >>> without_function_words("我们使用什么包管理器?"), without_function_words("デプロイはどこですか")
    (' 包管理器?', 'デプロイ ')
    """
    if text.isascii():
        return text
    if _JAPANESE.search(text):
        text = _HIRAGANA.sub(" ", _ASKING.sub(" ", text))
    else:
        text = _HAN.sub(lambda run: _CHINESE.sub(" ", run[0]), text)
    return re.sub(" {2,}", " ", text)
