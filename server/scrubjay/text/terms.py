"""Splits texts into words: for the index, for queries, and to recognise quotations.

The index splits at everything except letters and digits, so `user_profile_id` is three words,
`userProfileId` one, and a Japanese sentence one. `expand` adds the words that this loses, both to texts and
to queries.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache

from scrubjay.text import tables

STOP = tables.words("stop")

SMALL_TALK = tables.words("small_talk")
# Each number word is at the index of its value.
NUMBER_WORDS = tuple(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty".split()
)

# Vowel signs and other marks, which are part of their word: Python does not count them as letters, the index
# mostly does.
_MARK = (
    r"\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    r"\u0900-\u0963\u0966-\u0df3\u0e31-\u0e4e\u0eb1-\u0ecd\u0f71-\u0f84\u102b-\u103e\u17b4-\u17d3\u3099\u309a"
)
_RUN = re.compile(rf"[^\W_]+(?:[{_MARK}]+[^\W_]*)*")
# Scripts without spaces, or whose words have particles: kana, Han, Hangul, half-width katakana.
_CJK = (
    r"\u1100-\u11ff\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
CJK_RUN = re.compile(f"[{_CJK}]+")
_CJK_OR_RUN = re.compile(rf"(?=\w)[{_CJK}]|[^\W_{_CJK}]+")
# Scripts of South-East Asia, written without spaces, and their tone marks, which end a word in the index.
_UNSPACED = r"\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff"
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")
_TONES: dict[int, None] = dict.fromkeys([*range(0x0E47, 0x0E4F), *range(0x0EC8, 0x0ECE), 0x17D2], None)
# Invisible characters inside words, such as soft hyphens.
_INVISIBLE: dict[int, None] = dict.fromkeys(map(ord, "\xad\u200b\u2060\ufeff"), None)
_JOINED = _TONES | dict.fromkeys(map(ord, "_-.,'\u2019"), None)  # characters inside names and numbers
_SINGULARS = tables.pairs("singulars")
# HTTPServer2 -> HTTP, Server2; userIDs -> user, IDs. Code is ASCII nearly everywhere, so case is read in
# ASCII only.
_CAMEL = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+\d*|[A-Z]+\d*|\d+")
# Up to ten parts, because test names are long. Dashes before a flag and underscores around a private name are
# skipped.
_COMPOUND = tuple(
    (
        mark[-1],
        re.compile(rf"(?<![\w{mark}]){lead}[^\W_]+(?:{mark}[^\W_]+){{1,9}}{tail}(?![\w]|{mark}[^\W_])"),
    )
    for mark, lead, tail in (("_", "_{0,2}", "_{0,2}"), (r"\-", "-{0,2}", ""), (r"\.", "", ""))
)
_VERSION = re.compile(r"(?<![\w.])(?:[vV](\d+(?:\.\d+){1,3})|(\d+(?:\.\d+){2,3}))(?!\d|\.\d)")
# A plain word of prose, which contains no other words; most words are plain.
_PLAIN = r"[\"'(\[*]*+[A-Za-z]?[a-z'\u2019]*+[\"')\]*.,:;!?]*+"
PLAIN = re.compile(_PLAIN)
_ODD = re.compile(rf"(?<!\S)(?!{_PLAIN}(?!\S))\S+")  # a word that is not plain
_DECIMAL = re.compile(r"(?<![\w.])\d+\.\d+(?![\w.]*\d)")
_JOINED_VERSION = re.compile(r"(?:v\d+)+")
_YEAR = re.compile(r"(?:19|20)\d\d")
_HASH = re.compile(r"(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,64}")
_SHORT_HASH = 7  # characters of a commit that git shows
_HEX = re.compile(r"0[xX]([0-9A-Fa-f]{3,})")
_GROUPED = re.compile(
    r"(?<![\w.,])\d{1,3}(?:([_,.'\u2019])\d{3})(?:\1\d{3})*+(?!\w|[_,.'\u2019]\d)"
)  # 1_000_000
_ERROR_CODE = re.compile(r"([A-Z]{1,6})(\d{3,})")


def words(text: str) -> list[str]:
    """Split a text into case-folded runs of letters and digits.

    >>> words("Don't rename user_profile_id")
    ['don', 't', 'rename', 'user', 'profile', 'id']
    """
    return _RUN.findall(_normal(text))


def runs(text: str) -> list[str]:
    """Split a text as `words` does, but keep the case.

    >>> runs("Don't ask Ada")
    ['Don', 't', 'ask', 'Ada']
    """
    return _RUN.findall(unicodedata.normalize("NFKC", text))


def content_words(text: str) -> list[str]:
    """Split a text into words, without stop words."""
    return [word for word in words(text) if word not in STOP]


def is_small_talk(query: str) -> bool:
    """Return True if a query has no content word, or only small talk.

    >>> is_small_talk("Yes, do it!"), is_small_talk("zebra?")
    (True, False)
    """
    return SMALL_TALK.issuperset(content_words(query))


def compared_words(text: str) -> list[str]:
    """Return the content words by which texts are compared, as the index has them; CJK runs become pairs.

    >>> compared_words("部署脚本")
    ['部署', '署脚', '脚本']
    """
    return spelled_words(expand(text))


def told_words(text: str) -> list[str]:
    """Return the content words of a text; a CJK run, which may be a whole sentence, becomes pairs.

    >>> told_words("the port"), told_words("还没测试")
    (['port'], ['还没', '没测', '测试'])
    """
    return content_words(text) if text.isascii() else compared_words(text)


def spelled_words(text: str, beginnings: Iterable[str] = ("",)) -> list[str]:
    """Return the compared words with one of these beginnings that occur unchanged in a text."""
    prefixes = tuple(beginnings)
    if text.isascii() and "" not in prefixes:
        return list(_words_beginning(text.lower(), prefixes))
    candidates = [word for word in words(text) if word.startswith(prefixes) and word not in STOP]
    return candidates if text.isascii() else [word for word in candidates if not _has_parts(word)]


def _has_parts(word: str) -> bool:
    """Return True if parts of a word are compared in place of it."""
    if CJK_RUN.fullmatch(word):
        return len(word) > 2
    return len(word.translate(_TONES)) > 3 and _UNSPACED_RUN.fullmatch(word) is not None


def _words_beginning(letters: str, prefixes: Iterable[str]) -> Iterator[str]:
    """Yield the words of a lower-case ASCII text that have one of these prefixes."""
    for prefix in prefixes:
        start = letters.find(prefix)
        while start >= 0:
            end = start + len(prefix)
            if start == 0 or not letters[start - 1].isalnum():
                while letters[end : end + 1].isalnum():
                    end += 1
                if (word := letters[start:end]) not in STOP:
                    yield word
            start = letters.find(prefix, end)


def hidden_words(text: str, beginnings: Collection[str]) -> list[str]:
    """Return the compared words that `spelled_words` does not find: parts of names, and joined names."""
    composed = _composed(text)
    odd = (word for word in _ODD.findall(composed) if may_begin(word, beginnings))
    lower = composed.lower()
    plurals = (plural for plural in _SINGULARS if plural in lower)
    candidates = " ".join([*odd, *plurals])
    return spelled_words(" ".join(_additions(candidates)), beginnings)


def may_begin(text: str, beginnings: Iterable[str]) -> set[str]:
    """Return the beginnings that compared words of a text may have; they cannot have the others.

    >>> may_begin("user_profile of Ada", ["userprof", "rename"])
    {'userprof'}
    """
    # These letters contain every word, joined name and part of a name.
    letters = _normal(text).translate(_JOINED)
    letters += "".join(f" {single}" for plural, single in _SINGULARS.items() if plural in letters)
    return {
        begin
        for begin in beginnings
        if begin in letters or (begin[0] == "v" and _JOINED_VERSION.fullmatch(begin))
    }


def expand(text: str) -> str:
    """Add to a text the words that the index would not find in it; plain prose does not change.

    >>> expand("call getUserByName twice")
    'call getUserByName twice get User Name'
    """
    return " ".join([text, *_additions(text)])


def query_terms(query: str) -> str:
    """Return the words to look up in the index: the query's content words and their expansion, each once.

    If a query has only stop words, they are looked up.
    """
    plain = content_words(query) or words(query)
    expansion = (word.casefold() for word in _additions(query))
    # In a text 2.13 is a number; in a query it may be a version.
    versions = (_joined_version(match[0]) for match in _DECIMAL.finditer(query))
    return " ".join(dict.fromkeys([*plain, *expansion, *versions]))


def without_separators(query: str) -> str:
    """Remove the separators from the numbers of a query; the index has both forms.

    >>> without_separators("why 1_000_000 rows?")
    'why 1000000 rows?'
    """
    return _GROUPED.sub(_digits, query)


def _digits(number: re.Match[str]) -> str:
    return "".join(filter(str.isdigit, number[0]))


def remove_names(query: str, names: Collection[str]) -> str:
    """Remove these names (and their possessive 's) from a query, unless only stop words would remain.

    The name of a speaker or a project is in most texts of its scope, but it dominates the vector that a small
    model makes of the query.
    """
    pattern = _pattern_of(names)
    if pattern is None or not pattern.search(query):
        return query
    rest = " ".join(pattern.sub(" ", query).split())
    return rest if content_words(rest) else query


def mentions(query: str, names: Collection[str]) -> list[str]:
    """Return the names that occur in a query as whole words; "Ann Lee" does not count as "Ann"."""
    pattern = _pattern_of(names)
    mentioned = {match[1].casefold() for match in pattern.finditer(query)} if pattern else set()
    return [name for name in dict.fromkeys(names) if name.strip().casefold() in mentioned]


def quotes(query: str, text: str) -> bool:
    """Return True if a query quotes a text: its words occur there in a row, in any case and punctuation.

    A quotation has at least three words with one that is not a stop word, or is a code word, hash or path. A
    CJK character counts as half a word.
    """
    quote = _sequence(query)
    normal = _normal(text)
    if not quote or not all(word in normal for word in quote):
        return False  # this decides most texts, in a tenth of the time of the rest
    sequence = _sequence(text)
    if f" {' '.join(quote)} " not in f" {' '.join(sequence)} ":
        return False
    if quote == sequence:
        return True
    length = sum(0.5 if CJK_RUN.match(word) else 1 for word in quote)
    return (length >= 3 and any(word not in STOP for word in quote)) or _is_code(query.strip())


def _normal(text: str) -> str:
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", text.translate(_INVISIBLE)).casefold()
    return folded.replace("i\u0307", "i")  # a Turkish capital i with its dot, after folding


def _composed(text: str) -> str:
    """Compose letters and accents, which file names of macOS separate, and narrow full-width letters."""
    if text.isascii():
        return text
    normal = text if unicodedata.is_normalized("NFKC", text) else unicodedata.normalize("NFKC", text)
    # A Turkish capital i, whose dot the index keeps, and a German sharp s.
    return normal.translate(_INVISIBLE).replace("\u0130", "I").replace("ß", "ss")


def _additions(text: str) -> list[str]:
    """Return the words to add to a text, each once: no word of the text, no stop word, no single letter."""
    normal = _composed(text)
    respelled = [] if normal == text else _RUN.findall(normal)
    letters = normal.lower()
    plurals = (plural for plural in _SINGULARS if plural in letters and re.search(rf"\b{plural}\b", letters))
    hidden = [*_hidden_words(" ".join(_ODD.findall(normal))), *map(singular, plurals)]
    if not (respelled or hidden):
        return []
    present = {run.lower() for run in _RUN.findall(text)}
    additions = []
    for word in (*respelled, *hidden):
        folded = word.casefold()
        if folded not in present and folded not in STOP and (len(word) > 1 or CJK_RUN.match(word)):
            present.add(folded)
            additions.append(word)
    return additions


def singular(word: str) -> str:
    """Return the singular of an irregular plural; any other word unchanged.

    >>> singular("indices"), singular("tables")
    ('index', 'tables')
    """
    return _SINGULARS.get(word, word)


def _hidden_words(text: str) -> Iterator[str]:
    for run in _RUN.findall(text):
        if not run.isascii():
            yield from _unspaced_parts(run)
        elif run.isalpha() and run.islower():  # mostly a word next to a punctuation mark
            continue
        elif _HASH.fullmatch(run.lower()):
            yield run[:_SHORT_HASH]
        elif number := _HEX.fullmatch(run):
            yield number[1]
        elif code := _ERROR_CODE.fullmatch(run):
            yield from code.groups()
        else:
            pieces = parts(run)
            for piece in pieces if len(pieces) > 1 else ():
                yield from (piece, piece.rstrip("0123456789"))
    for mark, compound in _COMPOUND:
        for name in compound.findall(text) if mark in text else ():
            pieces = _RUN.findall(name)
            # no date, version, `e.g.` or number
            if pieces[0][0].isalpha() and (
                mark != "." or all(len(piece) > 1 and piece[0].isalpha() for piece in pieces)
            ):
                yield "".join(pieces).lower()
    for match in _GROUPED.finditer(text):
        yield _digits(match)
    for match in _VERSION.finditer(text):
        numbers = (match[1] or match[2]).split(".")
        is_date = not match[1] and any(map(_YEAR.fullmatch, (numbers[0], numbers[-1])))
        if not is_date:
            yield _joined_version(".".join(numbers))
            yield _joined_version(".".join(numbers[:2]))


def parts(name: str) -> list[str]:
    """Split an identifier of ASCII letters and digits into its parts.

    >>> parts("HTTPServer2"), parts("userIDs"), parts("sha256")
    (['HTTP', 'Server2'], ['user', 'IDs'], ['sha256'])
    """
    pieces: list[str] = _CAMEL.findall(name)
    if len(pieces) < 2 or name.islower() or name.isupper() or name.isdigit():
        return [name]  # one word, or letters and digits of one case: 7pm, sha256
    return pieces


def _joined_version(version: str) -> str:
    """Join a version, which is several words to the index, to one word: v2v13v0 for 2.13.0."""
    return "".join(f"v{number.lstrip('0') or '0'}" for number in version.split("."))


def _unspaced_parts(run: str) -> Iterator[str]:
    """Split a run, one word to the index, into CJK pairs or Thai triples and the words attached to them."""
    for pattern, size in ((CJK_RUN, 2), (_UNSPACED_RUN, 3)):
        if not (pieces := pattern.findall(run)):
            continue
        yield from pattern.sub(" ", run).split()
        for piece in pieces:
            letters = piece.translate(_TONES)
            yield from (letters[at : at + size] for at in range(max(1, len(letters) - size + 1)))


def _is_code(token: str) -> bool:
    """Return True if a token without spaces looks like code rather than a word of a language."""
    if len(token) < 4 or any(char.isspace() for char in token):
        return False
    pieces = _RUN.findall(token)
    if any(len(parts(run)) > 1 for run in pieces if run.isascii()):
        return True
    is_mixed = any(char.isdigit() for char in token) and any(char.isalpha() for char in token)
    is_joined = len(pieces) > 1 and any(mark in token.strip(".:") for mark in "_./\\:@#")
    return (is_mixed and len(token) >= 6) or is_joined


@lru_cache(maxsize=256)  # a query is compared with thirty passages, often the same ones
def _sequence(text: str) -> tuple[str, ...]:
    return tuple(_CJK_OR_RUN.findall(_normal(text)))


def _pattern_of(names: Iterable[str]) -> re.Pattern[str] | None:
    """Compile a pattern for any of the names as a whole word; `scrubjay` in `scrubjay.py` does not count."""
    longest_first = sorted({name.strip() for name in names} - {""}, key=lambda name: (-len(name), name))
    if not longest_first:
        return None
    any_name = "|".join(map(re.escape, longest_first))
    return re.compile(rf"(?<![\w./@-])({any_name})(?:['\u2019]s)?(?![\w-]|[./:@]\w)", re.IGNORECASE)
