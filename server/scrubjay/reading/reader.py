"""Reads a file of any kind: finds its kind, checks its limits, and calls the converter of its kind.

Plain text whose bytes are given is read here, because its length limits time and memory. Everything else, and
every file on a disk, is read in a separate process.
"""

import hashlib
import io
import logging
from dataclasses import replace
from importlib import import_module
from typing import Any

from scrubjay.errors import InputError
from scrubjay.home.files import read_regular
from scrubjay.reading.encodings import LONGEST_LINE, decode, encoding_warning, is_unicode
from scrubjay.reading.kinds import ARCHIVES, HEAD, OLE, ZIP, Kind, kind_of, markup_of, refusal
from scrubjay.reading.office import office_type
from scrubjay.reading.process import PROCESSES
from scrubjay.reading.result import INVISIBLE, Budget, Conversion, FileText, TooLong, Unreadable, tidy_values
from scrubjay.text.chunking.markdown import first_title
from scrubjay.text.foreign import without_escapes

MAX_FILE = 50 * 1024 * 1024  # bytes
MAX_TEXT = 10_000_000  # characters of a document
SECONDS = 30.0  # for each file when many files are read
CALL_SECONDS = 6.0  # for a file that a caller waits for; the caller gets an error after 8 or 9 seconds

# Converters by kind. They are imported when a file needs them; the text of other kinds stays unchanged.
_FROM_BYTES = {
    "pdf": "pdf.convert_pdf",
    "docx": "word.convert_word",
    "pptx": "slides.convert_slides",
    "xlsx": "office.convert_workbook",
    "email": "mail.convert_mail",
    "mailbox": "mail.convert_mailbox",
    "msg": "outlook.convert_message",
    "odt": "opendocument.convert_opendocument",
    "ods": "opendocument.convert_opendocument",
    "odp": "opendocument.convert_opendocument",
    "epub": "epub.convert_epub",
    "rtf": "old_office.convert_rtf",
    "doc": "old_office.convert_doc",
}
_FROM_TEXT = {
    "markdown": "markdown.convert_markdown",
    "json": "encodings.convert_json",
    "html": "html.convert_html",
    "notebook": "notebooks.convert_notebook",
}
# kinds whose first heading is the title
TITLED = frozenset({"markdown", "html", "docx", "odt", "doc", "rtf", "notebook"})
_NEVER_PLAIN = ("html", "notebook")
# kinds whose converters stop at the limit of text, because even a small file may exceed it by far
_WITH_BUDGET = ("pdf", "pptx", "xlsx", "odt", "ods", "odp", "epub", "rtf", "doc")
# kinds that the list of documents shows as another kind
_KNOWN_AS = {"ods": "xlsx", "msg": "email", "mailbox": "email"}

log = logging.getLogger("scrubjay.reading")


def read_file(path: str, *, seconds: float = CALL_SECONDS) -> FileText:
    """Open and read the file at `path` within `seconds`; the result has the digest of the file.

    Raises:
        InputError: the file cannot be opened, is not a regular file, or cannot be read (see `read`).
    """
    try:
        return PROCESSES.read_at(path, seconds)
    except Unreadable as reason:
        raise InputError(f"{path!r} {reason}.") from None


def read(
    data: bytes, name: str, *, max_file: int = MAX_FILE, max_text: int = MAX_TEXT, seconds: float = SECONDS
) -> FileText:
    """Return the text of a file, given its bytes. `name` is a path or a file name, which need not exist.

    Raises:
        InputError: the file is empty, too large, binary, protected, damaged, of a kind that is not read, or
            reached a limit of time or memory. The message is one sentence that begins with the name.
    """
    try:
        _check_size(data, max_file)
        if _is_plain(data, name):
            return read_here(data, name, max_text)
        return PROCESSES.read(data, name, max_text, seconds)
    except Unreadable as reason:
        raise InputError(f"{name!r} {reason}.") from None


def content_fields(content: str) -> dict[str, Any]:
    """Return the fields of a `DocumentText` for a text; an HTML page is converted.

    Raises:
        InputError: the text is an HTML page that cannot be read.
    """
    data = content.encode("utf-8", "replace")
    if kind_of("content", data[:HEAD]).type != "html":
        return {"content": content}
    page = read(data, "content")
    return {"content": page.text, "type": "html", "title": page.title, "metadata": page.metadata}


def read_at(path: str) -> FileText:
    """Read the file at `path` in this process, without a limit of time or memory.

    Raises:
        Unreadable: for the reasons that `read_file` names; the message lacks the path.
    """
    try:
        data = read_regular(path, MAX_FILE + 1, own=False)
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from None
    except ValueError:  # a NUL in the path
        raise Unreadable("is not a path") from None
    _check_size(data, MAX_FILE)
    return replace(read_here(data, path, MAX_TEXT), digest=hashlib.sha256(data).hexdigest())


def _check_size(data: bytes, max_file: int) -> None:
    if len(data) > max_file:
        raise Unreadable(f"is larger than {max_file / 1024 / 1024:,.4g} MB; split it")
    if not data.strip():
        raise Unreadable("is empty")


def _is_plain(data: bytes, name: str) -> bool:
    """Return True if the file is text that needs no library, no guess of its encoding and no layout."""
    kind = kind_of(name, data[:HEAD]).type
    if data.startswith((ZIP, OLE)) or kind in _FROM_BYTES or kind in _NEVER_PLAIN or not is_unicode(data):
        return False
    return kind != "json" or all(len(line) <= LONGEST_LINE for line in io.BytesIO(data))


def read_here(data: bytes, name: str, max_text: int) -> FileText:
    """Read a file in this process, without a limit of time or memory.

    Raises:
        Unreadable: for the reasons that `read` names; the message lacks the name.
    """
    office = office_type(data)
    if office is None and (reason := refusal(name, data[:HEAD])):
        raise Unreadable(reason)
    kind = Kind(office) if office else kind_of(name, data[:HEAD])
    if office is None and kind.type in ARCHIVES:
        raise Unreadable(f"is no {kind.type.upper()} file, or damaged")
    encoding = None
    if converter := _FROM_BYTES.get(kind.type):
        result = _convert(converter, data, kind.type, max_text)
        result = replace(result, text=result.text.translate(INVISIBLE))
    else:
        text, encoding = decode(data)
        if "\n" not in text:  # the line ends of old Macs
            text = text.replace("\r", "\n")
        if len(text) > max_text and kind.type != "html":  # much of a page is markup, which does not count
            raise TooLong(max_text)
        converter = _FROM_TEXT.get(kind.type)
        result = _convert(converter, text, kind.type, max_text) if converter else Conversion(text)
        result.metadata.update(tidy_values(encoding=encoding_warning(data, encoding)))
    if not result.text.strip():
        raise Unreadable("has no text in it")
    if len(result.text) > max_text:
        raise TooLong(max_text)
    # Libraries leave NUL and halves of surrogate pairs in texts, which the store rejects.
    text = without_escapes(result.text).replace("\x00", "").encode("utf-8", "replace").decode()
    markup = markup_of(name) if kind.type == "text" else None
    title = result.title or (first_title(text, markup) if kind.type in TITLED or markup else None)
    title = " ".join(str(title).split())[:500] if title else None
    return FileText(
        text, _KNOWN_AS.get(kind.type, kind.type), title or None, kind.language, encoding, result.metadata
    )


def _convert(converter: str, source: bytes | str, kind: str, max_text: int) -> Conversion:
    module, _, function = converter.partition(".")
    convert = getattr(import_module(f"scrubjay.reading.{module}"), function)
    try:
        result: Conversion = convert(source, Budget(max_text)) if kind in _WITH_BUDGET else convert(source)
    except (Unreadable, MemoryError):
        raise
    except Exception as error:
        # Converters raise any exception on damaged files, and one file must not stop a batch.
        log.info("a %s file could not be converted: %s", kind, error.__class__.__name__)
        raise Unreadable(f"is damaged, or no {kind} file that can be read") from None
    return result
