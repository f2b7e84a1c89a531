"""The words of a text: what is indexed, what is asked for, what counts as a quotation. Knows spelling, not meaning.

The index splits at everything that is not a letter or digit, so `user_profile_id` is three words to it, `userProfileId`
one, and a Japanese sentence one. `expand` adds what that loses, to texts and to queries alike. Pure; standard library only.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache

# English function and question words: in a question put to a memory they are wording, not evidence.
# Leaving them out of BM25 was worth 5-6 points of recall on LoCoMo, the cheapest gain measured.
STOP = frozenset(
    """
    a about am an and any are as at be been but by can could d did do does for from had has have he her him his how
    i if in into is it its ll m me my of on or our re s she should so some t than that the their them then there these
    they this those to us ve was we were what when where which who whom whose why will with would you your
    """.split()  # noqa: SIM905 - as a list it would fill a screen
)

_RUN = re.compile(r"[^\W_]+")
# Scripts written without spaces, or whose words carry particles: kana, Han, Hangul, half-width katakana.
_CJK = (
    r"\u1100-\u11ff\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_CJK_RUN = re.compile(f"[{_CJK}]+")
_CJK_OR_RUN = re.compile(rf"(?=\w)[{_CJK}]|[^\W_{_CJK}]+")
# HTTPServer2 -> HTTP, Server2; userIDs -> user, IDs. Code is ASCII nearly everywhere, so case is read in ASCII only.
_CAMEL = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+\d*|[A-Z]+\d*|\d+")
_COMPOUND = tuple(
    re.compile(rf"(?<![\w{mark}])[^\W_]+(?:{mark}[^\W_]+){{1,4}}(?![\w]|{mark}[^\W_])") for mark in ("_", r"\-", r"\.")
)  # fmt: skip


def words(text: str) -> list[str]:
    """Case-folded runs of letters and digits, in order.

    >>> words("Don't rename user_profile_id")
    ['don', 't', 'rename', 'user', 'profile', 'id']
    """
    return _RUN.findall(_normal(text))


def content_words(text: str) -> list[str]:
    """The words that are not stop words; [] for a text of nothing else."""
    return [word for word in words(text) if word not in STOP]


def expand(text: str) -> str:
    """The text, followed by the words in it that the index would not see by itself; plain prose comes back unchanged.

    >>> expand("call getUserByName twice")
    'call getUserByName twice get User Name'
    """
    return " ".join([text, *_additions(text)])


def query_terms(query: str) -> str:
    """What to ask the index for: the query's content words and their expansion, each once.

    A query of stop words only keeps them: no words would find nothing.
    """
    kept = content_words(query) or words(query)
    return " ".join(dict.fromkeys([*kept, *(word.casefold() for word in _additions(query))]))


def without(query: str, names: Collection[str]) -> str:
    """The query without these names (and their possessive 's), unless nothing but stop words would be left.

    A speaker's or project's name is in most texts of its scope and yet dominates a small model's vector of the query.
    """
    pattern = _any_of(names)
    if pattern is None or not pattern.search(query):
        return query
    rest = " ".join(pattern.sub(" ", query).split())
    return rest if content_words(rest) else query


def mentioned(query: str, names: Collection[str]) -> list[str]:
    """Which of the names the query says as whole words, in the order of `names`; "Ann Lee" does not mention "Ann"."""
    pattern = _any_of(names)
    said = {match[1].casefold() for match in pattern.finditer(query)} if pattern else set()
    return [name for name in dict.fromkeys(names) if name.strip().casefold() in said]


def quotes(query: str, text: str) -> bool:
    """Whether the query is a quotation of the text: its words stand there in a row, whatever the case and punctuation.

    At least three words, one of them no stop word; or a single code word, hash or path. A CJK character is half a word.
    """
    asked, said = _sequence(query), _sequence(text)
    if not asked or not _holds(said, asked):
        return False
    if asked == said:
        return True
    length = sum(0.5 if _CJK_RUN.match(word) else 1 for word in asked)
    return (length >= 3 and any(word not in STOP for word in asked)) or _is_code(query.strip())


def _normal(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _additions(text: str) -> list[str]:
    """Words to add, each once and none that the text already has, of at least two characters and no stop word."""
    known = {run.casefold() for run in _RUN.findall(text)} | STOP
    added = []
    for word in _hidden_words(text):
        folded = word.casefold()
        if folded not in known and (len(word) > 1 or _CJK_RUN.match(word)):
            known.add(folded)
            added.append(word)
    return added


def _hidden_words(text: str) -> Iterator[str]:
    for run in _RUN.findall(text):
        if run.isascii():
            yield from _camel_parts(run)
        else:
            yield from _cjk_parts(run)
    for compound in _COMPOUND:
        for name in compound.findall(text):
            parts = _RUN.findall(name)
            if _is_name(parts, dotted="." in name):
                yield "".join(parts).lower()


def _camel_parts(run: str) -> Iterator[str]:
    parts = _CAMEL.findall(run)
    if len(parts) < 2 or run.islower() or run.isupper() or run.isdigit():
        return  # one word, or letters and digits of one case: a hash, 7pm, sha256
    for part in parts:
        yield part
        yield part.rstrip("0123456789")


def _cjk_parts(run: str) -> Iterator[str]:
    """Overlapping character pairs, and what is glued to them: `Pythonの型` is one word to the index."""
    pieces = _CJK_RUN.findall(run)
    if not pieces:
        return
    yield from _CJK_RUN.sub(" ", run).split()
    for piece in pieces:
        yield from (piece[at : at + 2] for at in range(max(1, len(piece) - 1)))


def _is_name(parts: list[str], *, dotted: bool) -> bool:
    """Whether joined parts are an identifier: not a date, a version, `e.g.` or a number."""
    if dotted:
        return all(len(part) > 1 and part[0].isalpha() for part in parts)
    return parts[0][0].isalpha()


def _is_code(token: str) -> bool:
    """Whether one token without spaces looks like code rather than a word of a language."""
    if len(token) < 4 or any(char.isspace() for char in token):
        return False
    runs = _RUN.findall(token)
    if any(len(list(_camel_parts(run))) > 1 for run in runs if run.isascii()):
        return True
    mixed = any(char.isdigit() for char in token) and any(char.isalpha() for char in token)
    return (mixed and len(token) >= 6) or (len(runs) > 1 and any(mark in token.strip(".:") for mark in "_./\\:@#"))


@lru_cache(maxsize=256)  # one query is held against thirty passages, and the same passages against the next
def _sequence(text: str) -> tuple[str, ...]:
    return tuple(_CJK_OR_RUN.findall(_normal(text)))


def _holds(said: tuple[str, ...], asked: tuple[str, ...]) -> bool:
    return f" {' '.join(asked)} " in f" {' '.join(said)} "


def _any_of(names: Iterable[str]) -> re.Pattern[str] | None:
    """A pattern for any of the names as a whole word: the `scrubjay` of `scrubjay-cli` or `scrubjay.py` is not one."""
    known = sorted({name.strip() for name in names if name.strip()}, key=lambda name: (-len(name), name))
    if not known:
        return None
    return re.compile(rf"(?<![\w./@-])({'|'.join(map(re.escape, known))})(?:['\u2019]s)?(?![\w-]|[./:@]\w)", re.IGNORECASE)
