"""Converts PDF to text: page by page, with headings for its bookmarks, without images."""

import re
from collections import Counter
from contextlib import closing
from ctypes import create_string_buffer
from threading import Lock
from typing import Any

import pypdfium2  # type: ignore[import-untyped]
from pypdfium2 import raw

from scrubjay.reading.pdf_layout import lay_out
from scrubjay.reading.result import Budget, Conversion, Unreadable, tidy_values

PAGE_END = "\n\f\n"

_ONE_AT_A_TIME = Lock()  # PDFium keeps global state
_PASSWORD = 4  # FPDF_ERR_PASSWORD
_NO_TITLE = re.compile(  # titles that programs set
    r"microsoft (?:word|powerpoint) - |untitled|^\(anonymous\)$|\.(?:docx?|dvi|tex|indd|pptx?|qxd)$",
    re.IGNORECASE,
)
_NO_VALUES = ("anonymous", "unspecified")  # which programs set
_NUMBER = re.compile(r"(?:[Cc]hapter\s+)?(?:\d{1,3}|[A-Z](?=[.\d]))(?:\.\d+)*[.:)]?\s+")
# Characters that replace a hyphen inside a word at the end of a line: U+0002 and U+FFFE.
_BROKEN = re.compile(r"([\w-]{0,80})[\x02\ufffe](?:\r?\n)?(\w?)")
_WITH_HYPHEN = re.compile(  # beginnings of words whose hyphen belongs to the word
    r"(?:.*-.*|.*\d|self|non|well|cross|multi|high|low|real|long|short|user|client|server|read|write|open|end)",
    re.IGNORECASE,
)
_COMMENTS = frozenset(
    {raw.FPDF_ANNOT_TEXT, raw.FPDF_ANNOT_FREETEXT, raw.FPDF_ANNOT_HIGHLIGHT, raw.FPDF_ANNOT_UNDERLINE}
)
_BUTTONS = {raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON}
_VALUES = {raw.FPDF_FORMFIELD_TEXTFIELD, raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX}
_EDGE_LINES = 2  # lines at the top and bottom of a page that other pages may repeat
_FEWEST_PAGES = 3  # fewest pages that make a repeated line a header or footer
_BLANKS = re.compile(r"\n{3,}")


def convert_pdf(data: bytes, budget: Budget) -> Conversion:
    """Extract the text of all pages, separated by form feeds; lines named by a bookmark become headings.

    Raises:
        Unreadable: the PDF is protected, damaged, or without text, as scans are.
        TooLong: the PDF has too much text.
    """
    with _ONE_AT_A_TIME:
        try:
            document = pypdfium2.PdfDocument(data)
        except pypdfium2.PdfiumError as error:
            if getattr(error, "err_code", None) == _PASSWORD:
                raise Unreadable("is protected by a password; save it without one") from None
            raise Unreadable("is not a PDF, or is damaged") from None
        try:
            return _convert(document, budget)
        finally:
            document.close()


def _convert(document: pypdfium2.PdfDocument, budget: Budget) -> Conversion:
    headings = _headings(document)
    if document.get_formtype():
        document.init_forms()
    pages = [budget.take(_page(document, index, headings.get(index, {}))) for index in range(len(document))]
    pages = _without_repeats(pages)
    if not any(page.strip() for page in pages):
        raise Unreadable("has no text, only images; recognise its text first (OCR)")
    about = document.get_metadata_dict()
    title = " ".join(about.get("Title", "").split())
    date = re.match(r"D:(\d{4})(\d\d)(\d\d)", about.get("CreationDate", ""))
    values = {name: about.get(name.capitalize(), "") for name in ("author", "subject", "keywords")}
    values = {name: value for name, value in values.items() if value.strip("()") not in _NO_VALUES}
    metadata = tidy_values(**values, date=date and "-".join(date.groups()))
    title = "" if _NO_TITLE.search(title) else title
    return Conversion(PAGE_END.join(pages).rstrip(), title=title or None, metadata=metadata)


def _page(document: pypdfium2.PdfDocument, index: int, headings: dict[str, int]) -> str:
    with closing(document[index]) as page, closing(page.get_textpage()) as layer:
        text = _BROKEN.sub(_joined, lay_out(layer))
        text = text.replace("\r\n", "\n").replace("\r", "").replace("\f", "\n")
        text = "\n".join([text.rstrip(), *_fields_and_comments(page, document.formenv)])
    lines = [_line(line.rstrip(), headings) for line in text.split("\n")]
    return _BLANKS.sub("\n\n", "\n".join(lines)).strip()


def _joined(broken: re.Match[str]) -> str:
    """Join a word that was split at the end of a line; keep a hyphen that belongs to the word."""
    has_own_hyphen = _WITH_HYPHEN.fullmatch(broken[1]) or broken[2].isupper() or broken[2].isdigit()
    return f"{broken[1]}{'-' if has_own_hyphen else ''}{broken[2]}"


def _fields_and_comments(page: pypdfium2.PdfPage, forms: Any) -> list[str]:
    """Return a line for each field and comment of a page."""
    lines = []
    for number in range(raw.FPDFPage_GetAnnotCount(page)):
        annotation = raw.FPDFPage_GetAnnot(page, number)
        try:
            kind = raw.FPDFAnnot_GetSubtype(annotation)
            if kind in _COMMENTS:
                comment = _string_of(raw.FPDFAnnot_GetStringValue, annotation, b"Contents")
                lines += [f"Comment: {comment}"] if comment else []
            elif kind == raw.FPDF_ANNOT_WIDGET and forms:
                lines += _field_lines(annotation, forms)
        finally:
            raw.FPDFPage_CloseAnnot(annotation)
    return lines


def _field_lines(annotation: Any, forms: Any) -> list[str]:
    """Return the description or else the name of a field, with its visible value; [] for an empty field."""
    names = (raw.FPDFAnnot_GetFormFieldAlternateName, raw.FPDFAnnot_GetFormFieldName)
    name = next(filter(None, (_string_of(call, forms, annotation) for call in names)), "Field")
    kind, value = raw.FPDFAnnot_GetFormFieldType(forms, annotation), ""
    if kind in _BUTTONS:
        value = "[x]" if raw.FPDFAnnot_IsChecked(forms, annotation) else "[ ]"
    elif kind in _VALUES:
        value = _string_of(raw.FPDFAnnot_GetFormFieldValue, forms, annotation)
    return [f"{name}: {value}"] if value else []


def _string_of(call: Any, *arguments: Any) -> str:
    """Return the string that one of PDFium's functions writes into a buffer."""
    size = call(*arguments, None, 0)
    buffer = create_string_buffer(size)
    call(*arguments, raw.cast(buffer, raw.POINTER(raw.FPDF_WCHAR)), size)
    return " ".join(buffer.raw.decode("utf-16-le", "replace").rstrip("\x00").split())


def _without_repeats(pages: list[str]) -> list[str]:
    """Keep repeated lines at the top and bottom of pages only on the first page that has them."""
    edges = [_edges(page.split("\n"), number) for number, page in enumerate(pages, 1)]
    counts = Counter(key for keys in edges for key in set(keys.values()))
    repeated = {key for key, count in counts.items() if count >= max(_FEWEST_PAGES, len(pages) / 2)}
    seen: set[str] = set()
    remaining = []
    for page, keys in zip(pages, edges, strict=True):
        repeats = {position for position, key in keys.items() if key in seen}
        seen |= repeated.intersection(keys.values())
        lines = (line for position, line in enumerate(page.split("\n")) if position not in repeats)
        remaining.append("\n".join(lines).strip("\n") if repeats else page)
    return remaining


def _edges(lines: list[str], number: int) -> dict[int, str]:
    """Return the first and last lines of a page by position, without the page number."""
    positions = [index for index, line in enumerate(lines) if line.strip() and not line.startswith("#")]
    chosen = {*positions[:_EDGE_LINES], *positions[-_EDGE_LINES:]} if len(positions) > 2 * _EDGE_LINES else ()
    page_number = re.compile(rf"(?:^|\bpage ){number}\b|\b{number}$", re.IGNORECASE)
    return {position: page_number.sub("", " ".join(lines[position].split())) for position in chosen}


def _line(line: str, headings: dict[str, int]) -> str:
    level = headings.pop(_bare(line), 0)
    if level:
        return f"\n{'#' * level} {line}\n"
    return f"\\{line}" if line.startswith("#") else line


def _headings(document: pypdfium2.PdfDocument) -> dict[int, dict[str, int]]:
    """Read the bookmarks: page -> heading -> level, from 1."""
    headings: dict[int, dict[str, int]] = {}
    try:
        for bookmark in document.get_toc(max_depth=6):
            destination = bookmark.get_dest()
            page = destination.get_index() if destination else None
            if page is not None and (heading := _bare(bookmark.get_title())):
                headings.setdefault(page, {}).setdefault(heading, min(bookmark.level + 1, 6))
    except pypdfium2.PdfiumError:  # a damaged outline is no reason to lose the text
        return {}
    return headings


def _bare(text: str) -> str:
    """Return a heading in lower case without its number, which its bookmark may lack."""
    heading = " ".join(text.split())
    number = _NUMBER.match(heading)
    return (heading[number.end() :] if number else heading).casefold()
