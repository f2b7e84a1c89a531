"""Entities: the files, identifiers, addresses, codes and issues that a text names, in a form in which their spellings meet.

Knows spelling only, so it is precise rather than complete: prose names nearly nothing. Does not know what else names the same
thing, or how common it is. Pure; standard library only.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Literal, NamedTuple

from scrubjay.text.terms import PLAIN, parts

MOST = 40  # of one text: what names more is a listing, which ties it to everything
READ = 20_000  # characters of a text that are read, some 3 ms

Kind = Literal["path", "identifier", "address", "code", "issue", "name"]


class Entity(NamedTuple):
    """One thing that is named. `form` is equal where two spellings mean the same; `specificity` is in (0, 1]."""

    form: str
    kind: Kind
    spelling: str  # as the text has it
    specificity: float


_SOURCES = """
    bat c cc cfg cjs clj conf cpp cs css csv cu dart diff dockerfile ejs elm env erl ex exs f90 fs gd go gradle graphql h hbs hcl hpp hs
    html ini ino ipynb java jl js json jsonl jsx kt kts less lock log lua m make md mdx mjs ml mm nix patch php pl plist po pony proto
    ps1 pxd py pyi pyx r rb rs rst sass sbt scala scss sh sol sql svelte svg swift tex tf toml ts tsx txt vim vue wasm xml yaml yml zig zsh
"""
_EXTENSIONS = frozenset(_SOURCES.split())
# One-word names that stand in every project: only their folder tells one from another.
_COMMON = """
    app base cli common conftest helpers index init lib main mod models package readme setup test types utils
"""
# Prose that is spelled like code.
_BRANDED = """
    airpods airtag bigquery bitbucket chatgpt clickhouse cloudflare coffeescript deepmind devops duckdb dynamodb ebay facetime fastapi
    freebsd github gitlab gmail graphql hubspot icloud imac imessage instagram ios ipad iphone ipod javascript jetbrains latex linkedin
    macbook macos mariadb mongodb mysql nextjs nodejs nosql numpy oauth onedrive openai opengl openid openssl paypal playstation
    postgresql powerpoint powershell pycharm pytorch rabbitmq saas sharepoint soundcloud sqlite stackoverflow tensorflow tiktok typescript
    vuejs webassembly websocket wechat whatsapp wifi wordpress xbox youtube
"""
_FAMILIES = "de del della di du fitz la le mac mc van von"  # McDonald, DeVito
_STANDARDIZED = "aes base covid crc ecma gpt h hd http ieee ipv iso md mp p rgb rsa sars sha sse tls udp usb utf vp"  # UTF-8, COVID-19
_COMMON_STEMS, _BRANDS = frozenset(_COMMON.split()), frozenset(_BRANDED.split())
_FAMILY, _STANDARDS = frozenset(_FAMILIES.split()), frozenset(_STANDARDIZED.split())
_ERRNO = frozenset(errno.errorcode.values())  # ECONNREFUSED

_URL = re.compile(r"https?://(?P<host>[\w.-]+)(?::\d+)?(?P<path>/[^\s<>\"'`)\]}|?#]*)?[^\s<>\"'`)\]}|]*")
_ISSUE_PAGE = re.compile(r"/(?:issues|pull|pulls|merge_requests)/(\d+)")
_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_SPAN = re.compile(r"(?<!`)`([^`\n]{1,120})`(?!`)")
_TOKEN = re.compile(r"(?<![\w/\\.])(?:[A-Za-z]:[\\/]|~[\\/]|--?)?[\w./\\-]*\w(?:\(\))?", re.ASCII)
_ISSUE = re.compile(r"(?<![\w#&/])(?:GH-|#)(\d{2,5})(?![\w-])", re.ASCII)
_CODE = re.compile(r"(?<![\w-])(?!GH-)([A-Z]{1,8})(-?)(\d{2,7}(?:-\d{2,7})?)(?![\w-])", re.ASCII)
_HASH = re.compile(r"(?<![\w-])(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}(?![\w-])", re.ASCII)
_TEST = re.compile(r"^(?:test|spec)s?(?=.)|(?<=.)(?:test|spec)s?$")


def entities(text: str, files: Iterable[str] = ()) -> tuple[Entity, ...]:
    """What the text names and the files that belong to it, each form once, the most specific spelling of it; at most `MOST`.

    >>> [entity.form for entity in entities("HttpClient lives in src/app/http_client.py, see #512")]
    ['httpclient', '#512']
    """
    best: dict[str, Entity] = {}
    for entity in (*(found for file in files for found in _path(file)), *_named(text[:READ])):
        if entity.form not in best or entity.specificity > best[entity.form].specificity:
            best[entity.form] = entity
    kept = sorted(best.values(), key=lambda entity: -entity.specificity)[:MOST]
    return tuple(entity for entity in best.values() if entity in kept)


def _named(text: str) -> Iterator[Entity]:
    if "://" in text:
        for match in _URL.finditer(text):
            yield from _address(match)
        text = _URL.sub(" ", text)
    if "@" in text:
        for match in _MAIL.finditer(text):
            yield Entity(match[0].lower(), "address", match[0], 1.0)
        text = _MAIL.sub(" ", text)
    for match in _SPAN.finditer(text) if "`" in text else ():
        yield from _token(match[1].strip(), marked=True)
    for word in dict.fromkeys(text.split()):
        if not PLAIN.fullmatch(word):
            yield from _coded(word)
            for token in _TOKEN.findall(word):
                yield from _token(token, marked=False)


def _coded(word: str) -> Iterator[Entity]:
    """Issues, error codes and commits."""
    for match in _ISSUE.finditer(word):
        yield Entity(f"#{match[1]}", "issue", match[0], 0.6)
    for match in _CODE.finditer(word):
        if match[1].lower() not in _STANDARDS and (match[2] or len(match[3]) > 2):
            yield Entity(
                "".join(match.groups()).replace("-", "").lower(),
                "code",
                match[0],
                0.9 if len(match[3]) > 2 else 0.6,
            )
    for match in _HASH.finditer(word):
        yield Entity(match[0][:7], "code", match[0], 1.0)


def _address(match: re.Match[str]) -> Iterator[Entity]:
    host, path = match["host"].lower().removeprefix("www."), (match["path"] or "").rstrip("/.,;:")
    yield Entity(f"{host}{path}", "address", match[0].rstrip("/.,;:"), 1.0 if path else 0.5)
    if page := _ISSUE_PAGE.search(path):
        yield Entity(f"#{page[1]}", "issue", f"#{page[1]}", 0.6)


def _token(said: str, *, marked: bool) -> Iterator[Entity]:
    """What one word without spaces names; `marked` when it stands in backticks, which makes code of any word."""
    called = said.endswith("()")
    token = said.removesuffix("()").rstrip(".:,;")
    if not token.isascii() or " " in token:
        return
    if "/" in token or "\\" in token:
        yield from _path(token, marked=marked)
    elif token.startswith("--"):
        yield from _compound(token.strip("-"), said)
    elif "." in token:
        yield from _dotted(token.lstrip("."), said, marked=marked or called)
    elif token in _ERRNO:
        yield Entity(token.lower(), "code", said, 0.7)
    elif "-" not in token or marked:
        found = list(_compound(token, said))
        yield from found
        if not found and (marked or called) and len(token) > 3 and token.isidentifier():
            yield Entity(token.lower(), "name", said, 0.4)


def _path(path: str, *, marked: bool = True) -> Iterator[Entity]:
    """A file by its name without extension where that says enough, else by its folder too. `and/or` is no path."""
    rooted = path.startswith(("/", "./", "../", "~/", "~\\", ".\\", "\\\\")) or path[1:3] in (":\\", ":/")
    names = [name for name in re.split(r"[/\\]+", path) if name not in ("", ".", "..", "~")]
    if not names:
        return
    stem, _, extension = names[-1].rpartition(".") if "." in names[-1].strip(".") else (names[-1], "", "")
    file = len(stem) > 1 and extension.lower() in _EXTENSIONS  # a.m. is none
    if not file:
        stem = names[-1]
    if not (file or ((len(names) > 1 or path[0] in ".~") and (rooted or marked or len(_words(stem)) > 1))):
        return
    yield from _file(names, stem, path, file=file)


def _file(names: list[str], stem: str, said: str, *, file: bool) -> Iterator[Entity]:
    form = _form(stem)
    if len(_words(stem)) > 1:
        subject = _TEST.sub("", form)  # test_http_client.py is about http_client
        yield Entity(subject if len(subject) >= 8 else form, "path", said, 1.0)
        return
    if len(names) > 1:
        yield Entity(_form(names[-2]) + form, "path", said, 0.8)
    if file and form not in _COMMON_STEMS:
        yield Entity(names[-1].lower(), "path", said, 0.5)


def _dotted(token: str, said: str, *, marked: bool) -> Iterator[Entity]:
    names = [name for name in token.split(".") if name]
    if len(names) < 2 or not all(re.fullmatch(r"[\w-]*[A-Za-z][\w-]*", name) for name in names):
        return
    if names[-1].lower() in _EXTENSIONS and not (
        len(names) == 2 and token.replace(".", "").lower() in _BRANDS
    ):
        yield from _path(token)
        return
    last = list(_compound(names[-1], said))
    if last:
        yield from last
    elif marked or any(len(_words(name)) > 1 for name in names):
        yield Entity(_form(names[-2]) + _form(names[-1]), "identifier", said, 0.7)
    if not last and len(names) > 2 and len(_words(names[0])) > 1:
        yield from _compound(names[0], said)


def _compound(token: str, said: str) -> Iterator[Entity]:
    """An identifier of several parts."""
    words = _words(token)
    form = "".join(words)
    if len(words) < 2 or len(form) < 5 or form in _BRANDS or not any(word.isalpha() for word in words):
        return
    if _is_prose(token, words):
        return
    yield Entity(form, "identifier", said, 1.0 if len(words) > 2 or len(form) >= 16 else 0.8)


def _is_prose(token: str, words: list[str]) -> bool:
    """Whether capitals inside a word are a family name's, an abbreviation's (PhD) or a plural's."""
    if "_" in token or "-" in token or len(words) > 2:
        return False
    return words[0] in _FAMILY or min(map(len, words)) < 2 or (token[0].isupper() and words[1].isdigit())


def _words(name: str) -> list[str]:
    """The parts of a name, folded: `HttpClient`, `http_client` and `http-client` have the same."""
    return [
        part.lower()
        for run in re.findall(r"[^\W_]+", name)
        for part in (parts(run) if run.isascii() else [run])
    ]


def _form(name: str) -> str:
    return "".join(_words(name))


_TAG, _RECORD = "tag:", "id:"  # an entity has no colon behind a word, so it needs no prefix
LEAST_NAMED = 0.5  # a single word, though in backticks, is no name to look up
Reason = Literal["relation", "tag", "entity"]


class Tie(NamedTuple):
    """One tie of a record. `via` is how to name it to somebody; `weight` in (0, 1] is how much it says by itself."""

    key: str
    reason: Reason
    via: str
    weight: float

    @property
    def word(self) -> str:
        """The key as one word for an index of words: 16 hexadecimal digits, which say nothing of what is named."""
        return blake2b(self.key.encode(), digest_size=8).hexdigest()


def ties(
    text: str, *, files: Iterable[str] = (), tags: Iterable[str] = (), records: Iterable[str] = ()
) -> tuple[Tie, ...]:
    """What ties a record of this text, with these files and tags, to others; `records` are the ids of those it builds on.

    >>> [tie.key for tie in ties("HttpClient retries", tags=["net"])]
    ['tag:net', 'httpclient']
    """
    related = (Tie(f"{_RECORD}{id}", "relation", id, 1.0) for id in records)
    tagged = (Tie(f"{_TAG}{tag}", "tag", tag, 0.7) for tag in tags)
    named = (
        Tie(entity.form, "entity", entity.spelling, entity.specificity) for entity in entities(text, files)
    )
    return (*related, *tagged, *named)


def tie_words(
    text: str, *, files: Iterable[str] = (), tags: Iterable[str] = (), records: Iterable[str] = ()
) -> str | None:
    """What is stored of the ties of a record: their words, between blanks; None of a record without any."""
    return (
        " ".join(dict.fromkeys(tie.word for tie in ties(text, files=files, tags=tags, records=records)))
        or None
    )


def query_ties(query: str) -> list[Tie]:
    """The entities that a query names. A hyphen is taken for code here: what no record names by it costs nothing."""
    hyphened = " ".join(f"`{word}`" for word in re.findall(r"(?<![\w-])[A-Za-z]\w*(?:-\w+)+(?![\w-])", query))
    return [tie for tie in ties(f"{query} {hyphened}") if tie.weight >= LEAST_NAMED]
