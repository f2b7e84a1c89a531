"""Reads a file of any kind: finds out what it is, checks its limits, and calls the converter of its kind. Knows which converter takes
what; does not know any format itself.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from scrubjay.errors import InputError
from scrubjay.reading import encodings
from scrubjay.reading.encodings import decode
from scrubjay.reading.kinds import Kind, kind_of, refusal
from scrubjay.reading.office import office_type
from scrubjay.reading.result import Budget, Converted, Read, TooLong, Unreadable

MAX_FILE = 50 * 1024 * 1024  # bytes
MAX_TEXT = 10_000_000  # characters: what a document may have
_HEAD = 1024  # bytes

log = logging.getLogger("scrubjay.reading")


def read_file(path: str, *, max_file: int = MAX_FILE, max_text: int = MAX_TEXT) -> Read:
    """The text of the file at `path`.

    Raises:
        InputError: it cannot be opened, or its bytes cannot be read (see `read`).
    """
    try:
        with open(path, "rb") as file:
            data = file.read(max_file + 1)
    except OSError as error:
        raise InputError(f"{path!r} cannot be read: {error.strerror}.") from None
    except ValueError:  # a NUL in the path
        raise InputError(f"{path!r} is no path.") from None
    return read(data, path, max_file=max_file, max_text=max_text)


def read(data: bytes, name: str, *, max_file: int = MAX_FILE, max_text: int = MAX_TEXT) -> Read:
    """The text of a file's bytes. `name` is a path or a file name, which need not exist.

    Raises:
        InputError: one sentence that begins with the name: empty, too large, binary, protected, damaged, or of a kind that is not read.
    """
    try:
        return _read(data, name, max_file, max_text)
    except Unreadable as reason:
        raise InputError(f"{name!r} {reason}.") from None


def _read(data: bytes, name: str, max_file: int, max_text: int) -> Read:
    if len(data) > max_file:
        raise Unreadable(f"is larger than {max_file / 1024 / 1024:,.4g} MB; split it")
    if not data.strip():
        raise Unreadable("is empty")
    office = office_type(data)
    if office is None and (reason := refusal(name)):
        raise Unreadable(reason)
    kind = Kind(office) if office else kind_of(name, data[:_HEAD])
    if office is None and kind.type in ("docx", "pptx", "xlsx"):
        raise Unreadable(f"is no {kind.type.upper()} file, or damaged")
    encoding = None
    if kind.type in _FROM_BYTES:
        found = _converted(_FROM_BYTES[kind.type], data, max_text, kind.type)
    else:
        text, encoding = decode(data)
        if len(text) > max_text and kind.type != "html":  # of a page much is markup
            raise TooLong(max_text)
        found = _converted(_FROM_TEXT.get(kind.type, _plain), text, max_text, kind.type)
    if not found.text.strip():
        raise Unreadable("has no text in it")
    if len(found.text) > max_text:
        raise TooLong(max_text)
    # what a library left in it: NUL and halves of surrogate pairs are no text to the store
    text = found.text.replace("\x00", "").encode("utf-8", "replace").decode()
    title = " ".join(str(found.title).split())[:500] if found.title else None
    return Read(text, kind.type, title or None, kind.language, encoding, found.metadata)


def _converted(
    convert: Callable[[Any, int], Converted], source: bytes | str, max_text: int, type: str
) -> Converted:
    try:
        return convert(source, max_text)
    except Unreadable:
        raise
    except (
        Exception
    ) as error:  # on damaged files converters raise whatever they meet, and one file must not stop a batch
        log.info("a %s file could not be converted: %s", type, error.__class__.__name__)
        raise Unreadable(f"is damaged, or no {type} file that can be read") from None


def _plain(text: str, max_text: int) -> Converted:
    return encodings.convert_text(text)


def _markdown(text: str, max_text: int) -> Converted:
    return encodings.convert_markdown(text)


def _json(text: str, max_text: int) -> Converted:
    return encodings.convert_json(text)


def _html(text: str, max_text: int) -> Converted:
    from scrubjay.reading.html import convert_html

    return convert_html(text)


def _notebook(text: str, max_text: int) -> Converted:
    from scrubjay.reading.notebooks import convert_notebook

    return convert_notebook(text)


def _mail(data: bytes, max_text: int) -> Converted:
    from scrubjay.reading.mail import convert_mail

    return convert_mail(data)


def _pdf(data: bytes, max_text: int) -> Converted:
    from scrubjay.reading.pdf import convert_pdf

    return convert_pdf(data, Budget(max_text))


def _word(data: bytes, max_text: int) -> Converted:
    from scrubjay.reading.office import convert_word

    return convert_word(data)


def _slides(data: bytes, max_text: int) -> Converted:
    from scrubjay.reading.office import convert_slides

    return convert_slides(data, Budget(max_text))


def _workbook(data: bytes, max_text: int) -> Converted:
    from scrubjay.reading.office import convert_workbook

    return convert_workbook(data, Budget(max_text))


_FROM_TEXT: dict[str, Callable[[str, int], Converted]] = {
    "markdown": _markdown,
    "json": _json,
    "html": _html,
    "notebook": _notebook,
}
_FROM_BYTES: dict[str, Callable[[bytes, int], Converted]] = {
    "pdf": _pdf,
    "docx": _word,
    "pptx": _slides,
    "xlsx": _workbook,
    "email": _mail,
}
