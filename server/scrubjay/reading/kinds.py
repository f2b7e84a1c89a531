"""Finds the kind of a file, by its first bytes and its name; `kinds.toml` has the suffixes and names."""

import os
import re
import tomllib
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Kind:
    """The type of a document, and the language of a source or data file."""

    type: str
    language: str | None = None


HEAD = 1024  # bytes that show the kind of a file
ZIP, OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # how containers of office files begin
# Suffixes of data files that text files of Blender, Pkl, Erlang and other programs have too.
_PERHAPS_TEXT = frozenset("o a obj class bin db pkl pt dat dump out".split())
_TABLES: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def kinds_by_word(table: str) -> dict[str, str]:
    """Return a table of `kinds.toml`: the kind of each suffix, name or type in it."""
    return {word: kind for kind, words in _TABLES[table].items() for word in words.split()}


_TYPE_OF, _LANGUAGE_OF, _NAMES = kinds_by_word("types"), kinds_by_word("languages"), kinds_by_word("names")
_LANGUAGE_OF_INTERPRETER, _MARKUP_OF = kinds_by_word("interpreters"), kinds_by_word("markups")
_REFUSAL_OF = kinds_by_word("refused")
_INTERPRETER = re.compile(rb"#!\s*(?:\S*/)?(?:env\s+(?:-S\s+)?)?([A-Za-z]+)")
_NO_TEXT = re.compile(rb"[\x00-\x07\x0e-\x1a]")
ARCHIVES = frozenset({"docx", "pptx", "xlsx", "doc", "odt", "ods", "odp", "epub", "msg"})  # never text
_OR_TEXT = frozenset({"doc", "msg"})  # plain texts and messages of robots have these suffixes too
# The line above each message of a mailbox.
MESSAGE = re.compile(rb"(?:\A|(?<=\n))From [^\r\n]{0,200}\d\d:\d\d[^\r\n]{0,100}\r?\n(?=[\w-]{1,80}: )")
_MARKUP = re.compile(rb"\s*(?:<!--.{0,500}?-->\s*)?<(?:!doctype\s+html|html[\s>])", re.IGNORECASE | re.DOTALL)
# what programs write into a file that they name .xls for Excel to open
_FRAGMENT = re.compile(rb"\s*<(?:table|head|body|meta|style)[\s>]", re.IGNORECASE)
_SEPARATORS = {b"\t": "tsv", b",": "csv", b";": "csv"}


def endings(languages: Container[str | None]) -> list[str]:
    """Return the endings of file names in these languages, in lower case."""
    names = {**{f".{suffix}": language for suffix, language in _LANGUAGE_OF.items()}, **_NAMES}
    return [ending for ending, language in names.items() if language in languages]


def kind_of(name: str, head: bytes = b"") -> Kind:
    """Return the kind of a file by its first bytes and its name; an unknown file is plain text.

    >>> kind_of("src/app.tsx"), kind_of("notes")
    (Kind(type='code', language='tsx'), Kind(type='text', language=None))
    """
    base = os.path.basename(name).lower()
    suffix = base.rpartition(".")[2] if "." in base.strip(".") else ""
    start = head.lstrip(b"\xef\xbb\xbf\r\n\t ")
    if start.startswith(b"%PDF-"):
        return Kind("pdf")
    if start.startswith(b"{\\rtf"):
        return Kind("rtf")
    if language := _NAMES.get(base) or _LANGUAGE_OF.get(suffix):
        return Kind("json" if language == "json" else "code", language)
    if suffix in _TYPE_OF:
        kind = Kind(_TYPE_OF[suffix])
        if kind.type in ARCHIVES and (_MARKUP.match(head) or _FRAGMENT.match(head)):
            return Kind("html")
        if suffix == "xls" and start and _looks_like_text(head):
            first_line = start.partition(b"\n")[0]
            return Kind(next((name for mark, name in _SEPARATORS.items() if mark in first_line), "text"))
        return Kind("text") if kind.type in _OR_TEXT and start and _looks_like_text(head) else kind
    if language := _NAMES.get(base.rpartition(".")[0]):  # Dockerfile.dev, .env.local
        return Kind("code", language)
    if interpreter := _INTERPRETER.match(head):
        language = _LANGUAGE_OF_INTERPRETER.get(interpreter[1].decode())
        return Kind("code" if language else "text", language)
    if MESSAGE.match(head):
        return Kind("mailbox")
    return Kind("html") if _MARKUP.match(head) else Kind("text")


def markup_of(name: str) -> str | None:
    """Return the markup of a text with headings, by its name; None for plain text and Markdown."""
    return _MARKUP_OF.get(name.lower().rpartition(".")[2]) if "." in name else None


def refusal(name: str, head: bytes | None = None) -> str | None:
    """Return why a file of this name is never read, as a clause without a full stop, or None if it may be.

    If the name does not decide, the first bytes (`head`) do; without them, the file may be read.
    """
    _, dot, suffix = os.path.basename(name).lower().rpartition(".")
    reason = _REFUSAL_OF.get(suffix) if dot else None
    if reason is None or suffix not in _PERHAPS_TEXT:
        return reason
    return None if head is None or _looks_like_text(head) else reason


def _looks_like_text(head: bytes) -> bool:
    return not _NO_TEXT.search(head)
