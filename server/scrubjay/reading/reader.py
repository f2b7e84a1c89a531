"""Reads a file of any kind: finds out what it is, checks its limits, and calls the converter of its kind."""

import logging
from importlib import import_module

from scrubjay.errors import InputError
from scrubjay.reading.encodings import decode
from scrubjay.reading.kinds import Kind, kind_of, refusal
from scrubjay.reading.office import office_type
from scrubjay.reading.result import Budget, Conversion, FileText, TooLong, Unreadable

MAX_FILE = 50 * 1024 * 1024  # bytes
MAX_TEXT = 10_000_000  # characters: what a document may have
_HEAD = 1024  # bytes that tell what a file is

# Converters by kind, imported when a file of their kind comes; of all other kinds the text itself is taken.
_FROM_BYTES = {
    "pdf": "pdf.convert_pdf",
    "docx": "office.convert_word",
    "pptx": "slides.convert_slides",
    "xlsx": "office.convert_workbook",
    "email": "mail.convert_mail",
}
_FROM_TEXT = {
    "markdown": "encodings.convert_markdown",
    "json": "encodings.convert_json",
    "html": "html.convert_html",
    "notebook": "notebooks.convert_notebook",
}
# their converters stop at the limit, which a small file may exceed by far
_WITH_BUDGET = ("pdf", "pptx", "xlsx")

log = logging.getLogger("scrubjay.reading")


def read_file(path: str, *, max_file: int = MAX_FILE, max_text: int = MAX_TEXT) -> FileText:
    """Read the file at `path`.

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


def read(data: bytes, name: str, *, max_file: int = MAX_FILE, max_text: int = MAX_TEXT) -> FileText:
    """Read the text of a file's bytes. `name` is a path or a file name, which need not exist.

    Raises:
        InputError: one sentence that begins with the name: the file is empty, too large, binary, protected,
            damaged, or of a kind that is not read.
    """
    try:
        return _read(data, name, max_file, max_text)
    except Unreadable as reason:
        raise InputError(f"{name!r} {reason}.") from None


def _read(data: bytes, name: str, max_file: int, max_text: int) -> FileText:
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
    if converter := _FROM_BYTES.get(kind.type):
        result = _convert(converter, data, kind.type, max_text)
    else:
        text, encoding = decode(data)
        if len(text) > max_text and kind.type != "html":  # of a page much is markup
            raise TooLong(max_text)
        converter = _FROM_TEXT.get(kind.type)
        result = _convert(converter, text, kind.type, max_text) if converter else Conversion(text)
    if not result.text.strip():
        raise Unreadable("has no text in it")
    if len(result.text) > max_text:
        raise TooLong(max_text)
    # Libraries leave NUL and halves of surrogate pairs in texts, which the store does not take.
    text = result.text.replace("\x00", "").encode("utf-8", "replace").decode()
    title = " ".join(str(result.title).split())[:500] if result.title else None
    return FileText(text, kind.type, title or None, kind.language, encoding, result.metadata)


def _convert(converter: str, source: bytes | str, kind: str, max_text: int) -> Conversion:
    module, _, function = converter.partition(".")
    convert = getattr(import_module(f"scrubjay.reading.{module}"), function)
    try:
        result: Conversion = convert(source, Budget(max_text)) if kind in _WITH_BUDGET else convert(source)
    except Unreadable:
        raise
    except Exception as error:
        # Converters raise anything on damaged files, and one file must not stop a batch.
        log.info("a %s file could not be converted: %s", kind, error.__class__.__name__)
        raise Unreadable(f"is damaged, or no {kind} file that can be read") from None
    return result
