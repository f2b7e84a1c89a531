"""Finds entities (files, identifiers, addresses, codes, issues) in a text, and ties between records.

Two spellings of one thing have the same form. Entities are recognised only by their spelling, so they are
precise rather than complete: prose has almost none. Two records are tied if they share an entity or a tag, or
if one builds on the other.
"""

import errno
import re
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Literal, NamedTuple

from scrubjay.text import tables
from scrubjay.text.terms import PLAIN, parts

MOST = 40  # entities of one text; a text with more is a listing, and would be tied to everything
READ = 20_000  # characters of a text that are read, which takes about 3 ms
# Ties of a query with less weight are not looked up: these are single words, even in backticks.
LEAST_QUERY_WEIGHT = 0.5

Kind = Literal["path", "identifier", "address", "code", "issue", "name"]
Reason = Literal["relation", "tag", "entity"]

# Keys of entities need no prefix, because no entity has a colon after a word.
_TAG_PREFIX, _RECORD_PREFIX = "tag:", "id:"

_EXTENSIONS = tables.words("extensions")
_COMMON_STEMS = tables.words("common_stems")
_BRANDS = tables.words("brands")
_FAMILIES = frozenset("de del della di du fitz la le mac mc van von".split())  # as in McDonald, DeVito
_STANDARDS = tables.words("standards")
_ERRNO = frozenset(errno.errorcode.values())  # ECONNREFUSED

_URL = re.compile(r"https?://(?P<host>[\w.-]+)(?::\d+)?(?P<path>/[^\s<>\"'`)\]}|?#]*)?[^\s<>\"'`)\]}|]*")
_ISSUE_PAGE = re.compile(r"/(?:issues|pull|pulls|merge_requests)/(\d+)")
_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_SPAN = re.compile(r"(?<!`)`([^`\n]{1,120})`(?!`)")
_TOKEN = re.compile(r"(?<![\w/\\.-])(?:[A-Za-z]:[\\/]|~[\\/]|--?)?[\w./\\-]*\w(?:\(\))?", re.ASCII)
_ISSUE = re.compile(r"(?<![\w#&/])(?:GH-|#)(\d{2,5})(?![\w-])", re.ASCII)
_CODE = re.compile(r"(?<![\w-])(?!GH-)([A-Z]{1,8})(-?)(\d{2,7}(?:-\d{2,7})?)(?![\w-])", re.ASCII)
_HASH = re.compile(r"(?<![\w-])(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}(?![\w-])", re.ASCII)
_TEST = re.compile(r"^(?:test|spec)s?(?=.)|(?<=.)(?:test|spec)s?$")


class Entity(NamedTuple):
    """Something that a text names. All its spellings have the same `form`; `specificity` is in (0, 1]."""

    form: str
    kind: Kind
    spelling: str  # as in the text
    specificity: float


class Tie(NamedTuple):
    """A possible link between records. `via` is its name for a reader, `weight` its strength in (0, 1]."""

    key: str
    reason: Reason
    via: str
    weight: float

    @property
    def word(self) -> str:
        """The key as one word for an index: 16 hexadecimal digits that do not reveal the name."""
        return blake2b(self.key.encode(), digest_size=8).hexdigest()


def entities(text: str, files: Iterable[str] = ()) -> tuple[Entity, ...]:
    """Return at most `MOST` entities of a text and its files; each form once, in its most specific spelling.

    >>> [entity.form for entity in entities("HttpClient lives in src/app/http_client.py, see #512")]
    ['httpclient', '#512']
    """
    best: dict[str, Entity] = {}
    for entity in (
        *(entity for file in files for entity in _path_entities(file)),
        *_text_entities(text[:READ]),
    ):
        if entity.form not in best or entity.specificity > best[entity.form].specificity:
            best[entity.form] = entity
    top = sorted(best.values(), key=lambda entity: -entity.specificity)[:MOST]
    return tuple(entity for entity in best.values() if entity in top)


def ties(
    text: str, *, files: Iterable[str] = (), tags: Iterable[str] = (), records: Iterable[str] = ()
) -> tuple[Tie, ...]:
    """Return the ties of a record with this text, files and tags; `records` are the ids of its parents.

    >>> [tie.key for tie in ties("HttpClient retries", tags=["net"])]
    ['tag:net', 'httpclient']
    """
    return (
        *(Tie(f"{_RECORD_PREFIX}{record_id}", "relation", record_id, 1.0) for record_id in records),
        *(Tie(f"{_TAG_PREFIX}{tag}", "tag", tag, 0.7) for tag in tags),
        *(
            Tie(entity.form, "entity", entity.spelling, entity.specificity)
            for entity in entities(text, files)
        ),
    )


def tie_words(
    text: str, *, files: Iterable[str] = (), tags: Iterable[str] = (), records: Iterable[str] = ()
) -> str | None:
    """Return a record's ties as words separated by blanks, as the store has them; None if it has no tie."""
    all_ties = ties(text, files=files, tags=tags, records=records)
    return " ".join(dict.fromkeys(tie.word for tie in all_ties)) or None


def query_ties(query: str) -> list[Tie]:
    """Return the ties of a query. Words with a hyphen are looked up too, since an unknown one is harmless."""
    hyphenated = " ".join(
        f"`{word}`" for word in re.findall(r"(?<![\w-])[A-Za-z]\w*(?:-\w+)+(?![\w-])", query)
    )
    return [tie for tie in ties(f"{query} {hyphenated}") if tie.weight >= LEAST_QUERY_WEIGHT]


def _text_entities(text: str) -> Iterator[Entity]:
    """Yield addresses, then words in backticks, then all other words."""
    if "://" in text:
        for match in _URL.finditer(text):
            yield from _address_entities(match)
        text = _URL.sub(" ", text)
    if "@" in text:
        for match in _MAIL.finditer(text):
            yield Entity(match[0].lower(), "address", match[0], 1.0)
        text = _MAIL.sub(" ", text)
    for match in _SPAN.finditer(text) if "`" in text else ():
        yield from _token_entities(match[1].strip(), marked=True)
    for word in dict.fromkeys(text.split()):
        if not PLAIN.fullmatch(word):
            yield from _code_entities(word)
            for token in _TOKEN.findall(word):
                yield from _token_entities(token, marked=False)


def _code_entities(word: str) -> Iterator[Entity]:
    for match in _ISSUE.finditer(word):
        yield Entity(f"#{match[1]}", "issue", match[0], 0.6)
    for match in _CODE.finditer(word):
        if match[1].lower() not in _STANDARDS and (match[2] or len(match[3]) > 2):
            form = "".join(match.groups()).replace("-", "").lower()
            yield Entity(form, "code", match[0], 0.9 if len(match[3]) > 2 else 0.6)
    for match in _HASH.finditer(word):
        yield Entity(match[0][:7], "code", match[0], 1.0)


def _address_entities(match: re.Match[str]) -> Iterator[Entity]:
    host, path = match["host"].lower().removeprefix("www."), (match["path"] or "").rstrip("/.,;:")
    yield Entity(f"{host}{path}", "address", match[0].rstrip("/.,;:"), 1.0 if path else 0.5)
    if page := _ISSUE_PAGE.search(path):
        yield Entity(f"#{page[1]}", "issue", f"#{page[1]}", 0.6)


def _token_entities(spelling: str, *, marked: bool) -> Iterator[Entity]:
    """Yield the entities in one word; `marked` is True if it is in backticks."""
    is_call = spelling.endswith("()")
    token = spelling.removesuffix("()").rstrip(".:,;")
    if not token.isascii() or " " in token:
        return
    if "/" in token or "\\" in token:
        yield from _path_entities(token, marked=marked)
    elif token.startswith("--"):
        yield from _identifier_entities(token.strip("-"), spelling)
    elif "." in token:
        yield from _dotted_entities(token.lstrip("."), spelling, marked=marked or is_call)
    elif token in _ERRNO:
        yield Entity(token.lower(), "code", spelling, 0.7)
    elif "-" not in token or marked:
        identifiers = list(_identifier_entities(token, spelling))
        yield from identifiers
        if not identifiers and (marked or is_call) and len(token) > 3 and token.isidentifier():
            yield Entity(token.lower(), "name", spelling, 0.4)


def _path_entities(path: str, *, marked: bool = True) -> Iterator[Entity]:
    """Yield a file's name without extension if it is specific, else with its folder; skip `and/or`."""
    is_rooted = path.startswith(("/", "./", "../", "~/", "~\\", ".\\", "\\\\")) or path[1:3] in (":\\", ":/")
    names = [name for name in re.split(r"[/\\]+", path) if name not in ("", ".", "..", "~")]
    if not names:
        return
    stem, _, extension = names[-1].rpartition(".") if "." in names[-1].strip(".") else (names[-1], "", "")
    is_file = len(stem) > 1 and extension.lower() in _EXTENSIONS  # a.m. is not a file
    stem = stem if is_file else names[-1]
    is_compound = len(_words(stem)) > 1
    is_path = (len(names) > 1 or path[0] in ".~") and (is_rooted or marked or is_compound)
    if not (is_file or is_path):
        return
    form = _form(stem)
    if is_compound:
        subject = _TEST.sub("", form)  # test_http_client.py is about http_client
        yield Entity(subject if len(subject) >= 8 else form, "path", path, 1.0)
        return
    if len(names) > 1:
        yield Entity(_form(names[-2]) + form, "path", path, 0.8)
    if is_file and form not in _COMMON_STEMS:
        yield Entity(names[-1].lower(), "path", path, 0.5)


def _dotted_entities(token: str, spelling: str, *, marked: bool) -> Iterator[Entity]:
    """Yield a dotted token as a file name, or the last identifier in it."""
    names = [name for name in token.split(".") if name]
    if len(names) < 2 or not all(re.fullmatch(r"[\d_-]*+[A-Za-z][\w-]*", name) for name in names):
        return
    is_brand = len(names) == 2 and token.replace(".", "").lower() in _BRANDS
    if names[-1].lower() in _EXTENSIONS and not is_brand:
        yield from _path_entities(token)
        return
    identifiers = list(_identifier_entities(names[-1], spelling))
    yield from identifiers
    if not identifiers and (marked or any(len(_words(name)) > 1 for name in names)):
        yield Entity(_form(names[-2]) + _form(names[-1]), "identifier", spelling, 0.7)
    if not identifiers and len(names) > 2 and len(_words(names[0])) > 1:
        yield from _identifier_entities(names[0], spelling)


def _identifier_entities(token: str, spelling: str) -> Iterator[Entity]:
    """Yield a token as an identifier if it has several parts and is not prose."""
    words = _words(token)
    form = "".join(words)
    if len(words) < 2 or len(form) < 5 or form in _BRANDS or not any(word.isalpha() for word in words):
        return
    if not _is_prose(token, words):
        yield Entity(form, "identifier", spelling, 1.0 if len(words) > 2 or len(form) >= 16 else 0.8)


def _is_prose(token: str, words: list[str]) -> bool:
    """Return True if inner capitals only show a family name, an abbreviation (PhD) or a plural."""
    if "_" in token or "-" in token or len(words) > 2:
        return False
    return words[0] in _FAMILIES or min(map(len, words)) < 2 or (token[0].isupper() and words[1].isdigit())


def _words(name: str) -> list[str]:
    """Split a name into lower-case parts: the same for `HttpClient`, `http_client` and `http-client`."""
    runs = re.findall(r"[^\W_]+", name)
    return [part.lower() for run in runs for part in (parts(run) if run.isascii() else [run])]


def _form(name: str) -> str:
    return "".join(_words(name))
