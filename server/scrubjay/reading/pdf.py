"""Converts PDF to text: page by page, with the headings that its bookmarks name; images are not read."""

import re
from threading import Lock

import pypdfium2  # type: ignore[import-untyped]

from scrubjay.reading.result import Budget, Conversion, Unreadable, tidy_values

PAGE_END = "\n\f\n"

_ONE_AT_A_TIME = Lock()  # PDFium keeps global state
_PASSWORD = 4  # FPDF_ERR_PASSWORD
_NO_TITLE = re.compile(  # what programs put there
    r"microsoft (?:word|powerpoint) - |untitled|\.(?:docx?|dvi|tex|indd|pptx?|qxd)$", re.IGNORECASE
)
_NUMBER = re.compile(r"(?:[Cc]hapter\s+)?(?:\d{1,3}|[A-Z](?=[.\d]))(?:\.\d+)*[.:)]?\s+")
_BLANKS = re.compile(r"\n{3,}")


def convert_pdf(data: bytes, budget: Budget) -> Conversion:
    """Extract the text of all pages, a form feed between them; lines that a bookmark names become headings.

    Raises:
        Unreadable: protected, damaged, or without text, as scans are.
        TooLong: too much text.
    """
    with _ONE_AT_A_TIME:
        try:
            document = pypdfium2.PdfDocument(data)
        except pypdfium2.PdfiumError as error:
            if getattr(error, "err_code", None) == _PASSWORD:
                raise Unreadable("is protected by a password; save it without one") from None
            raise Unreadable("is no PDF, or damaged") from None
        try:
            return _convert(document, budget)
        finally:
            document.close()


def _convert(document: pypdfium2.PdfDocument, budget: Budget) -> Conversion:
    headings = _headings(document)
    pages = [budget.take(_page(document, at, headings.get(at, {}))) for at in range(len(document))]
    if not any(page.strip() for page in pages):
        raise Unreadable("has no text, only images; recognise its text first (OCR)")
    about = document.get_metadata_dict()
    title = " ".join(about.get("Title", "").split())
    date = re.match(r"D:(\d{4})(\d\d)(\d\d)", about.get("CreationDate", ""))
    values = {name: about.get(name.capitalize()) for name in ("author", "subject", "keywords")}
    metadata = tidy_values(**values, date=date and "-".join(date.groups()))
    title = "" if _NO_TITLE.search(title) else title
    return Conversion(PAGE_END.join(pages).rstrip(), title=title or None, metadata=metadata)


def _page(document: pypdfium2.PdfDocument, at: int, headings: dict[str, int]) -> str:
    page = document[at]
    try:
        layer = page.get_textpage()
        try:
            text = layer.get_text_bounded()
        finally:
            layer.close()
    finally:
        page.close()
    # U+0002 and U+FFFE stand for a hyphen at the end of a line inside a word.
    text = re.sub("[\x02\ufffe](?:\r?\n)?", "", text)
    text = text.replace("\r\n", "\n").replace("\r", "").replace("\f", "\n")
    lines = [_line(line.rstrip(), headings) for line in text.split("\n")]
    return _BLANKS.sub("\n\n", "\n".join(lines)).strip()


def _line(line: str, headings: dict[str, int]) -> str:
    level = headings.pop(_bare(line), 0)
    if level:
        return f"\n{'#' * level} {line}\n"
    return f"\\{line}" if line.startswith("#") else line


def _headings(document: pypdfium2.PdfDocument) -> dict[int, dict[str, int]]:
    """Read the bookmarks: page -> heading -> its level, from 1."""
    headings: dict[int, dict[str, int]] = {}
    try:
        for mark in document.get_toc(max_depth=6):
            place = mark.get_dest()
            page = place.get_index() if place else None
            if page is not None and (heading := _bare(mark.get_title())):
                headings.setdefault(page, {}).setdefault(heading, min(mark.level + 1, 6))
    except pypdfium2.PdfiumError:  # a damaged outline is no reason to lose the text
        return {}
    return headings


def _bare(text: str) -> str:
    """Strip a heading of its number, which its bookmark may lack."""
    heading = " ".join(text.split())
    number = _NUMBER.match(heading)
    return (heading[number.end() :] if number else heading).casefold()
