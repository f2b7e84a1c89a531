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
    """.split()
)

NUMBER_WORDS = tuple(
    "zero one two three four five six seven eight nine ten eleven twelve".split()
)  # by value

# Vowel signs and other marks belong to the word they stand on; Python counts them as no letters, the index mostly as letters.
_MARK = (
    r"\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    r"\u0900-\u0963\u0966-\u0df3\u0e31-\u0e4e\u0eb1-\u0ecd\u0f71-\u0f84\u102b-\u103e\u17b4-\u17d3\u3099\u309a"
)
_RUN = re.compile(rf"[^\W_](?:[^\W_]|[{_MARK}])*")
# Scripts written without spaces, or whose words carry particles: kana, Han, Hangul, half-width katakana.
_CJK = (
    r"\u1100-\u11ff\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_CJK_RUN = re.compile(f"[{_CJK}]+")
_CJK_OR_RUN = re.compile(rf"(?=\w)[{_CJK}]|[^\W_{_CJK}]+")
# HTTPServer2 -> HTTP, Server2; userIDs -> user, IDs. Code is ASCII nearly everywhere, so case is read in ASCII only.
_CAMEL = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+\d*|[A-Z]+\d*|\d+")
# Up to ten parts: test names are long. Dashes before a flag and underscores around a private name are passed over.
_COMPOUND = tuple(
    re.compile(rf"(?<![\w{mark}]){lead}[^\W_]+(?:{mark}[^\W_]+){{1,9}}{tail}(?![\w]|{mark}[^\W_])")
    for mark, lead, tail in (("_", "_{0,2}", "_{0,2}"), (r"\-", "-{0,2}", ""), (r"\.", "", ""))
)
_VERSION = re.compile(r"(?<![\w.])(?:[vV](\d+(?:\.\d+){1,3})|(\d+(?:\.\d+){2,3}))(?!\d|\.\d)")
PLAIN = re.compile(
    r"[\"'(\[*]*[A-Za-z]?[a-z'\u2019]*[\"')\]*.,:;!?]*"
)  # a word of prose, which most words are, and which hides nothing
_DECIMAL = re.compile(r"(?<![\w.])\d+\.\d+(?![\w.]*\d)")
_JOINED_VERSION = re.compile(r"(?:v\d+)+")
_YEAR = re.compile(r"(?:19|20)\d\d")
_HASH = re.compile(r"(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,64}")
_SHORT_HASH = 7  # characters: what git shows of a commit
_ERROR_CODE = re.compile(r"([A-Z]{1,6})(\d{3,})")


def words(text: str) -> list[str]:
    """Case-folded runs of letters and digits, in order.

    >>> words("Don't rename user_profile_id")
    ['don', 't', 'rename', 'user', 'profile', 'id']
    """
    return _RUN.findall(_normal(text))


def runs(text: str) -> list[str]:
    """As `words`, in the case that they are written in.

    >>> runs("Don't ask Ada")
    ['Don', 't', 'ask', 'Ada']
    """
    return _RUN.findall(unicodedata.normalize("NFKC", text))


def content_words(text: str) -> list[str]:
    """The words that are not stop words; [] for a text of nothing else."""
    return [word for word in words(text) if word not in STOP]


def compared_words(text: str) -> list[str]:
    """The content words by which two texts are compared: as the index sees them, and runs of Chinese or Japanese by their pairs.

    >>> compared_words("部署脚本")
    ['部署', '署脚', '脚本']
    """
    return spelled_words(expand(text))


def spelled_words(text: str, beginnings: Iterable[str] = ("",)) -> list[str]:
    """Those of the compared words that stand in the text as they are, and begin in one of these ways; beside `hidden_words`."""
    begin = tuple(beginnings)
    said = (word for word in words(text) if word.startswith(begin))
    return [word for word in said if word not in STOP and (len(word) <= 2 or not _CJK_RUN.fullmatch(word))]


def hidden_words(text: str, beginnings: Collection[str]) -> list[str]:
    """The other compared words that begin in one of these ways: parts of names, and names joined."""
    odd = [
        word for word in _composed(text).split() if not PLAIN.fullmatch(word) and may_begin(word, beginnings)
    ]
    return spelled_words(" ".join(_additions(" ".join(odd))), beginnings)


def may_begin(text: str, beginnings: Iterable[str]) -> set[str]:
    """In which of these ways some compared word of the text may begin. Cheap, and surely in none of the others.

    >>> may_begin("user_profile of Ada", ["userprof", "rename"])
    {'userprof'}
    """
    letters = (
        _normal(text).replace("_", "").replace("-", "").replace(".", "")
    )  # a word stands in there, or a joined name, or a part of it
    return {begin for begin in beginnings if begin in letters or _JOINED_VERSION.fullmatch(begin)}


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
    versions = (
        _joined_version(match[0]) for match in _DECIMAL.finditer(query)
    )  # in a text 2.13 is a number, asked for it may be a version
    return " ".join(dict.fromkeys([*kept, *(word.casefold() for word in _additions(query)), *versions]))


def remove_names(query: str, names: Collection[str]) -> str:
    """The query without these names (and their possessive 's), unless nothing but stop words would be left.

    A speaker's or project's name is in most texts of its scope and yet dominates a small model's vector of the query.
    """
    pattern = _any_of(names)
    if pattern is None or not pattern.search(query):
        return query
    rest = " ".join(pattern.sub(" ", query).split())
    return rest if content_words(rest) else query


def mentions(query: str, names: Collection[str]) -> list[str]:
    """Which of the names the query says as whole words, in the order of `names`; "Ann Lee" does not mention "Ann"."""
    pattern = _any_of(names)
    said = {match[1].casefold() for match in pattern.finditer(query)} if pattern else set()
    return [name for name in dict.fromkeys(names) if name.strip().casefold() in said]


def quotes(query: str, text: str) -> bool:
    """Whether the query is a quotation of the text: its words stand there in a row, whatever the case and punctuation.

    At least three words, one of them no stop word; or a single code word, hash or path. A CJK character is half a word.
    """
    asked = _sequence(query)
    whole = _normal(text)
    if not asked or not all(word in whole for word in asked):
        return False  # which is so of most texts, at a tenth of the time
    said = _sequence(text)
    if not _holds(said, asked):
        return False
    if asked == said:
        return True
    length = sum(0.5 if _CJK_RUN.match(word) else 1 for word in asked)
    return (length >= 3 and any(word not in STOP for word in asked)) or _is_code(query.strip())


def _normal(text: str) -> str:
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", text).casefold()
    return folded.replace("i\u0307", "i")  # what is left of a Turkish capital i with its dot


def _composed(text: str) -> str:
    """The text as it is usually written: a letter and its accent (two in file names of macOS) as one, full-width letters as others."""
    normal = text if unicodedata.is_normalized("NFKC", text) else unicodedata.normalize("NFKC", text)
    return normal.replace("\u0130", "I")  # a Turkish capital i, whose dot the index keeps


def _additions(text: str) -> list[str]:
    """Words to add, each once and none that the text already has, of at least two characters and no stop word."""
    normal = _composed(text)
    respelled = [] if normal == text else _RUN.findall(normal)
    hidden = list(_hidden_words(" ".join(word for word in normal.split() if not PLAIN.fullmatch(word))))
    if not (respelled or hidden):
        return []
    known = {run.casefold() for run in _RUN.findall(text)} | STOP
    added = []
    for word in (*respelled, *hidden):
        folded = word.casefold()
        if folded not in known and (len(word) > 1 or _CJK_RUN.match(word)):
            known.add(folded)
            added.append(word)
    return added


def _hidden_words(text: str) -> Iterator[str]:
    for run in _RUN.findall(text):
        if not run.isascii():
            yield from _cjk_parts(run)
        elif _HASH.fullmatch(run.lower()):
            yield run[:_SHORT_HASH]
        elif code := _ERROR_CODE.fullmatch(run):
            yield from code.groups()
        else:
            yield from _camel_parts(run)
    for compound in _COMPOUND:
        for name in compound.findall(text):
            parts = _RUN.findall(name)
            if _is_name(parts, dotted="." in name):
                yield "".join(parts).lower()
    for match in _VERSION.finditer(text):
        numbers = (match[1] or match[2]).split(".")
        if match[1] or not any(
            _YEAR.fullmatch(number) for number in (numbers[0], numbers[-1])
        ):  # else a date
            yield _joined_version(".".join(numbers))
            yield _joined_version(".".join(numbers[:2]))


def parts(name: str) -> list[str]:
    """The parts of an identifier of ASCII letters and digits.

    >>> parts("HTTPServer2"), parts("userIDs"), parts("sha256")
    (['HTTP', 'Server2'], ['user', 'IDs'], ['sha256'])
    """
    found = _CAMEL.findall(name)
    if len(found) < 2 or name.islower() or name.isupper() or name.isdigit():
        return [name]  # one word, or letters and digits of one case: 7pm, sha256
    return found


def _camel_parts(run: str) -> Iterator[str]:
    if len(found := parts(run)) > 1:
        for part in found:
            yield part
            yield part.rstrip("0123456789")


def _joined_version(version: str) -> str:
    """One word to the index for what would be three: 2.13.0 as v2v13v0."""
    return "".join(f"v{number.lstrip('0') or '0'}" for number in version.split("."))


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
    return (mixed and len(token) >= 6) or (
        len(runs) > 1 and any(mark in token.strip(".:") for mark in "_./\\:@#")
    )


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
    return re.compile(
        rf"(?<![\w./@-])({'|'.join(map(re.escape, known))})(?:['\u2019]s)?(?![\w-]|[./:@]\w)", re.IGNORECASE
    )
